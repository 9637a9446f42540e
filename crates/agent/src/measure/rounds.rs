//! The common part of the probes of timed calls: their series, their end, and how long they run.

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
    /// Many calls between two readings: the sample is a mean.
    Batch,
}

/// Makes the channel of one kind of calls, with room for `capacity` waiting rounds, and its series: one per quantity, in the order of the
/// loop's samples, with these labels.
///
/// # Errors
/// The probe declares no such quantity.
pub fn channel<const Q: usize>(
    stage: &Stage<'_>,
    quantities: [&str; Q],
    labels: &[(&str, &str)],
    capacity: usize,
) -> Result<(Channel<Q>, Vec<OpenSeries>)> {
    // `stop_on` applies to every series: a spike between two readings of the clock without a call is the machine's fault too.
    let stop_on_ns = stage.cell.conditions.stop_on.map(|limit| limit.0);
    let mut recorders = Vec::new();
    let mut all = Vec::new();
    for quantity in quantities {
        let (recorder, series) = stage.series_with(quantity, |config| Config { stop_on_ns, ..config })?;
        recorders.push(recorder);
        all.push(labels.iter().fold(series, |series, (key, value)| series.label(key, value)));
    }
    // There is one recorder per quantity.
    let recorders = recorders.try_into().map_err(|_| anyhow!("a quantity without a recorder"))?;
    Ok((Channel::new(recorders, capacity), all))
}

/// Returns the cost of one reading of the clock in ps, as measured by the stage.
pub fn cost_ps(stage: &Stage<'_>) -> u64 {
    (stage.evidence.clock.cost_ns * 1_000.0).round() as u64
}

/// Limits a loop by a number of rounds or, if that is 0, by the cell's duration.
pub fn course(cell: &Cell, rounds: u64) -> Course {
    Course {
        rounds: if rounds > 0 { rounds } else { u64::MAX },
        duration_ns: if rounds > 0 { u64::MAX } else { cell.conditions.duration.0 },
        warmup_ns: cell.conditions.warmup.0,
    }
}

/// Returns the interval of a finished loop, for the stage.
///
/// # Errors
/// A call failed.
pub fn interval(outcome: Rounds) -> Result<Interval> {
    match outcome.end.failure() {
        Some(refusal) => Err(anyhow!("{refusal}")),
        None => Ok(Interval { first_slot_ns: outcome.first_ns, ended_ns: outcome.ended_ns }),
    }
}

/// Returns the policy and priority of a cell, if its policy has priorities.
pub fn realtime(scheduling: Scheduling) -> Option<(Realtime, u8)> {
    match scheduling {
        Scheduling::Fifo { prio } => Some((Realtime::Fifo, prio)),
        Scheduling::Rr { prio } => Some((Realtime::Rr, prio)),
        Scheduling::Other { .. }
        | Scheduling::Batch { .. }
        | Scheduling::Idle
        | Scheduling::Deadline { .. }
        | Scheduling::Evl { .. }
        | Scheduling::Cobalt { .. }
        | Scheduling::Unknown
        | Scheduling::Own => None,
    }
}

/// Refuses what no loop of calls can do.
///
/// # Errors
/// The reason and the remedy.
pub fn check(probe: &str, timing: Timing, cell: &Cell) -> Result<()> {
    ensure!(
        !matches!(cell.scheduling, Scheduling::Deadline { .. }),
        "the probe `{probe}` never sleeps, so it cannot keep a deadline budget: use fifo, rr or other"
    );
    ensure!(
        timing == Timing::Each || cell.conditions.stop_on.is_none(),
        "timing=batch records only means, so --stop-on cannot see a single call: use timing=each"
    );
    Ok(())
}

/// Returns the last allowed CPU, because the first takes most of the interrupts. If there is only one, the user must name it, unless the
/// loop ends after a number of calls: a loop that does not sleep would block everything else on it.
pub fn last_cpu(allowed: &CpuSet, ends: bool) -> CpuSet {
    if allowed.len() < 2 && !ends { CpuSet::default() } else { allowed.iter().last().into_iter().collect() }
}
