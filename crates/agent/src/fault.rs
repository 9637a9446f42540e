//! Crash points for tests: in debug builds, `LATIDO_FAULT=agent:7` kills the process of that role with SIGKILL at its seventh point,
//! `agent:7:stop` stops it there with SIGSTOP, and `LATIDO_POINTS` names a file to which each point adds its role. Release builds contain
//! none of it.

use crate::machine::Root;
use anyhow::Result;
use std::{path::Path, time::Duration};

/// Returns the interval at which latido stores an unfinished long cell: a power cut costs at most that much. Tests shorten it with
/// `LATIDO_CHECKPOINT_MS`.
pub fn checkpoint_every() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_CHECKPOINT_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    Duration::from_secs(60)
}

/// Returns how long an agent may be silent before its host gives up. Tests shorten it with `LATIDO_SILENCE_MS`.
pub fn silence() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_SILENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    Duration::from_secs(120)
}

/// Returns the time limit of a cell, where a test shortens it with `LATIDO_CELL_MS`.
pub fn cell_patience() -> Option<Duration> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_CELL_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    None
}

/// Returns how long an agent waits for a sign of its host before it restores everything and ends. Tests shorten it with
/// `LATIDO_PATIENCE_MS`.
pub fn patience() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_PATIENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    latido_model::protocol::PATIENCE
}

/// Returns the interval at which a host pings its agent: several times within an agent's patience.
pub fn ping_every() -> Duration {
    latido_model::protocol::PING_EVERY.min(patience() / 5)
}

/// Returns the words before the command of an agent on another machine: they pass on the times that a test shortens here.
pub fn passed_on() -> Vec<String> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_PATIENCE_MS").ok().and_then(|ms| ms.parse::<u64>().ok()) {
        return vec!["env".into(), format!("LATIDO_PATIENCE_MS={ms}")];
    }
    Vec::new()
}

/// Returns the host's processor time that a guest of the laboratory may take, where a test shortens it with `LATIDO_GUEST_MS`.
pub fn guest_patience() -> Option<Duration> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_GUEST_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    None
}

/// Returns where latido reads temperatures: this machine, or in debug builds the tree that a test names with `LATIDO_THERMAL`.
pub fn thermal_root() -> Root {
    #[cfg(debug_assertions)]
    if let Some(tree) = std::env::var_os("LATIDO_THERMAL") {
        return Root::new(tree);
    }
    Root::default()
}

/// Returns where the kernel's tracing is: this machine, or in debug builds the tree that a test names with `LATIDO_TRACING`.
pub fn tracing_root() -> Root {
    #[cfg(debug_assertions)]
    if let Some(tree) = std::env::var_os("LATIDO_TRACING") {
        return Root::new(tree);
    }
    Root::default()
}

/// Returns where latido changes settings: this machine, or in debug builds the tree of files that a test names with `latido tune
/// --sysroot`, on which a simulated kernel answers.
///
/// # Errors
/// A tree is given, and this build has no simulated kernel.
pub fn settings_root(tree: Option<&Path>) -> Result<Root> {
    match tree {
        #[cfg(any(test, debug_assertions))]
        Some(tree) => Ok(Root::simulated(tree)),
        #[cfg(not(any(test, debug_assertions)))]
        Some(tree) => {
            anyhow::bail!("{}: only a latido that was built for tests changes a tree of files", tree.display())
        }
        None => Ok(Root::default()),
    }
}

/// Removes the crash points from every agent except the first that a process starts: the next agent repairs the damage.
#[cfg(debug_assertions)]
pub fn only_once(agent: &mut std::process::Command) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        agent.env_remove("LATIDO_FAULT");
    }
}

/// Does nothing: a release build has no crash points.
#[cfg(not(debug_assertions))]
pub fn only_once(_agent: &mut std::process::Command) {}

/// Marks a step after which a crash must leave nothing behind. `role` is `host`, `agent` or `measure`.
#[cfg(debug_assertions)]
pub fn point(role: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    if let Some(file) = std::env::var_os("LATIDO_POINTS") {
        let file = std::fs::File::options().create(true).append(true).open(file);
        let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, format!("{role}\n").as_bytes()));
    }
    let Ok(wanted) = std::env::var("LATIDO_FAULT") else { return };
    // Several roles may die in one test: `agent:3,host:1`.
    let of_role =
        |one: &str| one.split_once(':').filter(|(wanted, _)| *wanted == role).map(|(_, number)| number.to_owned());
    let Some(number) = wanted.split(',').find_map(of_role) else { return };
    let (number, signal) = match number.strip_suffix(":stop") {
        Some(number) => (number.to_owned(), rustix::process::Signal::STOP),
        None => (number, rustix::process::Signal::KILL),
    };
    let passed = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
    if number.parse() == Ok(passed) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
}

/// Does nothing: a release build has no crash points.
#[cfg(not(debug_assertions))]
pub fn point(_role: &str) {}
