//! Open files that a process passes to its child under their numbers.

use crate::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Lets children inherit a descriptor under its number.
///
/// # Errors
/// None with a correct kernel and an open descriptor.
pub fn inherit(fd: &OwnedFd) -> Result<i32, Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) })?;
    Ok(fd.as_raw_fd())
}

/// Writes bytes to an open descriptor in one call, as write(2) does: without a buffer, a lock or an allocation. Bytes that the kernel does
/// not take are lost.
pub fn write_once(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the bytes are borrowed for the call; the kernel refuses a number that is not an open descriptor.
    let _taken = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
}

/// Returns a new descriptor of this process for the file that is open under a number.
///
/// # Errors
/// `EBADF` for a number without an open file.
pub fn take_over(number: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: takes numbers only. It makes a copy, since the number has another owner.
    let copy = Errno::check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the descriptor was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
