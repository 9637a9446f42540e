//! The calling thread's priority as the C library sets it: pthread_setschedparam(3) and pthread_setschedprio(3).
//!
//! The C library remembers the priority that it set, or the one that it found when it first looked. After `sched::set_policy` alone it
//! would raise a thread to a ceiling from that outdated priority.

use crate::Errno;
use std::marker::PhantomData;

/// A policy that has priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realtime {
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    Rr,
}

impl Realtime {
    const fn number(self) -> libc::c_int {
        match self {
            Self::Fifo => libc::SCHED_FIFO,
            Self::Rr => libc::SCHED_RR,
        }
    }
}

/// The calling thread; the value cannot leave this thread.
#[derive(Debug)]
pub struct Own {
    thread: libc::pthread_t,
    stays: PhantomData<*const ()>,
}

impl Own {
    /// Returns the calling thread.
    pub fn thread() -> Self {
        // SAFETY: takes nothing and cannot fail.
        Self { thread: unsafe { libc::pthread_self() }, stays: PhantomData }
    }

    /// Calls pthread_setschedparam(3): sets policy and priority, 1 to 99.
    ///
    /// # Errors
    /// `EPERM` without the permission, `EINVAL` for an impossible priority.
    #[inline(always)]
    pub fn set_param(&self, policy: Realtime, prio: u8) -> Result<(), Errno> {
        let param = libc::sched_param { sched_priority: prio.into() };
        // SAFETY: the thread is the calling one, so it is alive; the structure outlives the call.
        outcome(unsafe { libc::pthread_setschedparam(self.thread, policy.number(), &param) })
    }

    /// Calls pthread_setschedprio(3): sets the priority alone, 1 to 99 under a real-time policy.
    ///
    /// # Errors
    /// `EPERM` without the permission, `EINVAL` for a priority that the policy does not have.
    #[inline(always)]
    pub fn set_prio(&self, prio: u8) -> Result<(), Errno> {
        // SAFETY: the thread is the calling one, so it is alive.
        outcome(unsafe { libc::pthread_setschedprio(self.thread, prio.into()) })
    }
}

#[inline(always)]
fn outcome(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(Errno::from_raw(result)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::{self, Policy};

    #[test]
    fn what_was_set_is_in_force() {
        std::thread::spawn(|| {
            let own = Own::thread();
            if let Err(refused) = own.set_param(Realtime::Rr, 4) {
                assert_eq!(refused, Errno::EPERM);
                eprintln!("skipped: no permission for a real-time policy");
                return;
            }
            assert_eq!(sched::policy(0), Ok(Policy::Rr { prio: 4 }));
            own.set_prio(3).unwrap();
            assert_eq!(sched::policy(0), Ok(Policy::Rr { prio: 3 }));
            own.set_param(Realtime::Fifo, 2).unwrap();
            assert_eq!(sched::policy(0), Ok(Policy::Fifo { prio: 2 }));
            assert_eq!(own.set_prio(100), Err(Errno::EINVAL));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_time_sharing_thread_has_no_priority_to_set() {
        std::thread::spawn(|| assert_eq!(Own::thread().set_prio(1), Err(Errno::EINVAL))).join().unwrap();
    }
}
