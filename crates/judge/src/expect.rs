//! Expectations: each must hold for every matching series or pair; what does not match anything is inconclusive.

mod compare;
#[cfg(test)]
mod comparison_tests;
mod figure;
mod pairing;
pub mod planned;
mod repeats;
mod settle;
#[cfg(test)]
mod tests;

use self::pairing::Tells;
use super::{
    coarse,
    deciding::Stored,
    foreign,
    judgement::{CellJudgement, ExpectJudgement, SeriesJudgement},
    measured::{But, Decision, Measured, Missing, Whose},
    names::Names,
    outcome::Outcome,
    reason::Reason,
};
use latido_model::{
    plan::{Against, Expect, Op, Plan, Sentence, Statistic},
    record::{Record, Series},
    run::{CellState, Run, SeriesData, SeriesSource, StoredCell},
    verdict::Verdict,
};
use std::{cell::OnceCell, collections::BTreeSet};

/// Judges the expectations of a run whose cells are judged, each with how far out the deciding figure is: below 0 it
/// holds. All comparisons of a plan are one family: together they say something false with at most 5 %.
pub(super) fn judge(run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Vec<(ExpectJudgement, f64)> {
    let all = &run.plan.expect;
    let mut found = weigh(all, run, cells, source);
    settle::family(&mut found);
    found.into_iter().zip(all).map(|(found, expect)| found.decide(expect, run)).collect()
}

/// What each expectation comes to at each place.
fn weigh(all: &[Expect], run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Vec<Found> {
    let mut found: Vec<Found> = all.iter().map(|expect| look(expect, run, cells, source)).collect();
    let names = Names::of_run(run);
    for (cell, judged) in run.cells.iter().zip(cells) {
        let of_value = all.iter().zip(&mut found).filter_map(|(expect, found)| match expect.against {
            Against::Value(value) if !is_lost(&run.plan, expect) && expect.covers(&cell.cell, &cell.measurand) => {
                Some((expect, value, found))
            }
            _ => None,
        });
        against_values(of_value.collect(), &names, (cell, judged), source);
    }
    found
}

/// An expectation that looks at pairs, or at nothing; what it comes to in each cell is [`weigh`]'s.
fn look(expect: &Expect, run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Found {
    if let Some(part) = run.plan.scaled.filter(|_| is_lost(&run.plan, expect)) {
        let mut found = Found::default();
        found.add(Verdict::Inconclusive, 0.0, expect.metric(), Measured::Scaled(part));
        return found;
    }
    match &expect.against {
        Against::Value(_) => Found::default(),
        Against::Than(than) => compare::all(expect, than, run, cells, source),
    }
}

/// The data of one series, read once.
struct Once<'a> {
    source: &'a dyn SeriesSource,
    /// With what is wrong where they cannot be read.
    read: OnceCell<Result<SeriesData, String>>,
}

impl SeriesSource for Once<'_> {
    fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
        let read = || self.source.series(cell, series).map_err(|error| format!("{error:#}"));
        self.read.get_or_init(read).clone().map_err(anyhow::Error::msg)
    }
}

/// Whether a scale takes a statement away: a shorter measurement says nothing of what grows with its length.
pub fn is_lost(plan: &Plan, expect: &Expect) -> bool {
    plan.scaled.is_some_and(|part| part < 1.0) && grows(expect.statistic)
}

/// Whether a figure grows with the length of the measurement.
pub fn grows(statistic: Statistic) -> bool {
    matches!(statistic, Statistic::Max | Statistic::Count | Statistic::Missed | Statistic::Late | Statistic::Above(_))
}

/// What an expectation comes to at one place.
struct Weighed {
    verdict: Verdict,
    /// How far beyond what was expected, in parts of it.
    beyond: f64,
    place: String,
    measured: Measured,
}

/// What an expectation comes to, one entry each.
#[derive(Default)]
struct Found {
    all: Vec<Weighed>,
    /// How far beyond, and the same of the series that were looked at.
    each: Vec<(f64, SeriesJudgement)>,
    /// Comparisons that wait for the others of their family.
    open: Vec<settle::Open>,
    /// Where a cell has no record, and why: each once.
    without: BTreeSet<(String, Option<String>)>,
}

impl Found {
    fn add(&mut self, verdict: Verdict, beyond: f64, place: String, measured: Measured) {
        self.all.push(Weighed { verdict, beyond, place, measured });
    }

    /// A cell that it needs and that has no record.
    fn without(&mut self, place: String, cell: &StoredCell) {
        let why = match &cell.state {
            CellState::Skipped(reason) | CellState::Infra(reason) => Some(reason.clone()),
            _ => None,
        };
        if self.without.insert((place.clone(), why.clone())) {
            self.add(Verdict::Inconclusive, 0.0, place, Measured::Nothing(why));
        }
    }

    /// The heaviest verdict decides, and within it the figure farthest out.
    fn decide(mut self, expect: &Expect, run: &Run) -> (ExpectJudgement, f64) {
        let Self { all, each, .. } = &mut self;
        all.sort_by(|a, b| {
            b.verdict.weight_for_item().cmp(&a.verdict.weight_for_item()).then(b.beyond.total_cmp(&a.beyond))
        });
        each.sort_by(|a, b| {
            b.1.verdict.weight_for_item().cmp(&a.1.verdict.weight_for_item()).then(b.0.total_cmp(&a.0))
        });
        let first = self.all.first();
        let verdict = first.map_or(Verdict::Inconclusive, |worst| worst.verdict);
        let beyond = first.map_or(0.0, |worst| worst.beyond);
        let alike = self.all.iter().skip(1).filter(|other| other.verdict == verdict).count();
        let decision =
            first.map(|worst| Decision { place: worst.place.clone(), measured: worst.measured.clone(), alike });
        let judgement = ExpectJudgement {
            text: expect.text.clone(),
            condition: expect.condition(),
            claim: expect.claim.clone(),
            of_study: match &expect.of {
                Some(whose) => matches!(whose, Sentence::Study(_)),
                None => run.plan.source.is_some(),
            },
            conclusion: match &expect.of {
                Some(Sentence::Study(number)) => Some(number.clone()),
                _ => None,
            },
            verdict,
            outcome: Outcome::of(verdict, decision.as_ref()),
            decision,
            each: self.each.into_iter().map(|(_, judged)| judged).collect(),
        };
        (judgement, beyond)
    }
}

