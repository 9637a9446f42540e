//! A run as text: what to doubt first, then the table, the expectations and the verdict.

use crate::{confidence::exceedance, judge::{configuration::{Configurations, Pooled}, headline::{is_judged, word}, judgement::Judgement}, terminal::{notes::{alarms, notes}, table}};
use latido_model::{
    record::Record,
    run::{Run, StoredCell},
    verdict::Verdict,
};

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours are wanted (a terminal, and no NO_COLOR).
    pub color: bool,
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Nothing special.
    Plain,
    /// In order.
    Good,
    /// Worth a look.
    Warn,
    /// Bad news.
    Bad,
    /// Less important.
    Dim,
    /// More important.
    Bold,
}

/// Wraps a text in its colour (ECMA-48, SGR), where colours are wanted.
pub fn paint(text: &str, tone: Paint, style: Style) -> String {
    let code = match tone {
        _ if !style.color => return text.into(),
        Paint::Plain => return text.into(),
        Paint::Good => 32,
        Paint::Warn => 33,
        Paint::Bad => 31,
        Paint::Dim => 2,
        Paint::Bold => 1,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Cuts a text to a width, marked with `~`.
pub fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// A label and a text that hangs below itself where it is longer than a line.
pub fn hang(label: &str, tone: Paint, text: &str, style: Style) -> Vec<String> {
    let indent = label.chars().count() + 1;
    let room = style.width.saturating_sub(indent).max(20);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map(|line| line.chars().count()).unwrap_or(0);
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    let label = paint(label, tone, style);
    let first =
        |(k, line): (usize, String)| if k == 0 { format!("{label} {line}") } else { " ".repeat(indent) + &line };
    lines.into_iter().enumerate().map(first).map(|line| line.trim_end().to_string()).collect()
}

/// The result of a run as it is printed at its end.
pub fn summary(run: &Run, judgement: &Judgement, found: &Configurations, style: Style) -> String {
    result(run, judgement, found, notes(run, judgement, style), style)
}

/// The same with notes of the caller's choice.
pub(super) fn result(
    run: &Run,
    judgement: &Judgement,
    found: &Configurations,
    notes: Vec<String>,
    style: Style,
) -> String {
    let mut lines = alarms(judgement, style);
    lines.push(paint(&title(run), Paint::Bold, style));
    for problem in run.problems.iter().chain(&found.problems) {
        lines.extend(hang("warning:", Paint::Warn, problem, style));
    }
    lines.extend(notes);
    for (reason, cells) in run.skips() {
        let many = if cells == 1 { "1 cell".into() } else { format!("{cells} cells") };
        lines.extend(hang("skipped:", Paint::Dim, &format!("{many}: {reason}"), style));
    }
    lines.push(String::new());
    let tables = table::configurations(&found.all, style);
    if !tables.is_empty() {
        lines.extend(tables);
        lines.push(String::new());
    }
    if !judgement.expectations.is_empty() {
        lines.extend(expectations(judgement, style));
        lines.push(String::new());
    }
    lines.extend(verdict(run, judgement, found, style));
    lines.join("\n") + "\n"
}

fn title(run: &Run) -> String {
    let record = run.cells.iter().find_map(StoredCell::record);
    let machine = record.map_or(run.meta.machine.as_str(), |record| record.machine.hostname.as_str());
    let kernel = record.map(|record| format!(", Linux {}", record.machine.kernel)).unwrap_or_default();
    let on = if machine.is_empty() { String::new() } else { format!(" on {machine}{kernel}") };
    format!("{}{on}", run.meta.id)
}

/// The expectations, each with its verdict and its figure.
fn expectations(judgement: &Judgement, style: Style) -> Vec<String> {
    let all = &judgement.expectations;
    let width = all.iter().map(|one| one.word().len()).max().unwrap_or(0);
    let title = if all.iter().any(|one| one.of_study) { "conclusions of the study" } else { "expected" };
    let mut lines = vec![paint(title, Paint::Dim, style)];
    for one in all {
        let label = format!("  {:<width$} ", one.word());
        lines.extend(hang(&label, tone(one.verdict), &format!("{}: {}", one.sentence(), one.detail), style));
    }
    lines
}

/// The last word: the verdict, the number that decides, and how much it supports.
fn verdict(run: &Run, judgement: &Judgement, found: &Configurations, style: Style) -> Vec<String> {
    let mut parts = vec![judgement.headline.clone()];
    if judgement.verdict == Verdict::Pass {
        parts.extend(support(found));
        parts.extend(match judgement.expectations.len() {
            0 => None,
            _ if judgement.expectations.iter().any(|one| one.of_study) => None,
            1 => Some("the expectation holds".into()),
            all => Some(format!("all {all} expectations hold")),
        });
    }
    let tone = match judgement.verdict {
        Verdict::Pass if !is_judged(run) => Paint::Plain,
        verdict => tone(verdict),
    };
    hang(&format!("{}:", word(run, judgement)), tone, &parts.join("; "), style)
}

/// How rare a sample above the limit is, where there was none: of the quantity that came closest to its limit.
fn support(found: &Configurations) -> Option<String> {
    let limited = found.all.iter().filter_map(|one| Some((one, one.cell.conditions.limit?.0 as f64)));
    let quantities = limited.flat_map(|(one, limit)| one.quantities.iter().map(move |pooled| (pooled, limit)));
    let near = |pooled: &Pooled, limit: f64| pooled.summary.max.map_or(0.0, |max| max as f64 / limit);
    let (closest, _) = quantities
        .filter(|(pooled, _)| pooled.above_limit == Some(0))
        .max_by(|a, b| near(a.0, a.1).total_cmp(&near(b.0, b.1)))?;
    let (_, upper) = exceedance(0, closest.summary.count)?;
    Some(match upper {
        0.05.. => "none above it, but so few cannot say how rare one is: measure longer".into(),
        _ => format!(
            "0 of {} above it: with 95 % confidence fewer than 1 in {}",
            closest.summary.count,
            (1.0 / upper) as u64
        ),
    })
}

/// The colour of a verdict.
pub(super) fn tone(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Pass => Paint::Good,
        Verdict::Fail | Verdict::Infra => Paint::Bad,
        Verdict::Inconclusive | Verdict::Contaminated => Paint::Warn,
        Verdict::Skipped => Paint::Dim,
    }
}

/// The figures of records that could not be stored: nothing measured is lost without having been seen.
pub fn rescue(records: &[&Record], style: Style) -> String {
    let mut lines = Vec::new();
    for record in records {
        lines.push(crate::judge::label::title(&record.cell));
        lines.extend(crate::terminal::show::threads(record, style));
        for series in &record.series {
            let bands = series.headline().bands;
            let text = bands.iter().filter(|band| band.count > 0).map(|band| match band.upto {
                Some(upto) => format!("to {}: {}", latido_model::units::human(upto), band.count),
                None => format!("above: {}", band.count),
            });
            let label = series.cpu.map_or_else(|| series.quantity.clone(), |cpu| format!("CPU {cpu}"));
            lines.extend(hang(&label, Paint::Plain, &text.collect::<Vec<_>>().join(", "), style));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{configuration, judge, judgement::ExpectJudgement};
    use latido_model::{
        record::Skip,
        sample::{Fixture, cell, probing, quiet, record, under, with_spike},
    };

    const PLAIN: Style = Style { width: 80, color: false };

    fn printed(fixture: &Fixture) -> String {
        let found = configuration::configurations([&fixture.run], fixture).unwrap();
        let mut judgement = judge::judge(&fixture.run, fixture);
        for (text, verdict, detail) in [
            ("wakeup.latency.p99.9 < 100us", Verdict::Pass, "wakeup, idle, CPU 1: 4.10 us (and 3 more)"),
            ("gap.gap.max < 100us", Verdict::Inconclusive, "no series matches"),
        ] {
            judgement.expectations.push(ExpectJudgement {
                text: text.into(),
                claim: None,
                of_study: false,
                verdict,
                detail: detail.into(),
                each: Vec::new(),
            });
        }
        summary(&fixture.run, &judgement, &found, PLAIN)
    }

    fn busy() -> Fixture {
        Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("busy"), vec![quiet(0), with_spike(1, 3_000, 228_000)]),
        ])
    }

    #[test]
    fn a_failed_run() {
        let mut fixture = busy();
        fixture.record(1).quality.smi = None;
        fixture.record(2).quality.dma_latency_held = false;
        fixture.record(2).skipped.push(Skip { what: "frequency pinning".into(), why: "no cpufreq here".into() });
        insta::assert_snapshot!(printed(&fixture), @r#"
        20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48
        note: idle states: not held off: wake-ups may wait for the processor to leave
              them (cell 2)
        note: also frequency pinning (skipped); not measured: smi, hypervisor (see
              `latido show`)

        Wake-up latency (us)
        configuration  samples   min  mean   p50   p99  p99.9    max  >100us  missed
        idle             20000  2.00  2.64  2.62  3.24   3.25   24.8       0       0
        busy             20000  2.00  2.65  2.62  3.24   3.25  228.0       1       0

        expected
          pass          wakeup.latency.p99.9 < 100us: wakeup, idle, CPU 1: 4.10 us (and
                        3 more)
          inconclusive  gap.gap.max < 100us: no series matches

        FAIL: wakeup, busy: 1 of 20000 samples above the limit of 100 us, worst 228 us
              (latency, CPU 1)
        "#);
    }

    #[test]
    fn a_pass_says_what_it_supports() {
        let told = |fixture: &Fixture| {
                let found = configuration::configurations([&fixture.run], fixture).unwrap();
            verdict(&fixture.run, &judge::judge(&fixture.run, fixture), &found, Style { width: 400, color: false })
                .join("\n")
        };
        insta::assert_snapshot!(told(&Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])])), @"PASS: wakeup, idle: worst 24.8 us of 20000 samples (latency, CPU 1), 75.2 us inside the limit of 100 us; 0 of 20000 above it: with 95 % confidence fewer than 1 in 6676");
        insta::assert_snapshot!(told(&Fixture::new(vec![(cell(), vec![vec![2_000; 20]])])), @"PASS: wakeup, idle: worst 2.00 us of 20 samples (latency, CPU 0), 98.0 us inside the limit of 100 us; none above it, but so few cannot say how rare one is: measure longer");
        insta::assert_snapshot!(told(&Fixture::new(vec![(probing("gap"), vec![quiet(0)])])), @"MEASURED: gap, idle: worst 24.8 us of 10000 samples (gap, CPU 0), no limit given: nothing to judge");
    }

    /// Whoever reads one line only must not miss it.
    #[test]
    fn doubt_is_in_the_first_line() {
        let mut fixture = busy();
        for number in [1, 2] {
            let quality = &mut fixture.record(number).quality;
            quality.policy_refused =
                Some("fifo 80 was refused: Operation not permitted; allow it with `sudo prlimit --rtprio=99 --pid $$` in this shell".into());
            quality.threads[0].minor_faults = number as u64;
            quality.housekeeping = None;
        }
        let text = printed(&fixture);
        assert!(text.starts_with("INVALID: policy: fifo 80 was refused"), "{text}");
        insta::assert_snapshot!(text, @r#"
        INVALID: policy: fifo 80 was refused: Operation not permitted
        20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48
        note: page faults: 1 minor, 0 major while measuring (cell 1; similar in 2)
        note: housekeeping: every CPU is measured: latido itself runs on them too
        note: not measured: hypervisor (see `latido show`)

        Wake-up latency (us)
        configuration  samples   min  mean   p50   p99  p99.9    max  >100us  missed
        idle             20000  2.00  2.64  2.62  3.24   3.25   24.8       0       0
        busy             20000  2.00  2.65  2.62  3.24   3.25  228.0       1       0

        expected
          pass          wakeup.latency.p99.9 < 100us: wakeup, idle, CPU 1: 4.10 us (and
                        3 more)
          inconclusive  gap.gap.max < 100us: no series matches

        INCONCLUSIVE: wakeup, busy: policy: fifo 80 was refused: Operation not
                      permitted; 1 of 20000 samples above the limit of 100 us, worst 228
                      us (latency, CPU 1) (2 of 2 cells)
        "#);
    }

    #[test]
    fn what_could_not_be_stored_is_still_seen() {
        insta::assert_snapshot!(rescue(&[&record()], PLAIN), @r#"
        wakeup, idle
        latency (us)  samples   min  mean   p50   p99  p99.9   max  late  missed
        CPU 0           10000  2.00  2.64  2.62  3.24   3.25  24.8     0       0
        CPU 1           10000  2.00  2.64  2.62  3.24   3.25  24.8     0       0
        CPU 0 to 5.00 us: 9991, to 8.00 us: 1, to 10.0 us: 1, to 50.0 us: 7
        CPU 1 to 5.00 us: 9991, to 8.00 us: 1, to 10.0 us: 1, to 50.0 us: 7
        "#);
    }

    proptest::proptest! {
        #[test]
        fn hanging_lines_keep_every_word(text in "[a-z ]{0,200}", width in 30usize..100) {
            let lines = hang("note:", Paint::Plain, &text, Style { width, color: false });
            let words: Vec<String> = lines.join(" ").split_whitespace().skip(1).map(String::from).collect();
            proptest::prop_assert_eq!(words, text.split_whitespace().map(String::from).collect::<Vec<_>>());
        }
    }
}
