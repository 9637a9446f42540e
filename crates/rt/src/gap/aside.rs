//! What the busy loop does outside the hot one: records what is remarkable, ends blocks, rests; and what it remembers.

use super::{
    BusyLoop, Counter,
    throttle::{Budget, Meter},
    work::{Work, WorkCosts},
};
use crate::{block::Class, recorder::Recorder};

#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub classified_ns: u64,
    /// Whether a gap above `stop_on` ends the loop.
    pub heed_sample: bool,
    /// Whether each spin ends a block: to rehearse that.
    pub end_blocks: bool,
}

/// What goes on from one sweep to the next.
#[derive(Clone, Copy)]
pub(super) struct Course {
    pub cycle: Option<Cycle>,
    pub costs: WorkCosts,
    pub meters: [Option<Meter>; 2],
}

impl Course {
    pub fn new(costs: WorkCosts, budgets: &[Option<Budget>; 2]) -> Self {
        Self { cycle: None, costs, meters: budgets.map(|budget| budget.and_then(Meter::of)) }
    }
}

/// How far the duty cycle had come when a sweep ended.
#[derive(Clone, Copy)]
pub(super) struct Cycle {
    /// The reading that ended it.
    pub at_ticks: u64,
    /// The age of the period then, in ns.
    pub age_ns: u64,
}

/// What the loop keeps besides its recorder.
pub(super) struct Aside {
    /// Ticks of the loop's own work.
    pub own: u64,
    /// Ticks slept.
    pub slept: u64,
    /// The run delay when last looked at.
    pub delay_ns: Option<u64>,
    /// How long before the origin the duty cycle began, in ns.
    pub lead_ns: u64,
    /// When its present period began, in ns since the cycle began.
    pub period_start_ns: u64,
    /// Until when the meters know of all that ran, in ns since the origin.
    pub metered_ns: u64,
    /// What was done since the last spin.
    pub work: Work,
}

impl Aside {
    /// The age of the present period, in ns, so many ns after the origin.
    pub fn age_ns(&self, elapsed_ns: u64) -> u64 {
        elapsed_ns.saturating_add(self.lead_ns).saturating_sub(self.period_start_ns)
    }

    /// Lets the meters know that the thread, or who kept it from that, ran until now.
    pub fn ran_until(&mut self, meters: &mut [Option<Meter>; 2], at_ns: u64) {
        let ran = at_ns.saturating_sub(self.metered_ns);
        meters.iter_mut().flatten().for_each(|meter| meter.ran(ran));
        self.metered_ns = at_ns;
    }

    /// Lets them know that no real-time task ran.
    fn rested_until(&mut self, meters: &mut [Option<Meter>; 2], at_ns: u64) {
        let rested = at_ns.saturating_sub(self.metered_ns);
        meters.iter_mut().flatten().for_each(|meter| meter.rested(rested));
        self.metered_ns = at_ns;
    }
}

/// The reading that ended a gap.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub ticks: u64,
    /// Since the origin.
    pub ns: u64,
}

/// Records a gap that is not ordinary. False if it is none: the counter ran backwards.
#[cold]
#[inline(never)]
pub(super) fn remark(
    counter: &impl Counter,
    limits: Limits,
    recorder: &mut Recorder,
    course: &mut Course,
    aside: &mut Aside,
    gap: u64,
    at: Reading,
) -> bool {
    let open = recorder.begin();
    let forward = gap <= i64::MAX as u64;
    aside.work = aside.work.and(Work::REMARK);
    if forward {
        let gap_ns = recorder.scale().ns(gap);
        let mut class = Class::Unknown;
        if gap_ns > limits.classified_ns {
            aside.work = aside.work.and(Work::CLASSIFY);
            let asked_ns = |now: u64| recorder.scale().ns(now.saturating_sub(at.ticks));
            class = classify(counter, aside, &mut course.meters, gap_ns, at.ns, asked_ns);
        }
        recorder.gap(gap, at.ns, class);
    } else {
        recorder.count_backwards();
    }
    recorder.commit(open);
    forward
}

