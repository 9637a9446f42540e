//! One cell from the host's side: start an agent, listen, store what comes, and put right what an agent left behind.

use super::{interrupt::Interrupts, screen::Screen};
use crate::{store::Draft, target::local::Session};
use anyhow::{Result, anyhow};
use latido_agent::{measure::assignment::stay_on, supervise::assign::assign};
use latido_model::{
    cell::Cell,
    cpus::CpuSet,
    protocol::{Body, EndStatus, Message},
    quantity::Measurand,
    record::{HostFacts, Outcome, Record},
};
use latido_report::live::View;
use std::time::{Duration, Instant};

/// An agent that says nothing for this long hangs.
const SILENCE: Duration = Duration::from_secs(120);

/// What became of a cell.
pub enum Ended {
    /// A record is stored.
    Measured,
    /// No record, for a reason that is not the machine under test.
    Infra(String),
    /// A person stopped it; a record of what was measured until then may be stored.
    Interrupted,
}

/// A cell's place in its run.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
    pub cells: usize,
    /// It in words.
    pub label: &'a str,
    /// What its probe measures.
    pub measurand: &'a Measurand,
    /// The CPUs that this process may use.
    pub allowed: &'a CpuSet,
    /// How long the cells after it will measure, in ns.
    pub after_ns: u64,
}

/// Runs one cell and stores what comes of it.
///
/// # Errors
/// The store cannot be written: the run cannot go on, the measured figures are in the error.
pub fn cell(
    draft: &mut Draft,
    cell: &Cell,
    place: Place<'_>,
    interrupts: &Interrupts,
    screen: &mut Screen,
) -> Result<Ended> {
    let number = place.number;
    draft.start_cell(number)?;
    latido_agent::fault::point("host");
    let started = jiff::Timestamp::now();
    // The agent inherits our CPUs and needs them all; then the screen and the store stay off the measured ones.
    stay_on(Some(place.allowed));
    let mut session = match Session::start(cell) {
        Ok(session) => session,
        Err(error) => return infra(draft, number, format!("{error:#}")),
    };
    if let Ok(assignment) = assign(cell.clone()) {
        stay_on(assignment.housekeeping.as_ref());
    }
    latido_agent::fault::point("host");
    let mut listener = Listener {
        draft,
        cell,
        place,
        started,
        armed_at: 0,
        files: Vec::new(),
        errors: Vec::new(),
        stored: false,
        warned: false,
    };
    let mut heard = Instant::now();
    let mut asked = 0;
    let status = loop {
        // First Ctrl-C: finish and store what there is; second: stop now. Both undo.
        let wanted = interrupts.count();
        if wanted > asked {
            match wanted {
                1 => {
                    screen.note("ending the measurement and storing it; press Ctrl-C again to stop at once");
                    session.stop();
                }
                _ => {
                    screen.note("stopping at once; the machine's settings are put back");
                    session.terminate();
                }
            }
            asked = wanted;
        }
        match session.receive(Duration::from_millis(100)) {
            Ok(None) if heard.elapsed() > SILENCE => {
                break Err(anyhow!("the agent said nothing for {} s and was ended", SILENCE.as_secs()));
            }
            Ok(None) => {}
            Ok(Some(message)) => {
                heard = Instant::now();
                match listener.hear(message, screen) {
                    Ok(None) => {}
                    Ok(Some(end)) => break Ok(end),
                    Err(error) => {
                        // The store refuses: let the machine be put back, then report.
                        session.terminate();
                        session.close(true);
                        return Err(error);
                    }
                }
                latido_agent::fault::point("host");
            }
            Err(error) => break Err(error),
        }
    };
    for told in session.close(status.is_ok()) {
        screen.warn(&told);
    }
    let stored = listener.stored;
    let said = listener.errors.join("; ");
    if stored && !said.is_empty() {
        // What a crash before left to undo, or what would not go back.
        screen.warn(&said);
    }
    match status {
        _ if asked > 0 && stored => Ok(Ended::Interrupted),
        Ok(_) if stored => Ok(Ended::Measured),
        // Left open: without a record it counts as not measured, and --resume measures it again.
        _ if asked > 0 => Ok(Ended::Interrupted),
        Ok(_) => {
            infra(draft, number, if said.is_empty() { "the agent gave no record and no reason".into() } else { said })
        }
        Err(error) => {
            let reason = [said, format!("{error:#}")].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>();
            infra(draft, number, reason.join("; "))
        }
    }
}

fn infra(draft: &mut Draft, number: usize, reason: String) -> Result<Ended> {
    draft.fail_cell(number, &reason)?;
    Ok(Ended::Infra(reason))
}

/// Turns messages into stored files.
struct Listener<'a> {
    draft: &'a mut Draft,
    cell: &'a Cell,
    place: Place<'a>,
    started: jiff::Timestamp,
    armed_at: u64,
    files: Vec<(String, Vec<u8>)>,
    errors: Vec<String>,
    stored: bool,
    /// Whether a checkpoint failed before.
    warned: bool,
}

impl Listener<'_> {
    /// Returns the end status when the stream said that it ends.
    fn hear(&mut self, message: Message, screen: &mut Screen) -> Result<Option<EndStatus>> {
        match message {
            Message::Blob { name, bytes } => self.files.push((name, bytes)),
            Message::Line(Body::Progress(progress)) => {
                self.armed_at = self.armed_at.max(progress.armed_at_ns);
                screen.progress(View {
                    number: self.place.number,
                    cells: self.place.cells,
                    label: self.place.label,
                    cell: self.cell,
                    measurand: self.place.measurand,
                    after_ns: self.place.after_ns,
                    progress: &progress,
                });
            }
            Message::Line(Body::Record(record)) => self.store(&record, screen)?,
            // Said once: with the reason of a cell that failed, or behind one that was measured all the same.
            Message::Line(Body::Error { message }) => self.errors.push(message),
            Message::Line(Body::End { status }) => return Ok(Some(status)),
            Message::Line(Body::Hello { .. } | Body::Blob { .. }) => {}
        }
        Ok(None)
    }

    fn store(&mut self, record: &Record, screen: &mut Screen) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        if record.outcome == Outcome::Checkpoint {
            // A checkpoint that cannot be stored is not worth the measurement: the final record may still fit.
            if let Err(error) = self.draft.checkpoint(self.place.number, record, &files) {
                if !self.warned {
                    screen
                        .warn(&format!("checkpoints cannot be stored, so a power cut would cost the cell: {error:#}"));
                }
                self.warned = true;
            }
            return Ok(());
        }
        let host = HostFacts {
            started: self.started.to_string(),
            stored: jiff::Timestamp::now().to_string(),
            run: self.draft.meta.id.clone(),
            start_to_armed_ns: self.armed_at.checked_sub(super::started_ns()).filter(|_| self.armed_at > 0),
        };
        let written = files
            .iter()
            .try_for_each(|(name, bytes)| self.draft.put_file(self.place.number, name, bytes))
            .and_then(|()| self.draft.finish_cell(self.place.number, record, &host));
        latido_agent::fault::point("host");
        if let Err(error) = written {
            screen.clear();
            super::outcome::print_unstored(record, &files);
            return Err(error.context("the measured figures could not be stored; they are printed above"));
        }
        self.stored = true;
        Ok(())
    }
}
