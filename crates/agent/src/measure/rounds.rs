//! What the probes of timed calls share: their series, their end, and how long they go on.

use super::{
    series::Name,
    stage::{Done, Facts, Stage, Tap},
};
use anyhow::{Result, anyhow, ensure};
use latido_model::cell::{Cell, Scheduling};
use latido_rt::{
    Config, Recorder, Snapshot, recorder,
    rounds::{Channel, Outcome, Task},
};
use latido_sys::priority::Realtime;
use serde::{Deserialize, Serialize};

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Each between two readings of the clock.
    Each,
    /// Many between two readings: a mean.
    Batch,
}

/// Quantities and their unit.
pub struct Quantities<const Q: usize> {
    /// Their names, in the order of the loop's samples.
    pub names: [&'static str; Q],
    /// `None` is ns.
    pub unit: Option<&'static str>,
    /// Which of them a sample above the cell's `stop_on` ends it.
    pub stops: [bool; Q],
    /// What the first of them has to say besides.
    pub facts: fn(&Snapshot) -> Facts,
}

/// The channel of one kind, in which `capacity` rounds wait, and its taps. `name` has all but the quantity.
///
/// # Errors
/// Band edges that no recorder can keep.
pub fn channel<const Q: usize>(
    stage: &Stage<'_>,
    quantities: &Quantities<Q>,
    name: &Name,
    capacity: usize,
) -> Result<(Channel<Q>, Vec<Tap>)> {
    let (recorders, taps) = recorders(stage, quantities, name)?;
    Ok((Channel::new(recorders, capacity), taps))
}

/// The recorders of one kind and their taps.
///
/// # Errors
/// As [`channel`].
pub fn recorders<const Q: usize>(
    stage: &Stage<'_>,
    quantities: &Quantities<Q>,
    name: &Name,
) -> Result<([Recorder; Q], Vec<Tap>)> {
    let mut recorders = Vec::new();
    let mut taps = Vec::new();
    for (quantity, stops) in quantities.names.into_iter().zip(quantities.stops) {
        let config = stage.config(false);
        let config = Config { stop_on_ns: config.stop_on_ns.filter(|_| stops), ..config };
        let config = if quantities.unit == Some("ps") { picoseconds(config) } else { config };
        let (recorder, reader) = recorder::new(&config)?;
        let facts = if taps.is_empty() { quantities.facts } else { super::stage::no_facts };
        let name = Name { quantity: quantity.into(), unit: quantities.unit, ..name.clone() };
        recorders.push(recorder);
        taps.push(Tap { name, periodic: false, reader, facts });
    }
    // As many as there are names.
    let recorders = recorders.try_into().map_err(|_| anyhow!("a quantity without a recorder"))?;
    Ok((recorders, taps))
}

/// Band edges in the unit of the samples.
fn picoseconds(config: Config) -> Config {
    let edges = config.edges.iter().map(|ns| ns.saturating_mul(1_000));
    let edges = edges.filter(|ps| *ps <= latido_rt::histogram::HIGHEST).collect();
    Config { edges, ..config }
}

/// What one reading of the clock costs, in ps, as the stage has measured it.
pub fn cost_ps(stage: &Stage<'_>) -> u64 {
    (stage.evidence.clock.cost_ns * 1_000.0).round() as u64
}

/// By a number of rounds or, where that is 0, by the cell's duration.
pub fn task(cell: &Cell, rounds: u64) -> Task {
    Task {
        rounds: if rounds > 0 { rounds } else { u64::MAX },
        duration_ns: if rounds > 0 { u64::MAX } else { cell.conditions.duration.0 },
        warmup_ns: cell.conditions.warmup.0,
    }
}

/// What the stage wants to know of a loop that is over.
pub fn done(outcome: Outcome) -> Done {
    Done {
        first_slot_ns: outcome.first_ns,
        ended_ns: outcome.ended_ns,
        failed: outcome.end.failure().map(|refusal| refusal.to_string()),
    }
}

/// The policy and priority of a cell whose policy has priorities.
pub fn realtime(scheduling: Scheduling) -> Option<(Realtime, u8)> {
    match scheduling {
        Scheduling::Fifo { prio } => Some((Realtime::Fifo, prio)),
        Scheduling::Rr { prio } => Some((Realtime::Rr, prio)),
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle | Scheduling::Deadline { .. } => None,
    }
}

/// Refuses what no loop of calls can do.
///
/// # Errors
/// The reason.
pub fn check(probe: &str, timing: Timing, cell: &Cell) -> Result<()> {
    ensure!(
        !matches!(cell.scheduling, Scheduling::Deadline { .. }),
        "a loop that never sleeps has no budget to keep: use fifo, rr or other for the probe `{probe}`"
    );
    ensure!(
        timing == Timing::Each || cell.conditions.stop_on.is_none(),
        "timing=batch has means only, which no single call above a limit stops: use timing=each with --stop-on"
    );
    Ok(())
}

/// The last CPU allowed: the first takes most of the interrupts. The only one must be asked for, unless the loop ends
/// after a number of calls: one that does not sleep would keep it from everything else.
pub fn last_cpu(allowed: &latido_model::cpus::CpuSet, ends: bool) -> latido_model::cpus::CpuSet {
    if allowed.len() < 2 && !ends { Default::default() } else { allowed.iter().last().into_iter().collect() }
}
