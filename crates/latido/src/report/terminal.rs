//! A run as text: what to doubt first, then the table, the expectations and the verdict.

use super::table;
use crate::{
    analyze::{
        configuration::Configurations,
        trust::Level,
        verdict::{Judgement, Verdict},
    },
    cpus::CpuSet,
    record::Record,
    store::{Run, StoredCell},
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
pub(super) fn hang(label: &str, tone: Paint, text: &str, style: Style) -> Vec<String> {
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
    let mut lines = alarms(judgement, style);
    lines.push(paint(&title(run), Paint::Bold, style));
    lines.extend(notes(run, judgement, style));
    for problem in run.problems.iter().chain(&found.problems) {
        lines.extend(hang("problem:", Paint::Warn, problem, style));
    }
    lines.push(String::new());
    lines.extend(table::configurations(&found.all, style));
    lines.push(String::new());
    if !judgement.expectations.is_empty() {
        lines.extend(expectations(judgement, style));
        lines.push(String::new());
    }
    lines.extend(verdict(judgement, style));
    lines.join("\n") + "\n"
}

/// The findings that make a result doubtful: they come before everything else.
pub fn alarms(judgement: &Judgement, style: Style) -> Vec<String> {
    let alarm = |level, label: &str| {
        let grouped = grouped(judgement, level);
        grouped.into_iter().flat_map(move |text| hang(label, Paint::Bad, &text, style)).collect::<Vec<_>>()
    };
    let mut lines = alarm(Level::Invalid, "INVALID:");
    lines.extend(alarm(Level::Contaminated, "CONTAMINATED:"));
    lines
}

fn title(run: &Run) -> String {
    let record = run.cells.iter().find_map(StoredCell::record);
    let machine = record.map_or(run.meta.machine.as_str(), |record| record.machine.hostname.as_str());
    let kernel = record.map(|record| format!(", Linux {}", record.machine.kernel)).unwrap_or_default();
    let on = if machine.is_empty() { String::new() } else { format!(" on {machine}{kernel}") };
    format!("{}{on}", run.meta.id)
}

/// The rest of the trust checks, a line each, and what could not be had.
fn notes(run: &Run, judgement: &Judgement, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for text in grouped(judgement, Level::Note) {
        lines.extend(hang("note:", Paint::Warn, &text, style));
    }
    let mut unknown: Vec<&str> = Vec::new();
    for finding in judgement.cells.iter().flat_map(|cell| &cell.findings) {
        if finding.level == Level::Unknown && !unknown.contains(&finding.check.as_str()) {
            unknown.push(&finding.check);
        }
    }
    if !unknown.is_empty() {
        lines.extend(hang("not measured:", Paint::Dim, &unknown.join(", "), style));
    }
    let mut skips: Vec<String> = Vec::new();
    for skip in run.cells.iter().filter_map(StoredCell::record).flat_map(|record| &record.skipped) {
        let text = format!("{}: {}", skip.what, skip.why);
        if !skips.contains(&text) {
            skips.push(text);
        }
    }
    lines.extend(skips.iter().flat_map(|skip| hang("skipped:", Paint::Dim, skip, style)));
    lines
}

/// Findings of a level: one text for each check, with the cells that it concerns.
fn grouped(judgement: &Judgement, level: Level) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<(usize, &str)>)> = Vec::new();
    for cell in &judgement.cells {
        for finding in cell.findings.iter().filter(|finding| finding.level == level) {
            let entry = (cell.number, finding.text.as_str());
            match groups.iter_mut().find(|(check, _)| *check == finding.check) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((&finding.check, vec![entry])),
            }
        }
    }
    let measured = judgement.cells.iter().filter(|cell| !cell.findings.is_empty()).count();
    let text = |(check, entries): (&str, Vec<(usize, &str)>)| {
        let (first, text) = entries[0];
        let same = entries.iter().all(|(_, other)| *other == text);
        let numbers = |entries: &[(usize, &str)]| entries.iter().map(|(n, _)| *n as u32).collect::<CpuSet>();
        let whose = match entries.len() {
            all if same && all == measured => String::new(),
            1 => format!(" (cell {first})"),
            _ if same => format!(" (cells {})", numbers(&entries)),
            _ => format!(" (cell {first}; similar in {})", numbers(&entries[1..])),
        };
        format!("{check}: {text}{whose}")
    };
    groups.into_iter().map(text).collect()
}

/// The expectations, each with its verdict and its figure.
fn expectations(judgement: &Judgement, style: Style) -> Vec<String> {
    let all = &judgement.expectations;
    let width = all.iter().map(|one| one.verdict.to_string().len()).max().unwrap_or(0);
    let mut lines = vec![paint("expected", Paint::Dim, style)];
    for one in all {
        let label = format!("  {:<width$} ", one.verdict.to_string());
        lines.extend(hang(&label, tone(one.verdict), &format!("{}: {}", one.text, one.detail), style));
    }
    lines
}

