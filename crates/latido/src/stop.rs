//! Ctrl-C: the first asks for an orderly end, the second for an immediate one. Both put everything back.

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The exit status of an interrupted command.
pub const INTERRUPTED: u8 = 130;

/// Whether somebody asked for the end: looked at wherever a machine is waited for.
pub type Stopped<'a> = &'a dyn Fn() -> bool;

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
        std::thread::spawn(move || {
            for _ in signals.forever() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Self(count))
    }

    /// How many came so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The signals that this process ignores, bit n - 1 for signal n (proc_pid_status(5), SigIgn).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
