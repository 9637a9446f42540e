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

/// Counts interrupts.
#[derive(Clone, Debug)]
pub struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// Takes over SIGINT, SIGTERM and SIGHUP of this process.
    ///
    /// # Errors
    /// The kernel refuses a handler.
    pub fn watch() -> Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot take over Ctrl-C")?;
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
