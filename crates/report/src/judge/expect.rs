//! Expectations: each must hold for every matching series or pair; what does not match anything is inconclusive.

mod compare;
mod figure;
#[cfg(test)]
mod tests;

use super::{
    deciding::{Deciding, Stored},
    judgement::{CellJudgement, ExpectJudgement, SeriesJudgement},
    label::title,
};
use latido_model::{
    plan::{Against, Expect, Filter, Op, Statistic, expect::is_of_series},
    record::{Record, Series},
    run::{CellState, Run, SeriesSource, StoredCell},
    verdict::Verdict,
};

/// Judges one expectation on a run whose cells are judged.
pub fn judge(expect: &Expect, run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> ExpectJudgement {
    weigh(expect, run, cells, source).0
}

/// The same with how far out the deciding figure is, in parts of the figure expected: below 0 it holds.
pub(super) fn weigh(
    expect: &Expect,
    run: &Run,
    cells: &[CellJudgement],
    source: &dyn SeriesSource,
) -> (ExpectJudgement, f64) {
    let found = match &expect.against {
        Against::Value(value) => against_value(expect, *value, run, cells, source),
        Against::Than(than) => compare::all(expect, than, run, cells, source),
    };
    found.decide(expect, run)
}

/// What an expectation comes to, one entry each.
#[derive(Default)]
struct Found {
    /// Verdict, how far beyond what was expected in parts of it, and where and what.
    all: Vec<(Verdict, f64, String)>,
    /// The same of the series that were looked at.
    each: Vec<(f64, SeriesJudgement)>,
}

impl Found {
    /// A cell that it needs and that has no record.
    fn without(&mut self, cell: &StoredCell) {
        let why = match &cell.state {
            CellState::Skipped(reason) | CellState::Infra(reason) => format!(": {reason}"),
            _ => String::new(),
        };
        let text = format!("{}: not measured{why}", title(&cell.cell));
        if self.all.iter().all(|(_, _, known)| *known != text) {
            self.all.push((Verdict::Inconclusive, 0.0, text));
        }
    }

    /// The heaviest verdict decides, and within it the figure farthest out.
    fn decide(mut self, expect: &Expect, run: &Run) -> (ExpectJudgement, f64) {
        let Self { all, each } = &mut self;
        all.sort_by(|a, b| b.0.in_one().cmp(&a.0.in_one()).then(b.1.total_cmp(&a.1)));
        each.sort_by(|a, b| b.1.verdict.in_one().cmp(&a.1.verdict.in_one()).then(b.0.total_cmp(&a.0)));
        let (verdict, beyond, detail) = match all.first() {
            None => (Verdict::Inconclusive, 0.0, "no series matches".into()),
            Some((verdict, beyond, worst)) => {
                let alike = all.iter().filter(|other| other.0 == *verdict).count();
                let more = if alike > 1 { format!(" (and {} more)", alike - 1) } else { String::new() };
                (*verdict, *beyond, format!("{worst}{more}"))
            }
        };
        let judgement = ExpectJudgement {
            text: expect.text.clone(),
            claim: expect.claim.clone(),
            of_study: run.plan.source.is_some(),
            verdict,
            detail,
            each: self.each.into_iter().map(|(_, judged)| judged).collect(),
        };
        (judgement, beyond)
    }
}

fn against_value(expect: &Expect, value: f64, run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Found {
    let mut found = Found::default();
    for (cell, judged) in run.cells.iter().zip(cells) {
        if !expect.covers(&cell.cell, &cell.measurand) {
            continue;
        }
        let Some(record) = cell.record() else {
            found.without(cell);
            continue;
        };
        for series in record.series.iter().filter(|series| matches_series(expect, &expect.filter, record, series)) {
            let (verdict, beyond, measured) = judge_series(expect, value, cell, judged, record, series, source);
            let beyond = beyond / value.abs().max(1.0);
            found.all.push((verdict, beyond, format!("{}, {measured}", title(&cell.cell))));
            let (quantity, labels) = (series.quantity.clone(), series.labels.clone());
            found.each.push((beyond, SeriesJudgement { cell: cell.number, quantity, labels, verdict, measured }));
        }
    }
    found
}

/// The verdict of one series, how far it is on the wrong side (for sorting), and its thread and figure in words.
fn judge_series(
    expect: &Expect,
    bound: f64,
    cell: &StoredCell,
    judged: &CellJudgement,
    record: &Record,
    series: &Series,
    source: &dyn SeriesSource,
) -> (Verdict, f64, String) {
    let whose = series.cpu.map_or_else(|| format!("thread {}", series.thread), |cpu| format!("CPU {cpu}"));
    let value = match figure::of(expect, &[(cell, series)], source) {
        Ok(Some(value)) => value,
        Ok(None) => {
            let why = figure::missing(expect.statistic, &[(cell, series)]);
            return (Verdict::Inconclusive, 0.0, format!("{whose}: {why}"));
        }
        Err(error) => return (Verdict::Inconclusive, 0.0, format!("{whose}: {error:#}")),
    };
    let text = format!("{whose}: {}", figure::text(expect, series, value));
    let beyond = match expect.op {
        Op::Less | Op::AtMost => value - bound,
        Op::Greater | Op::AtLeast => bound - value,
    };
    if let Some((verdict, why)) = doubt(judged) {
        return (verdict, beyond, format!("{text}, but {why}"));
    }
    if holds(expect.op, value, bound) {
        return (Verdict::Pass, beyond, text);
    }
    let upper = matches!(expect.op, Op::Less | Op::AtMost);
    if upper && is_foreign_above(expect, bound, cell, record, series, source) == Some(true) {
        return (Verdict::Contaminated, beyond, format!("{text}, in seconds with foreign time"));
    }
    (Verdict::Fail, beyond, text)
}

/// The verdict of a cell of which nothing can be concluded, and why.
fn doubt(judged: &CellJudgement) -> Option<(Verdict, &str)> {
    let verdict = match judged.verdict {
        Verdict::Infra => Verdict::Inconclusive,
        verdict if judged.is_invalid() => verdict,
        _ => return None,
    };
    Some((verdict, judged.reasons.first().map(String::as_str).unwrap_or_default()))
}

/// Whether what is above a bound in a tail is foreign as a whole; `None` where nothing is, or nothing can be told.
fn is_foreign_above(
    expect: &Expect,
    bound: f64,
    cell: &StoredCell,
    record: &Record,
    series: &Series,
    source: &dyn SeriesSource,
) -> Option<bool> {
    let tail = matches!(expect.statistic, Statistic::Max | Statistic::Quantile(_));
    let timed = tail && series.unit == "ns";
    let data = timed.then(|| source.series(cell, series).ok()).flatten()?;
    let stored = Stored { count: series.count, cpu: series.cpu, largest: &data.largest };
    let deciding = Deciding::new(record, Some(bound), &[stored]);
    (deciding.count > 0).then(|| deciding.is_foreign())
}

fn matches_series(expect: &Expect, filter: &Filter, record: &Record, series: &Series) -> bool {
    let mut of_series = filter.iter().filter(|(key, _)| is_of_series(key));
    record.probe == expect.probe
        && series.quantity == expect.quantity
        && of_series.all(|(key, wanted)| value_of(series, key).as_ref() == Some(wanted))
}

/// What a series has for a key that is about series.
fn value_of(series: &Series, key: &str) -> Option<String> {
    match key {
        "cpu" => series.cpu.map(|cpu| cpu.to_string()),
        label => series.labels.get(label).cloned(),
    }
}

fn holds(op: Op, value: f64, bound: f64) -> bool {
    match op {
        Op::Less => value < bound,
        Op::AtMost => value <= bound,
        Op::Greater => value > bound,
        Op::AtLeast => value >= bound,
    }
}
