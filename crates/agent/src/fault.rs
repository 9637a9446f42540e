//! Crash points for tests: in debug builds, `LATIDO_FAULT=agent:7` kills the process of that role with SIGKILL at its
//! seventh point, `agent:7:stop` stops it there with SIGSTOP, and `LATIDO_POINTS` names a file that each point adds its role
//! to. Release builds contain none of it.

use crate::machine::Root;
use anyhow::Result;
use std::{path::Path, time::Duration};

/// How often a long cell is stored as far as it is: what a power cut can cost. Tests hasten it with
/// `LATIDO_CHECKPOINT_MS`.
pub fn checkpoint_every() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_CHECKPOINT_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    Duration::from_secs(60)
}

/// How long an agent may be silent before its host gives it up. Tests hasten it with `LATIDO_SILENCE_MS`.
pub fn silence() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_SILENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    Duration::from_secs(120)
}

/// How long a cell may take at most, where a test shortens it with `LATIDO_CELL_MS`.
pub fn cell_patience() -> Option<Duration> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_CELL_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    None
}

/// How long an agent waits for a sign of its host before it puts everything back and ends. Tests shorten it with
/// `LATIDO_PATIENCE_MS`.
pub fn patience() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_PATIENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    latido_model::protocol::PATIENCE
}

/// How often a host says that it is there: several times within an agent's patience.
pub fn ping_every() -> Duration {
    latido_model::protocol::PING_EVERY.min(patience() / 5)
}

/// The words before the command of an agent on another machine, by which what a test shortens here is shortened there.
pub fn passed_on() -> Vec<String> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_PATIENCE_MS").ok().and_then(|ms| ms.parse::<u64>().ok()) {
        return vec!["env".into(), format!("LATIDO_PATIENCE_MS={ms}")];
    }
    Vec::new()
}

/// How much of the host's processor time a guest of the laboratory may take, where a test shortens it with
/// `LATIDO_GUEST_MS`.
pub fn guest_patience() -> Option<Duration> {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("LATIDO_GUEST_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    None
}

/// Where temperatures are read: this machine, or in debug builds the tree that a test names with `LATIDO_THERMAL`.
pub fn thermal_root() -> Root {
    #[cfg(debug_assertions)]
    if let Some(tree) = std::env::var_os("LATIDO_THERMAL") {
        return Root::new(tree);
    }
    Root::default()
}

/// Where the kernel's tracing is: this machine, or in debug builds the tree that a test names with `LATIDO_TRACING`.
pub fn tracing_root() -> Root {
    #[cfg(debug_assertions)]
    if let Some(tree) = std::env::var_os("LATIDO_TRACING") {
        return Root::new(tree);
    }
    Root::default()
}

/// Where settings are changed: this machine, or in debug builds the tree of files that a test names with
/// `latido tune --sysroot`, on which a simulated kernel answers.
///
/// # Errors
/// There is a tree, and this build has no simulated kernel.
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

/// A crash point is for the first agent that a process starts: the one that comes after it puts things right.
#[cfg(debug_assertions)]
pub fn only_once(agent: &mut std::process::Command) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        agent.env_remove("LATIDO_FAULT");
    }
}

/// A crash point is for the first agent that a process starts: there are none in a release build.
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
    // Several roles may die in one story: `agent:3,host:1`.
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

/// Marks a step after which a crash must leave nothing behind: nothing at all in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_role: &str) {}
