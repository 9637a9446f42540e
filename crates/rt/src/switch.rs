//! Two tasks that hand over to each other: one sleeps, the other wakes it, and the time from the post to the wake-up is a sample.
//!
//! The waiting task announces each round before it sleeps. The posting task reads its clock and posts; the waiting task reads its clock as
//! soon as it runs again. A round is a sample only if the waiting task really slept (its count of voluntary switches increased) and no
//! signal interrupted its wait. The loop therefore counts three kinds of rounds: samples, not slept, interrupted.

mod machine;

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase},
    rounds::{Course, Pass, Passed, Rounds},
};
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use latido_sys::{
    Errno,
    clock::Clock::Monotonic,
    handoff::{Handoff, Way, Words},
    memory::touch_code,
};
use machine::{HandoffCalls, Real};

/// The tally in which the recorder counts rounds in which the waiting task did not sleep.
pub const NOT_SLEPT: usize = 0;

/// The tally in which the recorder counts rounds whose wait a signal interrupted.
pub const INTERRUPTED: usize = 1;

/// How long the posting task sleeps before it checks again whether a round is announced, in ns.
const LOOK_AGAIN_NS: u64 = 10_000;

/// The pauses of the posting task.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long it sleeps between the announcement of a round and its post, in ns. On another CPU it sees the announcement before the
    /// waiting task sleeps.
    pub pause_ns: u64,
    /// How long it sleeps after each post, in ns.
    pub interval_ns: u64,
}

/// Runs the waiting task: it waits and records until its end, and then lets the posting task end.
///
/// It checks the stop flag before each wait and after each interruption by a signal. The number of rounds includes samples, rounds without
/// a sleep and interrupted rounds.
pub fn wait(handoff: &Handoff, course: &Course, stop: &AtomicBool, recorder: &mut Recorder) -> Rounds<Errno> {
    drive(
        handoff.words(),
        course,
        recorder,
        || Monotonic.now(),
        |pass, recorder| wait_by_way(handoff, pass, stop, recorder),
    )
}

/// Runs the posting task: it posts each announced round, until the waiting task has ended or the stop flag is set. Both tasks fail when the
/// kernel refuses a wait, a post or a sleep.
pub fn post(handoff: &Handoff, pace: Pace, stop: &AtomicBool) -> End<Errno> {
    post_by_way(handoff, pace, u64::MAX, stop)
}

/// Runs every cold path of the waiting loop and its recorder once (this takes a few ms), on a separate handoff, then clears the recorder.
pub fn rehearse_wait(scratch: &Handoff, recorder: &mut Recorder) {
    const ROUNDS: u64 = 4;
    let stop = AtomicBool::new(false);
    recorder.reset();
    recorder.rehearse();
    recorder.reset();
    // Post before waiting: then no other task is needed. The wait does not sleep.
    if (0..ROUNDS).all(|_| post_once(scratch).is_ok()) {
        wait_by_way(scratch, &Pass { rounds: ROUNDS, until: u64::MAX, heed_sample: false }, &stop, recorder);
    }
    recorder.finish(Monotonic.now());
    recorder.reset();
    touch_code(&[wait as *const () as usize]);
}

/// Runs every path of the posting loop once, on a separate handoff.
pub fn rehearse_post(scratch: &Handoff) {
    let stop = AtomicBool::new(false);
    for round in 1..=2 {
        scratch.words().announced.0.store(round, Relaxed);
        post_by_way(scratch, Pace { pause_ns: 1_000, interval_ns: 1_000 }, 1, &stop);
    }
    touch_code(&[post as *const () as usize]);
}

/// Runs the warm-up, resets the recorder, and runs the rounds that count.
fn drive(
    words: &Words,
    course: &Course,
    recorder: &mut Recorder,
    now: impl Fn() -> u64,
    mut run: impl FnMut(&Pass, &mut Recorder) -> Passed<Errno>,
) -> Rounds<Errno> {
    recorder.enter(RecorderPhase::WarmUp);
    let mut passed = Passed { end: End::Complete, rounds: 0 };
    if course.warmup_ns > 0 {
        let until = now().saturating_add(course.warmup_ns);
        passed = run(&Pass { rounds: u64::MAX, until, heed_sample: false }, recorder);
        recorder.reset();
    }
    let first_ns = now();
    recorder.start_at(first_ns);
    recorder.enter(RecorderPhase::Counting);
    if passed.end == End::Complete {
        let until = first_ns.saturating_add(course.duration_ns);
        passed = run(&Pass { rounds: course.rounds, until, heed_sample: true }, recorder);
    } else {
        passed.rounds = 0;
    }
    words.ended.0.store(1, Release);
    let ended_ns = now();
    recorder.finish(ended_ns);
    recorder.enter(RecorderPhase::Ended);
    Rounds { end: passed.end, first_ns, ended_ns, rounds: passed.rounds }
}

fn wait_by_way(handoff: &Handoff, pass: &Pass, stop: &AtomicBool, recorder: &mut Recorder) -> Passed<Errno> {
    match handoff.way() {
        Way::Semaphore => wait_semaphore(handoff, pass, stop, recorder),
        Way::Futex => wait_futex(handoff, pass, stop, recorder),
        Way::Pipe | Way::Eventfd => wait_descriptor(handoff, pass, stop, recorder),
    }
}

fn post_by_way(handoff: &Handoff, pace: Pace, rounds: u64, stop: &AtomicBool) -> End<Errno> {
    match handoff.way() {
        Way::Semaphore => post_semaphore(handoff, pace, rounds, stop),
        Way::Futex => post_futex(handoff, pace, rounds, stop),
        Way::Pipe | Way::Eventfd => post_descriptor(handoff, pace, rounds, stop),
    }
}

