//! Events of the high precision event timer: its comparator shows when each was due.

use super::{Device, Log, Pass, Stamped, UNKNOWN, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{clock::Clock, hpet::Hpet};

/// How often the loop reads counter and clock together per event. It uses the closest pair to convert ticks to time.
const READINGS: u32 = 5;

/// Expiries of a comparator; a thread waits for them by reading the device.
#[derive(Debug)]
pub struct HpetEvents {
    hpet: Hpet,
    expiries: Expiries,
}

impl HpetEvents {
    /// Creates it for a device that already raises interrupts.
    pub fn of(hpet: Hpet) -> Self {
        Self { hpet, expiries: Expiries::default() }
    }
}

/// Finds out which expiry an interrupt was due for. The comparator always expires, but while the kernel masks the interrupt line for its
/// handler thread, several expiries become one interrupt, at the time of the first. The device counts interrupts, the comparator shows
/// expiries.
///
/// If the comparator expires after the handler has ended and before the task reads the device, this type wrongly assumes that the expiry
/// was masked. The interrupt of that expiry then arrives without a new expiry, and is not reported.
#[derive(Clone, Copy, Debug, Default)]
struct Expiries {
    /// The first expiry since the last read, in ticks; 0 before the first read.
    next: u64,
    /// The number of expiries before `next`.
    number: u64,
}

impl Expiries {
    /// Returns the expiry that the latest interrupt was due for, with its number, where that is certain. `interrupts` is the number of
    /// interrupts since the last read, `last` the last expiry, `since` how many ticks it is after `next`. The numbers of unreported
    /// expiries count as passed.
    #[inline(always)]
    fn due(&mut self, interrupts: u64, last: u64, since: i64, period: u64) -> Option<(u64, u64)> {
        let periods = since.wrapping_add_unsigned(period >> 1).checked_div_euclid(period.cast_signed());
        let expired = match self.next {
            // Before the first read it is unknown what came earlier.
            0 => 0,
            _ => u64::try_from(periods.unwrap_or(-1).wrapping_add(1)).unwrap_or(0),
        };
        let first = (self.next, self.number);
        self.next = last.wrapping_add(period);
        self.number = self.number.wrapping_add(expired);
        match interrupts {
            1 if expired > 0 => Some(first),
            // Each expiry had its interrupt: the task was late, and answers the last one.
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
        // Read counter and clock together for each event: then their rates need to agree only for the duration of an event.
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
        // The comparator contains the next expiry. If the counter has already passed it, it is the last expiry.
        let mut last = comparator;
        if self.hpet.ticks(comparator, counter) > 0 {
            last = last.wrapping_sub(period);
        }
        // An expiry after t3 belongs to the next event.
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
        /// However many expiries the masked line swallows, each reported event has the instant that its interrupt was due for, and every
        /// interrupt is reported, if no expiry comes between a handler's end and the read of the device.
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

    /// The numbers count every expiry, reported or not, so that they show which expiries passed.
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
