//! form=inversion: three threads, one CPU, one mutex.

use super::{Form, Mutex};
use crate::measure::{
    rounds::{self, Quantities},
    series::Name,
    stage::{Facts, Job, Loop, Stage},
};
use anyhow::{Result, bail, ensure};
use latido_model::cell::{Cell, Scheduling};
use latido_rt::{
    Recorder, Snapshot,
    inversion::{self, INVERTED, Scene, Script, UNCONFIRMED},
    rounds::Task,
};
use latido_sys::{
    mutex::Protocol,
    sched::{self, Policy},
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
};

/// Refuses a cell in which the three threads cannot be.
pub fn check(cell: &Cell) -> Result<()> {
    let Some((_, prio)) = rounds::realtime(cell.scheduling) else {
        bail!("form=inversion needs three priorities on one CPU: use fifo or rr, not `{}`", cell.scheduling);
    };
    ensure!(prio >= 3, "form=inversion uses the priorities {prio} and the two below it: ask for 3 to 99");
    let cpus = cell.conditions.cpus.as_ref();
    ensure!(
        cpus.is_none_or(|cpus| cpus.len() == 1),
        "form=inversion is about one CPU: name one with -c, not {}",
        cpus.map(ToString::to_string).unwrap_or_default()
    );
    Ok(())
}

/// Measures on the cell's CPU.
pub fn measure(probe: &Mutex, stage: &mut Stage<'_>) -> Result<()> {
    let [cpu] = stage.cpus()[..] else { bail!("form=inversion is about one CPU, not {}", stage.cpus().len()) };
    let kinds = probe.kind.each(Form::Inversion);
    let protocols: Vec<Protocol> = kinds.iter().map(|kind| kind.protocol(1)).collect();
    let script = Script {
        task: rounds::task(&stage.cell, probe.rounds),
        interval_ns: probe.interval.0,
        hold_ns: probe.hold.0,
        busy_ns: probe.busy.0,
    };
    rehearse(&protocols)?;
    let (mut recorders, mut taps) = (Vec::new(), Vec::new());
    for kind in kinds {
        let labels = kind.labels().into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let name = Name { labels, cpu: Some(cpu), thread: 0, ..Name::default() };
        let quantities = Quantities { names: ["inversion"], unit: None, stops: [true], facts };
        let (recorder, series) = rounds::recorders(stage, &quantities, &name)?;
        recorders.extend(recorder);
        taps.extend(series);
    }
    let scene = Arc::new(scene(&protocols)?);
    let mut jobs = Vec::new();
    // Who posts must not find anybody missing: high is the first to start, low waits for both.
    for (part, below) in [(Part::High(recorders), 0), (Part::Middle, 1), (Part::Low, 2)] {
        let scheduling = Some(lower(stage.cell.scheduling, below));
        let taps = if below == 0 { std::mem::take(&mut taps) } else { Vec::new() };
        let (scene, stop) = (Arc::clone(&scene), Arc::clone(&stage.stop));
        let rehearse = Box::new(move || part.rehearse(scene, stop, script));
        jobs.push(Job { cpu: Some(cpu), scheduling, taps, rehearse });
    }
    stage.run(jobs, probe.rounds > 0)
}

fn scene(protocols: &[Protocol]) -> Result<Scene> {
    let mutexes: Result<_, _> =
        protocols.iter().map(|protocol| latido_sys::mutex::Mutex::new(*protocol, false)).collect();
    Ok(Scene::new(mutexes?)?)
}

/// The cell's policy, so many priorities lower.
fn lower(scheduling: Scheduling, by: u8) -> Scheduling {
    match scheduling {
        Scheduling::Fifo { prio } => Scheduling::Fifo { prio: prio.saturating_sub(by) },
        Scheduling::Rr { prio } => Scheduling::Rr { prio: prio.saturating_sub(by) },
        other => other,
    }
}

/// A scene of a few milliseconds under time-sharing: what the C library does when threads wait for each other becomes
/// resident. The order of its rounds does not matter.
fn rehearse(protocols: &[Protocol]) -> Result<()> {
    let scene = scene(protocols)?;
    let task = Task { rounds: 5, duration_ns: u64::MAX, warmup_ns: 100_000 };
    let script = Script { task, interval_ns: 100_000, hold_ns: 100_000, busy_ns: 10_000 };
    let stop = AtomicBool::new(false);
    let mut recorders = Vec::new();
    for _ in protocols {
        recorders.push(latido_rt::recorder::new(&latido_rt::Config::default())?.0);
    }
    thread::scope(|scope| {
        scope.spawn(|| inversion::high(&scene, &stop, &mut recorders));
        scope.spawn(|| inversion::middle(&scene, &stop, &script));
        inversion::low(&scene, &stop, &script);
    });
    Ok(())
}

/// Who a thread is.
enum Part {
    High(Vec<Recorder>),
    Middle,
    Low,
}

impl Part {
    fn rehearse(self, scene: Arc<Scene>, stop: Arc<AtomicBool>, script: Script) -> Loop {
        match self {
            Self::High(mut recorders) => {
                inversion::rehearse(&mut recorders);
                Box::new(move || {
                    look(&scene);
                    rounds::done(inversion::high(&scene, &stop, &mut recorders))
                })
            }
            Self::Middle => Box::new(move || {
                look(&scene);
                rounds::done(inversion::middle(&scene, &stop, &script))
            }),
            Self::Low => Box::new(move || {
                look(&scene);
                rounds::done(inversion::low(&scene, &stop, &script))
            }),
        }
    }
}

/// Without real-time policy there are no priorities to invert. (The stage says why it was refused.)
fn look(scene: &Scene) {
    if !matches!(sched::policy(0), Ok(Policy::Fifo { .. } | Policy::Rr { .. })) {
        scene.without_ranks();
    }
}

fn facts(snapshot: &Snapshot) -> Facts {
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let (unconfirmed, inverted) = (snapshot.tallies[UNCONFIRMED], snapshot.tallies[INVERTED]);
    [
        ("rounds", whole(snapshot.plain.count.saturating_add(unconfirmed))),
        ("unconfirmed", whole(unconfirmed)),
        ("inverted", whole(inverted)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .collect()
}
