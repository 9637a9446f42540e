//! Comparisons: a figure against the same figure where named axes have other levels and all else agrees.

use super::{Found, doubt, figure, holds, is_foreign_above, matches_series, value_of};
use crate::judge::{
    judgement::{CellJudgement, SeriesJudgement},
    label::title,
};
use latido_model::{
    cell::Cell,
    plan::{
        Expect, Filter, Op, Than,
        expect::{is_level, is_of_series, level_of, picked, reads},
    },
    record::{Record, Series},
    run::{Run, SeriesSource, StoredCell},
    units::human,
    verdict::Verdict,
};
use std::collections::BTreeMap;

/// The axes of a cell, as configurations are told apart.
const AXES: &[&str] = &["kernel", "tuning", "load", "scheduling"];

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
        let lone = |side: &&Side<'_>| axes(&cell.cell, than) == axes(&side.members[0].cell.cell, than);
        here.iter().any(|side| lone(&side)) || untold.iter().any(|one| axes(&one.cell, than) == axes(&cell.cell, than))
    };
    for cell in unpaired.iter().filter(needed) {
        found.without(cell);
    }
    found
}

/// The names of all levels of each axis in a run.
fn names(run: &Run) -> BTreeMap<&'static str, Vec<String>> {
    let of = |axis: &&'static str| (*axis, run.cells.iter().filter_map(|cell| level_of(&cell.cell, axis)).collect());
    AXES.iter().map(of).collect()
}

/// Whether a cell is on the other side, as far as its axes tell.
fn has(cell: &Cell, levels: &Filter, names: &BTreeMap<&'static str, Vec<String>>) -> bool {
    levels.iter().all(|(axis, wanted)| {
        let all = names.get(axis.as_str()).map_or(&[][..], Vec::as_slice);
        level_of(cell, axis).is_none_or(|name| picked(&name, wanted, all))
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
    let compared = |axis: &&&str| than.levels.iter().all(|(key, _)| key != **axis);
    let kept: Vec<_> = AXES.iter().filter(compared).filter_map(|axis| level_of(cell, axis)).collect();
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
    fn figure(&self, expect: &Expect, source: &dyn SeriesSource) -> Result<f64, String> {
        let members: Vec<_> = self.members.iter().map(|member| (member.cell, member.series)).collect();
        match figure::of(expect, &members, source) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(format!("{}: {}", self.name, figure::missing(expect.statistic, &members))),
            Err(error) => Err(format!("{}: {error:#}", self.name)),
        }
    }

    /// How many runs of the cell it pools.
    fn runs(&self) -> usize {
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
    let (own, other) = match (here.figure(expect, source), there.figure(expect, source)) {
        (Ok(own), Ok(other)) => (own, other),
        (Err(why), _) | (_, Err(why)) => {
            return found.all.push((Verdict::Inconclusive, 0.0, format!("{whose}, {why}")));
        }
    };
    let runs = match (here.runs(), there.runs()) {
        (1, 1) => "one run a side".into(),
        (a, b) if a == b => format!("{a} runs a side"),
        (a, b) => format!("{a} runs against {b}"),
    };
    let shown = |side: &Side<'_>, value: f64| {
        let series = side.members.first().map_or(first.series, |member| member.series);
        format!("{} {}", side.name, figure::text(expect, series, value))
    };
    let mut measured = format!("{} against {}, {runs}", shown(here, own), shown(there, other));
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
    let verdict = if let Some((verdict, why)) = doubtful {
        measured = format!("{measured}, but {why}");
        verdict
    } else if own != other && larger.is_foreign_above(expect, edge, source) {
        measured =
            format!("{measured}, but all of {} above {} is foreign time", larger.name, human(edge.round() as i64));
        Verdict::Contaminated
    } else if holds(expect.op, value, bound) {
        Verdict::Pass
    } else {
        Verdict::Fail
    };
    found.all.push((verdict, beyond, format!("{whose}: {measured}")));
    let mut numbers: Vec<usize> = here.members.iter().map(|member| member.cell.number).collect();
    numbers.dedup();
    for number in numbers {
        let (quantity, labels) = (first.series.quantity.clone(), first.series.labels.clone());
        let judged = SeriesJudgement { cell: number, quantity, labels, verdict, measured: measured.clone() };
        found.each.push((beyond, judged));
    }
}
