//! From a plan to its cells, in the order in which they run: the same plan always gives the same cells.

use super::{Group, Order, Plan};
use crate::cell::{self, Cell, Item, Level, Scheduling};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

/// The cells of a plan in the order in which they run.
pub fn expand(plan: &Plan) -> Vec<Cell> {
    let groups = || plan.groups.iter().enumerate();
    if plan.order == Order::AsWritten {
        let of = |(number, group): (usize, &Group)| -> Vec<Cell> {
            (1..=group.repeat).flat_map(|repeat| product(plan, number, group, repeat)).collect()
        };
        return groups().flat_map(of).collect();
    }
    let repeats = groups().map(|(_, group)| group.repeat).max().unwrap_or(0);
    let round = |repeat| {
        let alive = groups().filter(|(_, group)| repeat <= group.repeat);
        let mut cells: Vec<Cell> = alive.flat_map(|(number, group)| product(plan, number, group, repeat)).collect();
        shuffle(&mut cells, &mut stream(plan.seed, u64::MAX, u64::MAX, repeat));
        cells
    };
    (1..=repeats).flat_map(round).collect()
}

/// One repeat of a group, the probe varying fastest.
fn product(plan: &Plan, number: usize, group: &Group, repeat: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    for kernel in &group.kernel {
        for tuning in &group.tuning {
            for load in &group.load {
                for scheduling in &group.scheduling {
                    for probe in &group.probe {
                        let position = cells.len() as u64;
                        // 53 bits: a reader whose numbers are all floating-point keeps it exactly.
                        let seed = stream(plan.seed, number as u64, position, repeat).next_u64() >> 11;
                        let axes = Axes { kernel, tuning, load, scheduling: *scheduling, probe };
                        cells.push(Cell { plan: plan.name.clone(), repeat, seed, ..cell(group, axes) });
                    }
                }
            }
        }
    }
    cells
}

struct Axes<'a> {
    kernel: &'a str,
    tuning: &'a Level,
    load: &'a Level,
    scheduling: Scheduling,
    probe: &'a Item,
}

fn cell(group: &Group, axes: Axes) -> Cell {
    Cell {
        schema: cell::SCHEMA,
        plan: String::new(),
        kernel: axes.kernel.into(),
        tuning: axes.tuning.clone(),
        load: axes.load.clone(),
        scheduling: axes.scheduling,
        probe: axes.probe.clone(),
        cpus: group.cpus.clone(),
        duration: group.duration,
        warmup: group.warmup,
        limit: group.limit,
        stop_on: group.stop_on,
        max_temp: group.max_temp,
        repeat: 1,
        seed: 0,
    }
}

/// A cell such as the group has, for asking a probe whether it can measure it.
pub fn sample(group: &Group, probe: &Item, scheduling: Scheduling) -> Cell {
    let none = Level::default();
    let tuning = group.tuning.first().unwrap_or(&none);
    let load = group.load.first().unwrap_or(&none);
    cell(group, Axes { kernel: "running", tuning, load, scheduling, probe })
}

/// Random numbers that belong to one place of the plan: the cipher's key is the place, so that neither the order nor
/// another group changes them.
fn stream(seed: u64, group: u64, position: u64, repeat: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    for (part, number) in key.chunks_exact_mut(8).zip([seed, group, position, u64::from(repeat)]) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// Fisher and Yates, written out: a library may change its way of drawing, a recorded seed must not change its order.
fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..list.len()).rev() {
        // Multiply and shift (Lemire); its bias for lists this short is below 2^-47.
        let drawn = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        list.swap(last, drawn as usize);
    }
}
