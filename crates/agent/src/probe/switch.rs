//! `switch`: how long a task that was woken by another takes to run.

mod options;
pub mod partner;

use crate::measure::{Def, Fact, Interval, Measurand, Probe, Quantity, Stage, rounds, with_defaults};
use anyhow::{Context, Result, anyhow, bail, ensure};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    units::Ns,
};
use latido_rt::{
    Snapshot,
    switch::{self, INTERRUPTED, NOT_SLEPT, Pace},
};
use latido_sys::handoff::Handoff;
use options::{Across, Between, HandoffBy};
use partner::{Orders, Partner};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, atomic::Ordering};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "switch",
    about: "how long a task woken by another takes to run: semaphore, futex, pipe or eventfd, threads or processes",
    help: "\
A waiting task of the cell's priority sleeps on a semaphore; a posting task one priority below posts it. A sample of
`switch` is the time from the posting task's clock reading right before the post to the waiting task's reading right
after its wait has returned (CLOCK_MONOTONIC). With a time-sharing policy both tasks have the same.

A round in which the waiting task had not slept (its count of voluntary switches did not rise) measures no switch:
latido leaves it out and counts it, as it does if a signal interrupted the wait. Rounds = samples + not_slept + interrupted.

Options:
  by         semaphore (default; POSIX), futex, pipe or eventfd: what the waiting task sleeps on
  between    threads (default) of one process; processes: the posting task in a separate process, the semaphore or
             futex in memory that both map, pipe or eventfd inherited: the CPU switches the address space too
  across     same (default): both tasks on one CPU; other: on two CPUs, the waiting task on the last of them
  switches   end after this many rounds instead of after the cell's duration; default 0, by duration
  interval   how long the posting task sleeps after each post; default 100us. The CPU is then idle most of the time,
             so that the real-time throttle and the fair server never act; with 0ns the pair uses a whole CPU
  pause      across=other: how long the posting task waits after the waiting task has announced its wait, before it
             posts; default 20us

By default it measures the last allowed CPU, with across=other the last two. fifo and rr need a priority of 2 or more.
Quantity: switch (ns). Facts: rounds, not_slept, interrupted.
The measurement of the embedded-properties study (2014), there with switches=100000; comparable with ptsematest(8) and
svsematest(8), which print whole microseconds.",
    main_option: Some("by"),
    new: |table| {
        let probe = with_defaults(table, DEFAULTS)?;
        for (name, span) in [("interval", probe.interval), ("pause", probe.pause)] {
            ensure!(span <= Ns::from_secs(1), "`{name}` must be at most 1s, so that the posting task notices the end");
        }
        Ok(Box::new(probe))
    },
};

/// Roughly how long a round without a rest takes, to estimate how many rounds there will be, ns.
const ROUND_NS: u64 = 6_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchProbe {
    by: HandoffBy,
    between: Between,
    across: Across,
    switches: u64,
    interval: Ns,
    pause: Ns,
}

const DEFAULTS: SwitchProbe = SwitchProbe {
    by: HandoffBy::Semaphore,
    between: Between::Threads,
    across: Across::Same,
    switches: 0,
    interval: Ns::from_micros(100),
    pause: Ns::from_micros(20),
};

