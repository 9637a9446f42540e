//! Expectations: each must hold for every matching series; what does not match anything is inconclusive.

use super::{
    Load,
    configuration::sum,
    deciding::{Deciding, Stored},
    label::title,
    summary::{self, Exact},
    verdict::{CellJudgement, ExpectJudgement, SeriesJudgement, Verdict},
};
use crate::{
    plan::{Expect, Op, Statistic},
    record::{QUANTILES, Record, Series},
    store::{Run, StoredCell},
    units::human,
};
use anyhow::Result;

/// Judges one expectation on a run whose cells are judged.
pub fn judge(expect: &Expect, run: &Run, cells: &[CellJudgement], load: Load<'_>) -> ExpectJudgement {
    weigh(expect, run, cells, load).0
}

/// The same with how far out the deciding figure is, in parts of the value expected: below 0 it holds.
pub(super) fn weigh(expect: &Expect, run: &Run, cells: &[CellJudgement], load: Load<'_>) -> (ExpectJudgement, f64) {
    let mut found: Vec<(Verdict, f64, String)> = Vec::new();
    let mut each: Vec<(f64, SeriesJudgement)> = Vec::new();
    for (cell, judged) in run.cells.iter().zip(cells) {
        if !matches_cell(expect, cell) {
            continue;
        }
        let Some(record) = cell.record() else {
            found.push((Verdict::Inconclusive, 0.0, format!("{}: not measured", title(&cell.cell))));
            continue;
        };
        for series in record.series.iter().filter(|series| matches_series(expect, record, series)) {
            let (verdict, beyond, measured) = judge_series(expect, cell, judged, record, series, load);
            found.push((verdict, beyond, format!("{}, {measured}", title(&cell.cell))));
            let (quantity, labels) = (series.quantity.clone(), series.labels.clone());
            each.push((beyond, SeriesJudgement { cell: cell.number, quantity, labels, verdict, measured }));
        }
    }
    let text = expect.text.clone();
    // The heaviest verdict decides, and within it the figure farthest out.
    found.sort_by(|a, b| b.0.in_one().cmp(&a.0.in_one()).then(b.1.total_cmp(&a.1)));
    each.sort_by(|a, b| b.1.verdict.in_one().cmp(&a.1.verdict.in_one()).then(b.0.total_cmp(&a.0)));
    let each = each.into_iter().map(|(_, judged)| judged).collect();
    let Some((verdict, beyond, worst)) = found.first() else {
        let detail = "no series matches".into();
        return (ExpectJudgement { text, verdict: Verdict::Inconclusive, detail, each }, 0.0);
    };
    let alike = found.iter().filter(|other| other.0 == *verdict).count();
    let detail = if alike > 1 { format!("{worst} (and {} more)", alike - 1) } else { worst.clone() };
    (ExpectJudgement { text, verdict: *verdict, detail, each }, beyond / expect.value.abs().max(1.0))
}

/// The verdict of one series, how far it is on the wrong side (for sorting), and its thread and figure in words.
fn judge_series(
    expect: &Expect,
    cell: &StoredCell,
    judged: &CellJudgement,
    record: &Record,
    series: &Series,
    load: Load<'_>,
) -> (Verdict, f64, String) {
    let whose = series.cpu.map_or_else(|| format!("thread {}", series.thread), |cpu| format!("CPU {cpu}"));
    let value = match figure(expect.statistic, cell, series, load) {
        Ok(Some(value)) => value,
        Ok(None) => return (Verdict::Inconclusive, 0.0, format!("{whose}: {}", missing(expect.statistic, series))),
        Err(error) => return (Verdict::Inconclusive, 0.0, format!("{whose}: {error:#}")),
    };
    let text = format!("{whose}: {}", figure_text(expect.statistic, series, value));
    let beyond = match expect.op {
        Op::Less | Op::AtMost => value - expect.value,
        Op::Greater | Op::AtLeast => expect.value - value,
    };
    if judged.verdict == Verdict::Infra || judged.is_invalid() {
        let why = judged.reasons.first().map(String::as_str).unwrap_or_default();
        let verdict = if judged.verdict == Verdict::Infra { Verdict::Inconclusive } else { judged.verdict };
        return (verdict, beyond, format!("{text}, but {why}"));
    }
    if holds(expect.op, value, expect.value) {
        return (Verdict::Pass, beyond, text);
    }
    if is_foreign(expect, cell, record, series, load) {
        return (Verdict::Contaminated, beyond, format!("{text}, in seconds with foreign time"));
    }
    (Verdict::Fail, beyond, text)
}

