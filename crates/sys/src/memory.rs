//! Keeps a real-time thread's memory resident, and the process's mappings unchanged.

use crate::Errno;

/// Locks all memory of the process, present and future, when it is first touched: prefaulted memory stays resident, and the rest of the
/// binary does not become resident.
///
/// # Errors
/// `EPERM`/`ENOMEM` when RLIMIT_MEMLOCK does not allow it, `EINVAL` before Linux 4.4.
pub fn lock_on_fault() -> Result<(), Errno> {
    // SAFETY: changes only whether pages can be evicted.
    Errno::check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) })?;
    Ok(())
}

/// Unlocks the memory that [`lock_on_fault`] locked, after the loops, before the process reads large files.
pub fn unlock() {
    // SAFETY: changes only whether pages can be evicted.
    unsafe { libc::munlockall() };
}

/// Makes the C library keep freed memory, use one heap for all threads, and map no separate blocks. Returning memory to the kernel changes
/// mappings, which interrupts every CPU that the process runs on (a TLB shootdown). Call this before starting other threads. It does
/// nothing if the C library has no such settings.
pub fn keep_heap() {
    #[cfg(target_env = "gnu")]
    for (switch, value) in [(libc::M_ARENA_MAX, 1), (libc::M_TRIM_THRESHOLD, libc::c_int::MAX), (libc::M_MMAP_MAX, 0)] {
        // SAFETY: takes numbers only.
        unsafe { libc::mallopt(switch, value) };
    }
}

/// Reserves `bytes` bytes in the heap, after [`keep_heap`], so that later allocations change no mapping. It reserves address space: memory
/// becomes resident when used. Returns false if the kernel refuses it.
pub fn reserve(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let had = room.try_reserve_exact(bytes).is_ok();
    std::hint::black_box(room.as_ptr());
    had
}

/// Evicts the program's code from memory: the kernel maps pages again when the program needs them, but not those that only the start
/// needed. Call this before locking memory, since locked memory stays.
pub fn let_go_of_code() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let here = let_go_of_code as fn() as usize;
    let Some((from, to)) = maps.lines().filter_map(code).find(|(from, to)| (*from..*to).contains(&here)) else {
        return;
    };
    // SAFETY: the range is one mapping of a file that is never written (proc_pid_maps(5): private, not writable), so that every page comes
    // back unchanged.
    unsafe { libc::madvise(from as *mut libc::c_void, to.saturating_sub(from), libc::MADV_DONTNEED) };
}

/// How much of a function [`touch_code`] touches, in bytes.
const FUNCTION: usize = 16 << 10;

/// Makes the beginnings of the functions at these addresses resident. It skips addresses that are not code of this program.
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

/// Returns the range of a line of /proc/PID/maps if it is code from a file: executable, and not writable.
fn code(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |word| usize::from_str_radix(word, 16).ok();
    let of_file = words.next()? == "r-xp" && words.nth(2).is_some_and(|inode| inode != "0");
    Some((hex(from)?, hex(to)?)).filter(|_| of_file)
}

/// The amount of stack that [`prefault_stack`] makes resident, in bytes.
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

    /// Less code is resident afterwards, and everything still works.
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
        // The other tests in this process may need other code meanwhile.
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

    /// Uses half of the stack that the test touched, in another frame.
    #[inline(never)]
    fn use_stack() {
        let mut frame = [7u8; STACK / 2];
        std::hint::black_box(&mut frame);
    }
}
