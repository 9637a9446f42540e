//! Keeping a real-time thread's memory resident, and the process's mappings as they are.

use crate::Errno;

/// Locks all memory of the process, present and future, as it is touched: what is prefaulted stays, and the rest of
/// the binary does not become resident.
///
/// # Errors
/// `EPERM`/`ENOMEM` when RLIMIT_MEMLOCK does not allow it, `EINVAL` before Linux 4.4.
pub fn lock_on_fault() -> Result<(), Errno> {
    // SAFETY: changes only whether pages can be evicted.
    Errno::check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) })?;
    Ok(())
}

/// Gives memory free again that [`lock_on_fault`] locked: for when the loops are over, and much is to be read.
pub fn unlock() {
    // SAFETY: changes only whether pages can be evicted.
    unsafe { libc::munlockall() };
}

/// From now on the C library keeps what is freed, takes all memory from one heap for all threads, and maps nothing
/// apart. Giving memory back changes mappings, and that interrupts every CPU that the process runs on (a TLB shootdown).
/// To be called before other threads are started. Nothing where the C library has no such switches.
pub fn keep_heap() {
    #[cfg(target_env = "gnu")]
    for (switch, value) in [(libc::M_ARENA_MAX, 1), (libc::M_TRIM_THRESHOLD, libc::c_int::MAX), (libc::M_MMAP_MAX, 0)] {
        // SAFETY: takes numbers only.
        unsafe { libc::mallopt(switch, value) };
    }
}

/// Makes room in the heap for so many bytes, after [`keep_heap`], so that what is allocated later changes no mapping. It
/// is address space: memory becomes resident where it is used. False where the kernel does not give it.
pub fn reserve(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let had = room.try_reserve_exact(bytes).is_ok();
    std::hint::black_box(room.as_ptr());
    had
}

/// Lets go of the program's code as far as it is resident: what is needed from here on is mapped again, page by page, and
/// what only the start needed is not. Before memory is locked, since what is locked stays.
pub fn let_go_of_code() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let here = let_go_of_code as fn() as usize;
    let Some((from, to)) = maps.lines().filter_map(code).find(|(from, to)| (*from..*to).contains(&here)) else {
        return;
    };
    // SAFETY: the range is one mapping of a file that is never written to (proc_pid_maps(5): private, not writable), so
    // that every page comes back as it is now.
    unsafe { libc::madvise(from as *mut libc::c_void, to.saturating_sub(from), libc::MADV_DONTNEED) };
}

/// How much of a function [`touch_code`] touches, in bytes.
const FUNCTION: usize = 16 << 10;

/// Makes the beginnings of these functions resident, given by their addresses; what is no code of this program is passed
/// over.
pub fn touch_code(functions: &[usize]) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for function in functions {
        let Some((_, end)) = maps.lines().filter_map(code).find(|(from, to)| (*from..*to).contains(function)) else {
            continue;
        };
        for address in (*function..end.min(function.saturating_add(FUNCTION))).step_by(1 << 10) {
            // SAFETY: inside a mapping of code that is readable (`r-x`) and stays.
            unsafe { (address as *const u8).read_volatile() };
        }
    }
}

/// The range of a line of /proc/PID/maps that is code of a file: executable, and nobody can have changed it.
fn code(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |word| usize::from_str_radix(word, 16).ok();
    let of_file = words.next()? == "r-xp" && words.nth(2).is_some_and(|inode| inode != "0");
    Some((hex(from)?, hex(to)?)).filter(|_| of_file)
}

/// The stack that [`prefault_stack`] makes resident, in bytes.
pub const STACK: usize = 64 << 10;

/// Touches [`STACK`] bytes of the calling thread's stack below the current frame.
#[inline(never)]
pub fn prefault_stack() {
    let mut frame = std::mem::MaybeUninit::<[u8; STACK]>::uninit();
    let start = frame.as_mut_ptr().cast::<u8>();
    for offset in (0..STACK).step_by(1024) {
        // SAFETY: offset is inside the frame's array.
        unsafe { start.add(offset).write_volatile(0) };
    }
    std::hint::black_box(&mut frame);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage;

    #[test]
    fn code_of_files_alone_is_let_go() {
        let line = "55d0c000-55d0f000 r-xp 00012000 fe:00 4242  /usr/bin/latido";
        assert_eq!(code(line), Some((0x55d0_c000, 0x55d0_f000)));
        for other in
            [line.replace("r-xp", "rwxp"), line.replace("r-xp", "r--p"), line.replace("4242 ", "0 "), "x".into()]
        {
            assert_eq!(code(&other), None, "{other}");
        }
    }

    /// Less is resident, and everything goes on.
    #[test]
    fn code_comes_back_when_it_is_needed() {
        let resident = || {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let here = let_go_of_code as fn() as usize;
            let mut inside = false;
            for line in maps.lines() {
                if line.contains("-") && line.contains(" r") {
                    inside = code(line).is_some_and(|(from, to)| (from..to).contains(&here));
                } else if inside && line.starts_with("Rss:") {
                    return line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
                }
            }
            panic!("no code: {maps}");
        };
        // The other tests of this process may need code of their own meanwhile.
        let fewer = (0..50).any(|_| {
            let before = resident();
            let_go_of_code();
            resident() < before
        });
        assert!(fewer);
    }

    #[test]
    fn the_stack_is_resident_afterwards() {
        std::thread::spawn(|| {
            prefault_stack();
            assert_eq!(usage::own_faults(use_stack), 0);
        })
        .join()
        .unwrap();
    }

    /// Needs half of what the test touched, in another frame.
    #[inline(never)]
    fn use_stack() {
        let mut frame = [7u8; STACK / 2];
        std::hint::black_box(&mut frame);
    }
}