/// Whether what fails an upper bound is foreign as a whole.
fn is_foreign(expect: &Expect, cell: &StoredCell, record: &Record, series: &Series, load: Load<'_>) -> bool {
    let tail = matches!(expect.statistic, Statistic::Max | Statistic::Quantile(_));
    let upper = matches!(expect.op, Op::Less | Op::AtMost);
    let Ok(data) = load(cell, series) else { return false };
    let stored = Stored { count: series.count, cpu: series.cpu, largest: &data.largest };
    tail && upper && Deciding::new(record, Some(expect.value), &[stored]).is_foreign()
}

fn matches_cell(expect: &Expect, cell: &StoredCell) -> bool {
    expect.covers(&cell.cell)
}

fn matches_series(expect: &Expect, record: &Record, series: &Series) -> bool {
    const AXES: &[&str] = &["kernel", "tuning", "load", "scheduling", "probe", "repeat"];
    record.probe == expect.probe
        && series.quantity == expect.quantity
        && expect.filter.iter().filter(|(key, _)| !AXES.contains(&key.as_str())).all(|(key, wanted)| {
            match key.as_str() {
                "cpu" => series.cpu.is_some_and(|cpu| cpu.to_string() == *wanted),
                label => series.labels.get(label) == Some(wanted),
            }
        })
}

fn holds(op: Op, value: f64, bound: f64) -> bool {
    match op {
        Op::Less => value < bound,
        Op::AtMost => value <= bound,
        Op::Greater => value > bound,
        Op::AtLeast => value >= bound,
    }
}

/// The figure of the headline distribution; `None` where the samples do not give one.
fn figure(statistic: Statistic, cell: &StoredCell, series: &Series, load: Load<'_>) -> Result<Option<f64>> {
    let headline = series.headline();
    Ok(match statistic {
        Statistic::Count => Some(headline.count as f64),
        Statistic::Min => headline.min.map(|value| value as f64),
        Statistic::Mean => headline.mean,
        Statistic::Sd => headline.sd,
        Statistic::Max => headline.max.map(|value| value as f64),
        Statistic::Missed => series.slots.map(|slots| slots.missed as f64),
        Statistic::Late => series.slots.map(|slots| slots.late as f64),
        Statistic::Quantile(p) => match QUANTILES.iter().find(|(_, known)| (known - p).abs() < 1e-12) {
            Some((key, _)) => headline.quantiles.get(*key).copied().flatten().map(|value| value as f64),
            None => {
                let data = load(cell, series)?;
                let missed = if series.corrected.is_some() { data.missed.as_ref() } else { None };
                let histogram = sum([&data.histogram].into_iter().chain(missed))?;
                let (count, min, max, overflow) = (headline.count, headline.min, headline.max, series.overflow);
                let exact = Exact { count, min, max, overflow, ..Exact::default() };
                summary::quantile(&exact, &histogram, p).map(|value| value as f64)
            }
        },
    })
}

fn missing(statistic: Statistic, series: &Series) -> String {
    match statistic {
        Statistic::Missed | Statistic::Late => "counts no slots".into(),
        _ => format!("{} samples are too few", series.headline().count),
    }
}

