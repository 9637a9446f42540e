//! What a plan will compare, before anything is measured.

use super::{
    is_lost, look,
    pairing::Side,
    pairing::{Pairing, Tells},
};
use crate::judgement::CellJudgement;
use latido_model::{
    cell::Cell,
    plan::{
        Against, Plan,
        expect::{CPU, quantity_of},
    },
    quantity::Measurand,
    run::{Run, SeriesSource},
};
use std::collections::{BTreeMap, BTreeSet};

/// A comparison that the plan announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The index of its expectation in the plan.
    pub expect: usize,
    /// The repeats of the side that the expectation is about, and of the other side.
    pub repeats: (u64, u64),
}

/// Returns the comparisons of a plan that measures these cells, without statements that the plan's scale rules out.
pub fn planned(plan: &Plan, cells: &[(&Cell, &Measurand)]) -> Vec<Planned> {
    let mut all = Vec::new();
    for (number, expect) in plan.expect.iter().enumerate().filter(|(_, expect)| !is_lost(plan, expect)) {
        let Against::Than(than) = &expect.against else { continue };
        let pairing = Pairing::new(expect, than, cells.iter().map(|(cell, _)| *cell));
        let (mut here, mut there): (Vec<Side<u64>>, Vec<Side<u64>>) = (Vec::new(), Vec::new());
        let by_cpu = expect.filter.iter().chain(&than.levels).any(|(key, _)| key == CPU);
        let quantities = BTreeSet::from([expect.quantity.as_str(), quantity_of(expect, &than.levels)]);
        for (cell, measurand) in cells {
            // If a cell names no CPUs, it is not yet known which CPUs it measures.
            let cpus: Vec<Option<u32>> = match &cell.conditions.cpus {
                Some(cpus) if by_cpu => cpus.iter().map(Some).collect(),
                _ => vec![None],
            };
            for labels in combinations(&measurand.labels) {
                let each = cpus.iter().flat_map(|cpu| quantities.iter().map(move |quantity| (*cpu, *quantity)));
                for (cpu, quantity) in each {
                    let series = Tells { cell, quantity, labels: &labels, cpu };
                    let [is_here, is_there] = pairing.of_series(series, measurand);
                    if is_here {
                        pairing.add(&mut here, series, cell.seed);
                    }
                    if is_there {
                        pairing.add(&mut there, series, cell.seed);
                    }
                }
            }
        }
        // Each cell has a different seed.
        let repeats = |side: &Side<u64>| side.members.iter().collect::<BTreeSet<_>>().len() as u64;
        for side in &here {
            let partners = there.iter().filter(|other| other.pair == side.pair);
            all.extend(partners.map(|other| Planned { expect: number, repeats: (repeats(side), repeats(other)) }));
        }
    }
    all
}

/// Returns every combination of the labels' values.
fn combinations(labels: &[(String, Vec<String>)]) -> Vec<BTreeMap<String, String>> {
    labels.iter().fold(vec![BTreeMap::new()], |known, (label, values)| {
        let with = |one: &BTreeMap<String, String>, value: &String| {
            let mut one = one.clone();
            one.insert(label.clone(), value.clone());
            one
        };
        known.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect()
    })
}

/// A comparison of a run, with one figure per repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// The claim or the expectation, and the place.
    pub what: String,
    /// The figures of the repeats that count: first the side that the expectation is about, then the other.
    pub arms: [Vec<f64>; 2],
    /// The relative difference that the plan calls equal, if it gives one.
    pub margin: Option<f64>,
}

/// Returns every comparison of a run's plan with figures on both sides.
pub fn pilots(run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource) -> Vec<Pilot> {
    let mut all = Vec::new();
    for expect in &run.plan.expect {
        let Against::Than(than) = &expect.against else { continue };
        let sentence = expect.claim.as_ref().unwrap_or(&expect.text);
        for open in look(expect, run, cells, source).open {
            let what = format!("{sentence}: {}", open.place);
            all.push(Pilot { what, arms: open.arms, margin: than.margin });
        }
    }
    all
}