/// The last word: the verdict and the number that decides.
pub fn verdict(judgement: &Judgement, style: Style) -> Vec<String> {
    hang(&format!("{}:", judgement.verdict).to_uppercase(), tone(judgement.verdict), &judgement.headline, style)
}

/// The colour of a verdict.
pub(super) fn tone(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Pass => Paint::Good,
        Verdict::Fail | Verdict::Infra => Paint::Bad,
        Verdict::Inconclusive | Verdict::Contaminated => Paint::Warn,
    }
}

/// The figures of records that could not be stored: nothing measured is lost without having been seen.
pub fn rescue(records: &[&Record], style: Style) -> String {
    let mut lines = Vec::new();
    for record in records {
        lines.push(crate::analyze::label::title(&record.cell));
        lines.extend(super::terminal_show::threads(record, style));
        for series in &record.series {
            let bands = series.headline().bands;
            let text = bands.iter().filter(|band| band.count > 0).map(|band| match band.upto {
                Some(upto) => format!("to {}: {}", crate::units::human(upto), band.count),
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
    use crate::{
        analyze::{
            configuration, judge,
            sample::{Fixture, cell, quiet, record, under, with_spike},
            verdict::ExpectJudgement,
        },
        record::Skip,
    };

    const PLAIN: Style = Style { width: 80, color: false };

    fn printed(fixture: &Fixture) -> String {
        let load = |c: &StoredCell, s: &crate::record::Series| fixture.load(c, s);
        let found = configuration::configurations([&fixture.run], &load).unwrap();
        let mut judgement = judge::judge(&fixture.run, &load);
        for (text, verdict, detail) in [
            ("wakeup.latency.p99.9 < 100us", Verdict::Pass, "wakeup, idle, CPU 1: 4.10 us (and 3 more)"),
            ("gap.gap.max < 100us", Verdict::Inconclusive, "no series matches"),
        ] {
            judgement.expectations.push(ExpectJudgement {
                text: text.into(),
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
        not measured: smi, hypervisor
        skipped: frequency pinning: no cpufreq here

        configuration  samples   min  mean   p50   p99  p99.9    max  >100us  missed
                                  us    us    us    us     us     us
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

    /// Whoever reads one line only must not miss it.
    #[test]
    fn doubt_is_in_the_first_line() {
        let mut fixture = busy();
        for number in [1, 2] {
            let quality = &mut fixture.record(number).quality;
            quality.policy_refused =
                Some("Operation not permitted; allow it with `sudo prlimit --rtprio=99 --pid $$` in this shell".into());
            quality.threads[0].minor_faults = number as u64;
            quality.housekeeping = None;
        }
        let text = printed(&fixture);
        assert!(text.starts_with("INVALID: policy: fifo 80 was refused"), "{text}");
        insta::assert_snapshot!(text, @r#"
        INVALID: policy: fifo 80 was refused: Operation not permitted; allow it with
                 `sudo prlimit --rtprio=99 --pid $$` in this shell
        20261121T200000Z-quick-k3f9 on bench-07, Linux 6.12.48
        note: page faults: 1 minor, 0 major while measuring (cell 1; similar in 2)
        note: housekeeping: every CPU is measured: latido itself runs on them too
        not measured: hypervisor

        configuration  samples   min  mean   p50   p99  p99.9    max  >100us  missed
                                  us    us    us    us     us     us
        idle             20000  2.00  2.64  2.62  3.24   3.25   24.8       0       0
        busy             20000  2.00  2.65  2.62  3.24   3.25  228.0       1       0

        expected
          pass          wakeup.latency.p99.9 < 100us: wakeup, idle, CPU 1: 4.10 us (and
                        3 more)
          inconclusive  gap.gap.max < 100us: no series matches

        INCONCLUSIVE: wakeup, busy: policy: fifo 80 was refused: Operation not
                      permitted; allow it with `sudo prlimit --rtprio=99 --pid $$` in
                      this shell; 1 of 20000 samples above the limit of 100 us, worst
                      228 us (latency, CPU 1) (2 of 2 cells)
        "#);
    }

    #[test]
    fn what_could_not_be_stored_is_still_seen() {
        insta::assert_snapshot!(rescue(&[&record()], PLAIN), @r#"
        wakeup, idle
        thread         samples   min  mean   p50   p99  p99.9   max  late  missed
                                  us    us    us    us     us    us
        latency CPU 0    10000  2.00  2.64  2.62  3.24   3.25  24.8     0       0
        latency CPU 1    10000  2.00  2.64  2.62  3.24   3.25  24.8     0       0
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
