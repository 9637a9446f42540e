//! The periodic loop: it sleeps until a slot of a fixed schedule, reads the clock, and records how late it is.
//!
//! Slot k is due at s_0 + kT. If the thread wakes for slot k at t, it then sleeps until the first slot after t: there are no catch-up
//! bursts. A slot is *met* when the thread woke for it within the deadline, *late* when it woke for it later, and *missed* when it passed
//! before the thread could sleep for it. The three add up to the elapsed slots, however the loop ends.

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase, SlotCounts},
};
use alloc::rc::Rc;
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    clock::Clock,
    dual::{self, Member},
    memory::touch_code,
    sched::{self, Policy},
    signal,
    timer::{SignalTimer, TimerDescriptor},
};
pub use spacing::Phase;
use stretch::NoTask;
pub(crate) use stretch::{PeriodicTask, Stretch, Walked, sweep};

mod nanosleep;
mod out_of_band;
mod posix_timer;
mod spacing;
mod stretch;
mod timerfd;
mod yielding;

/// A clock that a thread can sleep on; tests provide another.
pub trait Timer {
    /// Returns the time in ns.
    fn now(&self) -> u64;

    /// Sleeps until `at_ns`, or returns at once if that has passed.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts it.
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno>;

    /// Returns how often the calling thread has overrun its budget so far.
    #[inline(always)]
    fn overruns(&self) -> u64 {
        signal::overruns()
    }

    /// Returns when the slot of a wake-up at `now` was really due. This differs from `planned` where the kernel keeps the schedule.
    #[inline(always)]
    fn due(&self, planned: u64, _now: u64) -> u64 {
        planned
    }
}

/// How a periodic thread waits.
#[derive(Debug)]
pub enum Means {
    /// clock_nanosleep(2) until each slot.
    Nanosleep(Clock),
    /// A timer descriptor, set to each slot and read.
    TimerFd(Clock, TimerDescriptor),
    /// A POSIX timer, set to each slot; the thread waits for its signal.
    PosixTimer(Clock, SignalTimer),
    /// sched_yield(2) by a SCHED_DEADLINE thread: it sleeps until its next period begins.
    Deadline,
    /// The sleep of a core beside the kernel, of which the thread is a member.
    OutOfBand(Rc<Member<'static>>),
    /// The timer of that core, set to each slot and read.
    OutOfBandTimer(dual::Timer),
}

impl From<Clock> for Means {
    fn from(clock: Clock) -> Self {
        Self::Nanosleep(clock)
    }
}

impl Means {
    /// Returns the clock of the schedule.
    pub fn clock(&self) -> Clock {
        match self {
            Self::Nanosleep(clock) | Self::TimerFd(clock, _) | Self::PosixTimer(clock, _) => *clock,
            Self::Deadline | Self::OutOfBand(_) | Self::OutOfBandTimer(_) => Clock::Monotonic,
        }
    }

    /// Runs the loop over one stretch.
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
            Self::OutOfBand(member) => out_of_band::asleep(member, pass, stop, recorder, overrun),
            Self::OutOfBandTimer(timer) => out_of_band::ticking(timer, pass, stop, recorder, overrun),
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

/// The parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// One slot of the schedule on the loop's clock, in ns; it determines the grid. It may be past or future. The first slot is the first
    /// on this grid that is not before `start_ns` and still in the future.
    pub start_ns: u64,
    /// T, in ns; not 0.
    pub period_ns: u64,
    /// A wake-up that is later than this after its slot counts as late, in ns; usually T.
    pub deadline_ns: u64,
    /// Number of slots before counting starts.
    pub warmup: u64,
    /// Number of slots to count; `u64::MAX` for no limit.
    pub slots: u64,
    /// The place of each slot in its period.
    pub phase: Phase,
}

/// The outcome of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Wakeups {
    /// Why it ended; it fails when the kernel refuses to sleep.
    pub end: End<Errno>,
    /// s_0: the first counted slot, on the loop's clock, in ns: the origin of all recorded times.
    pub first_slot_ns: u64,
    /// The loop's clock at the end, in ns.
    pub ended_ns: u64,
    /// Number of elapsed slots, counted along the schedule.
    pub elapsed: u64,
    /// The slots by their outcome, counted along the samples: their sum is `elapsed`.
    pub slots: SlotCounts,
}

/// Runs the loop until its end.
///
/// `overrun` instead of `recorder` takes the samples that follow a budget overrun of a SCHED_DEADLINE thread (`recorder` still counts their
/// slots); it needs `latido_sys::signal::catch_overruns`. The loop checks the stop flag after each wake-up and each interruption by a
/// signal. [`Means::Deadline`] fails with `EPERM` under another policy; it takes its slots from the kernel's periods and ignores
/// `start_ns`.
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

/// Runs every cold path of the loop and the recorders once (this takes a few ms), then clears the recorders: afterwards code and data are
/// resident. Call it after locking memory and before the thread becomes real-time.
pub fn rehearse(means: &Means, recorder: &mut Recorder, mut overrun: Option<&mut Recorder>) {
    let clock = means.clock();
    let stop = AtomicBool::new(false);
    for recorder in [Some(&mut *recorder), overrun.as_deref_mut()].into_iter().flatten() {
        recorder.reset();
        recorder.rehearse();
    }
    // The first slots are long past: one is late, others are missed, and the samples are enormous. Ordinary slots follow.
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
    // Touch the code that leads into the loop, which the passes above do not run.
    touch_code(&[run as *const () as usize, yielding::found as *const () as usize]);
}

/// Runs the warm-up, resets the recorders, and runs the slots that count.
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
    // Clearing took time, so compute the first slot only now.
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

/// Returns the first slot of the grid that is at or after `start` and after `now`.
fn next_slot(start: u64, period: u64, now: u64) -> u64 {
    match now.checked_sub(start) {
        None => start,
        Some(past) => now.saturating_sub(past.checked_rem(period).unwrap_or(0)).saturating_add(period),
    }
}

#[cfg(test)]
mod tests;
