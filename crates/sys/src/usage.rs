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

/// The page faults of a piece of work that are its own: for tests of what must cause none. A thread that touches a page
/// while the kernel moves it has a minor fault, whatever the thread does; so many are left out as pages were moved.
pub fn own_faults(work: impl FnOnce()) -> u64 {
    let moved_before = moved_pages();
    let before = of_thread();
    work();
    let Usage { minor_faults, major_faults, .. } = of_thread().since(before);
    let look = || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        // In this order: what has gone to sleep has counted.
        let at_work = compacts();
        (moved_pages(), at_work)
    };
    unexplained(minor_faults, moved_before, moved_pages(), look) + major_faults
}

/// Of so many faults those that no page explains that the kernel has moved. It counts pages when it has done with all of a batch
/// (mm/migrate.c, `migrate_pages`), which may be after the fault: so `look` is called, which gives the count and whether the
/// kernel compacts memory, until the count stands still while it is not.
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

/// How many pages the kernel has moved, or has tried to move, since it started; 0 where it does not count them.
fn moved_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let counts = text.lines().filter_map(|line| line.strip_prefix("pgmigrate_")?.split_once(' '));
    counts
        .filter(|(name, _)| ["success", "fail"].contains(name))
        .filter_map(|(_, count)| count.parse::<u64>().ok())
        .sum()
}

/// Whether a thread of the kernel that moves pages is anything but asleep (proc_pid_stat(5)); false where none can be seen.
fn compacts() -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.any(|stat| stat.contains("(kcompactd") && ![") S ", ") I "].iter().any(|asleep| stat.contains(asleep)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that the kernel counts late explain faults as well. `unexplained` returns the faults that nothing explains, and ends.
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
