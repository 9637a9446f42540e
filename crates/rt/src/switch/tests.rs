//! The bookkeeping of both loops, with a machine that follows a script.

use super::*;
use crate::{Config, Reader, recorder};
use core::cell::{Cell, RefCell};
use proptest::prelude::*;
use std::{vec, vec::Vec};

/// What one wait of the fake machine does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    /// Sleeps, and runs this many ns after the post.
    Slept(u64),
    /// Finds the post without sleeping.
    Awake,
    /// Is interrupted this many times before the post comes.
    Interrupted(u8),
    /// Is interrupted after another thread set the stop flag.
    Stop,
    /// Gets an error from the kernel.
    Refused,
}

struct Fake<'a> {
    now: Cell<u64>,
    switches: Cell<u64>,
    script: RefCell<Vec<Wait>>,
    words: &'a Words,
    stop: &'a AtomicBool,
    /// The announced rounds at the beginning of each wait.
    announced: RefCell<Vec<u64>>,
    /// The calls of the posting task: `s` for a sleep, with its length, and `p` for a post.
    calls: RefCell<Vec<(char, u64)>>,
}

impl<'a> Fake<'a> {
    fn new(words: &'a Words, stop: &'a AtomicBool, script: &[Wait]) -> Self {
        Self {
            now: Cell::new(1_000),
            switches: Cell::new(7),
            script: RefCell::new(script.iter().rev().copied().collect()),
            words,
            stop,
            announced: RefCell::default(),
            calls: RefCell::default(),
        }
    }

    fn run(&self, course: &Course, recorder: &mut Recorder) -> Rounds<Errno> {
        drive(
            self.words,
            course,
            recorder,
            || self.now(),
            |pass, recorder| sweep(self, self.words, pass, self.stop, recorder),
        )
    }

    /// Does the other task's part.
    fn posted(&self, latency: u64) {
        self.words.posted_ns.0.store(self.now.get() + 50, Relaxed);
        self.now.set(self.now.get() + 50 + latency);
    }
}

impl HandoffCalls for Fake<'_> {
    fn now(&self) -> u64 {
        self.now.get()
    }

    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.calls.borrow_mut().push(('s', at_ns - self.now.get()));
        self.now.set(at_ns);
        // When the posting task checks again, it finds the next round, until the waiting task has ended.
        let announced = &self.words.announced.0;
        announced.store(announced.load(Relaxed) + 1, Relaxed);
        if announced.load(Relaxed) > 4 {
            self.words.ended.0.store(1, Relaxed);
        }
        Err(Errno::EINTR)
    }

    fn voluntary_switches(&self) -> u64 {
        self.switches.get()
    }

    fn wait(&self) -> Result<(), Errno> {
        self.announced.borrow_mut().push(self.words.announced.0.load(Relaxed));
        let next = self.script.borrow_mut().pop().unwrap_or(Wait::Slept(1));
        match next {
            Wait::Slept(latency) => {
                self.switches.set(self.switches.get() + 1);
                self.posted(latency);
                Ok(())
            }
            Wait::Awake => {
                self.posted(1);
                Ok(())
            }
            Wait::Interrupted(0) => {
                self.posted(1);
                Ok(())
            }
            Wait::Interrupted(times) => {
                self.switches.set(self.switches.get() + 1);
                self.script.borrow_mut().push(Wait::Interrupted(times - 1));
                Err(Errno::EINTR)
            }
            Wait::Stop => {
                self.stop.store(true, Relaxed);
                Err(Errno::EINTR)
            }
            Wait::Refused => Err(Errno::EINVAL),
        }
    }

    fn post(&self) -> Result<(), Errno> {
        self.calls.borrow_mut().push(('p', self.words.posted_ns.0.load(Relaxed)));
        Ok(())
    }
}

fn recorder() -> (Recorder, Reader) {
    recorder::new(&Config { edges: vec![1_000], ordered: 1_000, ..Config::default() }).unwrap()
}

fn rounds(rounds: u64) -> Course {
    Course { rounds, duration_ns: u64::MAX, warmup_ns: 0 }
}

fn wait_of_any_kind() -> impl Strategy<Value = Wait> {
    prop_oneof![
        6 => (0u64..1_000_000).prop_map(Wait::Slept),
        2 => Just(Wait::Awake),
        1 => (1u8..4).prop_map(Wait::Interrupted),
    ]
}

