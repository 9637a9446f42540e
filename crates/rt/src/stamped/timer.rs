//! Events of a timer: an absolute sleep, with the requested expiry as the instant.

use super::{Device, Log, Pass, Stamped, grid::Grid, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::clock::Clock::Monotonic;

/// Expiries of clock_nanosleep(2) on a grid of CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct TimerEvents(Grid);

impl TimerEvents {
    /// Creates the events; the first is one period after `from`, in ns.
    pub fn every(period_ns: u64, from: u64) -> Self {
        Self(Grid::every(period_ns, from))
    }
}

impl Device for TimerEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        let (number, t1) = self.0.wait()?;
        let t3 = Monotonic.now();
        Ok(Stamped { number, t1, t3, ..Stamped::default() })
    }
}

#[inline(never)]
pub(super) fn answer(
    device: &mut TimerEvents,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    sweep(device, pass, stop, response, log)
}
