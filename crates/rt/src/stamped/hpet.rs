//! Events of the high precision event timer: its comparator says when each was due.

use super::{Device, Log, Pass, Stamped, UNKNOWN, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{clock::Clock, hpet::Hpet};

/// So often are counter and clock read together; the closest pair tells how they stand to each other.
const READINGS: u32 = 5;

/// Expiries of a comparator, and a thread that reads its device.
#[derive(Debug)]
pub struct HpetEvents {
    hpet: Hpet,
    expiries: Expiries,
}

impl HpetEvents {
    /// Of a device that raises interrupts already.
    pub fn of(hpet: Hpet) -> Self {
        Self { hpet, expiries: Expiries::default() }
    }
}

/// Which expiry an interrupt was due for. The comparator expires whatever happens, but while a line is masked for its thread,
/// several expiries become one interrupt, the first one's: the device counts interrupts, the comparator tells expiries.
///
/// An expiry between the end of the handler and the look of the task at the device is taken for a masked one, which it is not:
/// its interrupt then comes without an expiry, and is not told.
#[derive(Clone, Copy, Debug, Default)]
struct Expiries {
    /// The first expiry since the last look, in ticks; 0 before the first one.
    next: u64,
    /// How many came before `next`.
    number: u64,
}

impl Expiries {
    /// After so many interrupts since the last look, and the last expiry at `last`, `since` ticks behind `next`: the expiry that
    /// the latest interrupt was due for, with its number, where that is sure. What is not told counts as passed by the numbers.
    #[inline(always)]
    fn due(&mut self, interrupts: u64, last: u64, since: i64, period: u64) -> Option<(u64, u64)> {
        let periods = since.wrapping_add_unsigned(period >> 1).checked_div_euclid(period.cast_signed());
        let expired = match self.next {
            // Of the very first one nobody knows what came before.
            0 => 0,
            _ => u64::try_from(periods.unwrap_or(-1).wrapping_add(1)).unwrap_or(0),
        };
        let first = (self.next, self.number);
        self.next = last.wrapping_add(period);
        self.number = self.number.wrapping_add(expired);
        match interrupts {
            1 if expired > 0 => Some(first),
            // Each expiry had its own: the task was away, and answers the last one.
            _ if expired > 0 && expired == interrupts => Some((last, self.number.wrapping_sub(1))),
            _ => None,
        }
    }
}

impl Device for HpetEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        let refused = |error| Refusal { call: "read of the HPET", error };
        let interrupts = self.hpet.wait().map_err(refused)?;
        let t3 = Clock::Monotonic.now();
        let comparator = self.hpet.comparator();
        // Counter and clock together, here and not once: so their rates need not agree for longer than an event.
        let (mut before, mut narrowest) = (t3, u64::MAX);
        let (mut middle, mut counter) = (t3, comparator);
        for _ in 0..READINGS {
            let now = self.hpet.counter();
            let after = Clock::Monotonic.now();
            let width = after.wrapping_sub(before);
            if width < narrowest {
                (narrowest, middle, counter) = (width, before.wrapping_add(width >> 1), now);
            }
            before = after;
        }
        let period = self.hpet.period_ticks();
        let when = |expiry: u64| {
            let age = u64::try_from(self.hpet.ticks(counter, expiry)).unwrap_or(0);
            middle.wrapping_sub(self.hpet.ns(age))
        };
        // The comparator holds the expiry to come; where that has passed already, it is the last one.
        let mut last = comparator;
        if self.hpet.ticks(comparator, counter) > 0 {
            last = last.wrapping_sub(period);
        }
        // One since t3 belongs to the next event.
        if when(last) > t3 {
            last = last.wrapping_sub(period);
        }
        let since = self.hpet.ticks(last, self.expiries.next);
        let due = self.expiries.due(interrupts, last, since, period);
        let (t1, number) = due.map_or((UNKNOWN, 0), |(expiry, number)| (when(expiry), number));
        Ok(Stamped { number, t1, t2: None, t3, error: (narrowest >> 1).wrapping_add(self.hpet.ns(1)) })
    }
}

#[inline(never)]
pub(super) fn answer(
    device: &mut HpetEvents,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    sweep(device, pass, stop, response, log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: u64 = 1_000;

    proptest! {
        /// Whatever the line's thread swallows, an event that is told has the instant that its interrupt was due for, and no
        /// interrupt is left out, as long as no expiry comes between a handler's end and the look at the device.
        #[test]
        fn what_is_told_is_true(delays in proptest::collection::vec(0..3_500u64, 2..40)) {
            let mut expiries = Expiries::default();
            let mut free = PERIOD;
            for (at, delay) in delays.into_iter().enumerate() {
                // The line is masked from the interrupt until its thread has run.
                let due = free.next_multiple_of(PERIOD);
                let over = due + 1 + delay;
                free = over + 1;
                let last = over / PERIOD * PERIOD;
                let since = last.cast_signed() - expiries.next.cast_signed();
                let told = expiries.due(1, last, since, PERIOD);
                let expected = (at > 0).then_some(due);
                prop_assert_eq!(told.map(|(due, _)| due), expected);
            }
        }
    }

    /// Numbers count every expiry, told or not: what passed is seen by them.
    #[test]
    fn numbers_count_every_expiry() {
        let mut expiries = Expiries::default();
        let mut due = |interrupts, last: u64| {
            let since = last.cast_signed() - expiries.next.cast_signed();
            expiries.due(interrupts, last, since, PERIOD)
        };
        assert_eq!(due(1, 1_000), None, "nobody knows what came before the first");
        assert_eq!(due(1, 2_000), Some((2_000, 0)));
        assert_eq!(due(1, 5_000), Some((3_000, 1)), "late: the first of three expiries");
        assert_eq!(due(1, 6_000), Some((6_000, 4)));
        assert_eq!(due(2, 8_000), Some((8_000, 6)), "two runs for two expiries: the task was away");
        assert_eq!(due(2, 11_000), None, "two runs for three: which was swallowed is not known");
        assert_eq!(due(1, 11_000), None, "an interrupt without an expiry");
        assert_eq!(due(1, 12_010), Some((12_000, 10)), "a clock that is off by a little changes nothing");
    }
}
