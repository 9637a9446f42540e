//! Policy, priority, affinity and timer slack of a thread.
//!
//! latido sets and reads policies with the raw system calls sched_setattr and sched_getattr: musl refuses sched_setscheduler, and only
//! these calls support SCHED_DEADLINE.

use crate::{Errno, layout::layout};
use std::fmt;

/// A scheduling policy with exactly the parameters that it has; see sched(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// SCHED_OTHER, the time-sharing default.
    Other {
        /// Nice value, -20 to 19.
        nice: i8,
    },
    /// SCHED_BATCH: time-sharing whose threads never preempt another when they wake.
    Batch {
        /// Nice value, -20 to 19.
        nice: i8,
    },
    /// SCHED_IDLE: runs when no other task wants to.
    Idle,
    /// SCHED_FIFO.
    Fifo {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// SCHED_RR.
    Rr {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// SCHED_DEADLINE. The thread gets SIGXCPU when it overruns its budget.
    Deadline {
        /// Budget in each period, in ns.
        runtime_ns: u64,
        /// Relative deadline, in ns.
        deadline_ns: u64,
        /// Period of replenishment, in ns.
        period_ns: u64,
    },
    /// Any other policy. It is only read back, never set.
    Unknown {
        /// The kernel's number.
        number: u32,
    },
}

impl fmt::Display for Policy {
    /// Formats the policy as tables show it: `fifo 80`, `other`, `other nice -5`, `deadline 200us/1000us/1000us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Other { nice: 0 } => f.write_str("other"),
            Self::Other { nice } => write!(f, "other nice {nice}"),
            Self::Batch { nice: 0 } => f.write_str("batch"),
            Self::Batch { nice } => write!(f, "batch nice {nice}"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo { prio } => write!(f, "fifo {prio}"),
            Self::Rr { prio } => write!(f, "rr {prio}"),
            Self::Deadline { runtime_ns, deadline_ns, period_ns } => {
                write!(f, "deadline {}us/{}us/{}us", runtime_ns / 1000, deadline_ns / 1000, period_ns / 1000)
            }
            Self::Unknown { number } => write!(f, "policy {number}"),
        }
    }
}

/// struct sched_attr of sched_setattr(2), first published version.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

// include/uapi/linux/sched/types.h: the fields up to SCHED_ATTR_SIZE_VER0, all of fixed size; the same for 64 and 32 bits.
layout!(SchedAttr: 48, align 8, {
    size: 0,
    policy: 4,
    flags: 8,
    nice: 16,
    priority: 20,
    runtime: 24,
    deadline: 32,
    period: 40,
});

const SIZE: u32 = size_of::<SchedAttr>() as u32;
const OTHER: u32 = libc::SCHED_OTHER as u32;
const FIFO: u32 = libc::SCHED_FIFO as u32;
const RR: u32 = libc::SCHED_RR as u32;
const BATCH: u32 = libc::SCHED_BATCH as u32;
const IDLE: u32 = libc::SCHED_IDLE as u32;
const DEADLINE: u32 = 6;
const FLAG_RESET_ON_FORK: u64 = 0x01;
const FLAG_DL_OVERRUN: u64 = 0x04;

/// Sets the policy of a thread; 0 means the calling one. With `reset_on_fork` the thread's children and new threads start as SCHED_OTHER.
///
/// # Errors
/// `EPERM` without the permission (RLIMIT_RTPRIO, CAP_SYS_NICE, or a control group without real-time budget), `EINVAL` for impossible
/// parameters (a deadline period under 100 us), `EBUSY` when the deadline budgets do not fit, `EPERM` for a deadline thread whose affinity
/// is less than its root domain.
pub fn set_policy(tid: i32, policy: Policy, reset_on_fork: bool) -> Result<(), Errno> {
    let flags = if reset_on_fork { FLAG_RESET_ON_FORK } else { 0 };
    let base = SchedAttr { size: SIZE, flags, ..SchedAttr::default() };
    let attributes = match policy {
        Policy::Other { nice } => SchedAttr { policy: OTHER, nice: i32::from(nice), ..base },
        Policy::Batch { nice } => SchedAttr { policy: BATCH, nice: i32::from(nice), ..base },
        Policy::Idle => SchedAttr { policy: IDLE, ..base },
        Policy::Fifo { prio } => SchedAttr { policy: FIFO, priority: u32::from(prio), ..base },
        Policy::Rr { prio } => SchedAttr { policy: RR, priority: u32::from(prio), ..base },
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => SchedAttr {
            policy: DEADLINE,
            flags: flags | FLAG_DL_OVERRUN,
            runtime: runtime_ns,
            deadline: deadline_ns,
            period: period_ns,
            ..base
        },
        Policy::Unknown { .. } => return Err(Errno::EINVAL),
    };
    // SAFETY: the structure outlives the call and its size field is correct.
    Errno::check_long(unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &attributes, 0u32) })?;
    Ok(())
}

/// Reads back the policy of a thread; 0 means the calling one.
///
/// # Errors
/// `ESRCH` when there is no such thread.
pub fn policy(tid: i32) -> Result<Policy, Errno> {
    let mut attributes = SchedAttr::default();
    // SAFETY: the structure is writable for the size given.
    Errno::check_long(unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &mut attributes, SIZE, 0u32) })?;
    let prio = u8::try_from(attributes.priority).unwrap_or(u8::MAX);
    Ok(match attributes.policy {
        OTHER => Policy::Other { nice: i8::try_from(attributes.nice).unwrap_or(0) },
        BATCH => Policy::Batch { nice: i8::try_from(attributes.nice).unwrap_or(0) },
        IDLE => Policy::Idle,
        FIFO => Policy::Fifo { prio },
        RR => Policy::Rr { prio },
        DEADLINE => Policy::Deadline {
            runtime_ns: attributes.runtime,
            deadline_ns: attributes.deadline,
            period_ns: attributes.period,
        },
        number => Policy::Unknown { number },
    })
}

