//! Events of the high precision event timer: its comparator says when each was due.

use super::{Device, Log, Pass, Stamped, sweep};
use crate::{end::End, recorder::Recorder, rounds::Refusal};
use core::sync::atomic::AtomicBool;
use latido_sys::{clock::Clock, hpet::Hpet};

/// So often are counter and clock read together; the closest pair tells how they stand to each other.
const READINGS: u32 = 5;

/// Expiries of a comparator, and a thread that reads its device.
#[derive(Debug)]
pub struct HpetEvents {
    hpet: Hpet,
    number: u64,
}

impl HpetEvents {
    /// Of a device that raises interrupts already.
    pub fn of(hpet: Hpet) -> Self {
        Self { hpet, number: 0 }
    }
}

impl Device for HpetEvents {
    #[inline(always)]
    fn next(&mut self) -> Result<Stamped, Refusal> {
        let refused = |error| Refusal { call: "read of the HPET", error };
        let raised = self.hpet.wait().map_err(refused)?;
        let t3 = Clock::Monotonic.now();
        // The comparator holds the expiry to come; where that has passed already, it is this one's.
        let comparator = self.hpet.comparator();
        // Counter and clock together, here and not once: so their rates need not agree for longer than an event.
        let (mut before, mut narrowest, mut age) = (t3, u64::MAX, 0u64);
        let mut middle = t3;
        for _ in 0..READINGS {
            let counter = self.hpet.counter();
            let after = Clock::Monotonic.now();
            let width = after.wrapping_sub(before);
            if width < narrowest {
                narrowest = width;
                middle = before.wrapping_add(width >> 1);
                let ahead = self.hpet.ticks(comparator, counter);
                age = match u64::try_from(ahead) {
                    Ok(ahead) => self.hpet.period_ticks().saturating_sub(ahead),
                    Err(_) => ahead.unsigned_abs(),
                };
            }
            before = after;
        }
        self.number = self.number.wrapping_add(raised);
        let t1 = middle.wrapping_sub(self.hpet.ns(age));
        Ok(Stamped {
            number: self.number.wrapping_sub(1),
            t1,
            t2: None,
            t3,
            error: (narrowest >> 1).wrapping_add(self.hpet.ns(1)),
        })
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
