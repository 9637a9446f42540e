//! The loop around timed calls: rounds, each of which gives one sample of every quantity.
//!
//! A round reads the clock around each of its calls and records nothing. The samples of many rounds wait in a channel, and the loop records
//! them together, so that recording never happens between two readings of a round and does not displace the calls from the caches. Several
//! kinds (of mutexes, of sleeping) take turns round by round.

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase},
};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use latido_sys::{Errno, clock::Clock};

/// A clock; tests provide another.
pub trait Time {
    /// Returns the time in ns.
    fn now(&self) -> u64;
}

/// CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Time for Monotonic {
    #[inline(always)]
    fn now(&self) -> u64 {
        Clock::Monotonic.now()
    }
}

/// The parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Rounds of each kind; `u64::MAX` for no limit.
    pub rounds: u64,
    /// How long to continue, in ns; `u64::MAX` for no limit. The loop finishes the current rounds.
    pub duration_ns: u64,
    /// How long to run rounds before the loop counts, in ns.
    pub warmup_ns: u64,
}

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its name.
    pub call: &'static str,
    /// The error that it returned.
    pub error: Errno,
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} failed: {}", self.call, self.error)
    }
}

/// The outcome of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Rounds<F = Refusal> {
    /// Why it ended; a failed call makes it fail.
    pub end: End<F>,
    /// Counted rounds per kind.
    pub rounds: u64,
    /// The clock when counting began, in ns: the origin of all recorded times.
    pub first_ns: u64,
    /// The clock at the end, in ns.
    pub ended_ns: u64,
}

/// The result of one round: a sample of each quantity, and the last reading of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken<const Q: usize> {
    pub values: [i64; Q],
    pub at: u64,
}

/// The calls of one kind.
pub(crate) trait Round<const Q: usize> {
    /// Makes the calls of one round. Returns `None` when a signal interrupted it: then it gives no samples.
    fn round(&mut self) -> Result<Option<Taken<Q>>, Refusal>;
}

/// The tally in which a channel's first recorder counts the rounds without samples.
pub const LEFT_OUT: usize = 0;

/// The recorders of one kind, one per quantity, and the samples that wait for them.
#[derive(Debug)]
pub struct Channel<const Q: usize> {
    recorders: [Recorder; Q],
    waiting: Box<[Taken<Q>]>,
    filled: usize,
}

/// How many rounds of short calls wait before they are recorded together: so many that a reader finds a long enough pause between two
/// recordings to copy the memory.
pub const MANY: usize = 1024;

impl<const Q: usize> Channel<Q> {
    /// Creates a channel in which the samples of `capacity` rounds wait: [`MANY`] for calls of a microsecond, 1 for long ones.
    pub fn new(recorders: [Recorder; Q], capacity: usize) -> Self {
        let empty = Taken { values: [0; Q], at: 0 };
        Self { recorders, waiting: (0..capacity.max(1)).map(|_| empty).collect(), filled: 0 }
    }

    #[inline(always)]
    fn push(&mut self, taken: Taken<Q>) {
        if let Some(place) = self.waiting.get_mut(self.filled) {
            *place = taken;
            self.filled = self.filled.wrapping_add(1);
        }
    }

    /// Records the waiting samples. Returns true if a sample was above `stop_on`.
    #[inline(never)]
    fn flush(&mut self) -> bool {
        let mut stopped = false;
        for (quantity, recorder) in self.recorders.iter_mut().enumerate() {
            let open = recorder.begin();
            for taken in self.waiting.iter().take(self.filled) {
                if let Some(value) = taken.values.get(quantity) {
                    recorder.record(*value, taken.at);
                }
            }
            recorder.commit(open);
            stopped |= recorder.stopped();
        }
        self.filled = 0;
        stopped
    }

    #[cold]
    #[inline(never)]
    fn leave_out(&mut self) {
        if let Some(recorder) = self.recorders.first_mut() {
            recorder.tally(LEFT_OUT);
        }
    }
}

/// One uninterrupted stretch of rounds.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub rounds: u64,
    /// The clock reading from which on the loop starts no round, in ns.
    pub until: u64,
    /// Whether a sample above `stop_on` ends the stretch.
    pub heed_sample: bool,
}

/// The outcome of a stretch.
pub(crate) struct Passed<F = Refusal> {
    pub end: End<F>,
    pub rounds: u64,
}