/// Sets the nice value of the calling thread, -20 to 19, with setpriority(2) (on Linux the value applies to one thread).
///
/// # Errors
/// `EACCES` or `EPERM` without the permission (RLIMIT_NICE, CAP_SYS_NICE).
pub fn set_nice(nice: i8) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(nice)) })?;
    Ok(())
}

/// Returns the time slice of a SCHED_RR thread in ns; 0 means the calling one.
///
/// # Errors
/// `ESRCH` when there is no such thread.
pub fn rr_slice_ns(tid: i32) -> Result<u64, Errno> {
    let mut slice = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable.
    Errno::check(unsafe { libc::sched_rr_get_interval(tid, &mut slice) })?;
    Ok((slice.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(slice.tv_nsec as u64))
}

/// Returns the CPU that the calling thread is on at this moment, or `None` if the kernel does not report it.
pub fn current_cpu() -> Option<u32> {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Gives up the CPU to other threads of the same priority. A SCHED_DEADLINE thread gives up the rest of its budget until the next period.
#[inline(always)]
pub fn give_up() {
    // SAFETY: takes nothing; on Linux it always succeeds.
    unsafe { libc::sched_yield() };
}

/// Returns the calling thread's id.
pub fn gettid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// 64-bit words of a CPU mask: the mask of a call can name 8192 CPUs.
const MASK_WORDS: usize = 128;
const WORD_BITS: usize = u64::BITS as usize;

/// Lets a thread (0: the calling one) run on the given CPUs only.
///
/// # Errors
/// `EINVAL` when no given CPU is online and allowed, or for a CPU above 8191; `EBUSY` for a deadline thread.
pub fn set_affinity(tid: i32, cpus: impl IntoIterator<Item = u32>) -> Result<(), Errno> {
    let mut mask = [0u64; MASK_WORDS];
    for cpu in cpus {
        let word = mask.get_mut(cpu as usize / WORD_BITS).ok_or(Errno::EINVAL)?;
        *word |= 1 << (cpu as usize % WORD_BITS);
    }
    // SAFETY: the mask is readable for the size given.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, std::mem::size_of_val(&mask), mask.as_ptr()) };
    Errno::check_long(result)?;
    Ok(())
}

/// Returns the CPUs that a thread (0: the calling one) may run on, in ascending order.
///
/// # Errors
/// `ESRCH` when there is no such thread.
pub fn affinity(tid: i32) -> Result<Vec<u32>, Errno> {
    let mut mask = [0u64; MASK_WORDS];
    // SAFETY: the mask is writable for the size given.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, std::mem::size_of_val(&mask), mask.as_mut_ptr()) };
    Errno::check_long(result)?;
    let words = (0u32..).step_by(WORD_BITS).zip(mask);
    Ok(words
        .flat_map(|(first, word)| (0..u64::BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit))
        .collect())
}

/// Returns the timer slack of the calling thread in ns: how much later the kernel may deliberately wake it. Real-time threads have no
/// slack.
///
/// # Errors
/// A correct kernel returns no error here.
pub fn timer_slack() -> Result<u64, Errno> {
    // The raw call, since the C library's prctl returns an int.
    // SAFETY: takes numbers only.
    let slack = Errno::check_long(unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) })?;
    Ok(slack as u64)
}

/// Sets the timer slack of the calling thread, in ns; 0 means the default.
///
/// # Errors
/// A correct kernel returns no error here.
pub fn set_timer_slack(ns: u64) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test on a new thread, because the settings stay with the thread.
    fn on_a_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn what_was_set_is_read_back() {
        on_a_thread(|| {
            set_policy(0, Policy::Other { nice: 5 }, false).unwrap();
            assert_eq!(policy(0), Ok(Policy::Other { nice: 5 }));
            for wanted in [Policy::Fifo { prio: 3 }, Policy::Rr { prio: 7 }] {
                match set_policy(0, wanted, true) {
                    Ok(()) => assert_eq!(policy(0), Ok(wanted)),
                    Err(refused) => assert_eq!(refused, Errno::EPERM),
                }
            }
        });
    }

    #[test]
    fn a_deadline_thread_reads_back_its_budget() {
        on_a_thread(|| {
            let wanted = Policy::Deadline { runtime_ns: 1_000_000, deadline_ns: 5_000_000, period_ns: 10_000_000 };
            match set_policy(0, wanted, false) {
                Ok(()) => assert_eq!(policy(0), Ok(wanted)),
                Err(refused) => assert!([Errno::EPERM, Errno::EBUSY].contains(&refused), "{refused}"),
            }
        });
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert_eq!(set_policy(0, Policy::Fifo { prio: 100 }, false), Err(Errno::EINVAL));
        assert_eq!(set_policy(0, Policy::Unknown { number: 5 }, false), Err(Errno::EINVAL));
        assert_eq!(policy(i32::MAX), Err(Errno::ESRCH));
        assert_eq!(set_affinity(0, [70_000]), Err(Errno::EINVAL));
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_pinned() {
        on_a_thread(|| {
            let allowed = affinity(0).unwrap();
            let last = *allowed.last().unwrap();
            set_affinity(0, [last]).unwrap();
            assert_eq!(affinity(0), Ok(vec![last]));
            // SAFETY: takes nothing.
            assert_eq!(unsafe { libc::sched_getcpu() }, last as i32);
        });
    }

    #[test]
    fn timer_slack_is_read_back() {
        on_a_thread(|| {
            set_timer_slack(1).unwrap();
            assert_eq!(timer_slack(), Ok(1));
        });
    }
}
