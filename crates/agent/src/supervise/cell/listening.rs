//! The supervisor's side while the measuring process runs: its messages, the watch of the machine, and its record.

use super::{
    Work,
    completed::{Found, complete, given, measured_cpus, overheated},
};
use crate::{
    journal::Marked,
    loading::running::Running,
    machine::{heat::TooHot, tracing},
    measure::reporter::{Told, answer},
    supervise::{
        attempt::{Deed, Event, Measured},
        child::Measuring,
        in_force::InForce,
        outgoing::Parcel,
        traced::Recording,
        watch::{Hardware, Own, Watch},
    },
};
use anyhow::{Context, Result};
use latido_model::{
    cell::Cell,
    record::{Evidence, Outcome, Tracing},
};
use latido_sys::clock::Clock;
use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

/// The state while the measuring process runs. Rust drops the fields in this order: the process ends before its trace does.
pub(super) struct Listening {
    pub(super) record: Option<Parcel>,
    /// The evidence of the watch until the loops were over.
    pub(super) evidence: Option<Evidence>,
    pub(super) watch: Option<Watch>,
    pub(super) measuring: Measuring,
    /// The state of the hardware before the loops, until the watch begins.
    pub(super) hardware: Option<Hardware>,
    pub(super) inbox: Receiver<Result<Option<Told>>>,
    pub(super) recording: Option<Recording>,
    pub(super) program: Option<Marked>,
    /// The tracing on the machine when the process was started.
    pub(super) tracing: Tracing,
    /// Why there is no record.
    pub(super) failure: Option<String>,
    /// When it became too hot, on CLOCK_MONOTONIC in ns, and the temperature.
    pub(super) too_hot: Option<(u64, TooHot)>,
    /// The zero of the evidence's times, on CLOCK_MONOTONIC in ns.
    pub(super) watched_from: u64,
    /// The priority that a task must reach to delay the probe.
    pub(super) rank: Option<u8>,
}

impl Work<'_> {
    /// Performs a deed that needs the measuring process.
    pub(super) fn listen(&mut self, deed: Deed) -> Result<()> {
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let spool = self.spool.path();
        match deed {
            Deed::WatchBegins => listening.watch_begins(&self.assignment.cell, &self.borrowed.loads),
            Deed::WatchEnds => listening.watch_ends(),
            Deed::LookAround => listening.watch.iter_mut().for_each(Watch::look),
            Deed::Checkpoint(measured) => {
                let parcel = listening.completed(measured, &self.found, &self.borrowed, spool);
                if let Some(recording) = &mut listening.recording {
                    recording.checkpoint(&parcel)?;
                }
                self.voice.send(parcel);
            }
            Deed::Keep(measured) => {
                listening.record = Some(listening.completed(measured, &self.found, &self.borrowed, spool));
            }
            Deed::Rank(rank) => listening.rank = rank,
            Deed::HandOver => {
                listening.recording = listening.recording.take().map(|one| one.hand_over(spool)).transpose()?;
            }
            Deed::Raise { line, prio } => {
                let raised = self.borrowed.raise(&line, prio, self.journal);
                answer(spool, &raised.map_err(|error| format!("{error:#}")))?;
            }
            Deed::Blame(why) => listening.failure = Some(why),
            Deed::Cool => {
                let why = listening.too_hot.map(|(_, hot)| hot.to_string()).unwrap_or_default();
                self.borrowed.loads.iter_mut().for_each(|load| load.end_early(&why));
            }
            Deed::Stop => listening.measuring.stop(),
            Deed::Kill => listening.measuring.kill(),
            // These need no measuring process.
            Deed::LetGoOfCode | Deed::LoadsBegin | Deed::LoadsEnd | Deed::StopLoads | Deed::Reap => {}
            Deed::Tell(_) | Deed::LetGo => {}
        }
        Ok(())
    }

    /// Listens to the measuring process for at most this long.
    pub(super) fn hear(&self, patience: Duration) -> Result<Event> {
        let Some(listening) = &self.listening else { return Ok(Event::Ended) };
        Ok(match listening.inbox.recv_timeout(patience) {
            Ok(told) => told?.map_or(Event::Ended, Event::Told),
            Err(RecvTimeoutError::Timeout) => Event::Silence,
            Err(RecvTimeoutError::Disconnected) => Event::Ended,
        })
    }

    /// Glances at the probe's threads.
    pub(super) fn glance(&mut self) -> Event {
        let watch = self.listening.as_mut().and_then(|listening| listening.watch.as_mut());
        Event::Glanced { stands: watch.is_some_and(Watch::glance) }
    }

    /// Reads the temperature.
    pub(super) fn feel(&mut self) -> Event {
        let too_hot = self.heat.look().map(|hot| (Clock::Monotonic.now(), hot));
        if let Some(listening) = &mut self.listening {
            listening.too_hot = too_hot;
        }
        Event::Felt { hot: too_hot.is_some() }
    }

    /// Waits for the measuring process, ends the trace, and takes the record.
    pub(super) fn collect(&mut self) -> Result<Event> {
        let mut listening = self.listening.take().context("there is no measuring process")?;
        let ended = listening.measuring.wait();
        let mut record = listening.record.take();
        if let (Some(parcel), Some(recording)) = (&mut record, listening.recording.take()) {
            recording.enclose(self.spool.path(), parcel)?;
        }
        self.parcel = Some(given(record, listening.failure.take(), &ended)?);
        Ok(Event::Done)
    }
}

