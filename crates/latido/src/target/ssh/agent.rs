//! The agent on a machine over ssh: found, or copied there once and verified.

use super::way::Way;
use crate::{agents, stop::Stopped};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::program;
use latido_sys::clock::Clock;
use std::{
    fs::File,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

/// Where agents are kept on the machine, from the user's home directory.
const KEPT: &str = ".cache/latido/agents";

/// Places for machines on whose home directory nothing can be run, tried by running.
const ELSEWHERE: &[&str] = &["/run", "/dev/shm", "/var/tmp", "/tmp"];

/// How long a machine may take to answer a question.
const ANSWER: Duration = Duration::from_secs(60);

/// How long the copy of an agent, some 10 MB, may take.
const COPY: Duration = Duration::from_secs(600);

/// An agent that is there.
pub struct ReachedAgent {
    /// The words that start it.
    pub command: Vec<String>,
    /// A directory made for it alone, to be removed: words that do it.
    _passing: Option<Passing>,
}

/// Something to be removed from the machine.
struct Passing {
    remove: std::process::Command,
}

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = self.remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The machine while an agent is brought there.
struct Board<'a> {
    way: &'a Way,
    stopped: Stopped<'a>,
}

impl Board<'_> {
    fn ask(&self, words: &[&str]) -> Result<Output> {
        self.way.run(words, Stdio::null(), ANSWER, self.stopped)
    }
}

/// Finds the agent there, or copies it. `left` are directories that an earlier session could not remove.
///
/// # Errors
/// No agent for that machine here, with the command that builds it; nowhere there that it can be run.
pub fn there(way: &Way, left: &mut Vec<String>, stopped: Stopped<'_>) -> Result<ReachedAgent> {
    let board = &Board { way, stopped };
    let (arch, uid) = survey(board)?;
    let mut cleared = Vec::new();
    for dir in left.iter() {
        if board.ask(&["rm", "-r", "-f", dir])?.status.success() {
            cleared.push(dir.clone());
        }
    }
    left.retain(|dir| !cleared.contains(dir));
    let own = agents::file(&arch, way.host())?;
    let hash = program::hash_of(&own).with_context(|| format!("cannot read {}", own.display()))?;
    let short = hash.get(..16).unwrap_or(&hash);
    let kept = format!("{KEPT}/latido-{short}");
    let mut why = String::new();
    if verified(board, &kept, &hash)? || copied(board, &own, KEPT, &kept, &hash, &mut why)? {
        return Ok(ReachedAgent { command: command(board, kept, uid)?, _passing: None });
    }
    for base in ELSEWHERE {
        let dir = format!("{base}/latido-{short}-{}", once());
        // New and nobody else's, or not at all.
        let made = board.ask(&["mkdir", "-m", "700", &dir])?;
        if !made.status.success() {
            why = complaint(&made);
            continue;
        }
        left.push(dir.clone());
        let remove = way.command(&["rm", "-r", "-f", &dir].map(String::from));
        let passing = Passing { remove };
        let path = format!("{dir}/latido");
        if copied(board, &own, &dir, &path, &hash, &mut why)? {
            return Ok(ReachedAgent { command: command(board, path, uid)?, _passing: Some(passing) });
        }
    }
    bail!("the agent cannot be put anywhere on {}: {why}", way.host())
}

/// A word for a name that nobody else gives: another session may copy the same agent at the same time.
fn once() -> String {
    format!("{}-{:x}", std::process::id(), Clock::Realtime.now())
}

/// Architecture and user of the machine.
fn survey(board: &Board<'_>) -> Result<(String, u32)> {
    let said = board.ask(&["uname", "-m", "&&", "id", "-u"])?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // A login shell may greet before.
    let mut lines = text.lines().rev();
    let (uid, arch) = (lines.next().and_then(|line| line.trim().parse().ok()), lines.next().map(str::trim));
    match (arch, uid) {
        (Some(arch), Some(uid)) if said.status.success() => Ok((arch.to_owned(), uid)),
        _ => bail!("{} does not say what it is: {}", board.way.host(), complaint(&said)),
    }
}

/// Whether the agent of this hash is at a path there.
fn verified(board: &Board<'_>, path: &str, hash: &str) -> Result<bool> {
    let said = board.ask(&[path, "agent", "--hash"])?;
    let text = String::from_utf8_lossy(&said.stdout);
    Ok(said.status.success() && text.lines().any(|line| line.trim() == hash))
}

/// Copies the file; what is cut short or changed on the way is never run under its name.
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
        *why = format!("it cannot be run from {dir}, or did not arrive whole");
        board.ask(&["rm", "-f", &new])?;
        return Ok(false);
    }
    let moved = board.ask(&["mv", &new, path])?;
    ensure!(moved.status.success(), "{}: {}", board.way.host(), complaint(&moved));
    Ok(true)
}

/// How the agent is started: as root where sudo allows just that without a word.
fn command(board: &Board<'_>, path: String, uid: u32) -> Result<Vec<String>> {
    let own = ["exec", &path, "agent"];
    if uid == 0 {
        return Ok(own.map(String::from).to_vec());
    }
    let allowed = board.ask(&["sudo", "-n", "-l", &path, "agent"])?;
    // A login shell may complain of what it likes; only sudo's own refusal matters here.
    let said = String::from_utf8_lossy(&allowed.stderr);
    let refused = said.lines().filter(|line| line.starts_with("sudo:"));
    ensure!(
        allowed.status.success() || !refused.into_iter().any(|line| line.contains("tty")),
        "sudo on {} demands a terminal (requiretty), and there is none: take that line out for this command",
        board.way.host()
    );
    Ok(match allowed.status.success() {
        true => ["exec", "sudo", "-n", &path, "agent"].map(String::from).to_vec(),
        false => own.map(String::from).to_vec(),
    })
}

fn complaint(said: &Output) -> String {
    let text = String::from_utf8_lossy(&said.stderr).trim().replace('\n', "; ");
    if text.is_empty() { format!("it ended with {}", said.status) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Two sessions may bring the same agent to one board at the same time, and one may have been cut before.
    #[test]
    fn no_two_copies_have_one_name() {
        let names: BTreeSet<String> = (0..100).map(|_| once()).collect();
        assert_eq!(names.len(), 100);
        let own = format!("{}-", std::process::id());
        assert!(names.iter().all(|name| name.starts_with(&own)), "{names:?}");
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')));
    }
}
