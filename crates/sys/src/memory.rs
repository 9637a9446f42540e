//! Keeping a real-time thread's memory resident.

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

/// Undoes [`lock_on_fault`].
///
/// # Errors
/// None that a correct kernel gives.
pub fn unlock_all() -> Result<(), Errno> {
    // SAFETY: changes only whether pages can be evicted.
    Errno::check(unsafe { libc::munlockall() })?;
    Ok(())
}

/// Locks one region, and makes it resident now.
///
/// # Errors
/// As [`lock_on_fault`].
pub fn lock_region<T>(region: &[T]) -> Result<(), Errno> {
    // SAFETY: the region is borrowed memory of this process; only its residency changes.
    Errno::check(unsafe { libc::mlock(region.as_ptr().cast(), std::mem::size_of_val(region)) })?;
    Ok(())
}

/// Makes a region resident and writable without another page fault: each page is written with what it holds.
///
/// A read would map the shared zero page, and the first write would fault later.
pub fn prefault(region: &mut [u8]) {
    let page = page_size();
    let mut offset = 0;
    while let Some(byte) = region.get_mut(offset) {
        let at = std::ptr::from_mut(byte);
        // SAFETY: the pointer comes from an exclusive reference; volatile, so that writing back what is there stays.
        unsafe { at.write_volatile(at.read_volatile()) };
        offset += page - at as usize % page;
    }
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

/// Bytes in a page.
pub fn page_size() -> usize {
    // SAFETY: sysconf takes a number only.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage;

    #[test]
    fn prefaulted_memory_faults_no_more() {
        // Another test's fork write-protects this process's memory anew: not every attempt meets one.
        let faults = (0..10).map(|_| {
            let mut memory = vec![0u8; 4 << 20];
            prefault(&mut memory);
            let before = usage::of_thread();
            for at in (0..memory.len()).step_by(4096) {
                memory[at] = 1;
            }
            let faults = usage::of_thread().since(before).minor_faults;
            assert_eq!(std::hint::black_box(memory)[0], 1);
            faults
        });
        let faults = faults.min();
        assert!(faults < Some(16), "{faults:?} faults");
    }

    #[test]
    fn prefault_keeps_what_is_there() {
        let mut bytes: Vec<u8> = (0..=255).cycle().take(20_000).collect();
        prefault(&mut bytes[1..]);
        prefault(&mut []);
        assert!(bytes.iter().copied().eq((0..=255).cycle().take(20_000)));
    }

    #[test]
    fn the_stack_is_resident_afterwards() {
        std::thread::spawn(|| {
            prefault_stack();
            let before = usage::of_thread();
            let array = std::hint::black_box([7u8; STACK / 2]);
            let faults = usage::of_thread().since(before).minor_faults;
            assert_eq!((array[9], faults), (7, 0));
        })
        .join()
        .unwrap();
    }
}
