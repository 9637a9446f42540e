//! The agent on a machine over ssh: latido finds it there, or copies it there once and verifies it.

use super::{
    Stopped, file,
    way::{Way, status_within},
};
use crate::program;
use anyhow::{Context, Result, bail, ensure};
use latido_sys::clock::Clock;
use std::{fs::File, path::Path, process::Output, time::Duration};

/// Where latido keeps agents on the machine, relative to the user's home directory.
const KEPT: &str = ".cache/latido/agents";

/// Places for machines whose home directory forbids execution. latido tries each by running the agent.
const ELSEWHERE: &[&str] = &["/run", "/dev/shm", "/var/tmp", "/tmp"];

/// How long the copy of an agent, some 10 MB, may take.
const COPY: Duration = Duration::from_secs(600);

/// The agent's file on the machine.
#[derive(Debug)]
pub struct Copied {
    /// Its path.
    pub path: String,
    /// The user's number there.
    pub uid: u32,
    /// A directory that latido made for this file alone, and must remove.
    _passing: Option<Passing>,
}

/// A command that removes something from the machine when this is dropped.
#[derive(Debug)]
struct Passing {
    remove: Option<std::process::Command>,
}

/// The time limit for the removal. After that the directory stays: `/run` and `/dev/shm` end with the machine, and a later session of the
/// same run removes it.
const REMOVAL: Duration = Duration::from_secs(10);

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = self.remove.take().map(|remove| status_within(remove, REMOVAL));
    }
}

/// The machine during the transfer of an agent.
struct Board<'a> {
    way: &'a Way,
    stopped: Stopped<'a>,
}

impl Board<'_> {
    fn ask(&self, words: &[&str]) -> Result<Output> {
        self.way.ask(words, self.stopped)
    }
}

/// Finds the agent on the machine, or copies it there. `left` lists directories that an earlier session could not remove.
///
/// # Errors
/// There is no agent here for that machine (the error gives the command that builds it), or no place on the machine allows it to run.
pub fn there(way: &Way, left: &mut Vec<String>, stopped: Stopped<'_>) -> Result<Copied> {
    let board = &Board { way, stopped };
    let (arch, uid) = survey(board)?;
    let mut cleared = Vec::new();
    for dir in left.iter() {
        if board.ask(&["rm", "-r", "-f", dir])?.status.success() {
            cleared.push(dir.clone());
        }
    }
    left.retain(|dir| !cleared.contains(dir));
    let own = file::file(&arch, way.host())?;
    let hash = program::hash_of(&own).with_context(|| format!("cannot read {}", own.display()))?;
    let short = hash.get(..16).unwrap_or(&hash);
    let kept = format!("{KEPT}/latido-{short}");
    let mut why = String::new();
    if verified(board, &kept, &hash)? || copied(board, &own, KEPT, &kept, &hash, &mut why)? {
        return Ok(Copied { path: kept, uid, _passing: None });
    }
    for base in ELSEWHERE {
        let dir = format!("{base}/latido-{short}-{}", once());
        // The directory must be new and belong to this user only. Otherwise latido does not use it.
        let made = board.ask(&["mkdir", "-m", "700", &dir])?;
        if !made.status.success() {
            why = complaint(&made);
            continue;
        }
        left.push(dir.clone());
        let remove = Some(way.command(&["rm", "-r", "-f", &dir].map(String::from)));
        let passing = Passing { remove };
        let path = format!("{dir}/latido");
        if copied(board, &own, &dir, &path, &hash, &mut why)? {
            return Ok(Copied { path, uid, _passing: Some(passing) });
        }
    }
    bail!("cannot copy the agent to {}: {why}", way.host())
}

/// Returns a part of a name that no other session uses: another session may copy the same agent at the same time.
fn once() -> String {
    format!("{}-{:x}", std::process::id(), Clock::Realtime.now())
}

/// Asks the machine for its architecture and user.
fn survey(board: &Board<'_>) -> Result<(String, u32)> {
    let said = board.ask(&["uname", "-m", "&&", "id", "-u"])?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // A login shell may print a greeting first.
    let mut lines = text.lines().rev();
    let (uid, arch) = (lines.next().and_then(|line| line.trim().parse().ok()), lines.next().map(str::trim));
    match (arch, uid) {
        (Some(arch), Some(uid)) if said.status.success() && is_architecture(arch) => Ok((arch.to_owned(), uid)),
        _ => bail!("{} did not report its architecture and user: {}", board.way.host(), complaint(&said)),
    }
}

/// Whether a word can be the name of an architecture. latido uses it in the path of a local file.
fn is_architecture(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=16).contains(&word.len()) && word.bytes().all(plain)
}

/// Whether the agent with this hash is at a path on the machine.
fn verified(board: &Board<'_>, path: &str, hash: &str) -> Result<bool> {
    let said = board.ask(&[path, "agent", "--hash"])?;
    let text = String::from_utf8_lossy(&said.stdout);
    Ok(said.status.success() && text.lines().any(|line| line.trim() == hash))
}

/// Copies the file and verifies it. A copy that was cut short or changed on the way never runs under the final name.
fn copied(board: &Board<'_>, own: &Path, dir: &str, path: &str, hash: &str, why: &mut String) -> Result<bool> {
    let new = format!("{path}-{}.new", once());
    let file = File::open(own).with_context(|| format!("cannot read {}", own.display()))?;
    let words = ["mkdir", "-p", dir, "&&", "cat", ">", &new, "&&", "chmod", "755", &new];
    let put = board.way.run(&words, file.into(), COPY, board.stopped)?;
    if !put.status.success() {
        *why = complaint(&put);
        return Ok(false);
    }
    if !verified(board, &new, hash)? {
        *why = format!("the agent cannot run from {dir}, or its copy is incomplete");
        board.ask(&["rm", "-f", &new])?;
        return Ok(false);
    }
    let moved = board.ask(&["mv", &new, path])?;
    ensure!(moved.status.success(), "{}: {}", board.way.host(), complaint(&moved));
    Ok(true)
}

fn complaint(said: &Output) -> String {
    let text = String::from_utf8_lossy(&said.stderr).trim().replace('\n', "; ");
    if text.is_empty() { format!("the command ended with {}", said.status) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The name that a machine reports as its architecture selects only an agent, never another local file.
    #[test]
    fn an_architecture_is_no_path() {
        assert!(["x86_64", "aarch64", "armv7l", "riscv64"].into_iter().all(is_architecture));
        let not = ["", "..", "/etc", "a/b", "x86_64\n", "a-very-long-architecture", "X"];
        assert!(not.into_iter().all(|word| !is_architecture(word)));
    }

    /// Two sessions may copy the same agent to one board at the same time, and an earlier one may have been interrupted.
    #[test]
    fn no_two_copies_have_one_name() {
        let names: BTreeSet<String> = (0..100).map(|_| once()).collect();
        assert_eq!(names.len(), 100);
        let own = format!("{}-", std::process::id());
        assert!(names.iter().all(|name| name.starts_with(&own)), "{names:?}");
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')));
    }
}
