//! The resources that a thread used: page faults, context switches, CPU time.

/// Counts of the calling thread since it started; see getrusage(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// How often the thread gave up the CPU, for example to sleep.
    pub voluntary_switches: u64,
    /// How often the thread was preempted.
    pub involuntary_switches: u64,
    /// User time in us.
    pub user_us: u64,
    /// System time in us.
    pub system_us: u64,
}

impl Usage {
    /// Returns the difference to an earlier reading of the same thread.
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

/// Returns the calling thread's counts so far.
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

/// Returns how often the calling thread has given up the CPU so far. It makes one system call, so loops can use it.
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

/// Returns the page faults that `work` itself causes, for tests of code that must cause none. A thread that touches a page while the kernel
/// moves it takes a minor fault, whatever the thread does. So the function subtracts one fault per moved page.
pub fn own_faults(work: impl FnOnce()) -> u64 {
    let moved_before = moved_pages();
    let before = of_thread();
    work();
    let Usage { minor_faults, major_faults, .. } = of_thread().since(before);
    let look = || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        // The order matters: a compaction thread that sleeps has already counted its pages.
        let at_work = compacts();
        (moved_pages(), at_work)
    };
    unexplained(minor_faults, moved_before, moved_pages(), look) + major_faults
}

/// Returns how many of the `faults` no moved page explains. The kernel counts moved pages when it has finished a whole batch (mm/migrate.c,
/// `migrate_pages`), which may be after the fault. `look` returns that count, and whether the kernel is compacting memory. The function
/// calls `look` until the count no longer changes and the kernel does not compact.
fn unexplained(faults: u64, before: u64, mut moved: u64, mut look: impl FnMut() -> (u64, bool)) -> u64 {
    loop {
        let left = faults.saturating_sub(moved.saturating_sub(before));
        if left == 0 {
            return 0;
        }
        let (now, at_work) = look();
        if now == moved && !at_work {
            return left;
        }
        moved = now;
    }
}

/// Returns how many pages the kernel has moved, or has tried to move, since boot; 0 if it does not count them.
fn moved_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let counts = text.lines().filter_map(|line| line.strip_prefix("pgmigrate_")?.split_once(' '));
    counts
        .filter(|(name, _)| ["success", "fail"].contains(name))
        .filter_map(|(_, count)| count.parse::<u64>().ok())
        .sum()
}

/// Returns whether a kernel thread that moves pages is not asleep (proc_pid_stat(5)); false if no such thread is visible.
fn compacts() -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.any(|stat| stat.contains("(kcompactd") && ![") S ", ") I "].iter().any(|asleep| stat.contains(asleep)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that the kernel counts late must explain faults as well. `unexplained` must return the faults that nothing explains, and must
    /// end.
    #[test]
    fn pages_that_the_kernel_moved_explain_faults() {
        let told = |faults, looks: &[(u64, bool)]| {
            let mut looks = looks.iter().copied();
            let told = unexplained(faults, 100, 101, || looks.next().unwrap());
            (told, looks.len())
        };
        assert_eq!(told(1, &[]), (0, 0), "counted already");
        assert_eq!(told(3, &[(101, true), (101, true), (130, true)]), (0, 0), "counted when the batch had ended");
        assert_eq!(told(3, &[(102, false), (102, false)]), (1, 0), "one is left");
        assert_eq!(told(3, &[(101, false), (200, false)]), (2, 1), "the count stands still");
    }

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
