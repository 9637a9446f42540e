use super::{spacing::Either, *};
use crate::recorder::{self, Config};
use core::sync::atomic::Ordering::Relaxed;
use proptest::prelude::*;
use std::{
    cell::{Cell, RefCell},
    vec,
    vec::Vec,
};

/// A clock that stops while the loop works, and a sleep that ends late as scripted.
struct Fake {
    now: Cell<u64>,
    /// How late each wake-up is; later ones are punctual.
    lateness: Vec<u64>,
    /// Sleeps that a signal interrupts halfway.
    interrupted: Vec<usize>,
    /// The sleep after which the stop flag is set.
    stop_after: Option<usize>,
    stop: AtomicBool,
    /// How much time each reading of the clock takes.
    cost: u64,
    overruns: Vec<u64>,
    sleeps: Cell<usize>,
    /// Slot and time of each wake-up.
    woken: RefCell<Vec<(u64, u64)>>,
    /// Slot of each sleep, and the clock reading before it.
    armed: RefCell<Vec<(u64, u64)>>,
}

impl Fake {
    fn new(lateness: &[u64]) -> Self {
        Self {
            now: Cell::new(1_000_000),
            lateness: lateness.to_vec(),
            interrupted: Vec::new(),
            stop_after: None,
            stop: AtomicBool::new(false),
            cost: 0,
            overruns: Vec::new(),
            sleeps: Cell::new(0),
            woken: RefCell::new(Vec::new()),
            armed: RefCell::new(Vec::new()),
        }
    }

    fn run(&self, schedule: &Schedule, recorder: &mut Recorder, overrun: Option<&mut Recorder>) -> Wakeups {
        drive(
            schedule,
            recorder,
            overrun,
            || self.now(),
            |pass, recorder, overrun| {
                let spacing = Either::of(pass.phase, pass.period);
                sweep(self, spacing, pass, &self.stop, recorder, overrun, &mut NoTask)
            },
        )
    }
}

impl Timer for Fake {
    fn now(&self) -> u64 {
        self.now.set(self.now.get() + self.cost);
        self.now.get()
    }

    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        let sleep = self.sleeps.get();
        self.sleeps.set(sleep + 1);
        self.armed.borrow_mut().push((at_ns, self.now.get()));
        if self.stop_after == Some(sleep) {
            self.stop.store(true, Relaxed);
        }
        if self.interrupted.contains(&sleep) {
            self.now.set(self.now.get().max(self.now.get().midpoint(at_ns)));
            return Err(Errno::EINTR);
        }
        let wakes = self.woken.borrow().len();
        let late = self.lateness.get(wakes).copied().unwrap_or(0);
        self.now.set(self.now.get().max(at_ns) + late);
        self.woken.borrow_mut().push((at_ns, self.now.get()));
        Ok(())
    }

    fn overruns(&self) -> u64 {
        self.overruns.get(self.woken.borrow().len().wrapping_sub(1)).copied().unwrap_or(0)
    }
}

const T: u64 = 100_000;

fn schedule(slots: u64) -> Schedule {
    Schedule { start_ns: 1_234, period_ns: T, deadline_ns: T, warmup: 0, slots, phase: Phase::Fixed }
}

fn recorder() -> (Recorder, crate::Reader) {
    recorder::new(&Config { edges: vec![1_000, 50_000, T], periodic: true, ..Config::default() }).unwrap()
}

/// Ordinary latencies, with stalls of up to many periods.
fn lateness() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![6 => 0u64..20_000, 2 => T - 2..T + 3, 1 => 0u64..1_000_000, 1 => 0u64..60_000_000];
    prop::collection::vec(one, 1..80)
}

