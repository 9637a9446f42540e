//! Handoffs through a descriptor: 8 bytes in a pipe, or an eventfd as a counter.

use crate::{Errno, descriptor};
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// The two ends; for an eventfd they are the same file.
#[derive(Debug)]
pub struct Descriptors {
    reading: OwnedFd,
    writing: OwnedFd,
}

/// The bytes that each post writes. For an eventfd they increment the counter by one.
const TOKEN: [u8; 8] = 1u64.to_ne_bytes();

impl Descriptors {
    /// Creates a pipe, see pipe(7).
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`.
    pub fn pipe() -> Result<Self, Errno> {
        let mut ends = [-1; 2];
        // SAFETY: the array has room for the two numbers that the call writes.
        Errno::check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        // SAFETY: the descriptors were just opened and have no other owner.
        let [reading, writing] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Self { reading, writing })
    }

    /// Creates a counter that each read decrements by one, see eventfd(2).
    ///
    /// # Errors
    /// As for [`Descriptors::pipe`].
    pub fn eventfd() -> Result<Self, Errno> {
        // SAFETY: takes numbers only.
        let fd = Errno::check(unsafe { libc::eventfd(0, libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC) })?;
        // SAFETY: the descriptor was just opened and has no other owner.
        let reading = unsafe { OwnedFd::from_raw_fd(fd) };
        let writing = reading.try_clone().map_err(|error| number(&error))?;
        Ok(Self { reading, writing })
    }

    /// Takes the two descriptors that this process inherited under these numbers.
    ///
    /// # Errors
    /// `EBADF` for a number without an open file.
    pub fn adopt(reading: i32, writing: i32) -> Result<Self, Errno> {
        Ok(Self { reading: descriptor::take_over(reading)?, writing: descriptor::take_over(writing)? })
    }

    /// Returns the waiting end and the posting end.
    pub fn ends(&self) -> [&OwnedFd; 2] {
        [&self.reading, &self.writing]
    }

    /// Waits for a token and takes it.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        let mut token = [0u8; TOKEN.len()];
        // SAFETY: the buffer is writable for the length given.
        let got = unsafe { libc::read(self.reading.as_raw_fd(), token.as_mut_ptr().cast(), token.len()) };
        whole(got)
    }

    /// Posts a token.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran; `EPIPE` when the reading end is closed.
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        // SAFETY: the buffer is readable for the length given.
        whole(unsafe { libc::write(self.writing.as_raw_fd(), TOKEN.as_ptr().cast(), TOKEN.len()) })
    }
}

/// Checks the result of a read or write. A pipe transfers so few bytes either completely or not at all (PIPE_BUF, pipe(7)); 0 bytes means
/// the end of the file.
#[inline(always)]
fn whole(bytes: isize) -> Result<(), Errno> {
    match bytes {
        -1 => Err(Errno::last()),
        bytes if bytes == TOKEN.len() as isize => Ok(()),
        _ => Err(Errno::from_raw(libc::EPIPE)),
    }
}

fn number(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}
