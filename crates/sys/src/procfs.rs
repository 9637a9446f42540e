//! Files of /proc that a measuring thread reads: it opens them once, then reads them into its stack without allocation.

use crate::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The scheduler's statistics of one thread; see "schedstat" in the kernel's sched-stats documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on a CPU, in ns.
    pub run_ns: u64,
    /// Time runnable without running, in ns: it grows when the thread is preempted.
    pub delay_ns: u64,
    /// Number of time slices run.
    pub slices: u64,
}

/// The calling thread's open /proc/thread-self/schedstat.
#[derive(Debug)]
pub struct SchedStatFile(OwnedFd);

impl SchedStatFile {
    /// Opens the file of the calling thread. The file keeps reporting that thread, whichever thread reads it.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has no CONFIG_SCHED_INFO or /proc is not mounted.
    pub fn open() -> Result<Self, Errno> {
        // SAFETY: the path is a terminated string.
        let fd = unsafe { libc::open(c"/proc/thread-self/schedstat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        Errno::check(fd)?;
        // SAFETY: the descriptor was just opened and no other code has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Reads the file with one system call and no allocation. Returns `None` if the kernel did not print three numbers.
    #[inline]
    pub fn read(&self) -> Option<SchedStat> {
        let mut text = [0u8; 96];
        // SAFETY: the buffer is writable for the length given.
        let got = unsafe { libc::pread64(self.0.as_raw_fd(), text.as_mut_ptr().cast(), text.len(), 0) };
        parse(text.get(..usize::try_from(got).ok()?)?)
    }
}

fn parse(text: &[u8]) -> Option<SchedStat> {
    let (run_ns, rest) = number(text)?;
    let (delay_ns, rest) = number(rest)?;
    let (slices, _) = number(rest)?;
    Some(SchedStat { run_ns, delay_ns, slices })
}

/// Parses the first decimal number after blanks. Returns it and the text that follows it.
fn number(mut text: &[u8]) -> Option<(u64, &[u8])> {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    let [b'0'..=b'9', ..] = text else { return None };
    let mut value = 0u64;
    while let [digit @ b'0'..=b'9', rest @ ..] = text {
        value = value.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))?;
        text = rest;
    }
    Some((value, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_the_kernel_prints() {
        let expected = SchedStat { run_ns: 1_234_567, delay_ns: 89, slices: 3 };
        assert_eq!(parse(b"1234567 89 3\n"), Some(expected));
        for junk in [&b""[..], b"1 2", b"1 x 3", b"99999999999999999999999 1 1", b"\n"] {
            assert_eq!(parse(junk), None, "{junk:?}");
        }
    }

    #[test]
    fn run_time_grows() {
        if !std::path::Path::new("/proc/thread-self/schedstat").exists() {
            eprintln!("skipped: a kernel without CONFIG_SCHED_INFO");
            return;
        }
        let file = SchedStatFile::open().unwrap();
        let before = file.read().unwrap();
        let until = crate::clock::thread_cpu_ns() + 20_000_000;
        while crate::clock::thread_cpu_ns() < until {}
        std::thread::yield_now();
        assert!(file.read().unwrap().run_ns > before.run_ns);
    }
}
