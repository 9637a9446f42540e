//! What a thread used: page faults and context switches.

/// Counts of the calling thread since it started, see getrusage(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Times it gave up the CPU, for example to sleep.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
    /// User time in us.
    pub user_us: u64,
    /// System time in us.
    pub system_us: u64,
}

impl Usage {
    /// The difference to an earlier reading of the same thread.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.wrapping_sub(earlier.minor_faults),
            major_faults: self.major_faults.wrapping_sub(earlier.major_faults),
            voluntary_switches: self.voluntary_switches.wrapping_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.wrapping_sub(earlier.involuntary_switches),
            user_us: self.user_us.wrapping_sub(earlier.user_us),
            system_us: self.system_us.wrapping_sub(earlier.system_us),
        }
    }
}

/// The calling thread's counts so far.
pub fn of_thread() -> Usage {
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is writable; RUSAGE_THREAD exists since Linux 2.6.26, so the call cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let us = |time: libc::timeval| (time.tv_sec as u64).wrapping_mul(1_000_000).wrapping_add(time.tv_usec as u64);
    Usage {
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        user_us: us(usage.ru_utime),
        system_us: us(usage.ru_stime),
    }
}

/// How often the calling thread gave up the CPU so far: one system call, for loops.
#[inline(always)]
pub fn voluntary_switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is writable; the call cannot fail (see above), so the structure is written.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nvcsw as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_a_voluntary_switch_and_fresh_memory_a_fault() {
        let (before, switches) = (of_thread(), voluntary_switches());
        std::thread::sleep(std::time::Duration::from_millis(1));
        let memory = std::hint::black_box(vec![1u8; 8 << 20]);
        let used = of_thread().since(before);
        assert!(voluntary_switches() > switches);
        assert!(used.voluntary_switches >= 1 && used.minor_faults >= 1, "{used:?} {}", memory.len());
    }
}
