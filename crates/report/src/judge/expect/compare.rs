//! Comparisons: a figure against the same figure where named axes have other levels and all else agrees.

use super::{
    Found, matches_series, repeats,
    side::{Member, Side, place},
    value_of,
};
use crate::judge::judgement::CellJudgement;
use latido_model::{
    cell::{Axis, Cell},
    plan::{
        Expect, Filter, Than,
        expect::{is_level, is_of_series, level_of, picked, reads},
    },
    record::Series,
    run::{Run, SeriesSource, StoredCell},
};
use std::collections::BTreeMap;

/// The axes on which two sides can differ: boots are repeats, and probes are compared with their options.
fn system_axes() -> impl Iterator<Item = Axis> {
    Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe))
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
    // A repeat that was not measured is one fewer; a configuration without any is missing.
    let any = |sides: &[Side<'_>], cell: &StoredCell| {
        sides
            .iter()
            .flat_map(|side| &side.members)
            .any(|member| configuration(&member.cell.cell) == configuration(&cell.cell))
    };
    untold.retain(|cell| !any(&here, cell));
    unpaired.retain(|cell| !any(&other, cell));
    for cell in &untold {
        found.without(place(&cell.cell), cell);
    }
    for side in &here {
        let partners: Vec<&Side<'_>> = other.iter().filter(|partner| partner.pair == side.pair).collect();
        for partner in &partners {
            repeats::pair(expect, than, [side, partner], source, &mut found);
        }
    }
    // Only what some cell would have been compared with is missing.
    let needed = |cell: &&&StoredCell| {
        let alike = |member: &Member<'_>| axes(&cell.cell, than) == axes(&member.cell.cell, than);
        let lone = |side: &&Side<'_>| side.members.first().is_some_and(alike);
        here.iter().any(|side| lone(&side)) || untold.iter().any(|one| axes(&one.cell, than) == axes(&cell.cell, than))
    };
    for cell in unpaired.iter().filter(needed) {
        found.without(place(&cell.cell), cell);
    }
    found
}

/// All that repeats of a cell share.
fn configuration(cell: &Cell) -> String {
    let levels: Vec<_> = system_axes().map(|axis| cell.level(axis)).collect();
    format!("{levels:?} {:?} {:?}", cell.probe, cell.conditions)
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