impl Probe for SwitchProbe {
    fn measurand(&self) -> Measurand {
        let measurand = Measurand::new("Task switches", [Quantity::time("switch", "Switch")]);
        let round = self.interval.0.max(ROUND_NS);
        measurand.counted_by("switches", self.switches).expected(Ns(round.saturating_mul(self.switches)))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        match cell.scheduling {
            Scheduling::Fifo { prio } | Scheduling::Rr { prio } => ensure!(
                prio >= 2,
                "the posting task runs one priority below the waiting task: choose a priority of 2 or more for the probe `switch`"
            ),
            Scheduling::Deadline { .. } => bail!(
                "the posting task runs one priority below the waiting task, and deadline tasks have no priority: use fifo, rr or \
                 other for the probe `switch`"
            ),
            Scheduling::Other { .. }
            | Scheduling::Batch { .. }
            | Scheduling::Idle
            | Scheduling::Evl { .. }
            | Scheduling::Cobalt { .. }
            | Scheduling::Unknown
            | Scheduling::Own => {}
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
        let handoff = Handoff::create(self.by.into(), processes)
            .context("cannot create the object by which one task wakes the other")?;
        // The partner starts first: a fork after the preparation of the threads would cost them page faults.
        let partner = if processes { Some(self.partner(stage, &handoff, posting)?) } else { None };
        let handoff = Arc::new(handoff);
        self.wait(stage, waiting, Arc::clone(&handoff))?;
        match partner {
            Some(mut partner) => {
                let (stop, stand_ins) = (stage.stop(), stage.stand_ins());
                // This thread represents the partner here, and sleeps until the partner has ended.
                stage.thread_under(None, None, [], || move || partner.attend(POSTER, &stop, &stand_ins));
            }
            None => self.post(stage, posting, handoff),
        }
        stage.run()
    }
}

/// The posting task is the second thread.
const POSTER: u32 = 1;

impl SwitchProbe {
    fn enough(&self, cpus: usize) -> Result<()> {
        let wanted = self.across.cpus();
        match self.across {
            Across::Same => ensure!(
                cpus == wanted,
                "both tasks share one CPU, but {cpus} are selected: name one with -c, or use across=other"
            ),
            Across::Other => ensure!(
                cpus == wanted,
                "across=other needs exactly two CPUs, one for each task, but {cpus} are selected: name two with -c"
            ),
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        let pause_ns = if self.across == Across::Other { self.pause.0 } else { 0 };
        Pace { pause_ns, interval_ns: self.interval.0 }
    }

    /// Adds the waiting task.
    fn wait(&self, stage: &mut Stage<'_>, cpu: u32, handoff: Arc<Handoff>) -> Result<()> {
        let (mut recorder, series) = stage.series("switch")?;
        let (course, stop) = (rounds::course(&stage.cell, self.switches), stage.stop());
        stage.thread(cpu, [series.facts(facts)], move || {
            let scratch = Handoff::create(handoff.way(), handoff.processes());
            let rehearsed = scratch.map(|scratch| switch::rehearse_wait(&scratch, &mut recorder));
            move || {
                let outcome = switch::wait(&handoff, &course, &stop, &mut recorder);
                if let Some(error) = outcome.end.failure() {
                    bail!("the kernel refused the waiting task: {error}");
                }
                rehearsed.map_err(|error| anyhow!("latido could not rehearse the waiting task: {error}"))?;
                Ok(Interval { first_slot_ns: outcome.first_ns, ended_ns: outcome.ended_ns })
            }
        });
        Ok(())
    }

    /// Adds the posting task as a thread of this process.
    fn post(&self, stage: &mut Stage<'_>, cpu: u32, handoff: Arc<Handoff>) {
        let (pace, stop) = (self.pace(), stage.stop());
        stage.thread_under(Some(below(stage.cell.scheduling)), cpu, [], move || {
            if let Ok(scratch) = Handoff::create(handoff.way(), false) {
                switch::rehearse_post(&scratch);
            }
            move || match partner::failure(switch::post(&handoff, pace, &stop)) {
                None => Ok(Interval::default()),
                Some(why) => {
                    stop.store(true, Ordering::Relaxed);
                    bail!(why)
                }
            }
        });
    }

    /// Starts the posting task as a separate process.
    fn partner(&self, stage: &Stage<'_>, handoff: &Handoff, cpu: u32) -> Result<Partner> {
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
        Ok(partner)
    }
}

/// Returns the posting task's policy: one priority lower if the policy has priorities.
fn below(scheduling: Scheduling) -> Scheduling {
    match scheduling {
        Scheduling::Fifo { prio } => Scheduling::Fifo { prio: prio.saturating_sub(1).max(1) },
        Scheduling::Rr { prio } => Scheduling::Rr { prio: prio.saturating_sub(1).max(1) },
        other => other,
    }
}

fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    let tally = |which: usize| snapshot.tallies.get(which).copied().unwrap_or(0);
    let (not_slept, interrupted) = (tally(NOT_SLEPT), tally(INTERRUPTED));
    let rounds = snapshot.plain.count + not_slept + interrupted;
    vec![("rounds", rounds), ("not_slept", not_slept), ("interrupted", interrupted)]
}
