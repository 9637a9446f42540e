//! The periodic loop: sleep until a slot of a fixed schedule, look at the clock, record how late it is.
//!
//! Slot k is due at s_0 + kT. Woken for slot k at t, the thread arms the first slot after t: no catch-up bursts. A slot
//! is *met* when woken for within the deadline, *late* when woken for later, *missed* when it passed without being
//! armed. The three add up to the slots elapsed, however the loop ends.

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase, SlotCounts},
};
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    clock::Clock,
    memory::touch_code,
    sched::{self, Policy},
    signal,
    timer::{SignalTimer, TimerDescriptor},
};
pub use spacing::Phase;
use stretch::NoTask;
pub(crate) use stretch::{PeriodicTask, Stretch, Walked, sweep};

mod nanosleep;
mod posix_timer;
mod spacing;
mod stretch;
mod timerfd;
mod yielding;

/// A clock that one can sleep on; tests bring their own.
pub trait Timer {
    /// The time in ns.
    fn now(&self) -> u64;

    /// Sleeps until then; returns at once if it has passed.
    ///
    /// # Errors
    /// `EINTR` when interrupted.
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno>;

    /// How often the calling thread has overrun its budget so far.
    #[inline(always)]
    fn overruns(&self) -> u64 {
        signal::overruns()
    }

    /// When the slot really was due for which the thread woke at `now`: another time than planned where somebody else
    /// keeps the schedule.
    #[inline(always)]
    fn due(&self, planned: u64, _now: u64) -> u64 {
        planned
    }
}

/// What a periodic thread waits with.
#[derive(Debug)]
pub enum Means {
    /// clock_nanosleep(2) until each slot.
    Nanosleep(Clock),
    /// A timer descriptor, set to each slot and read.
    TimerFd(Clock, TimerDescriptor),
    /// A POSIX timer, set to each slot, and a wait for its signal.
    PosixTimer(Clock, SignalTimer),
    /// sched_yield(2) as a SCHED_DEADLINE thread: until its next period begins.
    Deadline,
}

impl From<Clock> for Means {
    fn from(clock: Clock) -> Self {
        Self::Nanosleep(clock)
    }
}

impl Means {
    /// The clock that the schedule is on.
    pub fn clock(&self) -> Clock {
        match self {
            Self::Nanosleep(clock) | Self::TimerFd(clock, _) | Self::PosixTimer(clock, _) => *clock,
            Self::Deadline => Clock::Monotonic,
        }
    }

    /// Its loop over one stretch.
    fn walk(
        &self,
        pass: &Stretch,
        stop: &AtomicBool,
        recorder: &mut Recorder,
        overrun: Option<&mut Recorder>,
    ) -> Walked {
        match self {
            Self::Nanosleep(clock) => nanosleep::on(*clock, pass, stop, recorder, overrun),
            Self::TimerFd(clock, timer) => timerfd::run(*clock, timer, pass, stop, recorder, overrun),
            Self::PosixTimer(clock, timer) => posix_timer::run(*clock, timer, pass, stop, recorder, overrun),
            Self::Deadline => yielding::run(pass, stop, recorder, overrun),
        }
    }
}

impl Timer for Clock {
    #[inline(always)]
    fn now(&self) -> u64 {
        Clock::now(*self)
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        Clock::sleep_until(*self, at_ns)
    }
}

/// What the loop is to do.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// A slot of the schedule on the loop's clock, in ns: its phase. May be past or future; the first slot armed is
    /// the first on this grid that is not before it and still to come.
    pub start_ns: u64,
    /// T, in ns; not 0.
    pub period_ns: u64,
    /// A wake-up later than this after its slot counts as late, in ns; usually T.
    pub deadline_ns: u64,
    /// SlotCounts to pass before counting.
    pub warmup: u64,
    /// SlotCounts to count; `u64::MAX` means until stopped.
    pub slots: u64,
    /// Where in its period each slot lies.
    pub phase: Phase,
}

/// How the loop went.
#[derive(Clone, Copy, Debug)]
pub struct Wakeups {
    /// Why it ended; it fails when the kernel refuses to sleep.
    pub end: End<Errno>,
    /// s_0, the first slot counted, on the loop's clock, in ns: the origin of all times recorded.
    pub first_slot_ns: u64,
    /// The clock when it ended, in ns.
    pub ended_ns: u64,
    /// SlotCounts that elapsed, counted along the schedule.
    pub elapsed: u64,
    /// What became of them, counted along the samples: the sum is `elapsed`.
    pub slots: SlotCounts,
}

