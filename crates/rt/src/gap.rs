//! The busy loop: read a counter again and again; whatever lies between two readings was taken from the thread.
//!
//! The hot loop is one reading, one subtraction, one comparison and one increment. Everything else (a remarkable gap,
//! the end of a block, the stop flag) happens outside it, and the time of that is set aside: gaps, own time and slept
//! time add up to the time elapsed.

use crate::{
    block::Class,
    end::End,
    recorder::{Recorder, RecorderPhase, SpinCounts},
    word::WordCell,
};
use core::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use latido_sys::{clock::Clock, procfs::SchedStatFile, tsc};

/// A counter, and a way to sleep; tests bring their own.
pub trait Counter {
    /// The counter's ticks.
    fn read(&self) -> u64;

    /// Sleeps for so many ns, or less when interrupted.
    fn sleep(&self, ns: u64);

    /// The thread's run delay so far, in ns, where the kernel tells.
    fn run_delay(&self) -> Option<u64>;
}

/// Which counter the loop reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// The time-stamp counter; only where `latido_sys::tsc::unfit` has no objection.
    Tsc,
    /// CLOCK_MONOTONIC, in ns; the recorder's table is `Scale::NS`.
    Monotonic,
}

/// What the loop is to do.
#[derive(Clone, Copy, Debug)]
pub struct BusyLoop {
    /// Iterations to make; `u64::MAX` for no such end.
    pub iterations: u64,
    /// How long to go on, in ns; `u64::MAX` for no such end.
    pub duration_ns: u64,
    /// How long to loop before counting, in ns.
    pub warmup_ns: u64,
    /// Work for so long in each period and sleep for the rest, in ns: stays below real-time throttling.
    pub duty: Option<Duty>,
}

/// A duty cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// Time to loop in each period, in ns.
    pub busy_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
}

/// How the loop went.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    /// Why it ended; nothing can fail.
    pub end: End<Infallible>,
    /// Samples recorded.
    pub iterations: u64,
    /// The counter at the start: the origin of all times recorded.
    pub origin_ticks: u64,
    /// From there to the end, in ns, by the counter's scale: gaps + own + slept.
    pub elapsed_ns: u64,
    /// What was not gaps, and the classes of the long ones.
    pub spin: SpinCounts,
}

/// Gaps above this are classified, in ns.
pub const CLASSIFIED_NS: u64 = 100_000;

/// Iterations between two looks at the stop flag and the time: about 40 us.
const CHUNK: u64 = 4096;

struct KernelCounter<'a, F> {
    read: F,
    schedstat: Option<&'a SchedStatFile>,
}

impl<F: Fn() -> u64> Counter for KernelCounter<'_, F> {
    #[inline(always)]
    fn read(&self) -> u64 {
        (self.read)()
    }

    fn sleep(&self, ns: u64) {
        let _interrupted = Clock::Monotonic.sleep_until(Clock::Monotonic.now().saturating_add(ns));
    }

    fn run_delay(&self) -> Option<u64> {
        self.schedstat?.read().map(|stat| stat.delay_ns)
    }
}

/// Runs the loop until its end. The recorder needs a table (`Config::table`) with the scale of the counter.
///
/// `schedstat` is the calling thread's; without it gaps are not classified.
pub fn run(
    source: TickSource,
    task: &BusyLoop,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    schedstat: Option<&SchedStatFile>,
) -> Readings {
    warm_up_and_count(task, recorder, |task, limits, cycle, recorder| {
        on_source(source, task, limits, cycle, stop, recorder, schedstat)
    })
}

/// The two sweeps of a run. The duty cycle goes on from one to the other, without a break in which nothing rests.
fn warm_up_and_count(
    task: &BusyLoop,
    recorder: &mut Recorder,
    mut sweep: impl FnMut(&BusyLoop, Limits, &mut Option<Cycle>, &mut Recorder) -> Readings,
) -> Readings {
    let warmup = BusyLoop { iterations: u64::MAX, duration_ns: task.warmup_ns, ..*task };
    let limits = Limits { classified_ns: CLASSIFIED_NS, heed_sample: false };
    let mut cycle = None;
    recorder.enter(RecorderPhase::WarmUp);
    sweep(&warmup, limits, &mut cycle, recorder);
    recorder.reset();
    recorder.enter(RecorderPhase::Counting);
    let outcome = sweep(task, Limits { heed_sample: true, ..limits }, &mut cycle, recorder);
    recorder.enter(RecorderPhase::Ended);
    outcome
}

