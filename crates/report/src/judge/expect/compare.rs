//! Comparisons: a figure against the same figure where named axes have other levels and all else agrees.

use super::{Found, doubt, figure, holds, is_foreign_above, matches_series, value_of};
use crate::judge::{
    judgement::{CellJudgement, SeriesJudgement},
    label::title,
    measured::{But, Compared, Measured, Missing},
};
use latido_model::{
    cell::{Axis, Cell},
    plan::{
        Expect, Filter, Op, Than,
        expect::{is_level, is_of_series, level_of, picked, reads},
    },
    record::{Record, Series},
    run::{Run, SeriesSource, StoredCell},
    verdict::Verdict,
};
use std::collections::BTreeMap;

/// The axes on which two sides can differ: boots are repeats, and probes are compared with their options.
fn system_axes() -> impl Iterator<Item = Axis> {
    Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe))
}

/// One side: all threads and repeats of a configuration, pooled.
struct Side<'a> {
    /// What the other side must have too.
    pair: String,
    /// Everything that tells it from others.
    own: String,
    /// How it differs, in words: `isolated`.
    name: String,
    members: Vec<Member<'a>>,
}

#[derive(Clone, Copy)]
struct Member<'a> {
    cell: &'a StoredCell,
    judged: &'a CellJudgement,
    record: &'a Record,
    series: &'a Series,
}

/// Every pair of a run that an expectation compares.
pub(super) fn all(
    expect: &Expect,
    than: &Than,
    run: &Run,
    cells: &[CellJudgement],
    source: &dyn SeriesSource,
) -> Found {
    let mut found = Found::default();
    let kept = expect.filter.iter().filter(|(key, _)| than.levels.iter().all(|(other, _)| other != key));
    let there: Filter = kept.chain(&than.levels).cloned().collect();
    let names = names(run);
    let (mut here, mut other): (Vec<Side<'_>>, Vec<Side<'_>>) = (Vec::new(), Vec::new());
    let (mut untold, mut unpaired) = (Vec::new(), Vec::new());
    for (cell, judged) in run.cells.iter().zip(cells) {
        // A level of `than` is on the other side, also where `where` would cover it.
        let is_there = has(&cell.cell, &than.levels, &names);
        let covers_here = expect.covers(&cell.cell, &cell.measurand)
            && !(is_there && than.levels.iter().all(|(k, _)| !is_of_series(k)));
        let covers_there = is_there && covered(expect, &there, cell);
        let Some(record) = cell.record() else {
            if covers_here {
                untold.push(cell);
            }
            if covers_there {
                unpaired.push(cell);
            }
            continue;
        };
        for series in &record.series {
            let member = Member { cell, judged, record, series };
            let of_than = |series: &Series| {
                let mut keys = than.levels.iter().filter(|(key, _)| is_of_series(key));
                keys.all(|(key, wanted)| value_of(series, key).as_ref() == Some(wanted))
            };
            if covers_there && matches_series(expect, &there, record, series) {
                add(&mut other, than, member);
            }
            if covers_here && matches_series(expect, &expect.filter, record, series) && !(is_there && of_than(series)) {
                add(&mut here, than, member);
            }
        }
    }
    for cell in &untold {
        found.without(cell);
    }
    for side in &here {
        let partners: Vec<&Side<'_>> = other.iter().filter(|partner| partner.pair == side.pair).collect();
        for partner in &partners {
            pair(expect, than, side, partner, source, &mut found);
        }
    }
    // Only what some cell would have been compared with is missing.
    let needed = |cell: &&&StoredCell| {
        let alike = |member: &Member<'_>| axes(&cell.cell, than) == axes(&member.cell.cell, than);
        let lone = |side: &&Side<'_>| side.members.first().is_some_and(alike);
        here.iter().any(|side| lone(&side)) || untold.iter().any(|one| axes(&one.cell, than) == axes(&cell.cell, than))
    };
    for cell in unpaired.iter().filter(needed) {
        found.without(cell);
    }
    found
}

/// The names of all levels of each axis in a run.
fn names(run: &Run) -> BTreeMap<Axis, Vec<String>> {
    system_axes().map(|axis| (axis, run.cells.iter().map(|cell| cell.cell.level(axis)).collect())).collect()
}

/// Whether a cell is on the other side, as far as its axes tell.
fn has(cell: &Cell, levels: &Filter, names: &BTreeMap<Axis, Vec<String>>) -> bool {
    levels.iter().all(|(key, wanted)| {
        let Some(axis) = Axis::named(key) else { return true };
        picked(&cell.level(axis), wanted, names.get(&axis).map_or(&[][..], Vec::as_slice))
    })
}

/// Whether a cell has the levels of a filter and yields the metric.
fn covered(expect: &Expect, filter: &Filter, stored: &StoredCell) -> bool {
    let cell = &stored.cell;
    let is = |(axis, level): &(String, String)| level_of(cell, axis).is_none_or(|name| is_level(&name, level));
    filter.iter().all(is) && reads(expect, filter, &cell.probe.name, &stored.measurand)
}

