//! Signs of life while latido changes and restores settings. A slow machine must not look like a hanging agent, and a host that requests a
//! stop must not wait for the last of a thousand tasks.

use anyhow::{Result, bail};
use latido_model::protocol::Phase;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// The interval of the signs of life.
const EVERY: Duration = Duration::from_secs(1);

/// A check between any two changes.
pub struct Pulse {
    stop: Box<dyn Fn() -> bool>,
    tell: Box<dyn FnMut(Phase)>,
    every: Duration,
    last: Instant,
}

impl Pulse {
    /// `stop` returns whether the changes should end. `tell` receives the current phase, about once per second.
    pub fn new(stop: impl Fn() -> bool + 'static, tell: impl FnMut(Phase) + 'static) -> Self {
        Self { stop: Box::new(stop), tell: Box::new(tell), every: EVERY, last: Instant::now() }
    }

    /// Reports to no one, and never stops.
    pub fn none() -> Self {
        Self::new(|| false, |_| {})
    }

    /// Reports at every change, for tests.
    #[cfg(test)]
    pub fn always(self) -> Self {
        Self { every: Duration::ZERO, ..self }
    }

    /// Reports that the work goes on.
    pub fn beat(&mut self, phase: Phase) {
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            (self.tell)(phase);
        }
    }

    /// Whether the changes should end.
    pub fn stops(&self) -> bool {
        (self.stop)()
    }

    /// Checks before a change that it may go on. An undoing is never stopped.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn go_on(&self) -> Result<()> {
        if self.stops() {
            bail!(Stopped);
        }
        Ok(())
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pulse").finish_non_exhaustive()
    }
}

/// The host requested a stop before all was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before all settings were in force")
    }
}

impl std::error::Error for Stopped {}