/// Runs the loop until its end.
///
/// `overrun` takes the samples that follow a budget overrun of a SCHED_DEADLINE thread instead of `recorder` (their
/// slots are counted with the others); it needs `latido_sys::signal::catch_overruns`. The stop flag is looked at after
/// each wake-up and each interruption by a signal. [`Means::Deadline`] fails with `EPERM` under another policy, and lays
/// its slots by the kernel's periods, whatever `start_ns` says.
pub fn run(
    means: &Means,
    schedule: &Schedule,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Wakeups {
    let clock = means.clock();
    let mut schedule = *schedule;
    if matches!(means, Means::Deadline) {
        if !matches!(sched::policy(0), Ok(Policy::Deadline { .. })) {
            let now = clock.now();
            let (end, slots) = (End::Failed(Errno::EPERM), SlotCounts::default());
            return Wakeups { end, first_slot_ns: now, ended_ns: now, elapsed: 0, slots };
        }
        schedule.start_ns = yielding::found(schedule.period_ns);
    }
    drive(
        &schedule,
        recorder,
        overrun,
        || clock.now(),
        |pass, recorder, overrun| means.walk(pass, stop, recorder, overrun),
    )
}

/// Runs every cold path of the loop and the recorders once (some ms), then forgets what was recorded: afterwards code
/// and data are resident. Best after locking memory and before the thread becomes real-time.
pub fn rehearse(means: &Means, recorder: &mut Recorder, mut overrun: Option<&mut Recorder>) {
    let clock = means.clock();
    let stop = AtomicBool::new(false);
    for recorder in [Some(&mut *recorder), overrun.as_deref_mut()].into_iter().flatten() {
        recorder.reset();
        recorder.rehearse();
    }
    // The first slots are long past: late, with others missed, and the samples are enormous; then come ordinary ones.
    let now = clock.now();
    let plain = Stretch {
        first: 0,
        period: now / 4,
        deadline: 0,
        slots: 4,
        overruns: 0,
        heed_sample: false,
        phase: Phase::Fixed,
    };
    let base = Stretch { phase: Phase::Random { seed: 1 }, ..plain };
    for pass in [
        plain,
        Stretch { first: now, period: 20_000, deadline: 20_000, slots: 20, ..plain },
        base,
        Stretch { first: now.saturating_sub(10_000), period: 1_000, slots: 40, overruns: u64::MAX, ..base },
        Stretch { first: now, period: 20_000, deadline: 20_000, slots: 20, ..base },
    ] {
        means.walk(&pass, &stop, recorder, overrun.as_deref_mut());
    }
    for recorder in [Some(recorder), overrun].into_iter().flatten() {
        recorder.finish(clock.now());
        recorder.reset();
    }
    // The way into the loop, which only the loop itself goes.
    touch_code(&[run as *const () as usize, yielding::found as *const () as usize]);
}

/// Warm-up, a fresh start, and the slots that count.
pub(crate) fn drive(
    schedule: &Schedule,
    recorder: &mut Recorder,
    mut overrun: Option<&mut Recorder>,
    now: impl Fn() -> u64,
    mut run: impl FnMut(&Stretch, &mut Recorder, Option<&mut Recorder>) -> Walked,
) -> Wakeups {
    let period = schedule.period_ns.max(1);
    let warmup = Stretch {
        first: next_slot(schedule.start_ns, period, now()),
        period,
        deadline: schedule.deadline_ns,
        slots: schedule.warmup,
        overruns: 0,
        heed_sample: false,
        phase: schedule.phase,
    };
    recorder.enter(RecorderPhase::WarmUp);
    let mut passed = run(&warmup, recorder, overrun.as_deref_mut());
    for recorder in [Some(&mut *recorder), overrun.as_deref_mut()].into_iter().flatten() {
        recorder.reset();
    }
    // Forgetting took time, so that the first slot is only known now.
    let first = next_slot(passed.next, period, now());
    for recorder in [Some(&mut *recorder), overrun.as_deref_mut()].into_iter().flatten() {
        recorder.start_at(first);
    }
    recorder.enter(RecorderPhase::Counting);
    let counted = Stretch { first, slots: schedule.slots, overruns: passed.overruns, heed_sample: true, ..warmup };
    if passed.end == End::Complete {
        passed = run(&counted, recorder, overrun.as_deref_mut());
    } else {
        passed.elapsed = 0;
    }
    let ended_ns = now();
    for recorder in [Some(&mut *recorder), overrun].into_iter().flatten() {
        recorder.finish(ended_ns);
        recorder.enter(RecorderPhase::Ended);
    }
    Wakeups { end: passed.end, first_slot_ns: first, ended_ns, elapsed: passed.elapsed, slots: recorder.slots() }
}

/// The first slot of the grid that is at or after `start` and after `now`.
fn next_slot(start: u64, period: u64, now: u64) -> u64 {
    match now.checked_sub(start) {
        None => start,
        Some(past) => now.saturating_sub(past.checked_rem(period).unwrap_or(0)).saturating_add(period),
    }
}

#[cfg(test)]
mod tests;
