//! One cell from the host's side: it requests the measurement, receives messages and stores the results.

use super::{
    patience::{PATIENCE, Patience, Stop},
    screen::Screen,
    verdict::{Ended, Heard},
};
use crate::stop::StopRequests;
use crate::{
    machines::{self, session::Session},
    store::{self, Draft, Incoming},
};
use anyhow::{Result, anyhow};
use latido_model::{
    cell::Cell,
    protocol::{EndStatus, Message, Reply},
    quantity::Measurand,
    record::{HostFacts, Outcome, Record},
};
use latido_report::live::View;
use latido_sys::memory;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// The longest wait for a message before the host checks Ctrl-C again. While the agent samples, messages arrive about as often.
const LISTEN: Duration = Duration::from_millis(200);

/// How many bytes of the received files the host keeps in memory, to show them to the user if the store accepts nothing.
const RESCUE: usize = 4 << 20;

/// A cell's place in its run.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The cell's number, from 1.
    pub number: usize,
    /// The number of cells.
    pub cells: usize,
    /// The cell's name in words.
    pub label: &'a str,
    /// What its probe measures.
    pub measurand: &'a Measurand,
    /// How long the cells after it will measure, in ns.
    pub after_ns: u64,
}

/// Runs one cell in a session and stores its result.
///
/// # Errors
/// The store cannot be written: the run cannot go on. The error contains the measured figures.
pub fn cell(
    draft: &mut Draft,
    cell: &Cell,
    place: Place<'_>,
    session: &mut Session,
    stops: &StopRequests,
    screen: &mut Screen,
) -> Result<Ended> {
    let number = place.number;
    let started = jiff::Timestamp::now();
    latido_agent::fault::point("host");
    let mut listener = Listener {
        draft,
        cell,
        place,
        started,
        armed_at: 0,
        incoming: None,
        rescue: Vec::new(),
        held: 0,
        error: None,
        notes: Vec::new(),
        refused: None,
        boot_id: session.hello.boot_id.clone(),
        stored: false,
        warned: false,
    };
    let (status, asked) = listen(&mut listener, session, stops, screen)?;
    let stored = listener.stored;
    for note in std::mem::take(&mut listener.notes) {
        // The notes are about what an earlier crash left to undo, or what could not be restored.
        screen.warn(&note);
    }
    let said = listener.error.take();
    if let Err(error) = listener.draft.forget(number) {
        screen.warn(&format!("{error:#}"));
    }
    let heard = Heard { status, stored, said, interrupted: asked > 0 };
    let (warnings, ended) = heard.verdict();
    warnings.iter().for_each(|warning| screen.warn(warning));
    if let Ended::Infra(reason) = &ended {
        draft.fail_cell(number, reason)?;
    }
    Ok(ended)
}

/// Listens until the agent reports the end of the cell, and passes on the user's Ctrl-C. Returns how the stream ended, and how often the
/// user requested the end.
fn listen(
    listener: &mut Listener<'_>,
    session: &mut Session,
    stops: &StopRequests,
    screen: &mut Screen,
) -> Result<(Result<EndStatus>, usize)> {
    if let Err(error) = session.measure(listener.cell, listener.place.measurand) {
        session.abandon();
        return Ok((Err(error), 0));
    }
    latido_agent::fault::point("host");
    let began = Instant::now();
    let mut patience = Patience::new(latido_agent::fault::silence(), began.elapsed());
    loop {
        if let Some(stop) = patience.asked_for(stops.count(), began.elapsed()) {
            screen.note(match stop {
                Stop::InOrder => "ending the measurement and storing it; press Ctrl-C again to stop at once",
                Stop::AtOnce => "stopping at once; the machine's settings are put back",
            });
            session.stop(stop == Stop::AtOnce);
        }
        if patience.is_over(began.elapsed()) {
            session.abandon();
            return Ok((Err(patience.refused()), patience.asked()));
        }
        let message = match session.receive(LISTEN) {
            Ok(Some(message)) => message,
            Ok(None) if patience.is_silent(began.elapsed()) => {
                session.abandon();
                return Ok((Err(patience.deaf()), patience.asked()));
            }
            Ok(None) => continue,
            Err(error) => {
                let said = session.abandon();
                let error = if said.is_empty() { error } else { error.context(said) };
                return Ok((Err(error), patience.asked()));
            }
        };
        patience.heard(began.elapsed());
        match listener.hear(message, screen) {
            Ok(None) => {}
            Ok(Some(end)) => return Ok((Ok(end), patience.asked())),
            Err(Trouble::Agent(error)) => {
                session.abandon();
                return Ok((Err(error), patience.asked()));
            }
            // The store fails: the agent restores the machine before the host reports that.
            Err(Trouble::Store(error)) => {
                session.stop(true);
                while !matches!(session.receive(PATIENCE), Ok(Some(Message::Reply(Reply::End { .. })) | None) | Err(_))
                {
                }
                return Err(error);
            }
        }
        latido_agent::fault::point("host");
    }
}

/// Why the host did not accept a message.
enum Trouble {
    /// An agent may not send it at this point.
    Agent(anyhow::Error),
    /// The store cannot be written.
    Store(anyhow::Error),
}

