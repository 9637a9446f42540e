//! Ctrl-C: the first asks for an orderly end, the second for an immediate one. Both put everything back. The third gives up
//! an agent that does not answer, wherever it is waited for.

use crate::output;
use anyhow::{Context, Result};
use latido_model::exit::Exit;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread,
    time::Duration,
};

/// So many requests are more than an agent that answers needs.
const GIVE_UP: usize = 3;

/// How long the last words may take: a terminal may be stopped, too.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Whether somebody asked for the end: looked at wherever a machine is waited for.
pub use latido_agent::far::Stopped;

/// Counts what asks for the end.
#[derive(Clone, Debug)]
pub struct StopRequests(Arc<AtomicUsize>);

impl StopRequests {
    /// Takes over SIGINT, SIGTERM and SIGHUP of this process.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn watch() -> Result<Self> {
        // What we were started to ignore (nohup, a shell's background job) stays ignored.
        let ignored = ignored();
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0);
        let mut signals = Signals::new(wanted).context("cannot take over Ctrl-C")?;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let watching = thread::Builder::new().name("latido-signals".into()).spawn(move || {
            for _ in signals.forever() {
                if counted.fetch_add(1, Ordering::Relaxed) + 1 >= GIVE_UP {
                    give_up();
                }
            }
        });
        watching.context("cannot take over Ctrl-C")?;
        Ok(Self(count))
    }

    /// How many came so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The processes here by which agents are reached, with their words.
static AWAITED: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());

fn awaited() -> MutexGuard<'static, Vec<(u32, String)>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An agent for which this process waits; dropped when it has ended.
#[derive(Debug)]
pub struct Awaited(u32);

impl Awaited {
    /// By this process it is reached; `what` is it in words.
    pub fn new(process: u32, what: &str) -> Self {
        awaited().push((process, what.into()));
        Self(process)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        awaited().retain(|(process, _)| *process != self.0);
    }
}

/// Ends this process where it waits for an agent, and says what remains. An agent is left to itself: it finds its input
/// ended as soon as it goes on, and puts everything back. Killed it could not.
fn give_up() {
    let left: Vec<String> = awaited().iter().map(|(process, what)| left(*process, what)).collect();
    if left.is_empty() {
        return;
    }
    let (tell, told) = channel();
    let telling = thread::Builder::new().spawn(move || {
        output::tell(&left.join("\n"));
        let _ = tell.send(());
    });
    // Without a thread to spare there are no last words: the end itself must not wait for a terminal.
    if telling.is_ok() {
        let _ = told.recv_timeout(LAST_WORDS);
    }
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

fn left(process: u32, what: &str) -> String {
    // proc_pid_stat(5): the state stands behind the parenthesised name.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let stopped = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']));
    let state =
        if stopped { format!(", which is stopped: `kill -CONT {process}` lets it go on") } else { String::new() };
    format!(
        "gave up on {what} (process {process}{state}). Its loads may be at work and settings changed. It puts all back by \
         itself when it goes on; should it be ended before, `latido tune undo` or the next latido does"
    )
}

/// The signals that this process ignores, bit n - 1 for signal n (proc_pid_status(5), SigIgn).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
