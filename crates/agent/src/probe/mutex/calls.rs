//! form=calls: uncontended calls, one by one or many together.

use super::{Kind, Mutex};
use crate::{
    measure::{
        rounds::{self, Quantities, Timing},
        series::Name,
        stage::{Job, Loop, Stage, Tap, no_facts},
    },
    probe::priority,
};
use anyhow::{Result, bail};
use latido_model::{quantity::Quantity, record::Skip};
use latido_rt::{
    mutex::{self, Batch, Each, QUANTITIES},
    rounds::{Channel, MANY, Monotonic, Task},
};
use latido_sys::{
    Errno,
    mutex::{Mutexes, Protocol},
    priority::{Own, Realtime},
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
};

/// Quantities of timing=each.
pub const EACH: [&str; QUANTITIES] = ["lock", "unlock", "trylock", "empty"];
/// Quantities of timing=batch.
pub const BATCH: [&str; QUANTITIES] = ["lock_batch", "unlock_batch", "trylock_batch", "pair_batch"];

/// Measures on every CPU of the cell.
pub fn measure(probe: &Mutex, stage: &mut Stage<'_>) -> Result<()> {
    let mut parts = Vec::new();
    for (thread, cpu) in (0u32..).zip(stage.cpus()) {
        parts.push(Part { thread, cpu });
    }
    let realtime = rounds::realtime(stage.cell.scheduling);
    let ceiling = probe.ceiling.or(realtime.map(|(_, prio)| prio)).unwrap_or(1);
    let kinds = possible(probe.kind, realtime, ceiling, stage)?;
    // Only a thread that has the policy can rehearse a ceiling.
    let realtime = realtime.filter(|_| kinds.contains(&Kind::Ceiling));
    let task = rounds::task(&stage.cell, probe.calls);
    let mut jobs = Vec::new();
    for part in parts {
        let of = |kind: Kind| (kind.protocol(ceiling), kind == Kind::Shared);
        let (channels, taps) = part.channels(probe.timing, &kinds, stage)?;
        let stop = Arc::clone(&stage.stop);
        let rehearse: Box<dyn FnOnce() -> Loop + Send> = match probe.timing {
            Timing::Each => {
                let make = |(protocol, shared)| {
                    Ok(Each { mutex: latido_sys::mutex::Mutex::new(protocol, shared)?, time: Monotonic })
                };
                let each = kinds.iter().map(|kind| make(of(*kind))).collect::<Result<_>>()?;
                one_by_one(each, channels, realtime, task, stop)
            }
            Timing::Batch => {
                let (count, cost_ps) = (probe.batch, rounds::cost_ps(stage));
                let make = |(protocol, shared)| {
                    let all = Mutexes::new(usize::try_from(count)?, protocol, shared)?;
                    let one = latido_sys::mutex::Mutex::new(protocol, shared)?;
                    Ok(Batch { all, one, count, cost_ps, time: Monotonic })
                };
                let batches = kinds.iter().map(|kind| make(of(*kind))).collect::<Result<_>>()?;
                together(batches, channels, realtime, task, stop)
            }
        };
        jobs.push(Job { cpu: Some(part.cpu), scheduling: Some(stage.cell.scheduling), taps, rehearse });
    }
    stage.run(jobs, probe.calls > 0)
}

/// The kinds that can be measured here; a ceiling that cannot be locked is a skip, unless it was asked for by name.
fn possible(asked: Kind, realtime: Option<(Realtime, u8)>, ceiling: u8, stage: &mut Stage<'_>) -> Result<Vec<Kind>> {
    let mut kinds = asked.each(super::Form::Calls);
    if !kinds.contains(&Kind::Ceiling) {
        return Ok(kinds);
    }
    let why = match realtime {
        None => format!("a thread under `{}` cannot lock one", stage.cell.scheduling),
        Some((policy, prio)) => match can_lock(policy, prio, ceiling) {
            Ok(()) => return Ok(kinds),
            Err(error) => format!("ceiling {ceiling} under `{}` was refused: {error}", stage.cell.scheduling),
        },
    };
    if asked == Kind::Ceiling {
        bail!("mutexes with a priority ceiling: {why}");
    }
    stage.skipped.push(Skip { what: "mutexes with a priority ceiling".into(), why });
    kinds.retain(|kind| *kind != Kind::Ceiling);
    Ok(kinds)
}

