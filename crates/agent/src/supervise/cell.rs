//! One cell: latido applies tunings, then starts loads, then the measuring process. It restores everything, then completes and sends the
//! record. `attempt.rs` decides what is done when.

mod completed;
mod ending;
mod listening;
mod steps;

use super::{
    Serving,
    assign::assign,
    attempt::{self, Ask, Close, Deed, Event, World},
    client::{Client, Wish, urgently},
    in_force::InForce,
    outgoing::{Parcel, Voice},
};
use crate::{
    journal::{Journal, lock, pulse::Pulse},
    loading::{orphans, running::Running},
    machine::{self, heat::Heat},
    measure::assignment::Assignment,
    scratch::{self, Scratch},
};
use anyhow::{Context, Error, Result, ensure};
use completed::Found;
use ending::Settled;
use latido_model::{
    cell::{Cell, Level},
    cpus::CpuSet,
    protocol::Progress,
};
use latido_sys::memory;
use listening::Listening;
use std::{
    thread,
    time::{Duration, Instant},
};

impl Serving {
    /// Returns a pulse that reports progress to the host while settings change, and stops when the host wants the end.
    pub(super) fn pulse(&self) -> Pulse {
        let (client, voice) = (self.client.clone(), self.voice.clone());
        // There is no crash point here: how often this runs depends on the machine.
        Pulse::new(move || client.wish() > Wish::GoOn, move |phase| voice.progress(Progress::of(phase)))
    }

    /// Measures a cell. latido restores everything that it applied for the cell before it sends the record.
    pub(super) fn measure(&mut self, cell: Cell) -> Result<()> {
        ensure!(self.run.is_some(), "a cell came before the machine was prepared for it");
        // The supervisor must run before the loads: otherwise it could not end an overload. Without the permission the kernel refuses, and
        // latido goes on. The loads start without this priority.
        urgently();
        let allowed = machine::own_cpus();
        let lock = lock::take("lock", &format!("cell of `{}`", cell.plan))?;
        let mut journal = Journal::open(&lock, None, self.pulse())?;
        scratch::sweep();
        journal.news().into_iter().for_each(|message| self.voice.note(message));
        let named: Level = cell.tuning.clone();
        let assignment = assign(cell)?;
        let spool = Scratch::new(0).context("cannot make a directory for the files of the measurement")?;
        attempt::carry_out(&mut Work {
            client: &self.client,
            voice: &self.voice,
            heat: Heat::of(crate::fault::thermal_root(), &assignment.cell),
            assignment: &assignment,
            named: &named,
            allowed: &allowed,
            began: Instant::now(),
            found: Found::default(),
            failure: None,
            parcel: None,
            listening: None,
            settled: Settled::default(),
            borrowed: InForce::default(),
            spool: &spool,
            journal: &mut journal,
        })
    }
}

/// The attempt at a cell on this machine.
struct Work<'a> {
    client: &'a Client,
    voice: &'a Voice,
    heat: Heat,
    assignment: &'a Assignment,
    /// The tunings that a person requested.
    named: &'a Level,
    /// The CPUs that this process may use.
    allowed: &'a CpuSet,
    began: Instant,
    found: Found,
    /// What ended the attempt.
    failure: Option<Error>,
    /// The record, complete.
    parcel: Option<Parcel>,
    /// Present while the measuring process runs.
    listening: Option<Listening>,
    settled: Settled,
    borrowed: InForce,
    spool: &'a Scratch,
    journal: &'a mut Journal,
}

impl World for Work<'_> {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn perform(&mut self, deed: Deed) -> Result<()> {
        let loads = &mut self.borrowed.loads;
        match deed {
            Deed::LetGoOfCode => memory::let_go_of_code(),
            Deed::LoadsBegin => loads.iter_mut().for_each(Running::measuring_starts),
            Deed::LoadsEnd => loads.iter_mut().for_each(Running::measuring_ends),
            Deed::StopLoads => loads.iter_mut().rev().for_each(Running::stop),
            Deed::Reap => {
                orphans::reap();
                loads.iter_mut().for_each(|load| _ = load.alive());
            }
            Deed::Tell(progress) => {
                self.voice.progress(progress);
                crate::fault::point("agent");
            }
            Deed::LetGo => self.listening = None,
            deed => return self.listen(deed),
        }
        Ok(())
    }

    fn answer(&mut self, ask: Ask) -> Result<Event> {
        match ask {
            Ask::Tune => self.tune(),
            Ask::Load => self.load(),
            Ask::Loads => self.loads(),
            Ask::Start => self.start(),
            Ask::Collect => self.collect(),
            Ask::Undo => Ok(self.undo()),
            Ask::Pause(span) => {
                thread::sleep(span);
                Ok(Event::Turn)
            }
            Ask::Host => {
                let wish = self.client.wish();
                Ok(Event::Host { wish, gone: wish == Wish::End && self.client.is_gone() })
            }
            Ask::Hear(patience) => self.hear(patience),
            Ask::Glance => Ok(self.glance()),
            Ask::Heat => Ok(self.feel()),
        }
    }

    fn failed(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    fn close(&mut self, close: Close) -> Result<()> {
        self.end(close)
    }
}
