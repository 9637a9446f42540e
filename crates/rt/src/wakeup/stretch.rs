//! The loop over one uninterrupted stretch of slots, for every means of waiting.

use super::{
    Phase, Timer,
    spacing::{Even, Spacing},
};
use crate::{end::End, recorder::Recorder};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use latido_sys::Errno;

/// The work of a periodic task at each wake-up.
pub(crate) trait PeriodicTask {
    /// Does the work; `now` is the clock reading after the wake-up.
    fn step(&mut self, now: u64);
}

/// No work: the loop only measures the wake-up.
pub(super) struct NoTask;

impl PeriodicTask for NoTask {
    #[inline(always)]
    fn step(&mut self, _now: u64) {}
}

/// One uninterrupted stretch of slots.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    /// The first slot, in ns on the loop's clock.
    pub(super) first: u64,
    pub(super) period: u64,
    pub(super) deadline: u64,
    pub(super) slots: u64,
    /// The number of budget overruns before the stretch.
    pub(super) overruns: u64,
    /// Whether a sample above `stop_on` ends the stretch.
    pub(super) heed_sample: bool,
    pub(super) phase: Phase,
}

impl Stretch {
    /// Returns the latency from which on a wake-up is late or has missed the next slot.
    fn attention(&self, spacing: &impl Spacing) -> i64 {
        self.deadline.saturating_add(1).min(spacing.shortest()) as i64
    }

    /// Returns the first slot.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Returns a spacing with equal distances.
    pub(crate) fn even(&self) -> impl Spacing + use<> {
        Even(self.period)
    }
}

/// The outcome of a stretch.
pub(crate) struct Walked {
    pub(super) end: End<Errno>,
    pub(super) elapsed: u64,
    pub(super) overruns: u64,
    /// The beginning of the next slot's period.
    pub(super) next: u64,
}

/// Runs the loop.
#[inline(always)]
pub(crate) fn sweep(
    timer: &impl Timer,
    mut spacing: impl Spacing,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    mut overrun: Option<&mut Recorder>,
    task: &mut impl PeriodicTask,
) -> Walked {
    let mut at = At { due: pass.first, elapsed: 0, overruns: pass.overruns };
    // Below this latency the loop only records the sample. After a missed deadline, and at every slot if it counts budget overruns, it has
    // more to check.
    let ordinary = if overrun.is_some() { i64::MIN } else { pass.attention(&spacing) };
    let end = loop {
        if at.elapsed >= pass.slots {
            break End::Complete;
        }
        if stop.load(Relaxed) {
            break End::Stopped;
        }
        if let Err(error) = timer.sleep_until(at.due) {
            if error == Errno::EINTR {
                continue;
            }
            break End::Failed(error);
        }
        let now = timer.now();
        let due = timer.due(at.due, now);
        let latency = now.wrapping_sub(due) as i64;
        task.step(now);
        at.due = spacing.after(due);
        at.elapsed = at.elapsed.wrapping_add(1);
        let open = recorder.begin();
        if latency < ordinary && recorder.record_ordinary(latency, now) {
            recorder.commit(open);
            continue;
        }
        at = attend(timer, &mut spacing, pass, recorder, overrun.as_deref_mut(), (latency, now), at);
        recorder.commit(open);
        if pass.heed_sample && recorder.stopped() {
            stop.store(true, Relaxed);
            break End::Sample;
        }
    };
    Walked { end, elapsed: at.elapsed, overruns: at.overruns, next: spacing.period_of(at.due) }
}

/// The position of the loop in its schedule.
#[derive(Clone, Copy)]
struct At {
    /// The next slot.
    due: u64,
    elapsed: u64,
    /// The number of budget overruns so far.
    overruns: u64,
}

/// Records a sample that is not ordinary, and catches up if the wake-up was late or recording took time.
#[cold]
#[inline(never)]
fn attend(
    timer: &impl Timer,
    spacing: &mut impl Spacing,
    pass: &Stretch,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
    (latency, woken): (i64, u64),
    at: At,
) -> At {
    let overruns = if overrun.is_some() { timer.overruns() } else { at.overruns };
    let took_time = match overrun {
        Some(overrun) if overruns != at.overruns => {
            let open = overrun.begin();
            overrun.record(latency, woken);
            overrun.commit(open);
            recorder.count_apart();
            true
        }
        _ => recorder.record(latency, woken),
    };
    let at = At { overruns, ..at };
    match took_time || latency >= pass.attention(spacing) {
        true => catch_up(timer, spacing, pass, recorder, (latency, woken), at),
        false => at,
    }
}

/// Catches up after a late wake-up or slow work: counts the slot as late if it was, and the slots that have passed as missed.
#[inline(always)]
fn catch_up(
    timer: &impl Timer,
    spacing: &mut impl Spacing,
    pass: &Stretch,
    recorder: &mut Recorder,
    (latency, woken): (i64, u64),
    mut at: At,
) -> At {
    if latency > 0 && latency as u64 > pass.deadline {
        recorder.count_late();
    }
    let mut now = woken;
    // Counting also takes time. The limit of rounds ensures that the loop ends even if the period is shorter than that.
    for _ in 0..8 {
        while at.due <= now && at.elapsed < pass.slots {
            recorder.miss(now.wrapping_sub(at.due));
            at.due = spacing.after(at.due);
            at.elapsed = at.elapsed.wrapping_add(1);
        }
        now = timer.now();
        if at.due > now {
            break;
        }
    }
    at
}
