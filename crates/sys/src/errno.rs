//! The kernel's error numbers as a type that prints as a sentence.

use std::{ffi::CStr, fmt, io};

/// An error number of the kernel, see errno(3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

impl Errno {
    /// A call was interrupted by a signal handler.
    pub const EINTR: Self = Self(libc::EINTR);
    /// Not permitted.
    pub const EPERM: Self = Self(libc::EPERM);
    /// Not permitted by the rights of a file or a limit.
    pub const EACCES: Self = Self(libc::EACCES);
    /// Not possible in this state.
    pub const EBUSY: Self = Self(libc::EBUSY);
    /// The kernel does not know this argument.
    pub const EINVAL: Self = Self(libc::EINVAL);
    /// No such process or thread.
    pub const ESRCH: Self = Self(libc::ESRCH);
    /// Would block.
    pub const EAGAIN: Self = Self(libc::EAGAIN);

    /// The time limit has passed.
    pub const ETIMEDOUT: Self = Self(libc::ETIMEDOUT);
    /// The kernel does not know this call.
    pub const ENOSYS: Self = Self(libc::ENOSYS);
    /// The kernel knows this, but does not support it here.
    pub const EOPNOTSUPP: Self = Self(libc::EOPNOTSUPP);

    /// Creates it from the positive number in a return value of the kernel.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// Returns the calling thread's last error.
    #[inline]
    pub fn last() -> Self {
        // SAFETY: the C library gives each thread a separate number, which lives as long as the thread.
        Self(unsafe { *libc::__errno_location() })
    }

    /// Returns `Ok` unless the result of a call is -1.
    pub(crate) fn check(result: libc::c_int) -> Result<libc::c_int, Self> {
        if result == -1 { Err(Self::last()) } else { Ok(result) }
    }

    /// Returns `Ok` unless the result of a raw system call is -1.
    pub(crate) fn check_long(result: libc::c_long) -> Result<libc::c_long, Self> {
        if result == -1 { Err(Self::last()) } else { Ok(result) }
    }
}

impl fmt::Display for Errno {
    /// Writes the C library's text and the number: `Operation not permitted (errno 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; 128];
        // SAFETY: the buffer is writable for the length given; the XSI variant writes a terminated string into it.
        let failed = unsafe { libc::strerror_r(self.0, text.as_mut_ptr().cast(), text.len()) } != 0;
        match CStr::from_bytes_until_nul(&text) {
            Ok(text) if !failed => write!(f, "{} (errno {})", text.to_string_lossy(), self.0),
            _ => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_a_sentence() {
        assert_eq!(Errno::EPERM.to_string(), "Operation not permitted (errno 1)");
        assert!(Errno::from_raw(99_999).to_string().contains("99999"));
    }
}
