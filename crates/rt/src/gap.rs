//! The busy loop: it reads a counter again and again. The time between two readings is a gap: time that the thread lost.
//!
//! The hot loop is one reading, one subtraction, one comparison and one increment. Everything else (a remarkable gap, the end of a block,
//! the stop flag) happens outside the hot loop, and the loop accounts for that time separately: gaps, own time and slept time add up to the
//! elapsed time. The loop knows how long its own work takes; when the work lasts longer, the excess is a gap, too.

mod aside;
mod throttle;
mod work;

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase, SpinCounts},
    word::WordCell,
};
use aside::{Aside, Course, Cycle, Limits, Reading, pause, remark, rest_due};
use core::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use latido_sys::{clock::Clock, memory::touch_code, procfs::SchedStatFile, tsc};
pub use throttle::Budget;
use work::Work;
pub use work::WorkCosts;

/// A counter, and a way to sleep; tests provide other ones.
pub trait Counter {
    /// Reads the counter, in ticks.
    fn read(&self) -> u64;

    /// Sleeps for `ns` nanoseconds, or less when a signal interrupts it.
    fn sleep(&self, ns: u64);

    /// Returns the thread's run delay so far, in ns, where the kernel reports it.
    fn run_delay(&self) -> Option<u64>;
}

/// Which counter the loop reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// The time-stamp counter; only where `latido_sys::tsc::unfit` finds nothing against it.
    Tsc,
    /// CLOCK_MONOTONIC, in ns; the recorder's table is `Scale::NS`.
    Monotonic,
}

/// The parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct BusyLoop {
    /// Number of iterations; `u64::MAX` for no limit.
    pub iterations: u64,
    /// How long to loop, in ns; `u64::MAX` for no limit.
    pub duration_ns: u64,
    /// How long to loop before counting, in ns.
    pub warmup_ns: u64,
    /// The duty cycle: the loop runs for a part of each period and sleeps for the rest, to stay below real-time throttling.
    pub duty: Option<Duty>,
    /// What the kernel lets real-time tasks use, where it limits them: by the real-time throttle and by the fair server.
    pub budgets: [Option<Budget>; 2],
}

/// A duty cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// Time to loop in each period, in ns.
    pub busy_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
}

/// The outcome of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    /// Why it ended; it cannot fail.
    pub end: End<Infallible>,
    /// Samples recorded.
    pub iterations: u64,
    /// The counter at the start: the origin of all recorded times.
    pub origin_ticks: u64,
    /// Time from the origin to the end, in ns, converted with the counter's scale: gaps + own + slept.
    pub elapsed_ns: u64,
    /// The time outside gaps, and the classes of the long gaps.
    pub spin: SpinCounts,
}

/// The loop classifies gaps above this, in ns.
pub const CLASSIFIED_NS: u64 = 100_000;

/// Iterations between two checks of the stop flag and the time: about 40 us.
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
/// `schedstat` belongs to the calling thread; without it the loop does not classify gaps. `costs` are the result of the dry run.
pub fn run(
    source: TickSource,
    task: &BusyLoop,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    schedstat: Option<&SchedStatFile>,
    costs: WorkCosts,
) -> Readings {
    let course = Course::new(costs, &task.budgets);
    warm_up_and_count(task, course, recorder, |task, limits, course, recorder| {
        on_source(source, task, limits, course, stop, recorder, schedstat)
    })
}

/// Runs the warm-up and the measurement. The duty cycle continues from one to the other, so that no rest is left out.
fn warm_up_and_count(
    task: &BusyLoop,
    mut course: Course,
    recorder: &mut Recorder,
    mut sweep: impl FnMut(&BusyLoop, Limits, &mut Course, &mut Recorder) -> Readings,
) -> Readings {
    let warmup = BusyLoop { iterations: u64::MAX, duration_ns: task.warmup_ns, ..*task };
    let limits = Limits { classified_ns: CLASSIFIED_NS, heed_sample: false, end_blocks: false };
    recorder.enter(RecorderPhase::WarmUp);
    sweep(&warmup, limits, &mut course, recorder);
    recorder.reset();
    recorder.enter(RecorderPhase::Counting);
    let outcome = sweep(task, Limits { heed_sample: true, ..limits }, &mut course, recorder);
    recorder.enter(RecorderPhase::Ended);
    outcome
}

/// Runs every cold path of the loop and the recorder (this takes a few ms), then clears the recorder. Returns how long the loop's own work
/// takes.
pub fn rehearse(source: TickSource, recorder: &mut Recorder, schedstat: Option<&SchedStatFile>) -> WorkCosts {
    let stop = AtomicBool::new(false);
    recorder.reset();
    recorder.rehearse();
    recorder.reset();
    let mut course = Course::new(WorkCosts::unknown(recorder.scale()), &[None; 2]);
    let rests = Some(Duty { busy_ns: 100_000, period_ns: 150_000 });
    let usual = Limits { classified_ns: CLASSIFIED_NS, heed_sample: false, end_blocks: false };
    for (duty, limits) in [
        (None, usual),
        (rests, Limits { classified_ns: 0, ..usual }),
        (None, Limits { end_blocks: true, ..usual }),
        (rests, Limits { end_blocks: true, ..usual }),
    ] {
        let task = BusyLoop { iterations: 40_000, duration_ns: u64::MAX, warmup_ns: 0, duty, budgets: [None; 2] };
        on_source(source, &task, limits, &mut course, &stop, recorder, schedstat);
        course.cycle = None;
        recorder.reset();
    }
    touch_code(&[run as *const () as usize]);
    course.costs
}

