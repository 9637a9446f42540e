//! Requests to character devices (ioctl(2)) with a value, the encoding of their numbers (asm-generic/ioctl.h), and a wait for their events.

use crate::Errno;
use std::{fs::File, os::fd::AsRawFd, time::Duration};

/// Returns the number of a request without a value: `_IO`.
pub(crate) const fn plain(kind: u8, number: u8) -> u64 {
    (kind as u64) << 8 | number as u64
}

/// Returns the number of a request whose value the kernel reads: `_IOW`.
pub(crate) const fn writes<T>(kind: u8, number: u8) -> u64 {
    1 << 30 | (size_of::<T>() as u64) << 16 | plain(kind, number)
}

/// Returns the number of a request whose value the kernel writes: `_IOR`.
pub(crate) const fn reads<T>(kind: u8, number: u8) -> u64 {
    2 << 30 | (size_of::<T>() as u64) << 16 | plain(kind, number)
}

/// Returns the number of a request whose value the kernel reads and writes: `_IOWR`.
pub(crate) const fn exchanges<T>(kind: u8, number: u8) -> u64 {
    writes::<T>(kind, number) | reads::<T>(kind, number)
}

/// Sends a request with a value that consists of numbers only. The kernel may write to it.
///
/// # Errors
/// The error that the device returns.
#[inline(always)]
pub(crate) fn ask<T: Copy>(file: &File, request: u64, value: &mut T) -> Result<(), Errno> {
    // SAFETY: the value has the size that is part of the request's number, is writable, and lives through the call; `plain` requests that
    // come here take no value.
    Errno::check(unsafe { libc::ioctl(file.as_raw_fd(), request as _, std::ptr::from_mut(value)) }).map(drop)
}

/// Waits for data to read, and returns whether there were any in time.
///
/// # Errors
/// `EINTR` when a signal handler ran.
#[inline(always)]
pub(crate) fn came(file: &File, within: Duration) -> Result<bool, Errno> {
    let mut ready = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let ms = libc::c_int::try_from(within.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one structure, writable, outlives the call.
    Ok(Errno::check(unsafe { libc::poll(&mut ready, 1, ms) })? > 0)
}

/// Reads data from a device; they consist of numbers only. Returns the number of bytes.
///
/// # Errors
/// Those of read(2).
#[inline(always)]
pub(crate) fn take<T: Copy>(file: &File, value: &mut T) -> Result<usize, Errno> {
    // SAFETY: all bytes of the value are writable, and any bytes are a valid value.
    let got = unsafe { libc::read(file.as_raw_fd(), std::ptr::from_mut(value).cast(), size_of::<T>()) };
    usize::try_from(got).map_err(|_| Errno::last())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    /// Returns the values of expressions in the kernel's headers, by the C compiler; `None` without a compiler or without the headers.
    pub(crate) fn by_headers(headers: &[&str], expressions: &[&str]) -> Option<Vec<u64>> {
        let dir =
            std::env::temp_dir().join(format!("latido-headers-{}-{}", std::process::id(), headers.join("").len()));
        std::fs::create_dir_all(&dir).ok()?;
        let includes: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
        let prints: String =
            expressions.iter().map(|one| format!("printf(\"%lu\\n\", (unsigned long)({one}));")).collect();
        let source = format!(
            "#include <stddef.h>\n#include <stdio.h>\n#include <sys/ioctl.h>\n{includes}int main(void){{{prints}return 0;}}\n"
        );
        let (file, program) = (dir.join("told.c"), dir.join("told"));
        std::fs::write(&file, source).ok()?;
        let built = Command::new("cc").arg("-o").args([&program, &file]).output();
        if !built.as_ref().is_ok_and(|built| built.status.success()) {
            eprintln!("skipped: the comparison with {}: {built:?}", headers.join(" and "));
        }
        let told = built.ok().filter(|built| built.status.success()).and_then(|_| Command::new(&program).output().ok());
        let _ = std::fs::remove_dir_all(&dir);
        let told = String::from_utf8(told?.stdout).ok()?;
        Some(told.lines().filter_map(|line| line.parse().ok()).collect())
    }
}
