//! The kernel's clocks: reading one, sleeping until a time on one, and the cost of a reading.

use crate::Errno;
use std::mem::MaybeUninit;

/// A clock of the kernel that a thread can sleep on, see clock_gettime(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Time since boot without suspend, slewed, never set.
    Monotonic,
    /// Wall-clock time; it can be set and then steps.
    Realtime,
    /// Wall-clock time without leap seconds.
    Tai,
    /// Time since boot with suspend.
    Boottime,
}

impl Clock {
    /// Every clock, for lists and help texts.
    pub const ALL: [Self; 4] = [Self::Monotonic, Self::Realtime, Self::Tai, Self::Boottime];

    /// Returns the name for options and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Realtime => "realtime",
            Self::Tai => "tai",
            Self::Boottime => "boottime",
        }
    }

    pub(crate) const fn id(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Tai => libc::CLOCK_TAI,
            Self::Boottime => libc::CLOCK_BOOTTIME,
        }
    }

    /// Returns the time in ns. Every clock here exists since Linux 3.10, so the call cannot fail.
    #[inline(always)]
    pub fn now(self) -> u64 {
        read(self.id())
    }

    /// Returns its resolution in ns, which is that of its timers: a tick if those expire only at ticks.
    pub fn resolution_ns(self) -> u64 {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the pointer is writable; each of these clocks exists since Linux 3.10, so that the call fills the structure.
        let time = unsafe {
            libc::clock_getres(self.id(), time.as_mut_ptr());
            time.assume_init()
        };
        (time.tv_sec as u64).wrapping_mul(SECOND).wrapping_add(time.tv_nsec as u64)
    }

    /// Sleeps until the given time in ns, or returns at once if it has passed.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran: the caller checks its stop flag and calls this again.
    #[inline(always)]
    pub fn sleep_until(self, at_ns: u64) -> Result<(), Errno> {
        self.nanosleep(libc::TIMER_ABSTIME, at_ns)
    }

    /// Sleeps for `ns` nanoseconds; the kernel counts from the call.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran; the remaining time is unknown.
    #[inline(always)]
    pub fn sleep_for(self, ns: u64) -> Result<(), Errno> {
        self.nanosleep(0, ns)
    }

    #[inline(always)]
    fn nanosleep(self, flags: libc::c_int, ns: u64) -> Result<(), Errno> {
        let time = libc::timespec { tv_sec: (ns / SECOND) as libc::time_t, tv_nsec: (ns % SECOND) as _ };
        // SAFETY: `time` outlives the call, and the call does not write the remainder.
        let error = unsafe { libc::clock_nanosleep(self.id(), flags, &time, std::ptr::null_mut()) };
        if error == 0 { Ok(()) } else { Err(Errno::from_raw(error)) }
    }
}

const SECOND: u64 = 1_000_000_000;

/// Returns the processor time of the calling thread, in ns.
#[inline(always)]
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline(always)]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is writable. With a known clock id and a valid pointer the call cannot fail, so it writes the structure.
    let time = unsafe {
        libc::clock_gettime(id, time.as_mut_ptr());
        time.assume_init()
    };
    (time.tv_sec as u64).wrapping_mul(SECOND).wrapping_add(time.tv_nsec as u64)
}

/// The cost of reading a clock and its granularity, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Median cost of one reading, in ns.
    pub cost_ns: f64,
    /// Smallest difference between two different consecutive readings, in ns.
    pub step_ns: f64,
    /// Number of readings that were smaller than the previous one.
    pub backwards: u64,
}

/// Measures cost and step of any reading function; `ns_per_unit` converts its unit to ns. Takes about a millisecond.
pub fn grain(ns_per_unit: f64, read: impl Fn() -> u64) -> Grain {
    const BATCHES: usize = 31;
    const READS: u64 = 500;
    let mut step = u64::MAX;
    let mut backwards = 0;
    let mut costs = [0u64; BATCHES];
    for cost in &mut costs {
        let first = read();
        let mut last = first;
        for _ in 0..READS {
            let now = read();
            match now.checked_sub(last) {
                None => backwards += 1,
                Some(0) => {}
                Some(difference) => step = step.min(difference),
            }
            last = now;
        }
        *cost = last.saturating_sub(first);
    }
    costs.sort_unstable();
    let cost_ns = costs[BATCHES / 2] as f64 * ns_per_unit / READS as f64;
    let step_ns = if step == u64::MAX { cost_ns } else { step as f64 * ns_per_unit };
    Grain { cost_ns, step_ns, backwards }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_runs_forward_and_wakes_no_earlier_than_asked() {
        for clock in Clock::ALL {
            let due = clock.now() + 1_000_000;
            while clock.sleep_until(due) == Err(Errno::EINTR) {}
            assert!(clock.now() >= due, "{clock:?}");
            assert_eq!(clock.sleep_until(0), Ok(()), "a time that has passed returns at once");
            let before = clock.now();
            while clock.sleep_for(1_000_000) == Err(Errno::EINTR) {}
            assert!(clock.now() >= before + 1_000_000, "{clock:?}");
        }
    }

    #[test]
    fn a_reading_costs_something() {
        let grain = grain(1.0, || Clock::Monotonic.now());
        assert!(grain.cost_ns > 0.0 && grain.step_ns > 0.0);
        assert_eq!(grain.backwards, 0);
    }

    #[test]
    fn grain_counts_backward_readings() {
        let n = std::cell::Cell::new(0u64);
        let zigzag = grain(2.0, || {
            n.set(n.get() + 1);
            if n.get().is_multiple_of(100) { n.get() - 50 } else { n.get() }
        });
        // 31 batches of 501 readings: every hundredth reading goes back, and none of those begins or ends a batch.
        assert_eq!(zigzag, Grain { cost_ns: 2.0, step_ns: 2.0, backwards: 155 });
    }
}
