//! Marks the processes of a load by a variable of their environment, so that latido neither loses nor mistakes one.

use super::{Borrowed, Group, Journal, group::processes};
use anyhow::{Result, bail};
use latido_sys::{clock::Clock::Monotonic, process};
use serde::{Deserialize, Serialize};
use std::{fs, process::Command};

/// The environment variable that marks every process of a load.
pub const MARK: &str = "LATIDO_LOAD";

/// Returns a mark that is unique in this boot: process id and the monotonic clock.
pub fn mark() -> String {
    format!("{}-{}", std::process::id(), Monotonic.now())
}

/// The mark of a program that another process will start. It is in the journal, and latido ends the program's processes when it settles the
/// journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    mark: String,
    group: Option<Group>,
}

impl Marked {
    /// Writes a program to the journal before it starts.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn planned(program: &str, journal: &mut Journal) -> Result<Self> {
        let mark = mark();
        let group = Group::planned(&mark);
        journal.write(Borrowed::Load { mark: mark.clone(), argv: vec![program.into()], group: group.clone() })?;
        Ok(Self { mark, group })
    }

    /// Returns the environment variable that its processes have.
    pub fn variable(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Makes a command start as one of its processes.
    pub fn put_on(&self, command: &mut Command) {
        command.env(MARK, &self.mark);
        if let Some(procs) = self.group.as_ref().and_then(|group| group.make().ok()) {
            process::join(command, procs);
        }
    }
}

/// Whether the parent of this process started it as a load. A mark from elsewhere, in the environment of a caller, means nothing.
pub fn started_as_load() -> bool {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
    let mark = std::env::var(MARK).unwrap_or_default();
    mark.split_once('-').is_some_and(|(by, _)| Some(by) == parent.as_deref())
}

/// Kills every process that has the mark, until none is left (a load may be forking meanwhile). Returns how many.
///
/// # Errors
/// Some processes would not end (stuck in the kernel, or another user's). The error gives their number.
pub fn end_marked(mark: &str) -> Result<usize> {
    let mut ended = 0;
    // Fork storms outrun one pass. The bound keeps a process that is stuck in the kernel from blocking latido for ever.
    for _ in 0..200 {
        let found = marked(mark);
        if found.is_empty() {
            return Ok(ended);
        }
        for pid in &found {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        ended = ended.max(found.len());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let left = processes(marked(mark).len());
    bail!("{left} of a load did not end; look for {MARK}={mark} in /proc/*/environ")
}

/// Lists the living processes with the mark, except this one and its ancestors: a recovery that was started by a leftover of a load must
/// still answer.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let own = lineage();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| !own.contains(pid))
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// Lists this process, its parent, and so on.
fn lineage() -> Vec<i32> {
    let parent = |pid: &i32| -> Option<i32> {
        // proc_pid_stat(5): after the parenthesised name, state and parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok().filter(|pid| *pid > 0)
    };
    std::iter::successors(Some(rustix::process::getpid().as_raw_nonzero().get()), parent).collect()
}
