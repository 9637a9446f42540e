//! No way of handing over loses or doubles tokens, and a signal interrupts the wait.

use super::*;
use crate::{sched, signal};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

const WAYS: [Way; 4] = [Way::Semaphore, Way::Futex, Way::Pipe, Way::Eventfd];

fn wait(handoff: &Handoff) -> Result<(), Errno> {
    match handoff.way() {
        Way::Semaphore => handoff.semaphore().wait(),
        Way::Futex => handoff.futex().wait(handoff.processes()),
        Way::Pipe | Way::Eventfd => handoff.descriptors().unwrap().wait(),
    }
}

fn post(handoff: &Handoff) -> Result<(), Errno> {
    match handoff.way() {
        Way::Semaphore => handoff.semaphore().post(),
        Way::Futex => handoff.futex().post(handoff.processes()),
        Way::Pipe | Way::Eventfd => handoff.descriptors().unwrap().post(),
    }
}

#[test]
fn every_post_ends_one_wait_between_both_views_of_it() {
    for way in WAYS {
        let mine = Handoff::create(way, true).unwrap();
        let theirs = Handoff::adopt(way, mine.inherit().unwrap()).unwrap();
        // The handoff counts tokens and does not merge them.
        post(&theirs).unwrap();
        post(&theirs).unwrap();
        wait(&mine).unwrap();
        wait(&mine).unwrap();
        let poster = thread::spawn(move || {
            for round in 1..=500 {
                while theirs.words().announced.0.load(Relaxed) < round {
                    thread::yield_now();
                }
                theirs.words().posted_ns.0.store(round, Relaxed);
                post(&theirs).unwrap();
            }
        });
        for round in 1..=500 {
            mine.words().announced.0.store(round, Relaxed);
            wait(&mine).unwrap();
            assert_eq!(mine.words().posted_ns.0.load(Relaxed), round, "{way:?} let a wait end without its post");
        }
        poster.join().unwrap();
    }
}

#[test]
fn a_signal_interrupts_a_wait_of_any_way() {
    signal::interrupt_only(libc::SIGUSR2).unwrap();
    for way in WAYS {
        for processes in [false, true] {
            let handoff = Handoff::create(way, processes).unwrap();
            let tid = Arc::new(AtomicI32::new(0));
            let told = Arc::clone(&tid);
            let waiter = thread::spawn(move || {
                told.store(sched::gettid(), Relaxed);
                wait(&handoff)
            });
            // The thread may not be sleeping yet when the first signal comes.
            while !waiter.is_finished() {
                let _ = signal::send_to_thread(tid.load(Relaxed), libc::SIGUSR2);
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(waiter.join().unwrap(), Err(Errno::EINTR), "{way:?}");
        }
    }
}

#[test]
fn numbers_that_are_no_files_are_refused() {
    let handoff = Handoff::create(Way::Pipe, true).unwrap();
    let [memory, reading, _] = handoff.inherit().unwrap();
    assert_eq!(Handoff::adopt(Way::Pipe, [memory, reading, None]).unwrap_err(), Errno::EINVAL);
    assert!(Handoff::adopt(Way::Pipe, [memory, reading, Some(i32::MAX)]).is_err());
    assert!(Handoff::adopt(Way::Semaphore, [reading, None, None]).is_err());
}
