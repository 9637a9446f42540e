//! The loop over one uninterrupted stretch of slots, whatever it waits with.

use super::{
    Phase, Timer,
    spacing::{Even, Spacing},
};
use crate::{end::End, recorder::Recorder};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use latido_sys::Errno;

/// What a periodic task does at each of its wake-ups.
pub(crate) trait PeriodicTask {
    /// Does it; `now` is the reading at which the thread ran.
    fn step(&mut self, now: u64);
}

/// NoTask: the wake-up alone is measured.
pub(super) struct NoTask;

impl PeriodicTask for NoTask {
    #[inline(always)]
    fn step(&mut self, _now: u64) {}
}

/// One uninterrupted stretch of slots.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    /// The first slot.
    pub(super) first: u64,
    pub(super) period: u64,
    pub(super) deadline: u64,
    pub(super) slots: u64,
    /// The overruns that are known.
    pub(super) overruns: u64,
    /// Whether a sample above `stop_on` ends it.
    pub(super) heed_sample: bool,
    pub(super) phase: Phase,
}

impl Stretch {
    /// From this latency on a sample is late or has missed the next slot.
    fn attention(&self, spacing: &impl Spacing) -> i64 {
        self.deadline.saturating_add(1).min(spacing.shortest()) as i64
    }

    /// Its first slot.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Slots at equal distances.
    pub(crate) fn even(&self) -> impl Spacing + use<> {
        Even(self.period)
    }
}

/// How a stretch went.
pub(crate) struct Walked {
    pub(super) end: End<Errno>,
    pub(super) elapsed: u64,
    pub(super) overruns: u64,
    /// When the period of the next slot begins.
    pub(super) next: u64,
}

/// The loop.
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
    // Below this latency nothing is due but the sample: from a missed deadline on, and at every slot where a budget may
    // be overrun, somebody has to look.
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

/// Where the loop is in its schedule.
#[derive(Clone, Copy)]
struct At {
    /// The slot to come.
    due: u64,
    elapsed: u64,
    /// The budget overruns that are known.
    overruns: u64,
}

/// Records a sample that is not an ordinary one, and catches up where it is late or took time.
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

/// After a late wake-up or slow work: counts the slot as late if it was, and the slots that have passed as missed.
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
    // Counting takes time too; but a period shorter than that must not keep us here for ever.
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