/// Turns messages into stored files.
struct Listener<'a> {
    draft: &'a mut Draft,
    cell: &'a Cell,
    place: Place<'a>,
    started: jiff::Timestamp,
    armed_at: u64,
    /// The file that is arriving; `None` where the store does not accept it.
    incoming: Option<Incoming>,
    /// Small files kept in memory; the last is the one that is arriving.
    rescue: Vec<(String, Vec<u8>)>,
    /// Their size together, in bytes.
    held: usize,
    error: Option<String>,
    notes: Vec<String>,
    /// Why the store did not accept a file.
    refused: Option<anyhow::Error>,
    /// The boot of the machine under test.
    boot_id: String,
    stored: bool,
    /// Whether an earlier checkpoint failed.
    warned: bool,
}

impl Listener<'_> {
    /// Handles a message. Returns the end status if the agent reports the end of the cell.
    fn hear(&mut self, message: Message, screen: &mut Screen) -> Result<Option<EndStatus>, Trouble> {
        match message {
            Message::Bytes(bytes) => self.bytes(&bytes),
            Message::Reply(Reply::Attachment { name, .. }) => {
                store::check_name(&name).map_err(Trouble::Agent)?;
                let begun = self.draft.receive(self.place.number, &name);
                self.incoming = self.unless_refused(begun);
                self.rescue.push((name, Vec::new()));
            }
            Message::Reply(Reply::AttachmentEnd { .. }) => {
                if let Some(incoming) = self.incoming.take() {
                    let kept = incoming.keep();
                    self.unless_refused(kept);
                }
            }
            Message::Reply(Reply::Progress(progress)) => {
                if self.armed_at == 0 && progress.armed_at_ns > 0 {
                    // From here on the host only listens: the code for planning and preparing is idle.
                    memory::let_go_of_code();
                }
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
            Message::Reply(Reply::Record(record)) => self.record(&record, screen)?,
            Message::Reply(Reply::Note { message }) => self.notes.push(message),
            Message::Reply(Reply::Error { message }) => self.error = Some(message),
            Message::Reply(Reply::End { status }) => return Ok(Some(status)),
            Message::Reply(other) => {
                return Err(Trouble::Agent(anyhow!(
                    "the agent sent an answer that does not match the request: {}",
                    name(&other)
                )));
            }
        }
        Ok(None)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(incoming) = &mut self.incoming {
            let written = incoming.write(bytes);
            if self.unless_refused(written).is_none() {
                self.incoming = None;
            }
        }
        let held = self.held + bytes.len();
        if let Some((_, kept)) = self.rescue.last_mut().filter(|_| held <= RESCUE) {
            kept.extend_from_slice(bytes);
            self.held = held;
        }
    }

    /// Notes why the store refused. A refusal does not end the measurement.
    fn unless_refused<T>(&mut self, done: Result<T>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(error) => {
                self.refused.get_or_insert(error);
                None
            }
        }
    }

    fn record(&mut self, record: &Record, screen: &mut Screen) -> Result<(), Trouble> {
        if let Some(why) = record.strays_from(self.cell) {
            return Err(Trouble::Agent(anyhow!(why)));
        }
        let (files, _) = (std::mem::take(&mut self.rescue), std::mem::take(&mut self.held));
        let came: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(name) = record.files().find(|name| !came.contains(name.as_str())) {
            return Err(Trouble::Agent(anyhow!("the record names the file {name}, which the agent did not send")));
        }
        let refused = self.refused.take();
        let number = self.place.number;
        if record.outcome == Outcome::Checkpoint {
            // A checkpoint that cannot be stored does not end the measurement: the final record may still fit.
            let stored = refused.map_or_else(|| self.draft.checkpoint(number, record), Err);
            if let Err(error) = stored {
                if !self.warned {
                    screen.warn(&format!(
                        "latido cannot store checkpoints, so a power cut would lose the cell: {error:#}"
                    ));
                }
                self.warned = true;
                let _ = self.draft.forget(number);
            }
            return Ok(());
        }
        let host = HostFacts {
            started: self.started.to_string(),
            stored: jiff::Timestamp::now().to_string(),
            run: self.draft.meta.id.clone(),
            boot_id: self.boot_id.clone(),
            start_to_armed_ns: self
                .armed_at
                .checked_sub(super::started_ns())
                .filter(|_| self.armed_at > 0 && machines::is_local(&self.cell.target)),
        };
        let written = refused.map_or_else(|| self.draft.finish_cell(number, record, &host), Err);
        latido_agent::fault::point("host");
        if let Err(error) = written {
            screen.clear();
            super::outcome::print_unstored(record, &files);
            let told = "latido could not store the measured figures; they are printed above";
            return Err(Trouble::Store(error.context(told)));
        }
        self.stored = true;
        Ok(())
    }
}

/// Names a reply, for an error.
fn name(reply: &Reply) -> &'static str {
    match reply {
        Reply::Ready(_) => "what it can measure",
        Reply::Inspected(_) => "an inspection",
        Reply::Tuned(_) => "settings",
        _ => "a piece of a file",
    }
}
