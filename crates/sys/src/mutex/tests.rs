use super::*;
use crate::sched::{self, Policy};

const EVERY: [(Protocol, bool); 4] =
    [(Protocol::Normal, false), (Protocol::Normal, true), (Protocol::Inherit, false), (Protocol::Inherit, true)];

/// Runs a test on a new thread, which the C library does not know yet.
fn on_a_thread<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::spawn(test).join().unwrap()
}

#[test]
fn a_held_mutex_is_busy_and_an_unlocked_one_is_free() {
    for (protocol, shared) in EVERY {
        let mutex = Mutex::new(protocol, shared).unwrap();
        let held = mutex.lock().unwrap();
        assert_eq!(mutex.try_lock().err(), Some(Errno::EBUSY), "{protocol:?}");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| mutex.try_lock().err());
            assert_eq!(other.join().unwrap(), Some(Errno::EBUSY), "another thread sees it too");
        });
        held.unlock().unwrap();
        drop(mutex.try_lock().unwrap());
        mutex.try_lock().unwrap().unlock().unwrap();
    }
}

#[test]
fn a_row_is_locked_whole_or_not_at_all() {
    for (protocol, shared) in EVERY {
        let row = Mutexes::new(5, protocol, shared).unwrap();
        assert_eq!(row.count(), 5);
        let held = row.lock().unwrap();
        assert_eq!(row.try_lock().err(), Some(Errno::EBUSY));
        held.unlock().unwrap();
        // One mutex in the middle is busy: the ones before it must be free afterwards.
        row.raws[3].lock().unwrap();
        assert_eq!(row.try_lock().err(), Some(Errno::EBUSY));
        row.raws[3].unlock().unwrap();
        drop(row.try_lock().unwrap());
        row.try_lock().unwrap().unlock().unwrap();
    }
}

#[test]
fn a_forgotten_lock_is_no_crash_at_the_end() {
    let mutex = Mutex::new(Protocol::Normal, false).unwrap();
    mem::forget(mutex.lock().unwrap());
    assert!(!mutex.raw.destroy(), "a locked mutex was destroyed");
    drop(mutex);
    let row = Mutexes::new(3, Protocol::Normal, false).unwrap();
    mem::forget(row.lock().unwrap());
    assert_eq!(row.raws.iter().filter(|raw| !raw.destroy()).count(), 3, "a locked mutex was destroyed");
    drop(row);
}

#[test]
fn an_impossible_ceiling_is_refused() {
    assert_eq!(Mutex::new(Protocol::Ceiling(100), false).err(), Some(Errno::EINVAL));
    assert_eq!(Mutex::new(Protocol::Ceiling(0), false).err(), Some(Errno::EINVAL));
}

/// A time-sharing thread gets `EINVAL` from the first lock, as the documentation of [`Protocol::Ceiling`] states.
#[test]
fn a_time_sharing_thread_cannot_lock_a_ceiling() {
    let first = on_a_thread(|| Mutex::new(Protocol::Ceiling(50), false).unwrap().lock().err());
    assert!(first == Some(Errno::EINVAL) || cfg!(not(target_env = "gnu")), "{first:?}");
}

#[test]
fn the_owner_runs_at_the_ceiling() {
    on_a_thread(|| {
        if let Err(refused) = sched::set_policy(0, Policy::Fifo { prio: 5 }, false) {
            assert_eq!(refused, Errno::EPERM);
            eprintln!("skipped: no permission for a real-time policy");
            return;
        }
        let mutex = Mutex::new(Protocol::Ceiling(7), false).unwrap();
        let held = mutex.lock().unwrap();
        assert_eq!(sched::policy(0), Ok(Policy::Fifo { prio: 7 }));
        held.unlock().unwrap();
        assert_eq!(sched::policy(0), Ok(Policy::Fifo { prio: 5 }));
        let low = Mutex::new(Protocol::Ceiling(4), false).unwrap();
        assert_eq!(low.lock().err(), Some(Errno::EINVAL), "a ceiling below the thread's priority");
    });
}
