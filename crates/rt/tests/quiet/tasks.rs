//! The loops that hand over and that compute allocate nothing and cause no page fault, on either side.

use crate::counting::{cost, prepare};
use latido_rt::{
    compute::{self, Workspace},
    end::End,
    recorder,
    rounds::Course,
    switch::{self, Pace},
};
use latido_sys::handoff::{Handoff, Way};
use std::os::fd::AsRawFd;
use std::{
    sync::{Arc, Barrier, atomic::AtomicBool},
    thread,
};

/// Short blocks, so that many end during the run.
fn config() -> recorder::Config {
    recorder::Config { edges: vec![1_000, 50_000, 200_000], block_ns: 2_000_000, ..Default::default() }
}

#[test]
fn both_ends_of_a_handoff_are_quiet() {
    for way in [Way::Semaphore, Way::Futex, Way::Pipe, Way::Eventfd] {
        for processes in [false, true] {
            let handoff = Arc::new(Handoff::create(way, processes).unwrap());
            let gate = Arc::new(Barrier::new(2));
            let poster = thread::spawn({
                let (handoff, gate) = (Arc::clone(&handoff), Arc::clone(&gate));
                move || {
                    prepare();
                    switch::rehearse_post(&Handoff::create(way, processes).unwrap());
                    gate.wait();
                    let mut end = None;
                    let pace = Pace { pause_ns: 1_000, interval_ns: 1_000 };
                    let cost = cost(|| end = Some(switch::post(&handoff, pace, &AtomicBool::new(false))));
                    (cost, end)
                }
            });
            prepare();
            let (mut recorder, reader) = recorder::new(&config()).unwrap();
            switch::rehearse_wait(&Handoff::create(way, processes).unwrap(), &mut recorder);
            gate.wait();
            let course = Course { rounds: 500, duration_ns: u64::MAX, warmup_ns: 2_000_000 };
            let mut outcome = None;
            let cost = cost(|| {
                outcome = Some(switch::wait(&handoff, &course, &AtomicBool::new(false), &mut recorder));
            });
            assert_eq!(cost, (0, 0), "allocations and page faults of the waiting task, {way:?}");
            assert_eq!(poster.join().unwrap(), ((0, 0), Some(End::Complete)), "of the posting task, {way:?}");
            let (snapshot, _) = reader.finish(recorder);
            let outcome = outcome.unwrap();
            let [not_slept, interrupted] = [switch::NOT_SLEPT, switch::INTERRUPTED].map(|at| snapshot.tallies[at]);
            assert_eq!((outcome.end, outcome.rounds), (End::Complete, 500));
            assert_eq!(snapshot.plain.count + not_slept + interrupted, 500);
            assert_eq!(snapshot.plain.negative, 0, "nobody runs before the post");
        }
    }
}

#[test]
fn the_computing_loop_is_quiet() {
    prepare();
    let (mut sizes, mut readers) = (Vec::new(), Vec::new());
    for n in [2, 16, 64] {
        // The largest element of each row is next to the diagonal.
        let matrix = (0..n * n).map(|at| if (at / n + 1) % n == at % n { 2.0 * n as f64 } else { 1.0 }).collect();
        let [(elapsed, reader), (cpu, _)] =
            [0, 1].map(|_| recorder::new(&recorder::Config { ordered: 200, ..config() }).unwrap());
        sizes.push(compute::Size { workspace: Workspace::new(n, matrix).unwrap(), elapsed, cpu });
        readers.push(reader);
    }
    let repetition = compute::Repetition {
        instances: 200,
        warmup_ns: 1_000_000,
        warmup_instances: 3,
        copying: compute::Copying::Timed,
        timing: compute::Timing::Monotonic,
        reports: None,
    };
    let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
    let reports = Some(compute::Reports { screen: null.as_raw_fd(), file: null.as_raw_fd() });
    let studys = compute::Repetition { timing: compute::Timing::Realtime, reports, ..repetition };
    let stop = AtomicBool::new(false);
    for repetition in [studys, repetition] {
        // The rehearsal before the next run clears what a run leaves in the recorders.
        compute::rehearse(&mut sizes, &repetition);
        let mut outcome = None;
        let cost = cost(|| outcome = Some(compute::run(&mut sizes, &repetition, &stop)));
        assert_eq!(cost, (0, 0), "allocations and page faults");
        assert_eq!(outcome.unwrap().end, End::Complete);
    }
    for (size, reader) in sizes.into_iter().zip(readers) {
        assert_eq!(reader.finish(size.elapsed).0.plain.count, 200);
    }
}