proptest! {
    /// Whatever the stalls, signals, stop and deadline: for each slot the thread wakes, or the recorder counts the slot as missed with its
    /// delay.
    #[test]
    fn every_slot_is_accounted_for(
        lateness in lateness(),
        interrupted in prop::collection::vec(0usize..60, 0..10),
        stop_after in prop::option::of(0usize..100),
        deadline in prop_oneof![Just(T), 0u64..3 * T],
        slots in 1u64..2_000,
        warmup in 0u64..20,
    ) {
        let timer = Fake { interrupted, stop_after, ..Fake::new(&lateness) };
        let (mut recorder, reader) = recorder();
        let plan = Schedule { deadline_ns: deadline, warmup, ..schedule(slots) };
        let outcome = timer.run(&plan, &mut recorder, None);
        let (snapshot, _) = reader.finish(recorder);

        let first = outcome.first_slot_ns;
        prop_assert_eq!((first - 1_234) % T, 0, "the phase is kept");
        let woken: Vec<_> = timer.woken.borrow().iter().filter(|wake| wake.0 >= first).copied().collect();
        let elapsed = outcome.slots.met + outcome.slots.late + outcome.slots.missed;
        prop_assert_eq!(snapshot.slots, outcome.slots);
        prop_assert_eq!(outcome.elapsed, elapsed);
        match outcome.end {
            End::Complete => prop_assert_eq!(elapsed, slots),
            End::Stopped => prop_assert!(elapsed < slots || elapsed == 0),
            other => prop_assert!(false, "{other:?}"),
        }
        // The reference goes through the slots, not through the wake-ups.
        let (mut met, mut late, mut delays, mut samples) = (0, 0, Vec::new(), Vec::new());
        for k in 0..elapsed {
            let due = first + k * T;
            match woken.iter().find(|wake| wake.0 == due) {
                Some((_, t)) => {
                    samples.push(t - due);
                    if t - due <= deadline { met += 1 } else { late += 1 }
                }
                None => {
                    let (_, t) = woken.iter().find(|wake| wake.1 >= due).unwrap();
                    delays.push(t - due);
                }
            }
        }
        prop_assert_eq!(outcome.slots, SlotCounts { met, late, missed: delays.len() as u64 });
        prop_assert_eq!(snapshot.plain.count, samples.len() as u64);
        prop_assert_eq!(snapshot.plain.sum, samples.iter().map(|v| i128::from(*v)).sum::<i128>());
        let missed = snapshot.missed.as_ref().unwrap();
        prop_assert_eq!(missed.count, delays.len() as u64);
        prop_assert_eq!(missed.sum, delays.iter().map(|v| i128::from(*v)).sum::<i128>());
        let above = |edge: u64| samples.iter().chain(&delays).filter(|v| **v > edge).count() as u64;
        prop_assert_eq!(*snapshot.corrected().unwrap().bands.last().unwrap(), above(T));
        // The loop does not catch up: each slot it sleeps for is in the future.
        for pair in woken.windows(2) {
            prop_assert!(pair[1].0 > pair[0].1);
        }
    }

    /// A clock that advances while the loop works does not change the count of slots.
    #[test]
    fn slow_work_loses_no_slot(lateness in lateness(), cost in 1u64..T / 2, slots in 1u64..500) {
        let timer = Fake { cost, ..Fake::new(&lateness) };
        let (mut recorder, _reader) = recorder();
        let outcome = timer.run(&schedule(slots), &mut recorder, None);
        prop_assert_eq!(outcome.slots.met + outcome.slots.late + outcome.slots.missed, slots);
    }
}

/// Slots that pass while the loop counts missed ones are missed, too. The slot that the loop sleeps for next is later than the last reading
/// of the clock.
#[test]
fn after_a_catch_up_the_armed_slot_is_still_to_come() {
    let mut passed_meanwhile = 0;
    for cost in [T / 10, T / 4, T / 2 - 1] {
        for late in (T..2 * T).step_by(T as usize / 20) {
            let timer = Fake { cost, ..Fake::new(&[0, late]) };
            let (mut recorder, _reader) = recorder();
            let outcome = timer.run(&schedule(20), &mut recorder, None);
            let armed = timer.armed.borrow();
            assert!(armed.iter().all(|(slot, read)| slot > read), "cost {cost}, {late} late: {armed:?}");
            // The reading after the wake-up took time, too.
            let at_the_reading = (late + cost) / T;
            assert!(outcome.slots.missed >= at_the_reading, "cost {cost}, {late} late: {outcome:?}");
            passed_meanwhile += outcome.slots.missed - at_the_reading;
        }
    }
    assert!(passed_meanwhile > 0, "no trial reached the case");
}

