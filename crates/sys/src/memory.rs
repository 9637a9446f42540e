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
