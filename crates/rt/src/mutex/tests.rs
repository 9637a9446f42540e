use super::*;
use crate::{
    Reader,
    end::End,
    recorder::{self, Config},
    rounds::{LEFT_OUT, MANY},
};
use latido_sys::mutex::{Mutex, Protocol};
use proptest::prelude::*;
use std::{cell::Cell, rc::Rc, vec::Vec};

/// A clock whose readings take time, and a lock whose calls take the times given.
#[derive(Clone)]
struct Fake {
    now: Rc<Cell<u64>>,
    locked: Rc<Cell<bool>>,
    reading: u64,
    lock: u64,
    try_lock: u64,
    unlock: u64,
    calls: Rc<Cell<u64>>,
    /// The call that fails, counted from 1.
    fails: u64,
}

impl Fake {
    fn spend(&self, ns: u64, locks: bool) -> Result<Fake, Errno> {
        self.now.set(self.now.get() + ns);
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.fails || self.locked.get() == locks {
            return Err(Errno::EBUSY);
        }
        self.locked.set(locks);
        Ok(self.clone())
    }
}

impl Time for Fake {
    fn now(&self) -> u64 {
        self.now.set(self.now.get() + self.reading);
        self.now.get()
    }
}

impl Lockable for Fake {
    type Locked<'a> = Fake;

    fn lock(&self) -> Result<Fake, Errno> {
        self.spend(self.lock, true)
    }

    fn try_lock(&self) -> Result<Fake, Errno> {
        self.spend(self.try_lock, true)
    }

    fn unlock(held: Fake) -> Result<(), Errno> {
        held.spend(held.unlock, false).map(|_| ())
    }
}

