//! One question to a target's agent and its answer, for the commands that measure nothing.

use crate::{
    machines::{self, Unavailable, session::Session},
    output,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{LOCAL, RUNNING},
    protocol::{Inspect, Inspected, Reply, Request, Tune, TuneWhat, Tuned},
    units::Ns,
};
use std::path::PathBuf;

/// Looks at a machine.
///
/// # Errors
/// The target cannot be reached, or the agent says why not.
pub fn inspect(target: &str, what: Inspect) -> Result<Inspected> {
    let mut found = None;
    answered(target, &Request::Inspect(what), &|| false, &mut |reply| {
        if let Reply::Inspected(inspected) = reply {
            found = Some(*inspected);
        }
    })?;
    found.context("the agent did not say what it found")
}

/// Who is asked about settings.
pub struct Ask<'a> {
    /// The target; absent, this machine.
    pub target: Option<&'a str>,
    /// A tree of files instead, in builds for tests.
    pub sysroot: Option<PathBuf>,
    /// How long another latido that is at work is waited for.
    pub wait: Option<Ns>,
}

impl Ask<'_> {
    /// Has something done about settings; what the agent notes becomes a warning.
    ///
    /// # Errors
    /// The target cannot be reached, or what was refused.
    pub fn tune(&self, what: TuneWhat, stopped: &dyn Fn() -> bool) -> Result<Tuned> {
        self.tune_telling(what, stopped, &|note| output::tell(&format!("warning: {note}")))
    }

    /// The same with somebody who hears the notes.
    ///
    /// # Errors
    /// As [`Ask::tune`].
    pub fn tune_telling(&self, what: TuneWhat, stopped: &dyn Fn() -> bool, tell: &dyn Fn(String)) -> Result<Tuned> {
        let request = Request::Tune(Tune { what, sysroot: self.sysroot.clone(), wait: self.wait });
        let mut done = None;
        answered(self.target.unwrap_or(LOCAL), &request, stopped, &mut |reply| match reply {
            Reply::Tuned(tuned) => done = Some(*tuned),
            Reply::Note { message } => tell(message),
            _ => {}
        })?;
        done.context("the agent did not say what it did")
    }
}

fn answered(target: &str, request: &Request, stopped: &dyn Fn() -> bool, hear: &mut dyn FnMut(Reply)) -> Result<()> {
    let target = machines::named(target)?;
    let mut session: Session = match target.open(RUNNING, 1, stopped) {
        Ok(session) => session,
        Err(Unavailable::NotHad(reason)) => anyhow::bail!(reason),
        Err(Unavailable::Failed(error)) => return Err(error),
    };
    let answered = session.answer(request, stopped, hear);
    if session.is_whole() {
        session.close();
        return answered;
    }
    let said = session.abandon();
    latido_agent::fault::point("host");
    // It died or was lost: what it may have left goes back at once.
    for told in machines::recovered(target.as_ref(), RUNNING, 1, &|| false) {
        output::tell(&format!("warning: {told}"));
    }
    answered.map_err(|error| if said.is_empty() { error } else { error.context(said) })
}
