//! The processes of a cell: which of them this one is.
//!
//! The supervisor holds everything that must be put back (tunings, loads, lock, journal) in a process that survives the
//! measuring one; the measuring process holds everything real-time and forks nothing, but for the one partner of a
//! handoff between processes, before anything is prepared.

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
    /// Tunings, loads, journal: `latido agent`.
    Supervisor,
    /// The real-time process: `latido agent --measure`.
    Measuring,
    /// The first process of a laboratory's guest.
    Guest,
    /// Says what file it is: `latido agent --hash`.
    Hash,
    /// The other process of a handoff, started by the measuring one: `latido agent --partner`.
    Partner,
    /// Puts back what another process leaves behind: `latido agent --guard`.
    Guard,
}

impl Role {
    /// Plays the role until the cell is over; the exit status.
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

/// The role that exactly these arguments give a process, if they do.
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

/// Waits for the end of stdin, that is of the process that holds it open, and undoes what stands in the journal then.
fn guard() -> Result<u8> {
    // An error is an end too.
    let _ = std::io::copy(&mut stdin(), &mut std::io::sink());
    // Others who begin now undo the same: whoever is first.
    let mut patience = lock::Patience::of(LONGEST, &|| false, None);
    recover_now(&mut Pulse::none(), &mut patience)?;
    Ok(0)
}

/// So long a guard waits for another latido that is at work.
const LONGEST: Duration = Duration::from_secs(600);

/// Prints the hash of the running file: who copied it knows whether it arrived whole.
fn say_hash() -> Result<u8> {
    writeln!(stdout(), "{}", hash_of(Path::new("/proc/self/exe"))?)?;
    Ok(0)
}