/// Runs every cold path of the loop and the recorder once (some ms), then forgets what was recorded.
pub fn rehearse(source: TickSource, recorder: &mut Recorder, schedstat: Option<&SchedStatFile>) {
    let stop = AtomicBool::new(false);
    recorder.reset();
    recorder.rehearse();
    recorder.reset();
    let duty = Some(Duty { busy_ns: 100_000, period_ns: 150_000 });
    let task = BusyLoop { iterations: 100_000, duration_ns: u64::MAX, warmup_ns: 0, duty };
    on_source(source, &task, Limits { classified_ns: 0, heed_sample: false }, &mut None, &stop, recorder, schedstat);
    recorder.reset();
}

#[derive(Clone, Copy)]
struct Limits {
    classified_ns: u64,
    /// Whether a gap above `stop_on` ends the loop.
    heed_sample: bool,
}

/// How far the duty cycle had come when a sweep ended.
#[derive(Clone, Copy)]
struct Cycle {
    /// The reading that ended it.
    at_ticks: u64,
    /// The age of the period then, in ns.
    age_ns: u64,
}

fn on_source(
    source: TickSource,
    task: &BusyLoop,
    limits: Limits,
    cycle: &mut Option<Cycle>,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    schedstat: Option<&SchedStatFile>,
) -> Readings {
    match source {
        TickSource::Tsc => tsc(task, limits, cycle, stop, recorder, schedstat),
        TickSource::Monotonic => monotonic(task, limits, cycle, stop, recorder, schedstat),
    }
}

/// One function per counter that stays one in the binary, so that the disassembly check finds each loop by its name.
macro_rules! loops {
    ($($name:ident $read:expr),*) => {$(
        #[inline(never)]
        fn $name(
            task: &BusyLoop,
            limits: Limits,
            cycle: &mut Option<Cycle>,
            stop: &AtomicBool,
            recorder: &mut Recorder,
            schedstat: Option<&SchedStatFile>,
        ) -> Readings {
            sweep(&KernelCounter { read: $read, schedstat }, task, limits, cycle, stop, recorder)
        }
    )*};
}

loops!(tsc tsc::read, monotonic || Clock::Monotonic.now());

/// Counts gaps until one has no counter or the budget is used up. Returns the reading that ended it, the gap before it
/// if that was not counted, and what is left of the budget.
///
/// A gap is counted after the next reading: the processor does that in the shadow of the slow instruction that reads
/// the counter, instead of making the next reading wait for it.
#[inline(always)]
fn spin(counter: &impl Counter, ordinary: &[WordCell], mut last: u64, mut budget: u64) -> (u64, Option<u64>, u64) {
    let idle = WordCell::default();
    let mut counted = &idle;
    while budget > 0 {
        let now = counter.read();
        counted.add(1);
        let gap = now.wrapping_sub(last);
        last = now;
        budget = budget.wrapping_sub(1);
        // The length of the slice is the threshold: one comparison serves both.
        let Some(cell) = usize::try_from(gap).ok().and_then(|gap| ordinary.get(gap)) else {
            return (now, Some(gap), budget);
        };
        counted = cell;
    }
    counted.add(1);
    (last, None, 0)
}

/// What the loop keeps besides its recorder.
struct Aside {
    /// Ticks of the loop's own work.
    own: u64,
    /// Ticks slept.
    slept: u64,
    /// The run delay when last looked at.
    delay_ns: Option<u64>,
    /// How long before the origin the duty cycle began, in ns.
    lead_ns: u64,
    /// When its present period began, in ns since the cycle began.
    period_start_ns: u64,
}

impl Aside {
    /// The age of the present period, in ns, so many ns after the origin.
    fn age_ns(&self, elapsed_ns: u64) -> u64 {
        elapsed_ns.saturating_add(self.lead_ns).saturating_sub(self.period_start_ns)
    }
}

