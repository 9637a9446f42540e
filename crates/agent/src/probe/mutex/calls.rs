//! form=calls: uncontended calls, timed one by one or in batches.

use super::{MutexKind, MutexProbe};
use crate::{
    measure::{
        Quantity, Stage,
        rounds::{self, Timing},
    },
    probe::priority,
};
use anyhow::{Result, bail};
use latido_model::record::Skip;
use latido_rt::{
    mutex::{self, CallBatch, Calls, QUANTITIES},
    rounds::{MANY, Monotonic},
};
use latido_sys::{
    Errno,
    mutex::{Mutex, Mutexes, Protocol},
    priority::{Own, Realtime},
};
use std::thread;

/// Quantities of timing=each.
const EACH: [&str; QUANTITIES] = ["lock", "unlock", "trylock", "empty"];
/// Quantities of timing=batch.
const BATCH: [&str; QUANTITIES] = ["lock_batch", "unlock_batch", "trylock_batch", "pair_batch"];

/// Measures on every CPU of the cell.
pub fn measure(probe: &MutexProbe, stage: &mut Stage<'_>) -> Result<()> {
    let realtime = rounds::realtime(stage.cell.scheduling);
    let ceiling = probe.ceiling.or(realtime.map(|(_, prio)| prio)).unwrap_or(1);
    let kinds = possible(probe.kind, realtime, ceiling, stage)?;
    // Only a thread that has the policy can do a dry run of a ceiling.
    let realtime = realtime.filter(|_| kinds.contains(&MutexKind::Ceiling));
    let course = rounds::course(&stage.cell, probe.calls);
    let (count, cost_ps) = (probe.batch, rounds::cost_ps(stage));
    for cpu in stage.cpus() {
        let (mut channels, mut series) = (Vec::new(), Vec::new());
        for kind in &kinds {
            let (names, capacity) = match probe.timing {
                Timing::Each => (EACH, MANY),
                Timing::Batch => (BATCH, 1),
            };
            let (channel, own) = rounds::channel(stage, names, &kind.labels(), capacity)?;
            channels.push(channel);
            series.extend(own);
        }
        let stop = stage.stop();
        let of = |kind: &MutexKind| (kind.protocol(ceiling), *kind == MutexKind::Shared);
        match probe.timing {
            Timing::Each => {
                let each = |(protocol, shared)| Ok(Calls { mutex: Mutex::new(protocol, shared)?, time: Monotonic });
                let mut kinds: Vec<Calls> = kinds.iter().map(of).map(each).collect::<Result<_>>()?;
                stage.thread(cpu, series, move || {
                    rehearse(realtime, || mutex::rehearse_each(&mut kinds, &mut channels));
                    move || rounds::interval(mutex::run_each(&mut kinds, &course, &stop, &mut channels))
                });
            }
            Timing::Batch => {
                let batch = |(protocol, shared)| {
                    let all = Mutexes::new(usize::try_from(count)?, protocol, shared)?;
                    Ok(CallBatch { all, one: Mutex::new(protocol, shared)?, count, cost_ps, time: Monotonic })
                };
                let mut kinds: Vec<CallBatch> = kinds.iter().map(of).map(batch).collect::<Result<_>>()?;
                stage.thread(cpu, series, move || {
                    rehearse(realtime, || mutex::rehearse_batch(&mut kinds, &mut channels));
                    move || rounds::interval(mutex::run_batch(&mut kinds, &course, &stop, &mut channels))
                });
            }
        }
    }
    stage.run()
}

/// Returns the kinds that can be measured here. A ceiling that cannot be locked is skipped; it is an error if the user named it.
fn possible(
    asked: MutexKind,
    realtime: Option<(Realtime, u8)>,
    ceiling: u8,
    stage: &mut Stage<'_>,
) -> Result<Vec<MutexKind>> {
    let mut kinds = asked.each(super::MutexForm::Calls);
    if !kinds.contains(&MutexKind::Ceiling) {
        return Ok(kinds);
    }
    let why = match realtime {
        None => format!("a thread under `{}` cannot lock them", stage.cell.scheduling),
        Some((policy, prio)) => match can_lock(policy, prio, ceiling) {
            Ok(()) => return Ok(kinds),
            Err(error) => format!("the kernel refused ceiling {ceiling} under `{}`: {error}", stage.cell.scheduling),
        },
    };
    if asked == MutexKind::Ceiling {
        bail!("mutexes with a priority ceiling: {why}");
    }
    stage.skipped.push(Skip { what: "mutexes with a priority ceiling".into(), why });
    kinds.retain(|kind| *kind != MutexKind::Ceiling);
    Ok(kinds)
}

/// Tries it on a separate thread. The C library remembers a refusal per thread, and that would make later locks void.
fn can_lock(policy: Realtime, prio: u8, ceiling: u8) -> Result<(), Errno> {
    let body = move || {
        Own::thread().set_param(policy, prio)?;
        Mutex::new(Protocol::Ceiling(ceiling), false)?.lock()?.unlock()
    };
    // If the machine cannot start a thread, it has no memory for the measurement either.
    thread::Builder::new().spawn(body).map_or(Err(Errno::EAGAIN), |tried| tried.join().unwrap_or(Err(Errno::EAGAIN)))
}

/// Does a dry run, with the policy of the measurement if a ceiling needs it. The C library then knows that policy. The stage sets it later
/// without the library's knowledge.
fn rehearse(realtime: Option<(Realtime, u8)>, work: impl FnOnce()) {
    priority::as_before(|| {
        if let Some((policy, prio)) = realtime {
            // The kernel granted it a moment ago to another thread of this process.
            let _refused = Own::thread().set_param(policy, prio);
        }
        work();
    });
}

/// Returns the quantities that latido measures call by call, or in batches.
pub fn quantities(timing: Timing) -> Vec<Quantity> {
    let call = |name, title| Quantity::time(name, title).each("call");
    let batch = |name, title| Quantity::time(name, title).each("batch").in_unit("ps").beside();
    match timing {
        Timing::Each => vec![
            call("lock", "Mutex: lock"),
            call("unlock", "Mutex: unlock"),
            call("trylock", "Mutex: trylock"),
            call("empty", "Mutex: empty").beside(),
        ],
        Timing::Batch => vec![
            batch("lock_batch", "Mutex: lock in batches"),
            batch("unlock_batch", "Mutex: unlock in batches"),
            batch("trylock_batch", "Mutex: trylock in batches"),
            batch("pair_batch", "Mutex: pair in batches"),
        ],
    }
}
