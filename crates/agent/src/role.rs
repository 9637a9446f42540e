//! The processes of a cell: which of them this one is.
//!
//! The supervisor handles everything that must be restored (tunings, loads, lock, journal), in a process that survives the measuring one.
//! The measuring process does everything real-time. It forks nothing except the one partner of a handoff between processes, before it
//! prepares anything.

use crate::{
    guest,
    journal::{lock, pulse::Pulse, recover_now},
    measuring, probe,
    program::hash_of,
    supervise,
};
use anyhow::Result;
use std::{
    io::{Write, stdin, stdout},
    path::Path,
    time::Duration,
};

/// What this process is within a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Manages tunings, loads and the journal: `latido agent`.
    Supervisor,
    /// The real-time process: `latido agent --measure`.
    Measuring,
    /// The first process of a laboratory's guest.
    Guest,
    /// Prints the hash of its own file: `latido agent --hash`.
    Hash,
    /// The other process of a handoff, started by the measuring one: `latido agent --partner`.
    Partner,
    /// Restores what another process leaves behind: `latido agent --guard`.
    Guard,
}

impl Role {
    /// Runs the role until the cell is over. Returns the exit status.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn run(self) -> Result<u8> {
        match self {
            Self::Supervisor => supervise::run(),
            Self::Measuring => measuring::run(),
            Self::Guest => guest::run(),
            Self::Hash => say_hash(),
            Self::Partner => probe::partner(),
            Self::Guard => guard(),
        }
    }
}

/// Returns the role that the arguments of this process select, if they select one.
pub fn role() -> Option<Role> {
    let words: Vec<_> = std::env::args_os().skip(1).take(3).collect();
    match words.as_slice() {
        _ if guest::is_here() => Some(Role::Guest),
        [agent] if agent == "agent" => Some(Role::Supervisor),
        [agent, measure] if agent == "agent" && measure == "--measure" => Some(Role::Measuring),
        [agent, partner] if agent == "agent" && partner == "--partner" => Some(Role::Partner),
        _ => None,
    }
}

/// Waits for the end of stdin, which another process holds open, and then undoes what the journal lists.
fn guard() -> Result<u8> {
    // An error is an end too.
    let _ = std::io::copy(&mut stdin(), &mut std::io::sink());
    // Another latido that starts now undoes the same: the first one to get the lock does it.
    let mut patience = lock::Patience::of(LONGEST, &|| false, None);
    recover_now(&mut Pulse::none(), &mut patience)?;
    Ok(0)
}

/// How long a guard waits for another running latido.
const LONGEST: Duration = Duration::from_secs(600);

/// Prints the hash of the running file, so that the host that copied it can check the copy.
fn say_hash() -> Result<u8> {
    writeln!(stdout(), "{}", hash_of(Path::new("/proc/self/exe"))?)?;
    Ok(0)
}