/// Tries on a thread of its own: what the C library remembers of a thread after a refusal makes later locks void.
fn can_lock(policy: Realtime, prio: u8, ceiling: u8) -> Result<(), Errno> {
    let body = move || {
        Own::thread().set_param(policy, prio)?;
        latido_sys::mutex::Mutex::new(Protocol::Ceiling(ceiling), false)?.lock()?.unlock()
    };
    // A thread that cannot be started is a machine without memory for the measurement.
    thread::Builder::new().spawn(body).map_or(Err(Errno::EAGAIN), |tried| tried.join().unwrap_or(Err(Errno::EAGAIN)))
}

/// One thread.
struct Part {
    thread: u32,
    cpu: u32,
}

impl Part {
    fn channels(
        &self,
        timing: Timing,
        kinds: &[Kind],
        stage: &Stage<'_>,
    ) -> Result<(Vec<Channel<QUANTITIES>>, Vec<Tap>)> {
        let (names, unit, stops, capacity) = match timing {
            Timing::Each => (EACH, None, [true; QUANTITIES], MANY),
            Timing::Batch => (BATCH, Some("ps"), [false; QUANTITIES], 1),
        };
        let quantities = Quantities { names, unit, stops, facts: no_facts };
        let (mut channels, mut taps) = (Vec::new(), Vec::new());
        for kind in kinds {
            let labels = kind.labels().into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            let name = Name { labels, cpu: Some(self.cpu), thread: self.thread, ..Name::default() };
            let (channel, series) = rounds::channel(stage, &quantities, &name, capacity)?;
            channels.push(channel);
            taps.extend(series);
        }
        Ok((channels, taps))
    }
}

fn one_by_one(
    mut kinds: Vec<Each>,
    mut channels: Vec<Channel<QUANTITIES>>,
    realtime: Option<(Realtime, u8)>,
    task: Task,
    stop: Arc<AtomicBool>,
) -> Box<dyn FnOnce() -> Loop + Send> {
    Box::new(move || {
        rehearse(realtime, || mutex::rehearse_each(&mut kinds, &mut channels));
        Box::new(move || rounds::done(mutex::run_each(&mut kinds, &task, &stop, &mut channels)))
    })
}

fn together(
    mut kinds: Vec<Batch>,
    mut channels: Vec<Channel<QUANTITIES>>,
    realtime: Option<(Realtime, u8)>,
    task: Task,
    stop: Arc<AtomicBool>,
) -> Box<dyn FnOnce() -> Loop + Send> {
    Box::new(move || {
        rehearse(realtime, || mutex::rehearse_batch(&mut kinds, &mut channels));
        Box::new(move || rounds::done(mutex::run_batch(&mut kinds, &task, &stop, &mut channels)))
    })
}

/// Rehearses with the policy of the measurement where a ceiling needs it. The C library then knows that policy; the
/// stage sets it behind its back.
fn rehearse(realtime: Option<(Realtime, u8)>, work: impl FnOnce()) {
    priority::as_before(|| {
        if let Some((policy, prio)) = realtime {
            // Granted a moment ago to another thread of this process.
            let _refused = Own::thread().set_param(policy, prio);
        }
        work();
    });
}

/// What is measured call by call, or in batches.
pub fn quantities(timing: Timing) -> Vec<Quantity> {
    let call = |name, title| Quantity::time(name, title).each("call");
    let batch = |name, title| call(name, title).in_unit("ps").beside();
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
