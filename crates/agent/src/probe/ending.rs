//! Ends a program that a probe started: with its process group, and also by its own number, because it may have left the group.
//!
//! Until latido waits for the program, the number belongs to it: a signal reaches no other process.

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How long a program may take to end after SIGKILL: freeing its memory takes a while on a machine under load.
pub const KILLED: Duration = Duration::from_secs(10);

/// The interval at which latido checks for its end.
const LOOK: Duration = Duration::from_millis(5);

/// Sends a signal to a program and to its process group.
pub fn send(child: &Child, signal: Signal) {
    let own = Pid::from_child(child);
    let _ = kill_process_group(own, signal);
    let _ = kill_process(own, signal);
}

/// Kills a program with its process group, and waits for its end for a limited time.
///
/// # Errors
/// The program does not end. The error gives its number.
pub fn kill(child: &mut Child, name: &str) -> Result<ExitStatus> {
    send(child, Signal::KILL);
    let until = Instant::now() + KILLED;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            bail!(
                "`{name}` (process {}) does not end: it has more rights than latido, or hangs in the kernel; end it manually",
                child.id()
            );
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::process::{CommandExt, ExitStatusExt},
        process::Command,
    };

    /// latido also ends a program by its number: it may have joined the process group of another.
    #[test]
    fn a_program_that_left_its_group_is_ended() {
        let mut other = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let mut child = Command::new("sleep").arg("60").process_group(other.id().cast_signed()).spawn().unwrap();
        let status = kill(&mut child, "sleep").unwrap();
        assert_eq!(status.signal(), Some(9));
        assert_eq!(other.try_wait().unwrap(), None, "the other group was not meant");
        kill(&mut other, "sleep").unwrap();
    }
}
