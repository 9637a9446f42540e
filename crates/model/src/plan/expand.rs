//! Expands a plan into its cells, in the order in which they run. The same plan always gives the same cells.

use super::{Group, Order, Plan, Probed};
use crate::cell::{Cell, LOCAL, Level, RUNNING, SCHEMA, Scheduling};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

/// Returns the cells of a plan in the order in which they run: block by block, each of them one boot of a kernel on a target. Within a
/// block the repeats follow each other, so that a drift of the machine affects every level equally.
pub fn expand(plan: &Plan) -> Vec<Cell> {
    let mut cells = Vec::new();
    for boot in 1..=plan.boots {
        let mut blocks = blocks(plan);
        if plan.order == Order::Interleaved {
            shuffle(&mut blocks, &mut stream(plan.seed, u64::MAX, 0, u64::from(boot)));
        }
        for (number, target, kernel) in blocks {
            cells.extend(block(plan, number, Booted { target, kernel, boot }));
        }
    }
    cells
}

/// One boot of a kernel on a target.
#[derive(Clone, Copy)]
struct Booted<'a> {
    target: &'a str,
    kernel: &'a str,
    boot: u32,
}

/// Returns target and kernel of each block, numbered in the order in which the plan first names them.
fn blocks(plan: &Plan) -> Vec<(u64, &str, &str)> {
    let mut blocks: Vec<(u64, &str, &str)> = Vec::new();
    for group in &plan.groups {
        for (target, kernel) in group.target.iter().flat_map(|target| group.kernel.iter().map(move |k| (target, k))) {
            if !blocks.iter().any(|(_, t, k)| (*t, *k) == (target.as_str(), kernel.as_str())) {
                blocks.push((blocks.len() as u64, target, kernel));
            }
        }
    }
    blocks
}

/// The cells of one block in the order in which they run.
fn block(plan: &Plan, block: u64, boot: Booted<'_>) -> Vec<Cell> {
    let there = |group: &&Group| {
        group.target.iter().any(|target| target == boot.target) && group.kernel.iter().any(|k| k == boot.kernel)
    };
    let groups = || plan.groups.iter().enumerate().filter(|(_, group)| there(group));
    if plan.order == Order::AsWritten {
        let of = |(number, group): (usize, &Group)| -> Vec<Cell> {
            (1..=group.repeat).flat_map(|repeat| product(plan, number, group, boot, repeat)).collect()
        };
        return groups().flat_map(of).collect();
    }
    let repeats = groups().map(|(_, group)| group.repeat).max().unwrap_or(0);
    let round = |repeat| {
        let alive = groups().filter(|(_, group)| repeat <= group.repeat);
        let mut cells: Vec<Cell> =
            alive.flat_map(|(number, group)| product(plan, number, group, boot, repeat)).collect();
        shuffle(&mut cells, &mut stream(plan.seed, u64::MAX, u64::MAX - block, round_of(boot, repeat)));
        cells
    };
    (1..=repeats).flat_map(round).collect()
}

/// Combines boot and repeat into one number.
fn round_of(boot: Booted<'_>, repeat: u32) -> u64 {
    u64::from(boot.boot - 1) << 32 | u64::from(repeat)
}

/// Returns one repeat of a group in one boot; the probe varies fastest.
fn product(plan: &Plan, number: usize, group: &Group, boot: Booted<'_>, repeat: u32) -> Vec<Cell> {
    let blocks = || group.target.iter().flat_map(|target| group.kernel.iter().map(move |kernel| (target, kernel)));
    let each = [group.tuning.len(), group.load.len(), group.scheduling.len(), group.probe.len()];
    let each = each.into_iter().product::<usize>() as u64;
    let index = blocks().position(|(target, kernel)| (target.as_str(), kernel.as_str()) == (boot.target, boot.kernel));
    // A cell's seed depends on its place in the whole group, not on the block that measures it.
    let before = index.unwrap_or(0) as u64 * each;
    let mut cells = Vec::new();
    for tuning in &group.tuning {
        for load in &group.load {
            for scheduling in &group.scheduling {
                for probe in &group.probe {
                    let position = before + cells.len() as u64;
                    // 53 bits: a reader that stores all numbers as floating-point keeps it exactly.
                    let seed = stream(plan.seed, number as u64, position, round_of(boot, repeat)).next_u64() >> 11;
                    let axes = Levels { boot, tuning, load, scheduling: *scheduling, probe };
                    cells.push(Cell { plan: plan.name.clone(), repeat, seed, ..cell(group, axes) });
                }
            }
        }
    }
    cells
}

struct Levels<'a> {
    boot: Booted<'a>,
    tuning: &'a Level,
    load: &'a Level,
    scheduling: Scheduling,
    probe: &'a Probed,
}

fn cell(group: &Group, axes: Levels) -> Cell {
    Cell {
        schema: SCHEMA,
        plan: String::new(),
        target: axes.boot.target.into(),
        kernel: axes.boot.kernel.into(),
        boot: axes.boot.boot,
        tuning: axes.tuning.clone(),
        load: axes.load.clone(),
        scheduling: if axes.probe.measurand.looks_on { Scheduling::Own } else { axes.scheduling },
        probe: axes.probe.item.clone(),
        conditions: group.conditions.clone(),
        repeat: 1,
        seed: 0,
    }
}

/// Returns a cell like those of the group, to check whether a probe can measure it.
pub fn sample(group: &Group, probe: &Probed, scheduling: Scheduling) -> Cell {
    let none = Level::default();
    let tuning = group.tuning.first().unwrap_or(&none);
    let load = group.load.first().unwrap_or(&none);
    let boot = Booted { target: LOCAL, kernel: RUNNING, boot: 1 };
    cell(group, Levels { boot, tuning, load, scheduling, probe })
}

/// Returns random numbers for one place of the plan. The place is the cipher's key, so that neither the order nor another group changes
/// them.
fn stream(seed: u64, group: u64, position: u64, round: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    for (part, number) in key.chunks_exact_mut(8).zip([seed, group, position, round]) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// Shuffles by Fisher and Yates. The code is written out here because a library may change its way of drawing, and a recorded seed must
/// always give the same order.
fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..list.len()).rev() {
        // Multiply and shift (Lemire); its bias for lists this short is below 2^-47.
        let drawn = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        list.swap(last, drawn as usize);
    }
}