/// A stall of 50 ms at a period of 100 us misses 500 slots, whose delays decrease from 50 ms to zero.
#[test]
fn a_stall_is_not_lost() {
    let timer = Fake::new(&[0, 0, 50_000_000]);
    let (mut recorder, reader) = recorder();
    timer.run(&schedule(1_000), &mut recorder, None);
    let (snapshot, _) = reader.finish(recorder);
    assert_eq!(snapshot.slots, SlotCounts { met: 499, late: 1, missed: 500 });
    assert_eq!(snapshot.plain.count, 500, "only one wake-up saw it");
    let corrected = snapshot.corrected().unwrap();
    assert_eq!((corrected.count, corrected.max), (1_000, Some(50_000_000)));
    let median_of_stall = corrected.at_rank(750).unwrap();
    assert!((24_000_000..26_000_000).contains(&median_of_stall), "{median_of_stall}");
}

#[test]
fn a_sample_above_stop_on_ends_the_loop_but_not_the_warmup() {
    let timer = Fake::new(&[900_000, 0, 0, 0, 0, 5_000, 700_000]);
    let config = Config { stop_on_ns: Some(500_000), periodic: true, ..Config::default() };
    let (mut recorder, reader) = recorder::new(&config).unwrap();
    let outcome = timer.run(&Schedule { warmup: 12, ..schedule(1_000) }, &mut recorder, None);
    let (snapshot, _) = reader.finish(recorder);
    assert_eq!(outcome.end, End::Sample);
    assert_eq!(snapshot.stopped.map(|s| s.value), Some(700_000));
    assert_eq!(snapshot.plain.max, Some(700_000), "the warm-up is forgotten");
    assert!(timer.stop.load(Relaxed), "the other threads learn it");
    assert_eq!(snapshot.slots, outcome.slots);
}

#[test]
fn a_sample_after_an_overrun_is_kept_apart() {
    let mut timer = Fake::new(&[10, 20, 30, 40, 50]);
    timer.overruns = vec![0, 0, 1, 1, 1];
    let (mut recorder, reader) = recorder();
    let (mut apart, apart_reader) = self::recorder();
    let outcome = timer.run(&schedule(5), &mut recorder, Some(&mut apart));
    let (plain, apart) = (reader.finish(recorder).0.plain, apart_reader.finish(apart).0.plain);
    assert_eq!((plain.count, plain.sum), (4, 120));
    assert_eq!((apart.count, apart.sum), (1, 30));
    assert_eq!(outcome.slots.met, 5, "its slot counts with the others");
}

#[test]
fn a_refused_sleep_is_reported() {
    struct Refuses;
    impl Timer for Refuses {
        fn now(&self) -> u64 {
            5
        }
        fn sleep_until(&self, _at_ns: u64) -> Result<(), Errno> {
            Err(Errno::EINVAL)
        }
    }
    let (mut recorder, _reader) = recorder();
    let stop = AtomicBool::new(false);
    let outcome = drive(
        &schedule(5),
        &mut recorder,
        None,
        || 5,
        |pass, recorder, overrun| sweep(&Refuses, pass.even(), pass, &stop, recorder, overrun, &mut NoTask),
    );
    assert_eq!((outcome.end, outcome.slots), (End::Failed(Errno::EINVAL), SlotCounts::default()));
}

#[test]
fn the_next_slot_is_on_the_grid_and_still_to_come() {
    assert_eq!(next_slot(1_000, 10, 5), 1_000, "a start in the future is kept");
    assert_eq!(next_slot(1_000, 10, 1_000), 1_010);
    assert_eq!(next_slot(1_000, 10, 1_009), 1_010);
    assert_eq!(next_slot(3, 10, 1_000), 1_003);
}