fn on_source(
    source: TickSource,
    task: &BusyLoop,
    limits: Limits,
    course: &mut Course,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    schedstat: Option<&SchedStatFile>,
) -> Readings {
    match source {
        TickSource::Tsc => tsc(task, limits, course, stop, recorder, schedstat),
        TickSource::Monotonic => monotonic(task, limits, course, stop, recorder, schedstat),
    }
}

/// Defines one function per counter. The compiler keeps each separate, so that the disassembly check finds each loop by its name.
macro_rules! loops {
    ($($name:ident $read:expr),*) => {$(
        #[inline(never)]
        fn $name(
            task: &BusyLoop,
            limits: Limits,
            course: &mut Course,
            stop: &AtomicBool,
            recorder: &mut Recorder,
            schedstat: Option<&SchedStatFile>,
        ) -> Readings {
            sweep(&KernelCounter { read: $read, schedstat }, task, limits, course, stop, recorder)
        }
    )*};
}

loops!(tsc tsc::read, monotonic || Clock::Monotonic.now());

/// Counts gaps until a gap is too long for `ordinary` or the budget is used up. Returns the last reading, the gap before it if that gap is
/// not counted, and the rest of the budget.
///
/// The loop counts a gap only after the next reading. The processor then does this while it executes the slow instruction that reads the
/// counter, instead of delaying the next reading.
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
        // The length of the slice is also the threshold: one comparison does both checks.
        let Some(cell) = usize::try_from(gap).ok().and_then(|gap| ordinary.get(gap)) else {
            return (now, Some(gap), budget);
        };
        counted = cell;
    }
    counted.add(1);
    (last, None, 0)
}

/// Runs the loop around the hot loop.
#[inline(always)]
fn sweep(
    counter: &impl Counter,
    task: &BusyLoop,
    limits: Limits,
    course: &mut Course,
    stop: &AtomicBool,
    recorder: &mut Recorder,
) -> Readings {
    let scale = recorder.scale();
    let (mut iterations, mut elapsed_ns, mut end) = (0u64, 0, End::Complete);
    let delay_ns = counter.run_delay();
    recorder.start_at(0);
    let origin = counter.read();
    let since = |cycle: Cycle| cycle.age_ns.saturating_add(scale.ns(origin.saturating_sub(cycle.at_ticks)));
    let lead_ns = course.cycle.map_or(0, since);
    let work = Work::default();
    let mut aside = Aside { own: 0, slept: 0, delay_ns, lead_ns, period_start_ns: 0, metered_ns: 0, work };
    let mut last = origin;
    // By how much the work before this round lasted too long. The loop records this as the gap of the round, without a spin.
    let mut overdue = None;
    while iterations < task.iterations && elapsed_ns < task.duration_ns {
        if stop.load(Relaxed) {
            end = End::Stopped;
            break;
        }
        aside.work = Work::default();
        let (now, gap) = match overdue.take() {
            Some(excess) => {
                iterations = iterations.wrapping_add(1);
                (last, Some(excess))
            }
            None => {
                let budget = CHUNK.min(task.iterations.wrapping_sub(iterations));
                let (now, gap, left) = spin(counter, recorder.ordinary(), last, budget);
                iterations = iterations.wrapping_add(budget).wrapping_sub(left);
                (now, gap)
            }
        };
        elapsed_ns = scale.ns(now.saturating_sub(origin));
        if let Some(gap) = gap
            && !remark(counter, limits, recorder, course, &mut aside, gap, Reading { ticks: now, ns: elapsed_ns })
        {
            iterations = iterations.wrapping_sub(1);
        }
        if limits.heed_sample && recorder.stopped() {
            end = End::Sample;
            stop.store(true, Relaxed);
        }
        last = now;
        // The measurement ends with the last sample, so the loop skips the work after it.
        if end == End::Sample || iterations >= task.iterations {
            break;
        }
        let mut slept = 0;
        if limits.end_blocks || elapsed_ns >= recorder.block_end() || rest_due(task, &aside, elapsed_ns) {
            slept = pause(counter, task, recorder, course, &mut aside, elapsed_ns);
        }
        last = counter.read();
        let worked = last.saturating_sub(now).saturating_sub(slept);
        overdue = course.costs.excess(aside.work, worked);
        aside.own = aside.own.wrapping_add(worked).wrapping_sub(overdue.unwrap_or(0));
        elapsed_ns = scale.ns(last.saturating_sub(origin));
    }
    if let Some(excess) = overdue {
        remark(counter, limits, recorder, course, &mut aside, excess, Reading { ticks: last, ns: elapsed_ns });
        iterations = iterations.wrapping_add(1);
    }
    recorder.set_aside(scale.ns(aside.own), scale.ns(aside.slept));
    recorder.finish(elapsed_ns);
    aside.ran_until(&mut course.meters, elapsed_ns);
    course.cycle = Some(Cycle { at_ticks: last, age_ns: aside.age_ns(elapsed_ns) });
    Readings { end, iterations, origin_ticks: origin, elapsed_ns, spin: recorder.spin() }
}

#[cfg(test)]
mod tests;
