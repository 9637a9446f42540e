//! Ctrl-C: the first requests an orderly end, the second an immediate one. Both restore everything. The third gives up an agent that does
//! not answer, wherever latido waits for it.

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

/// The number of requests at which latido gives up an agent. An agent that answers needs fewer.
const GIVE_UP: usize = 3;

/// How long the last message may take: the terminal may be stopped, too.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Whether the user requested the end. latido checks it wherever it waits for a machine.
pub use latido_agent::far::Stopped;

/// The count of requests for the end.
#[derive(Clone, Debug)]
pub struct StopRequests(Arc<AtomicUsize>);

impl StopRequests {
    /// Takes over SIGINT, SIGTERM and SIGHUP of this process.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn watch() -> Result<Self> {
        // A signal that latido was started to ignore (nohup, a shell's background job) stays ignored.
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

    /// Returns the number of requests so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The processes on this machine through which latido reaches agents, with their names.
static AWAITED: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());

fn awaited() -> MutexGuard<'static, Vec<(u32, String)>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An agent for which this process waits; dropped when it has ended.
#[derive(Debug)]
pub struct Awaited(u32);

impl Awaited {
    /// Registers the process through which latido reaches an agent; `what` names the agent.
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

/// Ends this process if it waits for an agent, and reports what remains. latido leaves the agent running: as soon as it continues, it finds
/// its input ended and restores everything. A killed agent could not.
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
    // Without a spare thread there is no message: the exit must not wait for a terminal.
    if telling.is_ok() {
        let _ = told.recv_timeout(LAST_WORDS);
    }
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

fn left(process: u32, what: &str) -> String {
    // proc_pid_stat(5): the state follows the name in parentheses.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let stopped = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']));
    let state =
        if stopped { format!(", which is stopped: `kill -CONT {process}` continues it") } else { String::new() };
    format!(
        "latido no longer waits for {what} (process {process}{state}). Its loads may still run, and settings may \
         still be changed. It puts all back itself when it continues; if it is ended before, `latido tune undo` or \
         the next latido does"
    )
}

/// Returns the signals that this process ignores, bit n - 1 for signal n (proc_pid_status(5), SigIgn).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