/// Returns the evidence of a watch that ends here. Without a watch, the evidence states that.
fn at_the_end(watch: Option<Watch>) -> Evidence {
    let Some(watch) = watch else { return Evidence { unwatched: true, ..Evidence::default() } };
    let mut seen = Evidence::default();
    watch.finish(&mut seen);
    seen
}

/// Returns the evidence so far.
fn until_now(watch: &Watch) -> Evidence {
    let mut seen = Evidence::default();
    watch.write(&mut seen);
    seen
}

impl Listening {
    fn watch_begins(&mut self, cell: &Cell, loads: &[Running]) {
        self.watched_from = Clock::Monotonic.now();
        let own = Own {
            priority: self.rank,
            measuring: self.measuring.child.id(),
            program: self.program.as_ref().map(Marked::variable),
            marks: loads.iter().filter_map(Running::mark).collect(),
        };
        self.watch = self.hardware.take().map(|before| Watch::start(&measured_cpus(cell), own, before));
    }

    fn watch_ends(&mut self) {
        self.evidence = Some(at_the_end(self.watch.take()));
    }

    /// Completes a record with the facts that only the supervisor knows.
    fn completed(&self, measured: Measured, found: &Found, borrowed: &InForce, spool: &Path) -> Parcel {
        let Measured { mut record, files, place } = measured;
        let mut seen = match (&self.watch, &self.evidence) {
            (Some(watch), _) => until_now(watch),
            (None, Some(ended)) => ended.clone(),
            (None, None) => at_the_end(None),
        };
        // Another program may have started to trace meanwhile. A trace that `stop_on` froze is off now.
        let meanwhile = seen.tracing.take();
        seen.tracing = Some(match record.outcome {
            Outcome::Checkpoint => self.tracing.clone(),
            _ => self.tracing.clone().and(tracing::seen(&crate::fault::tracing_root())),
        });
        seen.tracing = seen.tracing.map(|tracing| meanwhile.into_iter().fold(tracing, Tracing::and));
        seen.by_hand.clone_from(&found.by_hand);
        complete(&mut record, &found.machine, borrowed, seen, self.watched_from);
        record.quality.overheated = self.too_hot.map(|too_hot| overheated(too_hot, record.anchors.monotonic_ns));
        Parcel { record, files, dir: spool.join(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measuring process may finish before the supervisor learns that it began.
    #[test]
    fn without_a_watch_nobody_looked() {
        assert!(at_the_end(None).unwatched);
        assert!(!Evidence::default().unwatched, "a watch begins with this");
    }
}
