//! Expectations: each must hold for every matching series or pair; an expectation that matches nothing is inconclusive.

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

/// Judges the expectations of a run whose cells are judged. Returns each with the distance of the deciding figure from the bound; below 0
/// the expectation holds. All comparisons of a plan are one family: the probability that any of them is wrong is at most 5 %.
pub(super) fn judge(run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Vec<(ExpectJudgement, f64)> {
    let all = &run.plan.expect;
    let mut found = weigh(all, run, cells, source);
    settle::family(&mut found);
    found.into_iter().zip(all).map(|(found, expect)| found.decide(expect, run)).collect()
}

/// Evaluates each expectation at each place.
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

/// Evaluates an expectation that compares pairs or that the scale rules out; [`weigh`] evaluates expectations against values, cell by cell.
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

/// The data of one series, which latido reads once.
struct Once<'a> {
    source: &'a dyn SeriesSource,
    /// The data, or why they cannot be read.
    read: OnceCell<Result<SeriesData, String>>,
}

impl SeriesSource for Once<'_> {
    fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
        let read = || self.source.series(cell, series).map_err(|error| format!("{error:#}"));
        self.read.get_or_init(read).clone().map_err(anyhow::Error::msg)
    }
}

/// Whether the plan's scale rules out a statement: a shorter measurement cannot judge what grows with its length.
pub fn is_lost(plan: &Plan, expect: &Expect) -> bool {
    plan.scaled.is_some_and(|part| part < 1.0) && grows(expect.statistic)
}

/// Whether a figure grows with the length of the measurement.
pub fn grows(statistic: Statistic) -> bool {
    matches!(statistic, Statistic::Max | Statistic::Count | Statistic::Missed | Statistic::Late | Statistic::Above(_))
}

/// The result of an expectation at one place.
struct Weighed {
    verdict: Verdict,
    /// How far the figure is beyond the bound, as a fraction of the bound.
    beyond: f64,
    place: String,
    measured: Measured,
}

/// The results of an expectation, one entry per place.
#[derive(Default)]
struct Found {
    all: Vec<Weighed>,
    /// The judgement of each series, with how far it is beyond the bound.
    each: Vec<(f64, SeriesJudgement)>,
    /// Comparisons that need the p-values of their whole family.
    open: Vec<settle::Open>,
    /// Places whose cell has no record, with the reason: each place once.
    without: BTreeSet<(String, Option<String>)>,
}

impl Found {
    fn add(&mut self, verdict: Verdict, beyond: f64, place: String, measured: Measured) {
        self.all.push(Weighed { verdict, beyond, place, measured });
    }

    /// Adds a cell that the expectation needs but that has no record.
    fn without(&mut self, place: String, cell: &StoredCell) {
        let why = match &cell.state {
            CellState::Skipped(reason) | CellState::Infra(reason) => Some(reason.clone()),
            _ => None,
        };
        if self.without.insert((place.clone(), why.clone())) {
            self.add(Verdict::Inconclusive, 0.0, place, Measured::Nothing(why));
        }
    }

    /// Decides the expectation: the most severe verdict counts, and for it the figure farthest beyond the bound.
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

/// Evaluates the expectations against values that concern a cell, series by series. latido reads the data of a series once for all
/// expectations, and frees them before the next series.
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

/// Returns the verdict of one series, how far it is on the wrong side (for sorting), and its thread and figure.
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

/// Returns the verdict and the reason if latido can conclude nothing from the cell.
fn doubt(judged: &CellJudgement) -> Option<(Verdict, But)> {
    let verdict = match judged.verdict {
        Verdict::Infra => Verdict::Inconclusive,
        verdict if judged.is_invalid() => verdict,
        _ => return None,
    };
    let first: Option<&Reason> = judged.reasons.first();
    Some((verdict, But::Doubt(first.cloned().map(Box::new))))
}

/// Whether everything above a bound in a tail comes from outside the system under test; `None` where no sample is above it, or where latido
/// cannot determine it.
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

/// Whether a series belongs to the quantity that the expectation is about.
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