/// What expectations against values come to in a cell that they are about. Series by series: the data of each are read once, however
/// many expectations look at them, and are let go before the next.
fn against_values(
    mut all: Vec<(&Expect, f64, &mut Found)>,
    names: &Names,
    (cell, judged): (&StoredCell, &CellJudgement),
    source: &dyn SeriesSource,
) {
    let Some(record) = cell.record() else {
        all.into_iter().for_each(|(_, _, found)| found.without(names.of(&cell.cell), cell));
        return;
    };
    for series in &record.series {
        let once = Once { source, read: OnceCell::new() };
        let tells = Tells { cell: &cell.cell, quantity: &series.quantity, labels: &series.labels, cpu: series.cpu };
        for (expect, value, found) in &mut all {
            if !is_of(expect, record, series) || !tells.has(&expect.filter) {
                continue;
            }
            let (verdict, beyond, measured) = judge_series(expect, *value, cell, judged, record, series, &once);
            let beyond = beyond / value.abs().max(1.0);
            found.add(verdict, beyond, names.of(&cell.cell), measured.clone());
            let (quantity, labels) = (series.quantity.clone(), series.labels.clone());
            found.each.push((beyond, SeriesJudgement { cell: cell.number, quantity, labels, verdict, measured }));
        }
    }
}

/// The verdict of one series, how far it is on the wrong side (for sorting), and its thread and figure.
fn judge_series(
    expect: &Expect,
    bound: f64,
    cell: &StoredCell,
    judged: &CellJudgement,
    record: &Record,
    series: &Series,
    source: &dyn SeriesSource,
) -> (Verdict, f64, Measured) {
    let whose = series.cpu.map_or(Whose::Thread(series.thread), Whose::Cpu);
    let without = |why| (Verdict::Inconclusive, 0.0, Measured::Single { whose, amount: Err(why), but: None });
    let over = |value: f64| match expect.op {
        Op::Less | Op::AtMost => value - bound,
        Op::Greater | Op::AtLeast => bound - value,
    };
    if let Some(reach) = figure::reach(expect, cell, series, source) {
        let amount = |value| figure::amount(expect, series, value);
        let end = reach.1.unwrap_or(reach.0);
        let (verdict, but) = match (doubt(judged), coarse::holds(expect.op, reach, bound)) {
            (Some((verdict, why)), _) => (verdict, Some(why)),
            (None, Some(true)) => (Verdict::Pass, None),
            (None, Some(false)) => (Verdict::Fail, None),
            (None, None) => (Verdict::Inconclusive, Some(But::Coarse(amount(reach.0), reach.1.map(amount)))),
        };
        return (verdict, over(end), Measured::Single { whose, amount: Ok(amount(end)), but });
    }
    let value = match figure::of(expect, &[(cell, series)], source) {
        Ok(Some(value)) => value,
        Ok(None) => return without(figure::missing(expect.statistic, &[(cell, series)])),
        Err(error) => return without(Missing::Unfit(format!("{error:#}"))),
    };
    let with = |but| Measured::Single { whose, amount: Ok(figure::amount(expect, series, value)), but };
    let beyond = over(value);
    if let Some((verdict, why)) = doubt(judged) {
        return (verdict, beyond, with(Some(why)));
    }
    if holds(expect.op, value, bound) {
        return (Verdict::Pass, beyond, with(None));
    }
    let upper = matches!(expect.op, Op::Less | Op::AtMost);
    if upper && is_foreign_above(expect, bound, cell, record, series, source) == Some(true) {
        return (Verdict::Contaminated, beyond, with(Some(But::ForeignSeconds)));
    }
    (Verdict::Fail, beyond, with(None))
}

/// The verdict of a cell of which nothing can be concluded, and why.
fn doubt(judged: &CellJudgement) -> Option<(Verdict, But)> {
    let verdict = match judged.verdict {
        Verdict::Infra => Verdict::Inconclusive,
        verdict if judged.is_invalid() => verdict,
        _ => return None,
    };
    let first: Option<&Reason> = judged.reasons.first();
    Some((verdict, But::Doubt(first.cloned().map(Box::new))))
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
    let told = foreign::is_of_samples(expect.statistic, &series.unit);
    let data = told.then(|| source.series(cell, series).ok()).flatten()?;
    let stored = Stored { thread: series.thread, count: series.count, cpu: series.cpu, largest: &data.largest };
    foreign::is_foreign_above(record, bound, stored)
}

/// Whether a series is of the quantity that an expectation is about.
fn is_of(expect: &Expect, record: &Record, series: &Series) -> bool {
    record.probe == expect.probe && series.quantity == expect.quantity
}

fn holds(op: Op, value: f64, bound: f64) -> bool {
    match op {
        Op::Less => value < bound,
        Op::AtMost => value <= bound,
        Op::Greater => value > bound,
        Op::AtLeast => value >= bound,
    }
}
