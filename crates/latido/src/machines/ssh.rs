//! A machine over ssh: the system's ssh with its own configuration. Nothing listens on the machine, and no word of a plan reaches a shell.

use super::{Def, Target, Unavailable, only_running, session::Session};
use crate::stop::Stopped;
use anyhow::{Result, ensure};
use latido_agent::far::{self, Copied, Way, host};
use std::sync::{Mutex, PoisonError};

/// The list entry.
pub const DEF: Def = Def {
    name: "ssh",
    about: "a machine over ssh, with the agent copied there once; $LATIDO_SSH_CONFIG names another configuration file",
    for_tests: false,
    place: "[USER@]HOST",
    new: |place| Ok(Box::new(Ssh { host: host(place)?, left: Mutex::default() })),
};

struct Ssh {
    host: String,
    /// Directories on the machine that latido could not remove because the link was lost.
    left: Mutex<Vec<String>>,
}

impl Target for Ssh {
    fn open(&self, kernel: &str, boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable> {
        only_running(&format!("ssh:{}", self.host), kernel, boot)?;
        let way = Way::open(&self.host, stopped)?;
        let copied = far::there(&way, &mut self.left.lock().unwrap_or_else(PoisonError::into_inner), stopped)?;
        let mut command = way.command(&command(&way, &copied, stopped)?);
        command.stderr(std::process::Stdio::piped());
        let session = Session::over(command, &format!("ssh {}", self.host), stopped)?;
        Ok(session.holding(Box::new((copied, way))))
    }
}

/// Returns the command that starts the agent: as root if sudo allows exactly that without a password.
fn command(way: &Way, copied: &Copied, stopped: Stopped<'_>) -> Result<Vec<String>> {
    let path = copied.path.as_str();
    let own = || {
        let passed_on = latido_agent::fault::passed_on();
        ["exec".into()].into_iter().chain(passed_on).chain([path.into(), "agent".into()]).collect()
    };
    if copied.uid == 0 {
        return Ok(own());
    }
    let allowed = way.ask(&["sudo", "-n", "-l", path, "agent"], stopped)?;
    // A login shell may print any complaints. Only sudo's own refusal counts.
    let said = String::from_utf8_lossy(&allowed.stderr);
    let refused = said.lines().filter(|line| line.starts_with("sudo:"));
    ensure!(
        allowed.status.success() || !refused.into_iter().any(|line| line.contains("tty")),
        "sudo on {} requires a terminal (requiretty), and latido has none: turn that option off for this command",
        way.host()
    );
    Ok(match allowed.status.success() {
        true => ["exec", "sudo", "-n", path, "agent"].map(String::from).to_vec(),
        false => own(),
    })
}