proptest! {
    /// Each round is a sample, or not slept in, or interrupted. The samples are the latencies of the rounds slept in.
    #[test]
    fn every_round_is_accounted_for(
        script in prop::collection::vec(wait_of_any_kind(), 1..80),
        end in prop_oneof![Just(None), Just(Some(Wait::Stop)), Just(Some(Wait::Refused))],
    ) {
        let (words, stop) = (Words::default(), AtomicBool::new(false));
        let whole: Vec<Wait> = script.iter().copied().chain(end).collect();
        let fake = Fake::new(&words, &stop, &whole);
        let (mut recorder, reader) = recorder();
        let outcome = fake.run(&rounds(if end.is_some() { u64::MAX } else { script.len() as u64 }), &mut recorder);
        let kept: Vec<i64> = reader.ordered().unwrap().iter().map(|sample| sample.value).collect();
        let (snapshot, _) = reader.finish(recorder);

        let slept: Vec<i64> =
            script.iter().filter_map(|wait| if let Wait::Slept(ns) = wait { Some(*ns as i64) } else { None }).collect();
        prop_assert_eq!(kept, slept);
        let awake = script.iter().filter(|wait| **wait == Wait::Awake).count() as u64;
        prop_assert_eq!(snapshot.tallies[NOT_SLEPT], awake);
        prop_assert_eq!(outcome.rounds, script.len() as u64);
        prop_assert_eq!(outcome.rounds, snapshot.plain.count + awake + snapshot.tallies[INTERRUPTED]);
        prop_assert_eq!(outcome.end, match end {
            None => End::Complete,
            Some(Wait::Stop) => End::Stopped,
            Some(_) => End::Failed(Errno::EINVAL),
        });
        prop_assert_eq!(words.ended.0.load(Relaxed), 1, "the posting task learns it, however it ended");
        // The waiting task announces a round before its wait, and only once, however often a signal interrupts the wait.
        let mut announced = fake.announced.borrow().clone();
        announced.dedup();
        prop_assert_eq!(announced, (1..=whole.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn the_warm_up_does_not_count_and_the_time_does() {
    let (words, stop) = (Words::default(), AtomicBool::new(false));
    let fake = Fake::new(&words, &stop, &[Wait::Awake, Wait::Slept(900)]);
    let (mut recorder, reader) = recorder();
    // Rounds take 51 ns each after the end of the script. The warm-up consists of the first two and one more.
    let task = Course { rounds: u64::MAX, duration_ns: 510, warmup_ns: 1_010 };
    let outcome = fake.run(&task, &mut recorder);
    let (snapshot, _) = reader.finish(recorder);
    assert_eq!((outcome.end, outcome.rounds), (End::Complete, 10));
    assert_eq!((snapshot.plain.count, snapshot.plain.max, snapshot.tallies[NOT_SLEPT]), (10, Some(1), 0));
    assert_eq!((snapshot.origin, outcome.ended_ns), (outcome.first_ns, outcome.first_ns + 510));
}

#[test]
fn a_stop_in_the_warm_up_counts_nothing() {
    let (words, stop) = (Words::default(), AtomicBool::new(false));
    let fake = Fake::new(&words, &stop, &[Wait::Slept(5), Wait::Stop]);
    let (mut recorder, reader) = recorder();
    let outcome = fake.run(&Course { warmup_ns: 1_000_000, ..rounds(9) }, &mut recorder);
    assert_eq!((outcome.end, outcome.rounds, reader.finish(recorder).0.plain.count), (End::Stopped, 0, 0));
}

#[test]
fn a_sample_above_stop_on_ends_all() {
    let (words, stop) = (Words::default(), AtomicBool::new(false));
    let fake = Fake::new(&words, &stop, &[Wait::Slept(5), Wait::Slept(600), Wait::Slept(7)]);
    let (mut recorder, reader) = recorder::new(&Config { stop_on_ns: Some(500), ..Config::default() }).unwrap();
    let outcome = fake.run(&rounds(u64::MAX), &mut recorder);
    assert_eq!((outcome.end, outcome.rounds), (End::Sample, 2));
    assert!(stop.load(Relaxed));
    assert_eq!(reader.finish(recorder).0.stopped.map(|sample| sample.value), Some(600));
}

#[test]
fn the_posting_task_posts_each_announced_round_once_at_its_pace() {
    let (words, stop) = (Words::default(), AtomicBool::new(false));
    let fake = Fake::new(&words, &stop, &[]);
    // No round is announced yet, so the posting task checks again. The fake announces a round in every sleep: here in the first one.
    let pace = Pace { pause_ns: 0, interval_ns: 0 };
    assert_eq!(serve(&fake, &words, pace, u64::MAX, &stop), End::Complete);
    let look = ('s', LOOK_AGAIN_NS);
    let at = |n: u64| ('p', 1_000 + n * LOOK_AGAIN_NS);
    assert_eq!(*fake.calls.borrow(), [look, at(1), look, at(2), look, at(3), look, at(4), look]);

    let words = Words::default();
    let fake = Fake::new(&words, &stop, &[]);
    words.announced.0.store(1, Relaxed);
    let pace = Pace { pause_ns: 20, interval_ns: 300 };
    assert_eq!(serve(&fake, &words, pace, 1, &stop), End::Complete);
    assert_eq!(*fake.calls.borrow(), [('s', 20), ('p', 1_020), ('s', 300)], "the clock is read after the pause");
}

#[test]
fn the_posting_task_heeds_the_stop_flag() {
    let (words, stop) = (Words::default(), AtomicBool::new(true));
    let fake = Fake::new(&words, &stop, &[]);
    assert_eq!(serve(&fake, &words, Pace { pause_ns: 1, interval_ns: 1 }, 9, &stop), End::Stopped);
    assert!(fake.calls.borrow().is_empty());
}