fn fake(reading: u64, [lock, try_lock, unlock]: [u64; 3], fails: u64) -> Fake {
    let (now, locked, calls) = (Rc::new(Cell::new(7)), Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    Fake { now, locked, reading, lock, try_lock, unlock, calls, fails }
}

proptest! {
    /// The sample of each call includes this call and one reading. No sample includes the second unlock or the bookkeeping.
    #[test]
    fn call_by_call_a_sample_is_one_call_and_one_reading(reading in 0u64..50, costs: [u16; 3]) {
        let [lock, try_lock, unlock] = costs.map(u64::from);
        let fake = fake(reading, [lock, try_lock, unlock], 0);
        let taken = Calls { mutex: fake.clone(), time: fake.clone() }.round().unwrap().unwrap();
        let expected = [lock, unlock, try_lock, 0].map(|cost| (cost + reading) as i64);
        prop_assert_eq!(taken.values, expected);
        prop_assert_eq!((taken.at, fake.calls.get(), fake.locked.get()), (fake.now.get(), 4, false));
    }

    /// If the cost of a reading is right, the mean without it is the cost of a call. If the cost is too high, the mean is never negative.
    #[test]
    fn together_a_sample_is_the_mean_net_of_one_reading(
        reading in 0u64..50, costs: [u16; 3], count in 1u64..200, over in 0u64..1_000_000,
    ) {
        let [lock, try_lock, unlock] = costs.map(u64::from);
        let one = fake(reading, [lock, try_lock, unlock], 0);
        // A row of `count` locks takes `count` times as long.
        let all = Fake { lock: lock * count, try_lock: try_lock * count, unlock: unlock * count,
            locked: Rc::new(Cell::new(false)), calls: Rc::new(Cell::new(0)), ..one.clone() };
        let cost_ps = reading * 1_000;
        let mut batch = CallBatch { all, one: one.clone(), count, cost_ps, time: one.clone() };
        let taken = batch.round().unwrap().unwrap();
        let expected = [lock, unlock, try_lock, lock + unlock].map(|cost| (cost * 1_000) as i64);
        prop_assert_eq!(taken.values, expected);
        prop_assert_eq!(one.calls.get(), 2 * count, "as many pairs");
        batch.cost_ps += over;
        prop_assert!(batch.round().unwrap().unwrap().values.iter().all(|value| *value >= 0));
    }

    /// The refusal names the failing call, whichever it is.
    #[test]
    fn a_failing_call_is_named(which in 1u64..5) {
        let fake = fake(1, [5, 5, 5], which);
        let refusal = Calls { mutex: fake.clone(), time: fake }.round().unwrap_err();
        let names = ["pthread_mutex_lock", "pthread_mutex_unlock", "pthread_mutex_trylock", "pthread_mutex_unlock"];
        prop_assert_eq!(refusal, Refusal { call: names[which as usize - 1], error: Errno::EBUSY });
    }
}

fn channel(capacity: usize) -> (Channel<QUANTITIES>, Vec<Reader>) {
    let config = Config { edges: std::vec![1_000], ..Config::default() };
    let mut readers = Vec::new();
    let recorders = [(); QUANTITIES].map(|()| {
        let (recorder, reader) = recorder::new(&config).unwrap();
        readers.push(reader);
        recorder
    });
    (Channel::new(recorders, capacity), readers)
}

const KINDS: [(Protocol, bool); 3] = [(Protocol::Normal, false), (Protocol::Inherit, false), (Protocol::Normal, true)];

/// Measures real mutexes of the C library: every kind has as many samples as rounds, and no sample is negative.
#[test]
fn both_ways_of_timing_run_for_real() {
    let task = Course { rounds: 2_500, duration_ns: u64::MAX, warmup_ns: 200_000 };
    let stop = AtomicBool::new(false);
    let (mut channels, mut readers): (Vec<_>, Vec<_>) = KINDS.iter().map(|_| channel(MANY)).unzip();
    let mut kinds = KINDS.map(|(p, shared)| Calls { mutex: Mutex::new(p, shared).unwrap(), time: Monotonic });
    rehearse_each(&mut kinds, &mut channels);
    let outcome = run_each(&mut kinds, &task, &stop, &mut channels);
    assert_eq!((outcome.end, outcome.rounds), (End::Complete, 2_500));
    for reader in readers.iter_mut().flatten() {
        let snapshot = reader.snapshot().unwrap();
        assert_eq!((snapshot.plain.count, snapshot.plain.negative), (2_500, 0));
        assert_eq!(snapshot.tallies[LEFT_OUT], 0);
    }

    let task = Course { rounds: 20, ..task };
    let (mut channels, mut readers): (Vec<_>, Vec<_>) = KINDS.iter().map(|_| channel(1)).unzip();
    let mut kinds = KINDS.map(|(p, shared)| CallBatch {
        all: Mutexes::new(50, p, shared).unwrap(),
        one: Mutex::new(p, shared).unwrap(),
        count: 50,
        cost_ps: 0,
        time: Monotonic,
    });
    rehearse_batch(&mut kinds, &mut channels);
    let outcome = run_batch(&mut kinds, &task, &stop, &mut channels);
    assert_eq!((outcome.end, outcome.rounds), (End::Complete, 20));
    for reader in readers.iter_mut().flatten() {
        let snapshot = reader.snapshot().unwrap();
        assert_eq!(snapshot.plain.count, 20);
        assert!(snapshot.plain.min.unwrap() > 0, "fifty calls take longer than a step of the clock");
    }
}

/// A mutex that another thread holds ends the loop, the refusal names the call, and the recorders keep what was measured.
#[test]
fn a_busy_mutex_ends_the_loop() {
    let fake = fake(3, [5, 5, 5], 4 * 10 + 3);
    let (channel, mut readers) = channel(7);
    let mut channels = [channel];
    let task = Course { rounds: 100, duration_ns: u64::MAX, warmup_ns: 0 };
    let mut kinds = [Calls { mutex: fake.clone(), time: fake.clone() }];
    let outcome = rounds::drive(&task, &mut channels, &fake, |pass, channels| {
        rounds::sweep(&mut kinds, channels, pass, &AtomicBool::new(false))
    });
    let refusal = Refusal { call: "pthread_mutex_trylock", error: Errno::EBUSY };
    assert_eq!((outcome.end, outcome.rounds), (End::Failed(refusal), 10));
    assert!(readers.iter_mut().all(|reader| reader.snapshot().unwrap().plain.count == 10));
}

/// Even the loop with the shortest rounds pauses long enough for a concurrent reader to copy the memory, and every copy is consistent. The
/// loop ends only when the reader has enough copies.
#[test]
fn a_reader_beside_the_loop_finds_it_at_rest() {
    let (channel, mut readers) = channel(MANY);
    let mut channels = [channel];
    let mut kinds = [Calls { mutex: Mutex::new(Protocol::Normal, false).unwrap(), time: Monotonic }];
    let stop = AtomicBool::new(false);
    let (mut found, mut before, mut whole) = (0, 0, true);
    std::thread::scope(|scope| {
        let task = Course { rounds: u64::MAX, duration_ns: u64::MAX, warmup_ns: 0 };
        let (kinds, channels, stop) = (&mut kinds, &mut channels, &stop);
        scope.spawn(move || run_each(kinds, &task, stop, channels));
        while found < 20 {
            // Each copy has new samples, so that the loop runs meanwhile.
            if let Some(snapshot) = readers[0].snapshot().filter(|snapshot| snapshot.plain.count > before) {
                found += 1;
                before = snapshot.plain.count;
                let counted = snapshot.plain.counts.iter().sum::<u64>() + snapshot.plain.overflow;
                whole &= counted == snapshot.plain.count;
            }
        }
        stop.store(true, core::sync::atomic::Ordering::Relaxed);
    });
    assert!(whole, "the counts of a copy do not add up");
}
