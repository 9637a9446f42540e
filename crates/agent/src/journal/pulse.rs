//! Signs of life while settings are changed and put back: a slow machine must not be taken for a hanging agent, and who
//! asks it to stop must not wait for the last of a thousand tasks.

use anyhow::{Result, bail};
use latido_model::protocol::Phase;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// How often something is said.
const EVERY: Duration = Duration::from_secs(1);

/// Asked between any two changes.
pub struct Pulse {
    stop: Box<dyn Fn() -> bool>,
    tell: Box<dyn FnMut(Phase)>,
    every: Duration,
    last: Instant,
}

impl Pulse {
    /// `stop` says whether the changes are to end; `tell` hears what is done, about once a second.
    pub fn new(stop: impl Fn() -> bool + 'static, tell: impl FnMut(Phase) + 'static) -> Self {
        Self { stop: Box::new(stop), tell: Box::new(tell), every: EVERY, last: Instant::now() }
    }

    /// Nobody listens, nobody asks to stop.
    pub fn none() -> Self {
        Self::new(|| false, |_| {})
    }

    /// The same, but heard at every change: for tests.
    #[cfg(test)]
    pub fn always(self) -> Self {
        Self { every: Duration::ZERO, ..self }
    }

    /// Still at it.
    pub fn beat(&mut self, phase: Phase) {
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            (self.tell)(phase);
        }
    }

    /// Whether the changes are to end.
    pub fn stops(&self) -> bool {
        (self.stop)()
    }

    /// To be asked before a change; an undoing is never stopped.
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

/// Somebody asked for the end before all was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before everything was in force")
    }
}

impl std::error::Error for Stopped {}
