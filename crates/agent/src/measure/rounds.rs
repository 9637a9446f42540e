//! What the probes of timed calls share: their series, their end, and how long they go on.

use super::{looped::Interval, series::OpenSeries, stage::Stage};
use anyhow::{Result, anyhow, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
};
use latido_rt::{
    Config,
    rounds::{Channel, Course, Rounds},
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

/// The channel of one kind of calls, in which `capacity` rounds wait, and its series: of these quantities, in the order
/// of the loop's samples, with these labels.
///
/// # Errors
/// The probe declares no such quantity.
pub fn channel<const Q: usize>(
    stage: &Stage<'_>,
    quantities: [&str; Q],
    labels: &[(&str, &str)],
    capacity: usize,
) -> Result<(Channel<Q>, Vec<OpenSeries>)> {
    // A spike between two readings of the clock with no call in between is one of the machine all the same.
    let stop_on_ns = stage.cell.conditions.stop_on.map(|limit| limit.0);
    let mut recorders = Vec::new();
    let mut all = Vec::new();
    for quantity in quantities {
        let (recorder, series) = stage.series_with(quantity, |config| Config { stop_on_ns, ..config })?;
        recorders.push(recorder);
        all.push(labels.iter().fold(series, |series, (key, value)| series.label(key, value)));
    }
    // As many as there are quantities.
    let recorders = recorders.try_into().map_err(|_| anyhow!("a quantity without a recorder"))?;
    Ok((Channel::new(recorders, capacity), all))
}

/// What one reading of the clock costs, in ps, as the stage has measured it.
pub fn cost_ps(stage: &Stage<'_>) -> u64 {
    (stage.evidence.clock.cost_ns * 1_000.0).round() as u64
}

/// By a number of rounds or, where that is 0, by the cell's duration.
pub fn course(cell: &Cell, rounds: u64) -> Course {
    Course {
        rounds: if rounds > 0 { rounds } else { u64::MAX },
        duration_ns: if rounds > 0 { u64::MAX } else { cell.conditions.duration.0 },
        warmup_ns: cell.conditions.warmup.0,
    }
}

/// What the stage wants to know of a loop that is over.
///
/// # Errors
/// A call failed.
pub fn interval(outcome: Rounds) -> Result<Interval> {
    match outcome.end.failure() {
        Some(refusal) => Err(anyhow!("{refusal}")),
        None => Ok(Interval { first_slot_ns: outcome.first_ns, ended_ns: outcome.ended_ns }),
    }
}

/// The policy and priority of a cell whose policy has priorities.
pub fn realtime(scheduling: Scheduling) -> Option<(Realtime, u8)> {
    match scheduling {
        Scheduling::Fifo { prio } => Some((Realtime::Fifo, prio)),
        Scheduling::Rr { prio } => Some((Realtime::Rr, prio)),
        Scheduling::Other { .. }
        | Scheduling::Batch { .. }
        | Scheduling::Idle
        | Scheduling::Deadline { .. }
        | Scheduling::Unknown
        | Scheduling::Own => None,
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
pub fn last_cpu(allowed: &CpuSet, ends: bool) -> CpuSet {
    if allowed.len() < 2 && !ends { CpuSet::default() } else { allowed.iter().last().into_iter().collect() }
}
