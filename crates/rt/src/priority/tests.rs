use super::*;
use crate::{
    end::End,
    recorder::{self, Config},
    rounds::Taken,
};
use latido_model::needs::{Need, skip};
use proptest::prelude::*;
use std::{cell::RefCell, rc::Rc, vec::Vec};

/// A thread whose changes of priority take the given times, per call and direction.
#[derive(Clone, Debug)]
struct Fake(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    now: u64,
    reading: u64,
    prio: u8,
    /// Costs of setschedparam: down, up; of setschedprio: down, up.
    costs: [u64; 4],
    /// The calls in order: whether it was setschedparam, and the new level.
    calls: Vec<(bool, u8)>,
    fails: usize,
}

impl Fake {
    fn change(&self, param: bool, prio: u8) -> Result<(), Errno> {
        let mut state = self.0.borrow_mut();
        let up = prio > state.prio;
        state.now += state.costs[if param { 0 } else { 2 } + usize::from(up)];
        state.calls.push((param, prio));
        if state.calls.len() == state.fails {
            return Err(Errno::EPERM);
        }
        state.prio = prio;
        Ok(())
    }
}

impl Levels for Fake {
    fn set_param(&self, prio: u8) -> Result<(), Errno> {
        self.change(true, prio)
    }

    fn set_prio(&self, prio: u8) -> Result<(), Errno> {
        self.change(false, prio)
    }
}

impl Time for Fake {
    fn now(&self) -> u64 {
        let mut state = self.0.borrow_mut();
        state.now += state.reading;
        state.now
    }
}

fn fake(reading: u64, costs: [u64; 4], fails: usize) -> Fake {
    Fake(Rc::new(RefCell::new(State { now: 0, reading, prio: 80, costs, calls: Vec::new(), fails })))
}

fn each(fake: &Fake) -> Changes<Fake, Fake> {
    Changes { thread: Alternating::new(fake.clone(), 80, 79), time: fake.clone(), turned: false }
}

proptest! {
    /// Every call changes the level. Each of the two calls lowers and raises in turn. A sample is one call and one reading.
    #[test]
    fn both_calls_lower_and_raise_by_turns(reading in 0u64..50, costs: [u16; 4]) {
        let costs = costs.map(u64::from);
        let fake = fake(reading, costs, 0);
        let mut each = each(&fake);
        let rounds: Vec<Taken<3>> = (0..4).map(|_| each.round().unwrap().unwrap()).collect();
        let [param_down, param_up, prio_down, prio_up] = costs.map(|cost| (cost + reading) as i64);
        for (at, round) in rounds.iter().enumerate() {
            let expected = if at % 2 == 0 { [param_down, prio_up] } else { [param_up, prio_down] };
            prop_assert_eq!(round.values[..2].to_vec(), expected.to_vec());
            prop_assert_eq!(round.values[2], reading as i64);
        }
        let levels: Vec<u8> = fake.0.borrow().calls.iter().map(|call| call.1).collect();
        prop_assert_eq!(levels, [79, 80].repeat(4));
    }

    /// An odd number of calls leaves the thread at the other level. The next calls continue from there, and the end restores the level.
    #[test]
    fn together_every_call_changes_the_level(count in 1u64..40, rounds in 1usize..6) {
        let fake = fake(0, [1_000, 1_000, 2_000, 2_000], 0);
        let mut batch = ChangeBatch { thread: Alternating::new(fake.clone(), 80, 79), time: fake.clone(), count, cost_ps: 0 };
        for _ in 0..rounds {
            prop_assert_eq!(batch.round().unwrap().unwrap().values, [1_000_000, 2_000_000]);
        }
        for pair in fake.0.borrow().calls.windows(2) {
            prop_assert_ne!(pair[0].1, pair[1].1);
        }
        // A round makes an even number of calls. One more leaves the thread at the other level.
        batch.thread.set_param().unwrap();
        prop_assert_eq!(fake.0.borrow().prio, 79);
        batch.thread.restore().unwrap();
        prop_assert_eq!(fake.0.borrow().prio, 80);
        batch.thread.set_prio().unwrap();
        prop_assert_eq!(fake.0.borrow().prio, 79);
    }

    #[test]
    fn a_failing_call_is_named(fails in 1usize..5) {
        let fake = fake(0, [1; 4], fails);
        let mut each = each(&fake);
        let refusal = (0..2).find_map(|_| each.round().err()).unwrap();
        let name = if [1, 4].contains(&fails) { "pthread_setschedparam" } else { "pthread_setschedprio" };
        prop_assert_eq!(refusal, Refusal { call: name, error: Errno::EPERM });
    }
}

fn channel<const Q: usize>(capacity: usize) -> (Channel<Q>, Vec<crate::Reader>) {
    let mut readers = Vec::new();
    let recorders = [(); Q].map(|()| {
        let (recorder, reader) = recorder::new(&Config::default()).unwrap();
        readers.push(reader);
        recorder
    });
    (Channel::new(recorders, capacity), readers)
}

/// Runs with the real thread. Where the kernel does not allow it, the loop reports that and makes no sample.
#[test]
fn the_thread_has_its_own_priority_again_afterwards() {
    std::thread::spawn(|| {
        let allowed = std::thread::spawn(|| Own::thread().set_param(Realtime::Fifo, 3).is_ok()).join().unwrap();
        let thread = || Alternating::new(OwnThread { own: Own::thread(), policy: Realtime::Fifo }, 3, 2);
        let task = Course { rounds: 200, duration_ns: u64::MAX, warmup_ns: 100_000 };
        let stop = AtomicBool::new(false);
        let (mut channel, mut readers) = self::channel(16);
        let mut each = super::Changes::new(thread());
        each.rehearse(&mut channel);
        let outcome = each.run(&task, &stop, &mut channel);
        let counts = |readers: &mut [crate::Reader]| {
            readers.iter_mut().map(|reader| reader.snapshot().unwrap().plain.count).collect::<Vec<_>>()
        };
        if !allowed {
            let refusal = Refusal { call: "pthread_setschedparam", error: Errno::EPERM };
            assert_eq!((outcome.end, counts(&mut readers)), (End::Failed(refusal), [0; 3].to_vec()));
            return skip("changes of a thread's own priority", Need::Realtime, "the kernel refuses FIFO 3");
        }
        assert_eq!((outcome.end, outcome.rounds, counts(&mut readers)), (End::Complete, 200, [200; 3].to_vec()));
        let fifo = latido_sys::sched::Policy::Fifo { prio: 3 };
        assert_eq!(latido_sys::sched::policy(0), Ok(fifo));

        let (mut channel, mut readers) = self::channel(1);
        let mut batch = super::ChangeBatch::new(thread(), 7, 0);
        batch.rehearse(&mut channel);
        let outcome = batch.run(&Course { rounds: 21, ..task }, &stop, &mut channel);
        assert_eq!((outcome.end, counts(&mut readers)), (End::Complete, [21; 2].to_vec()));
        assert_eq!(latido_sys::sched::policy(0), Ok(fifo));
    })
    .join()
    .unwrap();
}
