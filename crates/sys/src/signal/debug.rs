//! SIGDEBUG: the signal by which a real-time core tells one of its threads why the thread went in-band.
//!
//! Its number is that of SIGXCPU, so that it has the handler of [`catch_overruns`](super::catch_overruns). Both cores mark its value.

use crate::{Errno, cokernel::Core};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many causes latido counts apart. The last one has every cause from this number on.
pub const CAUSES: usize = 16;

/// `sigdebug_marker` of both cores: the upper half of the value of each such signal.
const MARKER: u32 = 0xfccf_0000;

static COUNTS: [AtomicU64; CAUSES] = [const { AtomicU64::new(0) }; CAUSES];

/// Returns the cause that the value of a SIGXCPU carries, or `None` when no core sent the signal.
const fn cause(value: u32) -> Option<u8> {
    // `sigdebug_marked` and `sigdebug_cause`, in include/uapi/evl/signal.h and in include/cobalt/uapi/signal.h.
    if value & 0xffff_0000 == MARKER { Some((value & 0xff) as u8) } else { None }
}

/// Counts the signal if a core sent it. Returns whether a core did.
pub(super) fn counted(value: u32) -> bool {
    let Some(cause) = cause(value) else { return false };
    let place = usize::from(cause).min(CAUSES - 1);
    if let Some(count) = COUNTS.get(place) {
        count.fetch_add(1, Relaxed);
    }
    true
}

/// Counts these signals from now on, for all threads of this process. Overruns are counted too, as before.
///
/// Without a handler the signal ends the process.
///
/// # Errors
/// A correct kernel returns no error here.
pub fn catch() -> Result<(), Errno> {
    super::catch_overruns()
}

/// Returns how many signals each cause has sent to this process, by the number of the cause. A run takes the difference of two calls.
pub fn counts() -> [u64; CAUSES] {
    let mut counts = [0; CAUSES];
    for (to, from) in counts.iter_mut().zip(&COUNTS) {
        *to = from.load(Relaxed);
    }
    counts
}

/// Returns what the number of a cause means, or `None` for a number that latido does not know.
pub const fn name(core: Core, cause: usize) -> Option<&'static str> {
    Some(match (core, cause) {
        // Both cores have these three.
        (_, 1) => "a signal of Linux",
        (_, 2) => "a system call of Linux",
        (_, 3) => "a fault",
        // EVL_HMDIAG_* of include/uapi/evl/thread-abi.h. They are equal in the kernels with ABI 34 (khadas/linux), 36
        // (steleman/xenomai-fc39) and later (k3k8/linux-evl).
        (Core::Evl, 4) => "the watchdog",
        (Core::Evl, 5) => "in-band with a mutex",
        (Core::Evl, 6) => "more unlocks than locks of a mutex",
        (Core::Evl, 7) => "a sleep with a mutex",
        (Core::Evl, 8) => "locked out by in-band code",
        (Core::Evl, 9) => "a missed turn of its schedule",
        // SIGDEBUG_* of include/cobalt/uapi/signal.h, equal in Xenomai 3.2 and 3.3.1 (xenomai-ci/xenomai).
        (Core::Cobalt, 0) => "no stated cause",
        (Core::Cobalt, 4) => "a priority inversion",
        (Core::Cobalt, 5) => "memory that is not locked",
        (Core::Cobalt, 6) => "the watchdog",
        (Core::Cobalt, 7) => "more unlocks than locks of a resource",
        (Core::Cobalt, 8) => "a sleep with the scheduler locked",
        (Core::Cobalt, 9) => "a sleep with a mutex",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// siginfo_t of a queued signal on 64 bits, up to its value.
    #[cfg(target_pointer_width = "64")]
    #[repr(C)]
    struct Queued {
        signal: i32,
        errno: i32,
        code: i32,
        spare: i32,
        pid: i32,
        uid: u32,
        value: u64,
        rest: [u64; 12],
    }

    /// Sends the calling thread a SIGXCPU with a value, as a core does.
    #[cfg(target_pointer_width = "64")]
    fn send(value: u32) {
        let (tid, pid) = (crate::sched::gettid(), std::process::id());
        let told = Queued {
            signal: libc::SIGXCPU,
            errno: 0,
            code: libc::SI_QUEUE,
            spare: 0,
            pid: pid as i32,
            uid: 0,
            value: u64::from(value),
            rest: [0; 12],
        };
        assert_eq!(size_of::<Queued>(), size_of::<libc::siginfo_t>());
        // SAFETY: the structure has the size and layout of siginfo_t, and outlives the call.
        let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, libc::SIGXCPU, &told) };
        assert_eq!(sent, 0);
    }

    #[test]
    fn the_marker_tells_a_core_from_the_scheduler() {
        assert_eq!([0xfccf_0002, 0xfccf_00ff].map(cause), [Some(2), Some(255)]);
        assert_eq!([0, 2, 0xfcce_0002, 0xffff_ffff].map(cause), [None; 4]);
    }

    /// One handler counts both kinds of SIGXCPU, each where it belongs.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn causes_are_counted_apart_from_overruns() {
        catch().unwrap();
        let (before, overruns) = (counts(), super::super::overruns());
        for value in [MARKER | 2, MARKER | 2, MARKER | 3, MARKER | 200, 0] {
            send(value);
        }
        let new: Vec<u64> = counts().iter().zip(before).map(|(now, before)| now - before).collect();
        assert_eq!((new[2], new[3], new[CAUSES - 1]), (2, 1, 1), "{new:?}");
        assert_eq!(new.iter().sum::<u64>(), 4);
        assert_eq!(super::super::overruns(), overruns + 1, "the signal without the marker");
    }

    #[test]
    fn every_core_names_its_causes() {
        let known = |core| (0..CAUSES).filter(|&cause| name(core, cause).is_some()).collect::<Vec<_>>();
        assert_eq!(known(Core::Evl), (1..=9).collect::<Vec<_>>());
        assert_eq!(known(Core::Cobalt), (0..=9).collect::<Vec<_>>());
        assert_eq!(name(Core::Evl, 4), Some("the watchdog"));
        assert_eq!(name(Core::Cobalt, 4), Some("a priority inversion"));
    }
}
