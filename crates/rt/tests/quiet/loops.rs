//! The measuring part of each loop allocates nothing and causes no page fault.

use crate::counting::{cost, prepare};
use latido_model::needs::{Need, skip};
use latido_rt::{
    Reader, Recorder,
    end::End,
    gap, inversion, mutex, pendulum, priority, recorder,
    rounds::{Channel, Course, MANY, Monotonic, Rounds},
    sleep,
    wakeup::{self, Means, Phase},
};
use latido_sys::{
    clock::Clock,
    mutex::{Mutex, Mutexes, Protocol},
    priority::{Own, Realtime},
    procfs::SchedStatFile,
    sched,
    timer::{SignalTimer, TimerDescriptor},
    tsc::Scale,
    usage,
};
use std::{
    sync::{Arc, Barrier, atomic::AtomicBool},
    thread,
};

fn config(table: Option<Scale>) -> recorder::Config {
    // Short blocks, so that many end during the run.
    recorder::Config { edges: vec![1_000, 50_000, 200_000], block_ns: 2_000_000, table, ..Default::default() }
}

#[test]
fn the_pendulum_is_quiet() {
    prepare();
    let keep = recorder::Config { ordered: 1_000, periodic: true, ..config(None) };
    let (mut lateness, late) = recorder::new(&keep).unwrap();
    let (mut angles, angle) = recorder::new(&recorder::Config { periodic: false, ..keep }).unwrap();
    pendulum::rehearse(&mut lateness, &mut angles);
    let schedule = wakeup::Schedule {
        start_ns: 0,
        period_ns: 50_000,
        deadline_ns: 50_000,
        warmup: 20,
        slots: 800,
        phase: Phase::Fixed,
    };
    let stop = AtomicBool::new(false);
    let cost = cost(|| {
        pendulum::run(&schedule, 3, &stop, &mut lateness, &mut angles);
    });
    assert_eq!(cost, (0, 0), "allocations, page faults");
    assert!(late.finish(lateness).0.plain.count > 0 && angle.finish(angles).0.plain.count > 0);
}

#[test]
fn the_counting_works() {
    let before = usage::of_thread();
    let (allocations, _) = cost(|| drop(std::hint::black_box(vec![1u8; 32 << 20])));
    // The kernel may have moved more pages meanwhile than the work touched: `cost` then counts no fault.
    assert!(allocations >= 2 && usage::of_thread().since(before).minor_faults > 0);
}

#[test]
fn the_periodic_loops_are_quiet() {
    prepare();
    let clock = Clock::Monotonic;
    let means = [
        Means::Nanosleep(clock),
        Means::TimerFd(clock, TimerDescriptor::new(clock).unwrap()),
        Means::PosixTimer(clock, SignalTimer::new(clock).unwrap()),
    ];
    for (means, phase) in means.iter().flat_map(|means| [(means, Phase::Fixed), (means, Phase::Random { seed: 1 })]) {
        let config = recorder::Config { periodic: true, ..config(None) };
        let (mut recorder, reader) = recorder::new(&config).unwrap();
        let (mut apart, _) = recorder::new(&config).unwrap();
        wakeup::rehearse(means, &mut recorder, Some(&mut apart));
        let period_ns = 20_000;
        let schedule =
            wakeup::Schedule { start_ns: 0, period_ns, deadline_ns: period_ns, warmup: 50, slots: 6_000, phase };
        let mut outcome = None;
        let cost = cost(|| {
            let stop = AtomicBool::new(false);
            outcome = Some(wakeup::run(means, &schedule, &stop, &mut recorder, Some(&mut apart)));
        });
        assert_eq!(cost, (0, 0), "allocations and page faults: {means:?} {phase:?}");
        let (snapshot, blocks) = reader.finish(recorder);
        let slots = outcome.unwrap().slots;
        assert_eq!(slots.met + slots.late + slots.missed, 6_000);
        assert_eq!(snapshot.plain.count, slots.met + slots.late);
        // The number of blocks depends on the machine: a block ends only at a sample.
        assert_eq!(blocks.iter().map(|block| block.count).sum::<u64>(), snapshot.plain.count);
    }
}