/// Posts one token, outside any loop.
fn post_once(handoff: &Handoff) -> Result<(), Errno> {
    match handoff.way() {
        Way::Semaphore => handoff.semaphore().post(),
        Way::Futex => handoff.futex().post(handoff.processes()),
        Way::Pipe | Way::Eventfd => handoff.descriptors().ok_or(Errno::EINVAL)?.post(),
    }
}

/// Defines two functions per way. The compiler keeps them separate, so that the disassembly check finds each loop by its name.
macro_rules! loops {
    ($($waiting:ident $posting:ident |$handoff:ident| $wait:expr, $post:expr;)*) => {$(
        #[inline(never)]
        fn $waiting($handoff: &Handoff, pass: &Pass, stop: &AtomicBool, recorder: &mut Recorder) -> Passed<Errno> {
            sweep(&Real { wait: || $wait, post: || Ok(()) }, $handoff.words(), pass, stop, recorder)
        }

        #[inline(never)]
        fn $posting($handoff: &Handoff, pace: Pace, rounds: u64, stop: &AtomicBool) -> End<Errno> {
            serve(&Real { wait: || Ok(()), post: || $post }, $handoff.words(), pace, rounds, stop)
        }
    )*};
}

loops! {
    wait_semaphore post_semaphore |handoff| handoff.semaphore().wait(), handoff.semaphore().post();
    wait_futex post_futex |handoff| handoff.futex().wait(handoff.processes()), handoff.futex().post(handoff.processes());
    wait_descriptor post_descriptor |handoff|
        handoff.descriptors().ok_or(Errno::EINVAL)?.wait(), handoff.descriptors().ok_or(Errno::EINVAL)?.post();
}

/// Runs the waiting loop.
#[inline(always)]
fn sweep(
    machine: &impl HandoffCalls,
    words: &Words,
    pass: &Pass,
    stop: &AtomicBool,
    recorder: &mut Recorder,
) -> Passed<Errno> {
    let mut rounds = 0u64;
    let mut round = words.announced.0.load(Relaxed);
    let mut switches = machine.voluntary_switches();
    let mut now = machine.now();
    let end = loop {
        if rounds >= pass.rounds || now >= pass.until {
            break End::Complete;
        }
        if stop.load(Relaxed) {
            break End::Stopped;
        }
        round = round.wrapping_add(1);
        words.announced.0.store(round, Release);
        let woken = machine.wait();
        now = machine.now();
        if let Err(error) = woken {
            if let Some(end) = wait_again(machine, stop, error) {
                break end;
            }
            rounds = rounds.wrapping_add(1);
            recorder.tally(INTERRUPTED);
            switches = machine.voluntary_switches();
            continue;
        }
        let before = switches;
        switches = machine.voluntary_switches();
        rounds = rounds.wrapping_add(1);
        if switches == before {
            recorder.tally(NOT_SLEPT);
            continue;
        }
        let latency = now.wrapping_sub(words.posted_ns.0.load(Acquire)) as i64;
        let open = recorder.begin();
        let cold = recorder.record(latency, now);
        recorder.commit(open);
        if cold && pass.heed_sample && recorder.stopped() {
            stop.store(true, Relaxed);
            break End::Sample;
        }
    };
    Passed { end, rounds }
}

/// Waits, after an interruption, for the post that is still to come, so that the next round starts cleanly. Returns a reason to end the
/// loop, if there is one.
#[cold]
#[inline(never)]
fn wait_again(machine: &impl HandoffCalls, stop: &AtomicBool, error: Errno) -> Option<End<Errno>> {
    let mut error = error;
    loop {
        if error != Errno::EINTR {
            return Some(End::Failed(error));
        }
        if stop.load(Relaxed) {
            return Some(End::Stopped);
        }
        match machine.wait() {
            Ok(()) => return None,
            Err(again) => error = again,
        }
    }
}

/// Runs the posting loop for at most `rounds` rounds.
#[inline(always)]
fn serve(machine: &impl HandoffCalls, words: &Words, pace: Pace, rounds: u64, stop: &AtomicBool) -> End<Errno> {
    let (mut served, mut posted) = (0u64, 0u64);
    while served < rounds {
        if words.ended.0.load(Relaxed) != 0 {
            return End::Complete;
        }
        if stop.load(Relaxed) {
            return End::Stopped;
        }
        let announced = words.announced.0.load(Acquire);
        if announced == posted {
            if let Err(error) = sleep(machine, LOOK_AGAIN_NS) {
                return End::Failed(error);
            }
            continue;
        }
        posted = announced;
        if pace.pause_ns > 0
            && let Err(error) = sleep(machine, pace.pause_ns)
        {
            return End::Failed(error);
        }
        words.posted_ns.0.store(machine.now(), Release);
        if let Err(error) = machine.post() {
            return End::Failed(error);
        }
        served = served.wrapping_add(1);
        if pace.interval_ns > 0
            && let Err(error) = sleep(machine, pace.interval_ns)
        {
            return End::Failed(error);
        }
    }
    End::Complete
}

/// Sleeps for `ns` nanoseconds, or less when a signal interrupts it: the loop then checks its stop flag.
#[inline(always)]
fn sleep(machine: &impl HandoffCalls, ns: u64) -> Result<(), Errno> {
    match machine.sleep_until(machine.now().saturating_add(ns)) {
        Err(error) if error != Errno::EINTR => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
