//! Which configurations a comparison pairs, measured or only planned.

use crate::judgement::CellJudgement;
use latido_model::{
    cell::{Axis, Cell},
    plan::{
        Expect, Filter, Than,
        expect::{CPU, QUANTITY, is_level, is_of_series, level_of, option_of, picked, quantity_of, reads, without},
    },
    quantity::Measurand,
    record::{Record, Series},
    run::StoredCell,
};
use std::collections::BTreeMap;

/// One side: all threads and repeats of a configuration.
pub(super) struct Side<M> {
    /// What the other side must have, too.
    pub(super) pair: String,
    /// Everything that distinguishes the side from others.
    pub(super) own: String,
    /// The levels in which it differs, in words: `isolated`.
    pub(super) name: String,
    pub(super) members: Vec<M>,
}

/// A series of a side, with its cell.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) cell: &'a StoredCell,
    pub(super) judged: &'a CellJudgement,
    pub(super) record: &'a Record,
    pub(super) series: &'a Series,
}

/// Returns the axes on which two sides can differ. Boots are repeats, and probes are compared through their options.
fn system_axes() -> impl Iterator<Item = Axis> {
    Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe))
}

/// What distinguishes a series from the others of its plan.
#[derive(Clone, Copy)]
pub(super) struct Tells<'a> {
    pub(super) cell: &'a Cell,
    pub(super) quantity: &'a str,
    pub(super) labels: &'a BTreeMap<String, String>,
    pub(super) cpu: Option<u32>,
}

impl Tells<'_> {
    /// Returns the value of a key that concerns series.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        match key {
            CPU => self.cpu.map(|cpu| cpu.to_string()),
            QUANTITY => Some(self.quantity.to_string()),
            label => self.labels.get(label).cloned(),
        }
    }

    /// Whether the series matches all conditions of a filter that concern series.
    pub(super) fn has(&self, filter: &Filter) -> bool {
        let mut of_series = filter.iter().filter(|(key, _)| is_of_series(key));
        of_series.all(|(key, wanted)| self.value(key).as_ref() == Some(wanted))
    }
}

/// An expectation that compares, with the levels among which it compares.
pub(super) struct Pairing<'e> {
    expect: &'e Expect,
    than: &'e Than,
    /// The filter for the other side.
    there: Filter,
    /// The names of all levels of each axis.
    names: BTreeMap<Axis, Vec<String>>,
}

impl<'e> Pairing<'e> {
    pub(super) fn new<'c>(expect: &'e Expect, than: &'e Than, cells: impl Iterator<Item = &'c Cell> + Clone) -> Self {
        let kept = expect.filter.iter().filter(|(key, _)| than.levels.iter().all(|(other, _)| other != key));
        let there = kept.chain(&than.levels).cloned().collect();
        let names = system_axes().map(|axis| (axis, cells.clone().map(|cell| cell.level(axis)).collect())).collect();
        Self { expect, than, there, names }
    }

    /// Whether a cell belongs to the side that the expectation is about, and whether to the other side, as far as its axes show.
    pub(super) fn of_cell(&self, cell: &Cell, measurand: &Measurand) -> [bool; 2] {
        // A cell at the level of `than` belongs to the other side, even if `where` covers it.
        let is_there = self.is_there(cell);
        let by_axes_alone = self.than.levels.iter().all(|(key, _)| !is_of_series(key));
        let here = self.expect.covers(cell, measurand) && !(is_there && by_axes_alone);
        [here, is_there && self.covers_there(cell, measurand)]
    }

    /// The same as `of_cell`, for a series.
    pub(super) fn of_series(&self, series: Tells<'_>, measurand: &Measurand) -> [bool; 2] {
        let [here, there] = self.of_cell(series.cell, measurand);
        let meant_there = || self.is_there(series.cell) && series.has(&self.than.levels);
        let is = |filter| series.quantity == quantity_of(self.expect, filter) && series.has(filter);
        [here && is(&self.expect.filter) && !meant_there(), there && is(&self.there)]
    }

    fn is_there(&self, cell: &Cell) -> bool {
        self.than.levels.iter().all(|(key, wanted)| {
            if option_of(key).is_some() {
                return level_of(cell, key).as_ref() == Some(wanted);
            }
            let Some(axis) = Axis::named(key) else { return true };
            picked(&cell.level(axis), wanted, self.names.get(&axis).map_or(&[][..], Vec::as_slice))
        })
    }

    fn covers_there(&self, cell: &Cell, measurand: &Measurand) -> bool {
        let is = |(axis, level): &(String, String)| level_of(cell, axis).is_none_or(|name| is_level(&name, level));
        self.there.iter().all(is) && reads(self.expect, &self.there, &cell.probe.name, measurand)
    }

    /// Returns the axes and everything else of a cell in which a pair must agree.
    pub(super) fn axes(&self, cell: &Cell) -> String {
        let compared = |axis: &Axis| self.than.levels.iter().all(|(key, _)| key != axis.name());
        let kept: Vec<_> = system_axes().filter(compared).map(|axis| cell.level(axis)).collect();
        let probe = without(&cell.probe, self.than);
        format!("{kept:?} {probe:?} {:?} {:?}", cell.conditions.cpus, cell.conditions.limit)
    }

    /// Adds a series to its side.
    pub(super) fn add<M>(&self, sides: &mut Vec<Side<M>>, series: Tells<'_>, member: M) {
        let free = |key: &str| self.than.levels.iter().all(|(other, _)| other != key);
        let labels: Vec<_> = series.labels.iter().filter(|(label, _)| free(label)).collect();
        let pair = format!("{} {labels:?}", self.axes(series.cell));
        let differing = |(key, _): &(String, String)| level_of(series.cell, key).or_else(|| series.value(key));
        let name = self.than.levels.iter().filter_map(differing).collect::<Vec<_>>().join(", ");
        let own = format!("{pair} {name}");
        match sides.iter_mut().find(|side| side.own == own) {
            Some(side) => side.members.push(member),
            None => sides.push(Side { pair, own, name, members: vec![member] }),
        }
    }
}

/// Returns everything that the repeats of a cell share.
pub(super) fn configuration(cell: &Cell) -> String {
    let levels: Vec<_> = system_axes().map(|axis| cell.level(axis)).collect();
    format!("{levels:?} {:?} {:?}", cell.probe, cell.conditions)
}
