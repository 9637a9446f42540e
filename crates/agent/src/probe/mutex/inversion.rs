//! form=inversion: three threads, one CPU, one mutex.

use super::{MutexForm, MutexProbe};
use crate::measure::{Fact, Stage, rounds};
use anyhow::{Result, bail, ensure};
use latido_model::cell::{Cell, Scheduling};
use latido_rt::{
    Snapshot,
    inversion::{self, INVERTED, InversionTimes, Scene, UNCONFIRMED},
    rounds::Course,
};
use latido_sys::{
    mutex::{Mutex, Protocol},
    sched::{self, Policy},
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
};

/// Refuses a cell in which the three threads cannot run.
pub fn check(cell: &Cell) -> Result<()> {
    let Some((_, prio)) = rounds::realtime(cell.scheduling) else {
        bail!("form=inversion needs three priorities on one CPU: use fifo or rr, not `{}`", cell.scheduling);
    };
    ensure!(prio >= 3, "form=inversion uses the priorities {prio} and the two below it: choose a priority of 3 to 99");
    let cpus = cell.conditions.cpus.as_ref();
    ensure!(
        cpus.is_none_or(|cpus| cpus.len() == 1),
        "form=inversion runs on one CPU: name one with -c, not {}",
        cpus.map(ToString::to_string).unwrap_or_default()
    );
    Ok(())
}

/// Measures on the cell's CPU.
pub fn measure(probe: &MutexProbe, stage: &mut Stage<'_>) -> Result<()> {
    let [cpu] = stage.cpus()[..] else { bail!("form=inversion runs on one CPU, not {}", stage.cpus().len()) };
    let kinds = probe.kind.each(MutexForm::Inversion);
    let protocols: Vec<Protocol> = kinds.iter().map(|kind| kind.protocol(1)).collect();
    let times = InversionTimes {
        course: rounds::course(&stage.cell, probe.rounds),
        interval_ns: probe.interval.0,
        hold_ns: probe.hold.0,
        busy_ns: probe.busy.0,
    };
    rehearse(&protocols)?;
    let (mut recorders, mut series) = (Vec::new(), Vec::new());
    for kind in kinds {
        let (recorder, own) = stage.series("inversion")?;
        recorders.push(recorder);
        series.push(kind.labels().into_iter().fold(own.facts(facts), |own, (key, value)| own.label(key, value)));
    }
    let scene = Arc::new(scene(&protocols)?);
    let parts = || (Arc::clone(&scene), stage.stop());
    let [high, middle, low] = [parts(), parts(), parts()];
    // When `low` posts, the other two must be there: `high` starts first, and `low` waits for both.
    let scheduling = stage.cell.scheduling;
    stage.thread(cpu, series, move || {
        let (scene, stop) = high;
        inversion::rehearse(&mut recorders);
        move || {
            look(&scene);
            rounds::interval(inversion::high(&scene, &stop, &mut recorders))
        }
    });
    stage.thread_under(Some(lower(scheduling, 1)), cpu, [], move || {
        let (scene, stop) = middle;
        move || {
            look(&scene);
            rounds::interval(inversion::middle(&scene, &stop, &times))
        }
    });
    stage.thread_under(Some(lower(scheduling, 2)), cpu, [], move || {
        let (scene, stop) = low;
        move || {
            look(&scene);
            rounds::interval(inversion::low(&scene, &stop, &times))
        }
    });
    stage.run()
}

fn scene(protocols: &[Protocol]) -> Result<Scene> {
    let mutexes: Result<_, _> = protocols.iter().map(|protocol| Mutex::new(*protocol, false)).collect();
    Ok(Scene::new(mutexes?)?)
}

/// Returns the cell's policy, lower by that many priorities.
fn lower(scheduling: Scheduling, by: u8) -> Scheduling {
    match scheduling {
        Scheduling::Fifo { prio } => Scheduling::Fifo { prio: prio.saturating_sub(by) },
        Scheduling::Rr { prio } => Scheduling::Rr { prio: prio.saturating_sub(by) },
        other => other,
    }
}

/// Runs a scene of a few milliseconds under time-sharing. That makes resident what the C library uses when threads wait for each other. The
/// order of its rounds does not matter.
fn rehearse(protocols: &[Protocol]) -> Result<()> {
    let scene = scene(protocols)?;
    let course = Course { rounds: 5, duration_ns: u64::MAX, warmup_ns: 100_000 };
    let times = InversionTimes { course, interval_ns: 100_000, hold_ns: 100_000, busy_ns: 10_000 };
    let stop = AtomicBool::new(false);
    let mut recorders = Vec::new();
    for _ in protocols {
        recorders.push(latido_rt::recorder::new(&latido_rt::Config::default())?.0);
    }
    thread::scope(|scope| {
        scope.spawn(|| inversion::high(&scene, &stop, &mut recorders));
        scope.spawn(|| inversion::middle(&scene, &stop, &times));
        inversion::low(&scene, &stop, &times);
    });
    Ok(())
}

/// Checks the thread's policy: without a real-time policy there are no priorities to invert. (The stage reports why the kernel refused it.)
fn look(scene: &Scene) {
    if !matches!(sched::policy(0), Ok(Policy::Fifo { .. } | Policy::Rr { .. })) {
        scene.without_ranks();
    }
}

fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    let (unconfirmed, inverted) = (snapshot.tallies[UNCONFIRMED], snapshot.tallies[INVERTED]);
    let rounds = snapshot.plain.count.saturating_add(unconfirmed);
    vec![("rounds", rounds), ("unconfirmed", unconfirmed), ("inverted", inverted)]
}
