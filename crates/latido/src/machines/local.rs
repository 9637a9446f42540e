//! This machine: the agent is a child process, the stream a pipe. The same path as for any other machine.

use super::{Def, Target, Unavailable, only_running, session::Session};
use crate::stop::Stopped;
use anyhow::{Context, Result, ensure};
use latido_sys::identity;
use std::process::Command;

/// The list entry.
pub const DEF: Def = Def {
    name: "local",
    about: "this machine",
    for_tests: false,
    place: "",
    new: |place| {
        ensure!(place.is_empty(), "the target `local` takes nothing after a colon");
        Ok(Box::new(Local))
    },
};

struct Local;

impl Target for Local {
    fn open(&self, kernel: &str, boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable> {
        only_running(DEF.name, kernel, boot)?;
        let own = std::env::current_exe().context("cannot find latido's own file to start the agent")?;
        // Runs as latido does: the agent needs all of root's rights, and it runs latido's own executable.
        let mut agent = Command::new(own);
        // The mark is for processes of a load. The agent is not one.
        agent.arg("agent").env_remove(latido_agent::journal::MARK);
        latido_agent::fault::only_once(&mut agent);
        identity::give_back(&mut agent);
        Ok(Session::over(agent, "the agent", stopped).context("cannot start the agent")?)
    }
}