/// With every clock of the kernel and every real means of waiting, the slots add up and no wake-up is early.
#[test]
fn every_clock_and_every_means_run_the_loop() {
    let all = Clock::ALL.into_iter().flat_map(|clock| {
        let descriptor = TimerDescriptor::new(clock).ok().map(|timer| Means::TimerFd(clock, timer));
        let signal = SignalTimer::new(clock).ok().map(|timer| Means::PosixTimer(clock, timer));
        [Some(Means::Nanosleep(clock)), descriptor, signal].into_iter().flatten()
    });
    let mut ran = 0;
    for means in all {
        for phase in [Phase::Fixed, Phase::Random { seed: 5 }] {
            let (mut recorder, reader) = recorder();
            rehearse(&means, &mut recorder, None);
            let plan = Schedule { start_ns: means.clock().now(), warmup: 3, phase, ..schedule(20) };
            let outcome = run(&means, &plan, &AtomicBool::new(false), &mut recorder, None);
            let (snapshot, _) = reader.finish(recorder);
            assert_eq!(outcome.end, End::Complete);
            assert_eq!(outcome.slots.met + outcome.slots.late + outcome.slots.missed, 20);
            assert_eq!(snapshot.plain.count, outcome.slots.met + outcome.slots.late);
            assert_eq!((snapshot.phase, snapshot.origin), (RecorderPhase::Ended, outcome.first_slot_ns));
            if means.clock() == Clock::Monotonic {
                assert!(snapshot.plain.min.unwrap() >= 0, "{means:?}");
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 2 * (4 + 3 + 4), "descriptors know no TAI");
}

/// The loop of yields refuses to run under another policy, where it would spin.
#[test]
fn yields_are_refused_to_others_than_deadline_threads() {
    let (mut recorder, _reader) = recorder();
    rehearse(&Means::Deadline, &mut recorder, None);
    let outcome = run(&Means::Deadline, &schedule(5), &AtomicBool::new(false), &mut recorder, None);
    assert_eq!((outcome.end, outcome.elapsed), (End::Failed(Errno::EPERM), 0));
}

proptest! {
    /// With a wandering phase, the thread still wakes for each slot in its period, or counts it as missed.
    #[test]
    fn wandering_slots_are_accounted_for(
        lateness in lateness(),
        interrupted in prop::collection::vec(0usize..60, 0..10),
        stop_after in prop::option::of(0usize..100),
        cost in prop_oneof![Just(0), 1u64..T / 4],
        slots in 1u64..2_000,
        warmup in 0u64..20,
        seed: u64,
    ) {
        let timer = Fake { interrupted, stop_after, cost, ..Fake::new(&lateness) };
        let (mut recorder, reader) = recorder();
        let plan = Schedule { warmup, phase: Phase::Random { seed }, ..schedule(slots) };
        let outcome = timer.run(&plan, &mut recorder, None);
        let (snapshot, _) = reader.finish(recorder);
        let first = outcome.first_slot_ns;
        prop_assert_eq!((first - 1_234) % T, 0);
        let SlotCounts { met, late, missed } = outcome.slots;
        prop_assert_eq!(outcome.elapsed, met + late + missed);
        prop_assert_eq!(snapshot.missed.unwrap().count, missed);
        let counted: Vec<u64> = timer.woken.borrow().iter().filter(|wake| wake.0 >= first).map(|wake| (wake.0 - first) / T).collect();
        match outcome.end {
            End::Complete => prop_assert_eq!(outcome.elapsed, slots),
            End::Stopped => prop_assert!(outcome.elapsed < slots || outcome.elapsed == 0),
            other => prop_assert!(false, "{other:?}"),
        }
        if outcome.elapsed > 0 {
            prop_assert_eq!(counted.len() as u64, met + late);
            prop_assert!(counted.windows(2).all(|pair| pair[0] < pair[1]), "each in another period");
            prop_assert!(counted.iter().all(|k| *k < outcome.elapsed));
        }
    }
}
