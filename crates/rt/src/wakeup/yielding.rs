//! The loop that waits as deadline tasks do: sched_yield(2) gives up the rest of the budget, and the thread sleeps until the kernel begins
//! its next period (sched/sched-deadline.rst).
//!
//! The kernel keeps that schedule on its own clock and does not report when a period began. The loop therefore derives the slots from the
//! wake-ups: it assumes that the earliest of each [`WINDOW`] of them was on time. A sample is how much later a wake-up was.

use super::{NoTask, Stretch, Timer, Walked, sweep};
use crate::recorder::Recorder;
use core::{cell::Cell, sync::atomic::AtomicBool};
use latido_sys::{Errno, clock::Clock, sched};

/// After how many wake-ups the loop adjusts the slots to the earliest of them. The kernel's clock and ours drift apart by millionths, and a
/// thread that was late for a whole period gets a new start.
const WINDOW: u32 = 16;

/// The longest search for the first slot, in ns, and the largest number of wake-ups in it.
const SEARCH_NS: u64 = 200_000_000;
const SEARCH: u64 = 16;

struct Yields {
    period: u64,
    /// The smallest lateness in this window, in ns, and how many wake-ups of the window are left.
    least: Cell<u64>,
    left: Cell<u32>,
}

impl Yields {
    fn every(period: u64) -> Self {
        Self { period, least: Cell::new(u64::MAX), left: Cell::new(WINDOW) }
    }
}

impl Timer for Yields {
    #[inline(always)]
    fn now(&self) -> u64 {
        Clock::Monotonic.now()
    }

    /// Sleeps until the period that begins nearest to `at_ns`.
    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        loop {
            sched::give_up();
            if self.now().wrapping_add(self.period / 2) >= at_ns {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn due(&self, planned: u64, now: u64) -> u64 {
        let Some(late) = now.checked_sub(planned) else {
            // A thread cannot wake before its period begins: the planned slot was too late.
            self.least.set(u64::MAX);
            self.left.set(WINDOW);
            return now;
        };
        let least = self.least.get().min(late);
        let left = self.left.get().wrapping_sub(1);
        if left > 0 {
            self.least.set(least);
            self.left.set(left);
            return planned;
        }
        self.least.set(u64::MAX);
        self.left.set(WINDOW);
        planned.wrapping_add(least.min(self.period / 2))
    }
}

/// Returns when a period of the calling deadline thread began, estimated from some wake-ups.
pub(super) fn found(period: u64) -> u64 {
    let tries = SEARCH_NS.checked_div(period).unwrap_or(1).clamp(1, SEARCH);
    sched::give_up();
    let first = Clock::Monotonic.now();
    let mut earliest = first;
    for k in 1..tries {
        sched::give_up();
        // Subtract the periods in between, so that the wake-ups are comparable.
        let back = Clock::Monotonic.now().wrapping_sub(period.wrapping_mul(k));
        earliest = earliest.min(back);
    }
    earliest
}

#[inline(never)]
pub(super) fn run(
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    sweep(&Yields::every(pass.period), pass.even(), pass, stop, recorder, overrun, &mut NoTask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        end::End,
        recorder::{self, Config},
        wakeup::{Phase, Schedule, drive},
    };
    use proptest::prelude::*;
    use std::vec::Vec;

    const T: u64 = 1_000_000;

    /// A kernel that begins periods on its own clock, and a thread that runs later than that.
    struct Kernel {
        now: Cell<u64>,
        next: Cell<u64>,
        /// The kernel's period on our clock.
        period: u64,
        lateness: Vec<u64>,
        wakes: Cell<usize>,
        inner: Yields,
    }

    impl Timer for Kernel {
        fn now(&self) -> u64 {
            self.now.get()
        }
        fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
            loop {
                while self.next.get() < self.now.get() {
                    self.next.set(self.next.get() + self.period);
                }
                let late = self.lateness.get(self.wakes.get() % self.lateness.len()).copied().unwrap_or(0);
                self.now.set(self.next.get() + late);
                self.next.set(self.next.get() + self.period);
                self.wakes.set(self.wakes.get() + 1);
                if self.now.get() + T / 2 >= at_ns {
                    return Ok(());
                }
            }
        }
        fn due(&self, planned: u64, now: u64) -> u64 {
            self.inner.due(planned, now)
        }
    }

    fn run(period: u64, phase: u64, lateness: Vec<u64>, slots: u64) -> (crate::wakeup::Wakeups, crate::Snapshot) {
        let kernel = Kernel {
            now: Cell::new(5 * T),
            next: Cell::new(5 * T + phase),
            period,
            lateness,
            wakes: Cell::new(0),
            inner: Yields::every(T),
        };
        let config = Config { periodic: true, ..Config::default() };
        let (mut recorder, reader) = recorder::new(&config).unwrap();
        let plan = Schedule { start_ns: 5 * T, period_ns: T, deadline_ns: T, warmup: 130, slots, phase: Phase::Fixed };
        let stop = AtomicBool::new(false);
        let outcome = drive(
            &plan,
            &mut recorder,
            None,
            || kernel.now(),
            |pass, recorder, overrun| sweep(&kernel, pass.even(), pass, &stop, recorder, overrun, &mut NoTask),
        );
        (outcome, reader.finish(recorder).0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the phase of the kernel's periods, the drift and the stalls: each slot is met, late or missed.
        #[test]
        fn every_slot_is_accounted_for(
            phase in 0..T,
            drift in 0u64..400,
            lateness in prop::collection::vec(prop_oneof![9 => 0u64..30_000, 1 => 0u64..5 * T], 1..200),
            slots in 1u64..3_000,
        ) {
            let (outcome, snapshot) = run(T - 200 + drift, phase, lateness, slots);
            prop_assert_eq!(outcome.end, End::Complete);
            prop_assert_eq!(outcome.slots.met + outcome.slots.late + outcome.slots.missed, slots);
            prop_assert_eq!(outcome.elapsed, slots);
            prop_assert_eq!(snapshot.plain.negative, 0, "nobody is early for what begins with him");
        }

        /// Two clocks drift apart by 200 millionths for ten thousand periods. No slot is lost, and the error of a sample is at most the
        /// drift in three windows and a period.
        #[test]
        fn a_drift_is_followed(phase in 0..T, drift in 0u64..400) {
            let (outcome, snapshot) = run(T - 200 + drift, phase, Vec::from([3_000, 9_000, 3_000, 5_000]), 10_000);
            prop_assert_eq!(outcome.slots.missed + outcome.slots.late, 0);
            prop_assert!(snapshot.plain.max.unwrap() <= 6_000 + 3 * 200 * i64::from(WINDOW) + 200, "{:?}", snapshot.plain.max);
        }
    }
}
