use super::*;
use crate::{
    Reader,
    end::End,
    recorder::{self, Config},
    rounds::LEFT_OUT,
};
use core::sync::atomic::Ordering::Relaxed;
use proptest::prelude::*;
use std::{cell::Cell, rc::Rc, vec, vec::Vec};

/// A clock on which each sleep ends late as scripted, or is interrupted halfway.
#[derive(Clone)]
struct Fake(Rc<State>);

struct State {
    now: Cell<u64>,
    reading: u64,
    /// How much longer the second reading takes.
    stall: u64,
    /// How long a call takes to reach the kernel.
    call: u64,
    readings: Cell<u32>,
    /// How late each sleep ends; `None` for one that a signal interrupts.
    script: Vec<Option<u64>>,
    sleeps: Cell<usize>,
    stop_after: Option<usize>,
    stop: AtomicBool,
    refused: bool,
}

impl Fake {
    fn end(&self, at_ns: u64) -> Result<(), Errno> {
        let state = &self.0;
        if state.refused {
            return Err(Errno::EINVAL);
        }
        let sleep = state.sleeps.get();
        state.sleeps.set(sleep + 1);
        if state.stop_after == Some(sleep) {
            state.stop.store(true, Relaxed);
        }
        match state.script[sleep % state.script.len()] {
            Some(late) => {
                state.now.set(state.now.get().max(at_ns) + late);
                Ok(())
            }
            None => {
                state.now.set(state.now.get().midpoint(at_ns));
                Err(Errno::EINTR)
            }
        }
    }
}

impl Time for Fake {
    fn now(&self) -> u64 {
        let state = &self.0;
        state.readings.set(state.readings.get() + 1);
        let stall = if state.readings.get() == 2 { state.stall } else { 0 };
        state.now.set(state.now.get() + state.reading + stall);
        state.now.get()
    }
}

impl Sleeper for Fake {
    fn sleep_for(&self, ns: u64) -> Result<(), Errno> {
        self.0.now.set(self.0.now.get() + self.0.call);
        self.end(self.0.now.get() + ns)
    }

    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.0.now.set(self.0.now.get() + self.0.call);
        self.end(at_ns)
    }
}

fn fake(reading: u64, script: &[Option<u64>], stop_after: Option<usize>) -> Fake {
    let stop = AtomicBool::new(false);
    let (now, sleeps) = (Cell::new(1_000), Cell::new(0));
    let (readings, script) = (Cell::new(0), script.to_vec());
    Fake(Rc::new(State { now, reading, stall: 0, call: 0, readings, script, sleeps, stop_after, stop, refused: false }))
}

fn channel() -> (Channel<2>, Vec<Reader>) {
    let mut readers = Vec::new();
    let recorders = [(); 2].map(|()| {
        let (recorder, reader) = recorder::new(&Config { edges: vec![1_000], ..Config::default() }).unwrap();
        readers.push(reader);
        recorder
    });
    (Channel::new(recorders, 1), readers)
}

const LENGTH: u64 = 100_000;