/// Asks the kernel whether the thread was preempted: then the run delay grew by about the gap. Half of it separates
/// that from shorter preemptions since the last look. Where it was, the kernel's own limit may have made it wait.
///
/// Asking takes time, and a wait meanwhile is the next gap's, which begins with the asking. Where the two cannot be told
/// apart, this gap's class is unknown.
#[inline(always)]
fn classify(
    counter: &impl Counter,
    aside: &mut Aside,
    meters: &mut [Option<Meter>; 2],
    gap_ns: u64,
    at_ns: u64,
    asked_ns: impl Fn(u64) -> u64,
) -> Class {
    let delay_ns = counter.run_delay();
    let mut asked_ns = asked_ns(counter.read());
    if asked_ns >= gap_ns / 4 {
        // What grew since the first answer is not in it.
        let after = counter.run_delay().zip(delay_ns).map_or(0, |(again, first)| again.saturating_sub(first));
        asked_ns = asked_ns.saturating_sub(after);
    }
    let grown = delay_ns.zip(aside.delay_ns).map(|(now, before)| now.saturating_sub(before));
    aside.ran_until(meters, at_ns.saturating_sub(gap_ns));
    let Some(grown) = grown else {
        aside.delay_ns = delay_ns;
        return Class::Unknown;
    };
    let in_asking = grown.min(asked_ns);
    let preempted = grown > 0 && grown.saturating_sub(in_asking) >= gap_ns / 2;
    let of_the_next = in_asking.min(if preempted { grown.saturating_sub(gap_ns) } else { grown });
    aside.delay_ns = delay_ns.map(|now| now.saturating_sub(of_the_next));
    if preempted {
        if !meters.iter().flatten().any(|meter| meter.explains(gap_ns)) {
            return Class::Preempted;
        }
        aside.rested_until(meters, at_ns);
        return Class::Throttled;
    }
    if grown >= gap_ns / 2 { Class::Unknown } else { Class::InPlace }
}

#[inline(always)]
pub(super) fn rest_due(task: &BusyLoop, aside: &Aside, elapsed_ns: u64) -> bool {
    task.duty.is_some_and(|duty| aside.age_ns(elapsed_ns) >= duty.busy_ns)
}

/// Ends the block, sleeps where the duty cycle says so, and looks at the run delay anew. Returns the ticks slept.
#[cold]
#[inline(never)]
pub(super) fn pause(
    counter: &impl Counter,
    task: &BusyLoop,
    recorder: &mut Recorder,
    course: &mut Course,
    aside: &mut Aside,
    elapsed_ns: u64,
) -> u64 {
    let scale = recorder.scale();
    // Before the work: should it last too long, the delay tells why. Who has just asked knows.
    if !aside.work.has(Work::CLASSIFY) {
        let before = counter.read();
        let delay_ns = counter.run_delay();
        let asked_ns = scale.ns(counter.read().saturating_sub(before));
        let grown = delay_ns.zip(aside.delay_ns).map_or(0, |(now, before)| now.saturating_sub(before));
        aside.delay_ns = delay_ns.map(|now| now.saturating_sub(grown.min(asked_ns)));
    }
    aside.work = aside.work.and(Work::BLOCK);
    let open = recorder.begin();
    if elapsed_ns >= recorder.block_end() {
        recorder.end_block(elapsed_ns);
    }
    recorder.set_aside(scale.ns(aside.own), scale.ns(aside.slept));
    recorder.commit(open);
    let mut slept = 0u64;
    if let Some(duty) = task.duty
        && rest_due(task, aside, elapsed_ns)
    {
        // After a gap longer than a period the next one begins on the grid again.
        let period = duty.period_ns.max(1);
        let age = aside.age_ns(elapsed_ns);
        let into = age.checked_rem(period).unwrap_or(0);
        let rest = if into >= duty.busy_ns { period.saturating_sub(into) } else { 0 };
        aside.period_start_ns = aside.period_start_ns.saturating_add(age.saturating_sub(into));
        if rest > 0 {
            aside.work = aside.work.and(Work::REST);
            aside.ran_until(&mut course.meters, elapsed_ns);
            let before = counter.read();
            counter.sleep(rest);
            slept = counter.read().saturating_sub(before);
            aside.slept = aside.slept.wrapping_add(slept);
            aside.rested_until(&mut course.meters, elapsed_ns.saturating_add(scale.ns(slept)));
            aside.period_start_ns = aside.period_start_ns.saturating_add(period);
            // Waiting for the CPU after a sleep is no gap.
            aside.delay_ns = counter.run_delay();
        }
    }
    slept
}
