//! One request to a target's agent and its reply, for the commands that measure nothing.

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

/// Inspects a machine through its agent.
///
/// # Errors
/// latido cannot reach the target, or the agent reports why it cannot answer.
pub fn inspect(target: &str, what: Inspect) -> Result<Inspected> {
    let mut found = None;
    answered(target, &Request::Inspect(what), &|| false, &mut |reply| {
        if let Reply::Inspected(inspected) = reply {
            found = Some(*inspected);
        }
    })?;
    found.context("the agent did not say what it found")
}

/// The agent that receives requests about settings.
pub struct Ask<'a> {
    /// The target; `None` for this machine.
    pub target: Option<&'a str>,
    /// A tree of files to use instead of the machine's, in builds for tests.
    pub sysroot: Option<PathBuf>,
    /// How long to wait for another running latido to end.
    pub wait: Option<Ns>,
}

impl Ask<'_> {
    /// Has the agent read or change settings. Each note from the agent becomes a warning.
    ///
    /// # Errors
    /// latido cannot reach the target, or the agent refuses the request.
    pub fn tune(&self, what: TuneWhat, stopped: &dyn Fn() -> bool) -> Result<Tuned> {
        self.tune_telling(what, stopped, &|note| output::tell(&format!("warning: {note}")))
    }

    /// The same, but `tell` receives the notes.
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
    // The agent died or the connection was lost. latido restores at once whatever the agent may have left.
    for told in machines::recovered(target.as_ref(), RUNNING, 1, &|| false) {
        output::tell(&format!("warning: {told}"));
    }
    answered.map_err(|error| if said.is_empty() { error } else { error.context(said) })
}