/// The loop around the hot one.
#[inline(always)]
fn sweep(
    counter: &impl Counter,
    task: &BusyLoop,
    limits: Limits,
    cycle: &mut Option<Cycle>,
    stop: &AtomicBool,
    recorder: &mut Recorder,
) -> Readings {
    let scale = recorder.scale();
    let (mut iterations, mut elapsed_ns, mut end) = (0u64, 0, End::Complete);
    let delay_ns = counter.run_delay();
    recorder.start_at(0);
    let origin = counter.read();
    let since = |cycle: Cycle| cycle.age_ns.saturating_add(scale.ns(origin.saturating_sub(cycle.at_ticks)));
    let mut aside = Aside { own: 0, slept: 0, delay_ns, lead_ns: cycle.map_or(0, since), period_start_ns: 0 };
    let mut last = origin;
    while iterations < task.iterations && elapsed_ns < task.duration_ns {
        if stop.load(Relaxed) {
            end = End::Stopped;
            break;
        }
        let budget = CHUNK.min(task.iterations.wrapping_sub(iterations));
        let (now, gap, left) = spin(counter, recorder.ordinary(), last, budget);
        iterations = iterations.wrapping_add(budget).wrapping_sub(left);
        elapsed_ns = scale.ns(now.saturating_sub(origin));
        if let Some(gap) = gap
            && !remark(counter, limits, recorder, &mut aside, gap, elapsed_ns)
        {
            iterations = iterations.wrapping_sub(1);
        }
        if limits.heed_sample && recorder.stopped() {
            end = End::Sample;
            stop.store(true, Relaxed);
        }
        let mut slept = 0;
        if elapsed_ns >= recorder.block_end() || rest_due(task, &aside, elapsed_ns) {
            slept = pause(counter, task, recorder, &mut aside, elapsed_ns);
        }
        last = counter.read();
        aside.own = aside.own.wrapping_add(last.saturating_sub(now).saturating_sub(slept));
        elapsed_ns = scale.ns(last.saturating_sub(origin));
        if end == End::Sample {
            break;
        }
    }
    recorder.set_aside(scale.ns(aside.own), scale.ns(aside.slept));
    recorder.finish(elapsed_ns);
    *cycle = Some(Cycle { at_ticks: last, age_ns: aside.age_ns(elapsed_ns) });
    Readings { end, iterations, origin_ticks: origin, elapsed_ns, spin: recorder.spin() }
}

/// Records a gap that is not ordinary. False if it is none: the counter ran backwards.
#[cold]
#[inline(never)]
fn remark(
    counter: &impl Counter,
    limits: Limits,
    recorder: &mut Recorder,
    aside: &mut Aside,
    gap: u64,
    at_ns: u64,
) -> bool {
    let open = recorder.begin();
    let forward = gap <= i64::MAX as u64;
    if forward {
        let gap_ns = recorder.scale().ns(gap);
        let class = if gap_ns > limits.classified_ns { classify(counter, aside, gap_ns) } else { Class::Unknown };
        recorder.gap(gap, at_ns, class);
    } else {
        recorder.count_backwards();
    }
    recorder.commit(open);
    forward
}

/// Asks the kernel whether the thread was preempted: then the run delay grew by about the gap. Half of it separates
/// that from shorter preemptions since the last look.
fn classify(counter: &impl Counter, aside: &mut Aside, gap_ns: u64) -> Class {
    let delay_ns = counter.run_delay();
    let grown = delay_ns.zip(aside.delay_ns).map(|(now, before)| now.saturating_sub(before));
    aside.delay_ns = delay_ns;
    match grown {
        None => Class::Unknown,
        Some(grown) if grown >= gap_ns / 2 && grown > 0 => Class::Preempted,
        Some(_) => Class::InPlace,
    }
}

#[inline(always)]
fn rest_due(task: &BusyLoop, aside: &Aside, elapsed_ns: u64) -> bool {
    task.duty.is_some_and(|duty| aside.age_ns(elapsed_ns) >= duty.busy_ns)
}

/// Ends the block, sleeps where the duty cycle says so, and looks at the run delay anew. Returns the ticks slept.
#[cold]
#[inline(never)]
fn pause(counter: &impl Counter, task: &BusyLoop, recorder: &mut Recorder, aside: &mut Aside, elapsed_ns: u64) -> u64 {
    let scale = recorder.scale();
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
            let before = counter.read();
            counter.sleep(rest);
            slept = counter.read().saturating_sub(before);
            aside.slept = aside.slept.wrapping_add(slept);
            aside.period_start_ns = aside.period_start_ns.saturating_add(period);
        }
    }
    aside.delay_ns = counter.run_delay();
    slept
}

#[cfg(test)]
mod tests;
