//! `switch`: how long a task that was woken by another takes to run.

mod options;
pub mod partner;

use crate::measure::{
    Probe, rounds,
    series::Name,
    stage::{Done, Facts, Job, Loop, Stage, Tap},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    quantity::{Measurand, Quantity},
    registry::{self, Def},
    units::Ns,
};
use latido_rt::{
    Snapshot, recorder,
    switch::{self, INTERRUPTED, NOT_SLEPT, Pace},
};
use latido_sys::handoff::Handoff;
use options::{Across, Between, By};
use partner::{Orders, Partner};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, atomic::Ordering};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "switch",
    about: "how long a task woken by another takes to run: semaphore, futex, pipe or eventfd, threads or processes",
    help: "\
A waiting task of the cell's priority sleeps on a semaphore; a posting task one priority below posts it. A sample of
`switch` is the time from the posting task's look at the clock right before the post to the waiting task's look right
after its wait has returned (CLOCK_MONOTONIC). With a time-sharing policy both tasks have the same.

A round in which the waiting task had not slept (its count of voluntary switches did not rise) measures no switch: it
is left out and counted. So is one whose wait a signal interrupted. Rounds are samples + not_slept + interrupted.

Options:
  by         semaphore (default; POSIX), futex, pipe or eventfd: what the waiting task sleeps on
  between    threads (default) of one process; processes: the posting task in a process of its own, the semaphore or
             futex in memory that both map, pipe or eventfd inherited: the address space is switched too
  across     same (default): both tasks on one CPU; other: on two CPUs, the waiting task on the last one named
  switches   end after this many rounds instead of after the cell's duration; default 0, by duration
  interval   how long the posting task sleeps after each post; default 100us. The CPU then rests for most of the time,
             so that the real-time throttle and the fair server never act; with 0ns the pair takes a whole CPU
  pause      across=other: how long the posting task lets the waiting one fall asleep after its announcement, before it
             posts; default 20us

By default the last allowed CPU is measured, with across=other the last two. fifo and rr need a priority of 2 at least.
Quantity: switch (ns). Facts: rounds, not_slept, interrupted.
The measurement of the embedded-properties study (2014), there with switches=100000; comparable with ptsematest(8) and
svsematest(8), which print whole microseconds.",
    main_option: Some("by"),
    new: |table| {
        let probe = registry::options::<Switch>(table)?;
        for (name, span) in [("interval", probe.interval), ("pause", probe.pause)] {
            ensure!(span <= Ns::from_secs(1), "`{name}` is 1s at most: the posting task must notice the end");
        }
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Switch {
    by: By,
    between: Between,
    across: Across,
    switches: u64,
    interval: Ns,
    pause: Ns,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            by: By::Semaphore,
            between: Between::Threads,
            across: Across::Same,
            switches: 0,
            interval: Ns::from_micros(100),
            pause: Ns::from_micros(20),
        }
    }
}

impl Probe for Switch {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn measurand(&self) -> Measurand {
        Measurand {
            title: "Task switches".into(),
            quantities: vec![Quantity::time("switch", "Switch")],
            counts: vec!["switches".into()],
            counts_samples: self.switches > 0,
            // With no rest between two rounds the system alone decides.
            expected: (self.interval.0 > 0).then(|| Ns(self.interval.0.saturating_mul(self.switches))),
            ..Measurand::default()
        }
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        match cell.scheduling {
            Scheduling::Fifo { prio } | Scheduling::Rr { prio } => ensure!(
                prio >= 2,
                "the posting task runs one priority below the waiting one: give the probe `switch` a priority from 2"
            ),
            Scheduling::Deadline { .. } => anyhow::bail!(
                "a deadline task has no priority that another can be one below: use fifo, rr or other for the probe \
                 `switch`"
            ),
            Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle => {}
        }
        cell.conditions.cpus.as_ref().map_or(Ok(()), |cpus| self.enough(cpus.len()))
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        allowed.iter().skip(allowed.len().saturating_sub(self.across.cpus())).collect()
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let cpus = stage.cpus();
        self.enough(cpus.len())?;
        let (Some(&posting), Some(&waiting)) = (cpus.first(), cpus.last()) else { return Ok(()) };
        let processes = self.between == Between::Processes;
        let handoff = Handoff::create(self.by.into(), processes).context("cannot make what the tasks hand over by")?;
        // First of all: a fork after the threads were prepared would cost them page faults.
        let poster = match processes {
            true => self.partner(stage, &handoff, posting)?,
            false => self.thread(stage, posting),
        };
        let handoff = Arc::new(handoff);
        let (mut recorder, reader) = recorder::new(&stage.config(false))?;
        let name = Name { quantity: "switch".into(), cpu: Some(waiting), ..Name::default() };
        let taps = vec![Tap { name, periodic: false, reader, facts }];
        let task = rounds::task(&stage.cell, self.switches);
        let stop = Arc::clone(&stage.stop);
        let waiter = Arc::clone(&handoff);
        let rehearse = move || -> Loop {
            let scratch = Handoff::create(waiter.way(), waiter.processes());
            let refused = scratch.map(|scratch| switch::rehearse_wait(&scratch, &mut recorder)).err();
            Box::new(move || {
                let outcome = switch::wait(&waiter, &task, &stop, &mut recorder);
                Done {
                    first_slot_ns: outcome.first_ns,
                    ended_ns: outcome.ended_ns,
                    failed: {
                        let refusal = |error| format!("the kernel refused the waiting task: {error}");
                        let unrehearsed = |error| format!("the waiting task could not be rehearsed: {error}");
                        outcome.end.failure().map(refusal).or_else(|| refused.map(unrehearsed))
                    },
                }
            })
        };
        let scheduling = Some(stage.cell.scheduling);
        let waiter = Job { cpu: Some(waiting), scheduling, taps, rehearse: Box::new(rehearse) };
        stage.run(vec![waiter, poster(&handoff)], self.measurand().counts_samples)
    }
}

