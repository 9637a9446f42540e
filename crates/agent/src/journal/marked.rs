//! Processes of a load, known by a variable of their environment, so that none can be lost or mistaken.

use super::{Borrowed, Group, Journal};
use anyhow::{Result, bail};
use latido_sys::{clock::Clock::Monotonic, process};
use serde::{Deserialize, Serialize};
use std::{fs, process::Command};

/// The environment variable that marks every process of a load.
pub const MARK: &str = "LATIDO_LOAD";

/// A mark that nothing else of this boot has: process id and the monotonic clock.
pub fn mark() -> String {
    format!("{}-{}", std::process::id(), Monotonic.now())
}

/// How the processes of a program are known that somebody else will start: journalled, and ended when the journal is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    mark: String,
    group: Option<Group>,
}

impl Marked {
    /// Journals a program before it is started.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn planned(program: &str, journal: &mut Journal) -> Result<Self> {
        let mark = mark();
        let group = Group::planned(&mark);
        journal.write(Borrowed::Load { mark: mark.clone(), argv: vec![program.into()], group: group.clone() })?;
        Ok(Self { mark, group })
    }

    /// The variable of the environment that its processes have.
    pub fn variable(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Has a command start as one of them.
    pub fn put_on(&self, command: &mut Command) {
        command.env(MARK, &self.mark);
        if let Some(procs) = self.group.as_ref().and_then(|group| group.make().ok()) {
            process::join(command, procs);
        }
    }
}

/// Whether this process was started as a load, by the very process whose child it is: a mark that came from elsewhere, with
/// the environment of whoever called, says nothing.
pub fn started_as_load() -> bool {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
    let mark = std::env::var(MARK).unwrap_or_default();
    mark.split_once('-').is_some_and(|(by, _)| Some(by) == parent.as_deref())
}

/// Kills every process that carries the mark, until none is left (a load may be forking meanwhile). Returns how many.
///
/// # Errors
/// Some would not go (stuck in the kernel, or another user's): how many.
pub fn end_marked(mark: &str) -> Result<usize> {
    let mut ended = 0;
    // Fork storms outrun one pass; a bound keeps a process stuck in the kernel from holding us for ever.
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
    bail!("{} processes of a load would not end; look for {MARK}={mark} in /proc/*/environ", marked(mark).len())
}

/// The living processes that carry the mark; never this one, nor those that it comes from: who asks for a recovery from
/// within what a load left wants an answer.
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

/// This process, its parent, and so on.
fn lineage() -> Vec<i32> {
    let parent = |pid: &i32| -> Option<i32> {
        // proc_pid_stat(5): after the parenthesised name, state and parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok().filter(|pid| *pid > 0)
    };
    std::iter::successors(Some(rustix::process::getpid().as_raw_nonzero().get()), parent).collect()
}
