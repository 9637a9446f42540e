//! What the busy loop does outside the hot loop: it records remarkable gaps, ends blocks and rests. Also the state that it keeps for this.

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
    /// Whether each spin ends a block; a dry run uses this to run that path.
    pub end_blocks: bool,
}

/// The state that continues from one sweep to the next.
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

/// The state of the duty cycle when a sweep ended.
#[derive(Clone, Copy)]
pub(super) struct Cycle {
    /// The counter reading that ended the sweep.
    pub at_ticks: u64,
    /// The age of the duty period at that time, in ns.
    pub age_ns: u64,
}

/// The state of the loop, apart from its recorder.
pub(super) struct Aside {
    /// Ticks that the loop's own work took.
    pub own: u64,
    /// Ticks slept.
    pub slept: u64,
    /// The thread's run delay at the last reading, in ns.
    pub delay_ns: Option<u64>,
    /// How long before the origin the duty cycle began, in ns.
    pub lead_ns: u64,
    /// When the current duty period began, in ns since the cycle began.
    pub period_start_ns: u64,
    /// Up to which time the meters include all running, in ns since the origin.
    pub metered_ns: u64,
    /// The work that the loop did since the last spin.
    pub work: Work,
}

impl Aside {
    /// Returns the age of the current duty period, in ns, at `elapsed_ns` after the origin.
    pub fn age_ns(&self, elapsed_ns: u64) -> u64 {
        elapsed_ns.saturating_add(self.lead_ns).saturating_sub(self.period_start_ns)
    }

    /// Tells the meters that the thread, or a task that preempted it, ran until `at_ns`.
    pub fn ran_until(&mut self, meters: &mut [Option<Meter>; 2], at_ns: u64) {
        let ran = at_ns.saturating_sub(self.metered_ns);
        meters.iter_mut().flatten().for_each(|meter| meter.ran(ran));
        self.metered_ns = at_ns;
    }

    /// Tells the meters that no real-time task ran until `at_ns`.
    fn rested_until(&mut self, meters: &mut [Option<Meter>; 2], at_ns: u64) {
        let rested = at_ns.saturating_sub(self.metered_ns);
        meters.iter_mut().flatten().for_each(|meter| meter.rested(rested));
        self.metered_ns = at_ns;
    }
}

/// The counter reading that ended a gap.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub ticks: u64,
    /// Nanoseconds since the origin.
    pub ns: u64,
}

/// Records a gap that is not ordinary. Returns false if the counter ran backwards: then it is not a gap.
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

/// Asks the kernel whether the thread was preempted: in that case the run delay grew by about the gap. The threshold is half of the gap, to
/// exclude shorter preemptions since the last reading. A preemption may be a wait that the kernel's own limit on real-time tasks imposed.
///
/// The question to the kernel takes time. If the thread has to wait during the question, that wait belongs to the next gap, which begins
/// with the question. Where latido cannot distinguish the two waits, the class of this gap is unknown.
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
        // The first answer does not include what the run delay grew by since then.
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

/// Ends the block, sleeps if the duty cycle requires it, and reads the run delay again. Returns the ticks slept.
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
    // Read the run delay before the work: if the work then lasts too long, the growth of the delay shows why. After a classification the
    // value is already fresh.
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
        // After a gap longer than a period, the next period again begins on the grid.
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
            // Do not count the wait for the CPU after a sleep as a gap's run delay.
            aside.delay_ns = counter.run_delay();
        }
    }
    slept
}