/// Makes the job of the posting task, once the handoff is shared.
type Poster = Box<dyn FnOnce(&Arc<Handoff>) -> Job>;

/// The posting task is the second job.
const POSTER: u32 = 1;

impl Switch {
    fn enough(&self, cpus: usize) -> Result<()> {
        let wanted = self.across.cpus();
        match self.across {
            Across::Same => ensure!(
                cpus == wanted,
                "both tasks share one CPU, but {cpus} are to be measured: name one with -c, or use across=other"
            ),
            Across::Other => ensure!(
                cpus == wanted,
                "across=other needs exactly two CPUs, one for each task; here are {cpus}: name two with -c"
            ),
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        let pause_ns = if self.across == Across::Other { self.pause.0 } else { 0 };
        Pace { pause_ns, interval_ns: self.interval.0 }
    }

    /// The posting task as a thread of this process.
    fn thread(&self, stage: &Stage<'_>, cpu: u32) -> Poster {
        let (pace, stop) = (self.pace(), Arc::clone(&stage.stop));
        let scheduling = Some(below(stage.cell.scheduling));
        Box::new(move |handoff| {
            let handoff = Arc::clone(handoff);
            let rehearse = move || -> Loop {
                if let Ok(scratch) = Handoff::create(handoff.way(), false) {
                    switch::rehearse_post(&scratch);
                }
                Box::new(move || {
                    let failed = partner::failure(switch::post(&handoff, pace, &stop));
                    if failed.is_some() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    Done { failed, ..Done::default() }
                })
            };
            Job { cpu: Some(cpu), scheduling, taps: Vec::new(), rehearse: Box::new(rehearse) }
        })
    }

    /// The posting task as a process of its own, and a thread that stands for it here.
    fn partner(&self, stage: &Stage<'_>, handoff: &Handoff, cpu: u32) -> Result<Poster> {
        let Pace { pause_ns, interval_ns } = self.pace();
        let orders = Orders {
            by: self.by,
            numbers: handoff.inherit().context("cannot share memory with another process")?,
            thread: POSTER,
            cpu,
            entries: stage.entries.clone(),
            scheduling: below(stage.cell.scheduling),
            pause_ns,
            interval_ns,
        };
        let (partner, refused) = Partner::start(&orders)?;
        if let Some(why) = refused {
            stage.refuse(why);
        }
        let (stop, stand_ins) = (Arc::clone(&stage.stop), stage.stand_ins());
        Ok(Box::new(move |_| {
            let rehearse = move || -> Loop { Box::new(move || partner.attend(POSTER, &stop, &stand_ins)) };
            // It sleeps until the posting task has ended.
            Job { cpu: None, scheduling: None, taps: Vec::new(), rehearse: Box::new(rehearse) }
        }))
    }
}

/// The posting task's policy: one priority below where there are priorities.
fn below(scheduling: Scheduling) -> Scheduling {
    match scheduling {
        Scheduling::Fifo { prio } => Scheduling::Fifo { prio: prio.saturating_sub(1).max(1) },
        Scheduling::Rr { prio } => Scheduling::Rr { prio: prio.saturating_sub(1).max(1) },
        other => other,
    }
}

fn facts(snapshot: &Snapshot) -> Facts {
    let [not_slept, interrupted] =
        [NOT_SLEPT, INTERRUPTED].map(|which| snapshot.tallies.get(which).copied().unwrap_or(0));
    let rounds = snapshot.plain.count + not_slept + interrupted;
    [("rounds", rounds), ("not_slept", not_slept), ("interrupted", interrupted)]
        .into_iter()
        .map(|(name, count)| (name.to_string(), i64::try_from(count).unwrap_or(i64::MAX)))
        .collect()
}
