//! Open files that go from one process to its child under their numbers.

use crate::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Lets children inherit a descriptor under its number.
///
/// # Errors
/// None that a correct kernel gives for an open descriptor.
pub fn inherit(fd: &OwnedFd) -> Result<i32, Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) })?;
    Ok(fd.as_raw_fd())
}

/// Writes bytes to an open descriptor in one call, as write(2) does: without a buffer, a lock or memory. What the kernel does not take is
/// not written.
pub fn write_once(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the bytes are borrowed for the call; a number that is no open descriptor is refused by the kernel.
    let _taken = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
}

/// A descriptor of this process's own for what is open under a number.
///
/// # Errors
/// `EBADF` for a number that is no open file.
pub fn take_over(number: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: takes numbers only; a copy, since whoever opened the number owns that.
    let copy = Errno::check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the descriptor was just opened and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
