//! The pipe for samples: it is large, latido reads it without waiting, and measures how full it is.

use anyhow::{Context, Result};
use latido_model::record::Pipe;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, fcntl_setfl, open},
    io::ioctl_fionread,
    pipe::{fcntl_getpipe_size, fcntl_setpipe_size},
};
use std::{
    io::{ErrorKind, PipeReader, Read},
    os::fd::AsRawFd,
    time::Duration,
};

/// The requested size of the pipe in bytes: the most for ordinary users (/proc/sys/fs/pipe-max-size).
const SIZE: usize = 1 << 20;

/// The reading end.
pub(super) struct Samples {
    pipe: PipeReader,
    /// How full it was.
    pub seen: Pipe,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// The number of bytes, and whether the pipe was full before.
    Bytes(usize, bool),
    /// There is nothing to read yet.
    Nothing,
    /// The other end of the pipe is closed.
    End,
}

impl Samples {
    /// Prepares a pipe.
    ///
    /// # Errors
    /// The pipe does not accept its flags.
    pub fn of(pipe: PipeReader) -> Result<Self> {
        // If the kernel refuses this, the pipe keeps its size.
        let _ = fcntl_setpipe_size(&pipe, SIZE);
        fcntl_setfl(&pipe, OFlags::NONBLOCK).context("the pipe of the samples")?;
        let size = fcntl_getpipe_size(&pipe).unwrap_or(0) as u64;
        Ok(Self { pipe, seen: Pipe { size, ..Pipe::default() } })
    }

    /// Waits until there is something to read, or until `at_most` has passed.
    pub fn wait(&self, at_most: Duration) {
        let time = Timespec::try_from(at_most).ok();
        let _ = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], time.as_ref());
    }

    /// Reads what is available, without waiting.
    ///
    /// # Errors
    /// The pipe cannot be read.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Brought> {
        let held = ioctl_fionread(&self.pipe).unwrap_or(0);
        let full = self.is_full(held);
        self.seen.latest = held;
        self.seen.fullest = self.seen.fullest.max(held);
        match self.pipe.read(into) {
            Ok(0) => Ok(Brought::End),
            Ok(length) => Ok(Brought::Bytes(length, full)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Brought::Nothing)
            }
            Err(error) => Err(error).context("reading the samples"),
        }
    }

    /// Whether no page is left in the pipe. Writes of odd sizes leave pages half empty, so the number of bytes alone does not show it.
    fn is_full(&self, held: u64) -> bool {
        if held < self.seen.size / 2 {
            return false;
        }
        let path = format!("/proc/self/fd/{}", self.pipe.as_raw_fd());
        let Ok(writer) = open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) else {
            return held >= self.seen.size;
        };
        let mut asked = [PollFd::new(&writer, PollFlags::OUT)];
        let writable = poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap_or(0) > 0;
        !writable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Write, pipe};

    /// A pipe is full when a writer would wait, even if it contains fewer bytes than its size.
    #[test]
    fn full_is_when_a_writer_would_wait() {
        let (reader, mut writer) = pipe().unwrap();
        let mut samples = Samples::of(reader).unwrap();
        let mut bytes = [0; 4096];
        assert_eq!(samples.read(&mut bytes).unwrap(), Brought::Nothing);
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        // Each write of 2100 bytes takes a page.
        let mut written = 0;
        while writer.write(&[b'x'; 2100]).is_ok() {
            written += 2100;
        }
        assert!(written < samples.seen.size as usize, "{written}");
        assert!(matches!(samples.read(&mut bytes).unwrap(), Brought::Bytes(_, true)));
        while let Brought::Bytes(..) = samples.read(&mut bytes).unwrap() {}
        writer.write_all(b"y").unwrap();
        assert_eq!(samples.read(&mut bytes).unwrap(), Brought::Bytes(1, false));
        assert_eq!((samples.seen.latest, samples.seen.fullest as usize >= written - 4096), (1, true));
        drop(writer);
        assert_eq!(samples.read(&mut bytes).unwrap(), Brought::End);
    }
}
