//! What a program that latido started prints while latido watches it. latido keeps the beginning and reads the rest, so that the program
//! never waits for the pipe.

use crate::loading::listening;
use anyhow::{Context, Result};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, ioctl_fionread},
};
use std::{
    io::{self, PipeReader, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How much latido keeps, bytes.
const KEPT: usize = 1 << 20;
/// How much latido reads at once, bytes.
const PIECE: usize = 1 << 14;
/// How long latido waits for the end of the output while other processes keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long latido waits between two looks at the pipe.
const LOOK: Duration = Duration::from_millis(5);

/// The output so far.
#[derive(Clone)]
pub struct Overheard(Arc<Heard>);

struct Heard {
    /// Reads from it do not block. Only the thread that has locked `printed` reads.
    pipe: PipeReader,
    printed: Mutex<Printed>,
}

#[derive(Default)]
struct Printed {
    bytes: Vec<u8>,
    /// The other end of the pipe is closed.
    whole: bool,
}

impl Overheard {
    /// Starts to listen.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn from(pipe: PipeReader) -> Result<Self> {
        let own = Self::unheard(pipe)?;
        let heard = own.clone();
        listening::thread(move || heard.listen())
            .context("cannot create the thread that reads the program's output")?;
        Ok(own)
    }

    /// Prepares the pipe, before a thread listens.
    fn unheard(pipe: PipeReader) -> Result<Self> {
        let flags = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
        flags.context("cannot make the program's pipe non-blocking")?;
        Ok(Self(Arc::new(Heard { pipe, printed: Mutex::default() })))
    }

    /// Returns everything that came, after a short wait for the end. That includes all that the program printed before the call, even if
    /// the listening thread is slow. The wait is for other processes that keep the pipe open.
    pub fn all(&self) -> Vec<u8> {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let late = Instant::now() >= until;
            let mut printed = self.printed();
            self.take_in(&mut printed);
            if printed.whole || late {
                return printed.bytes.clone();
            }
            drop(printed);
            thread::sleep(LOOK);
        }
    }

    fn printed(&self) -> MutexGuard<'_, Printed> {
        self.0.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is in the pipe now, and no more: latido does not follow a program that writes without end.
    fn take_in(&self, printed: &mut Printed) {
        let mut left = ioctl_fionread(&self.0.pipe).ok().and_then(|left| usize::try_from(left).ok()).unwrap_or(0);
        let mut piece = [0; PIECE];
        while !printed.whole {
            // A read from an empty pipe shows whether any process can still write to it.
            let most = left.clamp(1, PIECE);
            let length = match (&self.0.pipe).read(piece.get_mut(..most).unwrap_or_default()) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => 0,
            };
            printed.whole = length == 0;
            let room = KEPT.saturating_sub(printed.bytes.len()).min(length);
            printed.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
            if left == 0 {
                return;
            }
            left = left.saturating_sub(length);
        }
    }

    /// Reads what comes, until the other end is closed.
    fn listen(&self) {
        loop {
            let waited = poll(&mut [PollFd::new(&self.0.pipe, PollFlags::IN)], None);
            let mut printed = self.printed();
            self.take_in(&mut printed);
            printed.whole |= waited.is_err_and(|error| error != Errno::INTR);
            if printed.whole {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Write, pipe};

    /// latido must keep the beginning and read everything: a full pipe never stops the program, and only the program ends its output.
    #[test]
    fn the_begin_is_kept_and_the_rest_is_read() {
        let (reader, mut writer) = pipe().unwrap();
        let heard = Overheard::from(reader).unwrap();
        let begin = vec![b'x'; KEPT];
        writer.write_all(&[&begin[..], &vec![b'y'; 1 << 18]].concat()).unwrap();
        drop(writer);
        assert!(heard.all() == begin, "not the beginning was kept");
    }

    /// No output may be lost if the listening thread never runs, whether other processes keep the pipe open or not.
    #[test]
    fn what_was_printed_before_is_heard_without_the_listener() {
        let (reader, mut writer) = pipe().unwrap();
        let heard = Overheard::unheard(reader).unwrap();
        let words = vec![b'x'; PIECE + 5];
        writer.write_all(&words).unwrap();
        assert_eq!(heard.all(), words);
        writer.write_all(b"last").unwrap();
        drop(writer);
        assert_eq!(heard.all(), [&words[..], b"last"].concat());
        assert!(heard.printed().whole);
    }
}