#[test]
fn the_busy_loop_is_quiet() {
    prepare();
    let (mut recorder, reader) = recorder::new(&config(Some(Scale::NS))).unwrap();
    let schedstat = SchedStatFile::open().ok();
    let costs = gap::rehearse(gap::TickSource::Monotonic, &mut recorder, schedstat.as_ref());
    let duty = Some(gap::Duty { busy_ns: 3_000_000, period_ns: 4_000_000 });
    let budgets = [Some(gap::Budget { runtime_ns: 900_000, period_ns: 1_000_000 }), None];
    let task = gap::BusyLoop { iterations: 1_000_000, duration_ns: u64::MAX, warmup_ns: 100_000, duty, budgets };
    let cost = cost(|| {
        let stop = AtomicBool::new(false);
        gap::run(gap::TickSource::Monotonic, &task, &stop, &mut recorder, schedstat.as_ref(), costs);
    });
    assert_eq!(cost, (0, 0), "allocations and page faults");
    let (snapshot, blocks) = reader.finish(recorder);
    assert_eq!(snapshot.plain.count, 1_000_000);
    // The number of blocks and rests depends on the machine: a stall may use up the rest of a period.
    assert_eq!(blocks.iter().map(|block| block.count).sum::<u64>(), 1_000_000);
}

/// Recorders of one kind, and their readers.
fn channel<const Q: usize>(capacity: usize) -> (Channel<Q>, Vec<Reader>) {
    let mut readers = Vec::new();
    let recorders = [(); Q].map(|()| {
        let (recorder, reader) = recorder::new(&config(None)).unwrap();
        readers.push(reader);
        recorder
    });
    (Channel::new(recorders, capacity), readers)
}

fn counts(readers: &mut [Reader]) -> Vec<u64> {
    readers.iter_mut().map(|reader| reader.snapshot().unwrap().plain.count).collect()
}

fn rounds(rounds: u64) -> Course {
    Course { rounds, duration_ns: u64::MAX, warmup_ns: 100_000 }
}

const KINDS: [(Protocol, bool); 3] = [(Protocol::Normal, false), (Protocol::Inherit, false), (Protocol::Normal, true)];

#[test]
fn the_mutex_loops_are_quiet() {
    prepare();
    let stop = AtomicBool::new(false);
    let (mut channels, mut readers): (Vec<_>, Vec<_>) = KINDS.iter().map(|_| channel(MANY)).unzip();
    let mut kinds = KINDS.map(|(p, shared)| mutex::Calls { mutex: Mutex::new(p, shared).unwrap(), time: Monotonic });
    mutex::rehearse_each(&mut kinds, &mut channels);
    let quiet = cost(|| _ = mutex::run_each(&mut kinds, &rounds(20_000), &stop, &mut channels));
    assert_eq!(quiet, (0, 0), "allocations and page faults");
    assert!(readers.iter_mut().all(|readers| counts(readers) == [20_000; 4]));

    let (mut channels, mut readers): (Vec<_>, Vec<_>) = KINDS.iter().map(|_| channel(1)).unzip();
    let mut kinds = KINDS.map(|(p, shared)| mutex::CallBatch {
        all: Mutexes::new(1_000, p, shared).unwrap(),
        one: Mutex::new(p, shared).unwrap(),
        count: 1_000,
        cost_ps: 20_000,
        time: Monotonic,
    });
    mutex::rehearse_batch(&mut kinds, &mut channels);
    let quiet = cost(|| _ = mutex::run_batch(&mut kinds, &rounds(50), &stop, &mut channels));
    assert_eq!(quiet, (0, 0), "allocations and page faults");
    assert!(readers.iter_mut().all(|readers| counts(readers) == [50; 4]));
}

#[test]
fn the_sleeping_loop_is_quiet() {
    prepare();
    let (mut channels, mut readers): (Vec<_>, Vec<_>) = (0..2).map(|_| channel(1)).unzip();
    sleep::rehearse(&mut channels);
    let mode = |mode| sleep::Sleeps { sleeper: Monotonic, mode, length_ns: 20_000 };
    let stop = AtomicBool::new(false);
    for absolute in [sleep::SleepMode::Absolute, sleep::SleepMode::TargetFirst] {
        let mut modes = [mode(sleep::SleepMode::Relative), mode(absolute)];
        let quiet = cost(|| _ = sleep::run(&mut modes, &rounds(1_500), &stop, &mut channels));
        assert_eq!(quiet, (0, 0), "allocations and page faults");
        // Each run starts from zero.
        assert!(readers.iter_mut().all(|readers| counts(readers) == [1_500; 2]));
    }
}

/// Runs work on a new thread as FIFO 3; `None` if that is not allowed.
fn as_fifo<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let body = || Own::thread().set_param(Realtime::Fifo, 3).is_ok().then(work);
    thread::spawn(body).join().unwrap()
}