proptest! {
    /// Each sleep is a sample or counted as interrupted. Lateness is the length minus the requested length. No sleep ends early.
    #[test]
    fn every_sleep_is_a_sample_or_interrupted(
        script in prop::collection::vec(prop_oneof![9 => (0u64..1_000_000).prop_map(Some), 1 => Just(None)], 1..40),
        reading in 0u64..100,
        sleeps in 1u64..60,
        stop_after in prop::option::of(0usize..150),
    ) {
        let clock = fake(reading, &script, stop_after);
        let sleeping = |mode| Sleeps { sleeper: clock.clone(), mode, length_ns: LENGTH };
        let mut modes = [sleeping(SleepMode::Relative), sleeping(SleepMode::Absolute)];
        let (mut channels, mut readers): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        let task = Course { rounds: sleeps, duration_ns: u64::MAX, warmup_ns: 0 };
        let outcome = rounds::drive(&task, &mut channels, &clock, |pass, channels| {
            rounds::sweep(&mut modes, channels, pass, &clock.0.stop)
        });
        let mut all = 0;
        for pair in &mut readers {
            let read: Vec<_> = pair.iter_mut().map(|reader| reader.snapshot().unwrap()).collect();
            let (length, lateness) = (&read[0], &read[1]);
            let made = length.plain.count + length.tallies[LEFT_OUT];
            prop_assert_eq!(lateness.plain.count, length.plain.count);
            prop_assert_eq!(length.plain.sum - lateness.plain.sum, i128::from(LENGTH * length.plain.count));
            prop_assert!(lateness.plain.min.is_none_or(|least| least >= 0));
            prop_assert!(made == outcome.rounds || made == outcome.rounds + 1);
            prop_assert!(outcome.end != End::Complete || made == sleeps);
            all += made;
        }
        prop_assert_eq!(all, clock.0.sleeps.get() as u64);
        prop_assert!(outcome.end == End::Complete || outcome.end == End::Stopped && stop_after.is_some());
    }
}

/// A relative sleep begins when the call reaches the kernel, an absolute one counts from the previous reading.
#[test]
fn the_two_modes_differ_by_the_way_of_the_call() {
    let mut clock = fake(40, &[Some(700)], None);
    Rc::get_mut(&mut clock.0).unwrap().call = 300;
    let samples = [SleepMode::Relative, SleepMode::Absolute].map(|mode| {
        let mut sleeps = Sleeps { sleeper: clock.clone(), mode, length_ns: LENGTH };
        sleeps.round().unwrap().unwrap().values
    });
    assert_eq!(samples, [[101_040, 1_040], [100_740, 740]]);
}

/// The time between the computation of the target and the first reading shortens the measured length. This is the only way to measure less
/// than the requested length, as some printed minima are.
#[test]
fn only_a_target_added_up_first_can_be_slept_for_less() {
    let of = |mode| {
        let mut clock = fake(40, &[Some(700)], None);
        Rc::get_mut(&mut clock.0).unwrap().stall = 30_000;
        let mut sleeps = Sleeps { sleeper: clock, mode, length_ns: LENGTH };
        sleeps.round().unwrap().unwrap().values
    };
    assert_eq!(of(SleepMode::TargetFirst), [100_700 - 30_000, 700 - 30_000]);
    // In this mode the stall is part of the last reading.
    assert_eq!(of(SleepMode::Absolute), [100_740 + 30_000, 740 + 30_000]);
}

#[test]
fn a_refused_sleep_is_reported() {
    let mut clock = fake(1, &[Some(0)], None);
    Rc::get_mut(&mut clock.0).unwrap().refused = true;
    let mut sleeps = Sleeps { sleeper: clock, mode: SleepMode::Absolute, length_ns: LENGTH };
    assert_eq!(sleeps.round().unwrap_err(), Refusal { call: "clock_nanosleep", error: Errno::EINVAL });
}

#[test]
fn both_modes_sleep_for_real() {
    let (mut channels, mut readers): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    rehearse(&mut channels);
    let mut modes =
        [SleepMode::Relative, SleepMode::Absolute].map(|mode| Sleeps { sleeper: Monotonic, mode, length_ns: 200_000 });
    let task = Course { rounds: 20, duration_ns: u64::MAX, warmup_ns: 1_000_000 };
    let outcome = run(&mut modes, &task, &AtomicBool::new(false), &mut channels);
    assert_eq!((outcome.end, outcome.rounds), (End::Complete, 20));
    for pair in &mut readers {
        let length = pair[0].snapshot().unwrap();
        assert_eq!(length.plain.count + length.tallies[LEFT_OUT], 20);
        assert!(length.plain.min.unwrap() >= 200_000, "nothing wakes before its time");
    }
}
