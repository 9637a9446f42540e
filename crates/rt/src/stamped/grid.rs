//! Instants one period apart, each with a number. Instants that passed unused keep their numbers.

use crate::rounds::Refusal;
use latido_sys::clock::Clock::Monotonic;

/// A grid on CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct Grid {
    next: u64,
    period: u64,
    number: u64,
}

impl Grid {
    /// Creates a grid. The first instant is one period after `from`, in ns.
    pub fn every(period_ns: u64, from: u64) -> Self {
        let period = period_ns.max(1);
        Self { next: from.saturating_add(period), period, number: 0 }
    }

    /// Advances to the first instant after `now`.
    #[inline(always)]
    fn skip(&mut self, now: u64) {
        let passed = match now.checked_sub(self.next) {
            Some(late) => late.checked_div(self.period).unwrap_or(0).saturating_add(1),
            None => 0,
        };
        self.number = self.number.wrapping_add(passed);
        self.next = self.next.saturating_add(passed.saturating_mul(self.period));
    }

    /// Sleeps until the next instant. Returns its number and its time.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts the sleep. The next call then waits for the same instant, unless it has passed.
    #[inline(always)]
    pub(super) fn wait(&mut self) -> Result<(u64, u64), Refusal> {
        self.skip(Monotonic.now());
        let (number, at) = (self.number, self.next);
        match Monotonic.sleep_until(at) {
            Ok(()) => {
                self.number = number.wrapping_add(1);
                self.next = at.saturating_add(self.period);
                Ok((number, at))
            }
            Err(error) => Err(Refusal { call: "clock_nanosleep", error }),
        }
    }
}