fn figure_text(statistic: Statistic, series: &Series, value: f64) -> String {
    match statistic {
        Statistic::Count | Statistic::Missed | Statistic::Late => format!("{value}"),
        _ if series.unit == "ns" => human(value.round() as i64),
        _ => format!("{value} {}", series.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analyze::{
            judge,
            sample::{Fixture, cell, probing, quiet, under, with_spike},
        },
        record::Second,
        store::CellState,
    };

    fn fixture() -> Fixture {
        Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("busy"), vec![quiet(0), with_spike(1, 3_000, 150_000)]),
            (probing("gap"), vec![quiet(2)]),
        ])
    }

    fn expect(filter: &[(&str, &str)], statistic: Statistic, op: Op, value: f64) -> Expect {
        Expect {
            filter: filter.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
            probe: "wakeup".into(),
            quantity: "latency".into(),
            statistic,
            op,
            value,
            text: "as written".into(),
            line: 1,
        }
    }

    fn judged(fixture: &Fixture, expect: &Expect) -> (Verdict, String) {
        let load = |c: &StoredCell, s: &Series| fixture.load(c, s);
        let cells = fixture.run.cells.iter().map(|cell| judge::cell(cell, &load)).collect::<Vec<_>>();
        let judged = super::judge(expect, &fixture.run, &cells, &load);
        (judged.verdict, judged.detail)
    }

    #[test]
    fn it_must_hold_for_every_matching_series() {
        let fixture = fixture();
        let max = |filter, value| judged(&fixture, &expect(filter, Statistic::Max, Op::Less, value));
        assert_eq!(max(&[("load", "idle")], 100_000.0).0, Verdict::Pass);
        let (verdict, detail) = max(&[], 100_000.0);
        assert_eq!((verdict, detail.as_str()), (Verdict::Fail, "wakeup, busy, CPU 1: 150 us"));
        assert_eq!(max(&[("load", "busy"), ("cpu", "0")], 100_000.0).0, Verdict::Pass);
        let (verdict, detail) = max(&[], 1_000.0);
        assert_eq!((verdict, detail.as_str()), (Verdict::Fail, "wakeup, busy, CPU 1: 150 us (and 3 more)"));
    }

    #[test]
    fn every_series_that_it_looks_at_is_told() {
        let fixture = fixture();
        let load = |c: &StoredCell, s: &Series| fixture.load(c, s);
        let cells = fixture.run.cells.iter().map(|cell| judge::cell(cell, &load)).collect::<Vec<_>>();
        let max = expect(&[], Statistic::Max, Op::Less, 100_000.0);
        let each = super::judge(&max, &fixture.run, &cells, &load).each;
        // The heaviest first.
        let told: Vec<_> = each.iter().map(|one| (one.cell, one.verdict, one.measured.as_str())).collect();
        assert_eq!(told.len(), 4);
        assert_eq!(told[0], (2, Verdict::Fail, "CPU 1: 150 us"));
        assert_eq!(told[3].1, Verdict::Pass);
    }

    #[test]
    fn no_match_and_too_few_samples_are_inconclusive() {
        let fixture = fixture();
        let none = judged(&fixture, &expect(&[("load", "none")], Statistic::Max, Op::Less, 1e9));
        assert_eq!(none, (Verdict::Inconclusive, "no series matches".into()));
        let few = judged(&fixture, &expect(&[], Statistic::Quantile(0.99999), Op::Less, 1e9));
        assert_eq!(few.0, Verdict::Inconclusive);
        assert!(few.1.contains("10000 samples are too few"), "{}", few.1);
    }

    #[test]
    fn a_matching_cell_that_was_not_measured_is_inconclusive() {
        let mut fixture = fixture();
        fixture.run.cells[0].state = CellState::Pending;
        let (verdict, detail) = judged(&fixture, &expect(&[], Statistic::Min, Op::Greater, 0.0));
        assert_eq!((verdict, detail.as_str()), (Verdict::Inconclusive, "wakeup, idle: not measured"));
    }

    #[test]
    fn every_statistic_has_its_figure() {
        let fixture = fixture();
        let idle = |statistic, op, value| judged(&fixture, &expect(&[("load", "idle")], statistic, op, value)).0;
        for (statistic, low, high) in [
            (Statistic::Count, 9_999.0, 10_001.0),
            (Statistic::Min, 1_999.0, 2_001.0),
            (Statistic::Mean, 2_500.0, 2_700.0),
            (Statistic::Sd, 300.0, 800.0),
            (Statistic::Quantile(0.5), 2_600.0, 2_640.0),
            (Statistic::Quantile(0.25), 2_300.0, 2_320.0),
            (Statistic::Missed, -1.0, 1.0),
            (Statistic::Late, -1.0, 1.0),
        ] {
            assert_eq!(idle(statistic, Op::Greater, low), Verdict::Pass, "{statistic:?}");
            assert_eq!(idle(statistic, Op::AtMost, high), Verdict::Pass, "{statistic:?}");
            assert_eq!(idle(statistic, Op::AtLeast, high), Verdict::Fail, "{statistic:?}");
        }
    }

    #[test]
    fn an_invalid_cell_gives_no_pass_and_foreign_time_no_fail() {
        let mut invalid = fixture();
        invalid.record(1).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
        let (verdict, detail) = judged(&invalid, &expect(&[("load", "idle")], Statistic::Max, Op::Less, 100_000.0));
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(detail.contains("refused"), "{detail}");

        let mut stolen = fixture();
        let second =
            Second { start_ns: 3_000_000_000, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() };
        stolen.record(2).quality.timeline.push(second);
        let (verdict, detail) = judged(&stolen, &expect(&[("load", "busy")], Statistic::Max, Op::Less, 100_000.0));
        assert_eq!(verdict, Verdict::Contaminated, "{detail}");
    }
}