/// Axes and everything else of a cell in which a pair must agree.
fn axes(cell: &Cell, than: &Than) -> String {
    let compared = |axis: &Axis| than.levels.iter().all(|(key, _)| key != axis.name());
    let kept: Vec<_> = system_axes().filter(compared).map(|axis| cell.level(axis)).collect();
    format!("{kept:?} {:?} {:?} {:?}", cell.probe, cell.conditions.cpus, cell.conditions.limit)
}

fn add<'a>(sides: &mut Vec<Side<'a>>, than: &Than, member: Member<'a>) {
    let Member { cell, series, .. } = member;
    let free = |key: &str| than.levels.iter().all(|(other, _)| other != key);
    let labels: Vec<_> = series.labels.iter().filter(|(label, _)| free(label)).collect();
    let pair = format!("{} {labels:?}", axes(&cell.cell, than));
    let differing = |(key, _): &(String, String)| level_of(&cell.cell, key).or_else(|| value_of(series, key));
    let name = than.levels.iter().filter_map(differing).collect::<Vec<_>>().join(", ");
    let own = format!("{pair} {name}");
    match sides.iter_mut().find(|side| side.own == own) {
        Some(side) => side.members.push(member),
        None => sides.push(Side { pair, own, name, members: vec![member] }),
    }
}

impl Side<'_> {
    fn figure(&self, expect: &Expect, source: &dyn SeriesSource) -> Result<f64, Missing> {
        let members: Vec<_> = self.members.iter().map(|member| (member.cell, member.series)).collect();
        match figure::of(expect, &members, source) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(figure::missing(expect.statistic, &members)),
            Err(error) => Err(Missing::Unfit(format!("{error:#}"))),
        }
    }

    /// How many repeats of the cell it pools.
    fn repeats(&self) -> usize {
        let mut numbers: Vec<usize> = self.members.iter().map(|member| member.cell.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    }

    /// Whether everything of it above a bound is foreign.
    fn is_foreign_above(&self, expect: &Expect, bound: f64, source: &dyn SeriesSource) -> bool {
        let told =
            |member: &Member<'_>| is_foreign_above(expect, bound, member.cell, member.record, member.series, source);
        let told: Vec<bool> = self.members.iter().filter_map(told).collect();
        !told.is_empty() && told.into_iter().all(|foreign| foreign)
    }
}

/// Judges one pair. Single maxima rank two systems wrongly more often than not, so that the number of runs is told.
fn pair(expect: &Expect, than: &Than, here: &Side<'_>, there: &Side<'_>, source: &dyn SeriesSource, found: &mut Found) {
    let [first, ..] = here.members.as_slice() else { return };
    let cell = &first.cell.cell;
    let labels: Vec<String> = first.series.labels.iter().map(|(label, value)| format!("{label} {value}")).collect();
    let whose = [title(&Cell { repeat: 1, ..cell.clone() })].into_iter().chain(labels).collect::<Vec<_>>().join(", ");
    let sideless = |side: &Side<'_>, why| Measured::Sideless { name: side.name.clone(), why };
    let (own, other) = match (here.figure(expect, source), there.figure(expect, source)) {
        (Ok(own), Ok(other)) => (own, other),
        (Err(why), _) => return found.add(Verdict::Inconclusive, 0.0, whose, sideless(here, why)),
        (_, Err(why)) => return found.add(Verdict::Inconclusive, 0.0, whose, sideless(there, why)),
    };
    let compared = |side: &Side<'_>, value: f64| {
        let series = side.members.first().map_or(first.series, |member| member.series);
        Compared { name: side.name.clone(), amount: figure::amount(expect, series, value), repeats: side.repeats() }
    };
    let (value, bound) = match expect.op {
        Op::Less | Op::AtMost => (own * than.times + than.by, other),
        Op::Greater | Op::AtLeast => (own, other * than.times + than.by),
    };
    let beyond = match expect.op {
        Op::Less | Op::AtMost => value - bound,
        Op::Greater | Op::AtLeast => bound - value,
    } / bound.abs().max(1.0);
    let doubtful = here.members.iter().chain(&there.members).find_map(|member| doubt(member.judged));
    // What makes the larger one larger must be its own.
    let (larger, edge) = if own >= other { (here, other) } else { (there, own) };
    let (verdict, but) = if let Some((verdict, why)) = doubtful {
        (verdict, Some(why))
    } else if own != other && larger.is_foreign_above(expect, edge, source) {
        let but = But::ForeignAbove { side: larger.name.clone(), above_ns: edge.round() as i64 };
        (Verdict::Contaminated, Some(but))
    } else if holds(expect.op, value, bound) {
        (Verdict::Pass, None)
    } else {
        (Verdict::Fail, None)
    };
    let measured = Measured::Pair { own: compared(here, own), other: compared(there, other), but };
    found.add(verdict, beyond, whose, measured.clone());
    let mut numbers: Vec<usize> = here.members.iter().map(|member| member.cell.number).collect();
    numbers.dedup();
    for number in numbers {
        let (quantity, labels) = (first.series.quantity.clone(), first.series.labels.clone());
        let judged = SeriesJudgement { cell: number, quantity, labels, verdict, measured: measured.clone() };
        found.each.push((beyond, judged));
    }
}