/// Loops that need a real-time policy are quiet, if the machine grants one.
#[test]
fn the_loops_of_real_time_threads_are_quiet() {
    prepare();
    let measured = as_fifo(|| {
        let stop = AtomicBool::new(false);
        for ceiling in [3, 5] {
            let (one, mut readers) = channel(MANY);
            let (mut channels, mutex) = ([one], Mutex::new(Protocol::Ceiling(ceiling), false).unwrap());
            let mut kinds = [mutex::Calls { mutex, time: Monotonic }];
            mutex::rehearse_each(&mut kinds, &mut channels);
            let quiet = cost(|| _ = mutex::run_each(&mut kinds, &rounds(3_000), &stop, &mut channels));
            assert_eq!((quiet, counts(&mut readers)), ((0, 0), vec![3_000; 4]), "ceiling {ceiling}");
        }
        let alternating =
            || priority::Alternating::new(priority::OwnThread { own: Own::thread(), policy: Realtime::Fifo }, 3, 2);
        let (mut one, mut readers) = channel(MANY);
        let mut each = priority::Changes::new(alternating());
        each.rehearse(&mut one);
        let quiet = cost(|| assert_eq!(each.run(&rounds(3_000), &stop, &mut one).end, End::Complete));
        assert_eq!((quiet, counts(&mut readers)), ((0, 0), vec![3_000; 3]));
        let (mut one, mut readers) = channel(1);
        let mut batch = priority::ChangeBatch::new(alternating(), 101, 20_000);
        batch.rehearse(&mut one);
        let quiet = cost(|| assert_eq!(batch.run(&rounds(30), &stop, &mut one).end, End::Complete));
        assert_eq!((quiet, counts(&mut readers)), ((0, 0), vec![30; 2]));
    });
    if measured.is_none() {
        skip("the loops that need a real-time policy", Need::Realtime, "the kernel refuses FIFO 3");
    }
}

/// All three parts of an inversion, with both kinds of mutexes and real blocking.
#[test]
fn the_three_parts_of_an_inversion_are_quiet() {
    prepare();
    let times = |rounds| {
        let course = Course { rounds, duration_ns: u64::MAX, warmup_ns: 5_000_000 };
        inversion::InversionTimes { course, interval_ns: 400_000, hold_ns: 20_000, busy_ns: 50_000 }
    };
    // The first scene makes pages of the C library resident, which the second one uses.
    play(times(5));
    for (part, cost) in ["high", "middle", "low"].into_iter().zip(play(times(200))) {
        assert_eq!(cost, (0, 0), "allocations and page faults of {part}");
    }
}

/// The costs of each of the three parts, which must run all rounds.
fn play(times: inversion::InversionTimes) -> [(u64, u64); 3] {
    let mutexes = [Protocol::Normal, Protocol::Inherit].map(|protocol| Mutex::new(protocol, false).unwrap());
    let scene = Arc::new(inversion::Scene::new(Box::new(mutexes)).unwrap());
    let recorders = || recorder::new(&config(None)).unwrap().0;
    let cpu = *sched::affinity(0).unwrap().last().unwrap();
    let (stop, ready) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(3)));
    type Part = fn(&inversion::Scene, &AtomicBool, &inversion::InversionTimes, &mut [Recorder]) -> Rounds;
    let part = |prio: u8, part: Part| {
        let (scene, stop, ready) = (Arc::clone(&scene), Arc::clone(&stop), Arc::clone(&ready));
        let mut recorders = if prio == 6 { vec![recorders(), recorders()] } else { Vec::new() };
        thread::spawn(move || {
            latido_sys::memory::prefault_stack();
            sched::set_affinity(0, [cpu]).unwrap();
            inversion::rehearse(&mut recorders);
            ready.wait();
            // The kernel refuses this without permission; the rounds then go in another order, but just as quietly.
            let _refused = sched::set_policy(0, sched::Policy::Fifo { prio }, false);
            let mut outcome = None;
            let cost = cost(|| outcome = Some(part(&scene, &stop, &times, &mut recorders)));
            assert_eq!(outcome.unwrap().end, End::Complete);
            cost
        })
    };
    let parts = [
        part(6, |scene, stop, _, recorders| inversion::high(scene, stop, recorders)),
        part(5, |scene, stop, times, _| inversion::middle(scene, stop, times)),
        part(4, |scene, stop, times, _| inversion::low(scene, stop, times)),
    ];
    parts.map(|part| part.join().unwrap())
}