/// Runs the loop: chunks of rounds with the kinds in turn, and recording after each chunk.
#[inline(always)]
pub(crate) fn sweep<const Q: usize>(
    kinds: &mut [impl Round<Q>],
    channels: &mut [Channel<Q>],
    pass: &Pass,
    stop: &AtomicBool,
) -> Passed {
    let mut rounds = 0u64;
    let mut at = 0u64;
    let chunk = channels.iter().map(|channel| channel.waiting.len()).min().unwrap_or(1);
    let end = loop {
        if rounds >= pass.rounds || at >= pass.until {
            break End::Complete;
        }
        if stop.load(Relaxed) {
            break End::Stopped;
        }
        let mut refused = None;
        let mut left = pass.rounds.wrapping_sub(rounds).min(chunk as u64);
        'chunk: while left > 0 {
            for (kind, channel) in kinds.iter_mut().zip(channels.iter_mut()) {
                match kind.round() {
                    Ok(Some(taken)) => {
                        at = taken.at;
                        channel.push(taken);
                    }
                    Ok(None) => {
                        channel.leave_out();
                        if stop.load(Relaxed) {
                            break 'chunk;
                        }
                    }
                    Err(refusal) => {
                        refused = Some(refusal);
                        break 'chunk;
                    }
                }
            }
            rounds = rounds.wrapping_add(1);
            left = left.wrapping_sub(1);
            // When the time is over, the loop does not finish the chunk.
            if at >= pass.until {
                break;
            }
        }
        let mut above = false;
        for channel in channels.iter_mut() {
            above |= channel.flush();
        }
        if let Some(refusal) = refused {
            break End::Failed(refusal);
        }
        if above && pass.heed_sample {
            stop.store(true, Relaxed);
            break End::Sample;
        }
    };
    Passed { end, rounds }
}

/// Runs the warm-up, resets the recorders, and runs the rounds that count.
pub(crate) fn drive<const Q: usize>(
    course: &Course,
    channels: &mut [Channel<Q>],
    time: &impl Time,
    mut run: impl FnMut(&Pass, &mut [Channel<Q>]) -> Passed,
) -> Rounds {
    enter(channels, RecorderPhase::WarmUp);
    let rounds = if course.warmup_ns > 0 { u64::MAX } else { 0 };
    let warmup = Pass { rounds, until: time.now().saturating_add(course.warmup_ns), heed_sample: false };
    let mut passed = run(&warmup, channels);
    for recorder in recorders(channels) {
        recorder.reset();
    }
    let first_ns = time.now();
    for recorder in recorders(channels) {
        recorder.start_at(first_ns);
        recorder.enter(RecorderPhase::Counting);
    }
    if passed.end == End::Complete {
        let until = first_ns.saturating_add(course.duration_ns);
        passed = run(&Pass { rounds: course.rounds, until, heed_sample: true }, channels);
    } else {
        passed.rounds = 0;
    }
    let ended_ns = time.now();
    for recorder in recorders(channels) {
        recorder.finish(ended_ns);
        recorder.enter(RecorderPhase::Ended);
    }
    Rounds { end: passed.end, rounds: passed.rounds, first_ns, ended_ns }
}

/// Runs every cold path of the recorders and `rounds` rounds of the loop, then clears the recorders.
///
/// It ignores a refused call: the loop will meet the refusal again and report it.
pub(crate) fn rehearse<const Q: usize>(
    channels: &mut [Channel<Q>],
    rounds: u64,
    time: &impl Time,
    mut run: impl FnMut(&Pass, &mut [Channel<Q>]) -> Passed,
) {
    for recorder in recorders(channels) {
        recorder.reset();
        recorder.rehearse();
    }
    for channel in &mut *channels {
        channel.leave_out();
    }
    run(&Pass { rounds, until: u64::MAX, heed_sample: false }, channels);
    for recorder in recorders(channels) {
        recorder.finish(time.now());
        recorder.reset();
    }
}

fn recorders<const Q: usize>(channels: &mut [Channel<Q>]) -> impl Iterator<Item = &mut Recorder> {
    channels.iter_mut().flat_map(|channel| channel.recorders.iter_mut())
}

fn enter<const Q: usize>(channels: &mut [Channel<Q>], phase: RecorderPhase) {
    for recorder in recorders(channels) {
        recorder.enter(phase);
    }
}

/// Returns the mean of `count` calls in ps: the time between two readings minus the cost of one reading, per call.
#[inline(always)]
pub(crate) fn mean_ps(elapsed_ns: u64, cost_ps: u64, count: u64) -> i64 {
    let net = elapsed_ns.saturating_mul(1_000).saturating_sub(cost_ps);
    i64::try_from(net.checked_div(count).unwrap_or(0)).unwrap_or(i64::MAX)
}

/// Returns the time from one reading to the next, in ns.
#[inline(always)]
pub(crate) fn span(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from)
}

#[cfg(test)]
mod tests;
