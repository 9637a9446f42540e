//! What a program of ours prints while it is watched: the begin of it is kept, the rest read so that it never waits.

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

/// How much is kept, bytes.
const KEPT: usize = 1 << 20;
/// How much is read at once, bytes.
const PIECE: usize = 1 << 14;
/// How long the end is waited for, where others keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(5);

/// What was printed so far.
#[derive(Clone)]
pub struct Overheard(Arc<Heard>);

struct Heard {
    /// Its reads do not wait; who holds `printed` reads.
    pipe: PipeReader,
    printed: Mutex<Printed>,
}

#[derive(Default)]
struct Printed {
    bytes: Vec<u8>,
    /// Nobody has the other end any more.
    whole: bool,
}

impl Overheard {
    /// Listens from here on.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn from(pipe: PipeReader) -> Result<Self> {
        let own = Self::unheard(pipe)?;
        let heard = own.clone();
        listening::thread(move || heard.listen()).context("no thread to hear the program")?;
        Ok(own)
    }

    /// Before anybody listens.
    fn unheard(pipe: PipeReader) -> Result<Self> {
        let flags = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
        flags.context("cannot read the program's pipe without waiting")?;
        Ok(Self(Arc::new(Heard { pipe, printed: Mutex::default() })))
    }

    /// All that has come, after a short wait for the end. What was printed before the call is in it, however late the listener
    /// is; the wait is for others who keep the pipe open.
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

    /// Reads what is in the pipe by now, and no more: who writes without end is not followed.
    fn take_in(&self, printed: &mut Printed) {
        let mut left = ioctl_fionread(&self.0.pipe).ok().and_then(|left| usize::try_from(left).ok()).unwrap_or(0);
        let mut piece = [0; PIECE];
        while !printed.whole {
            // A pipe with nothing in it says by a read whether anybody can still write.
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

    /// Takes in what comes, until nobody has the other end any more.
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

    /// The begin is kept, all is taken: the writer is never stopped by a full pipe, and the end is the writer's.
    #[test]
    fn the_begin_is_kept_and_the_rest_is_read() {
        let (reader, mut writer) = pipe().unwrap();
        let heard = Overheard::from(reader).unwrap();
        writer.write_all(&vec![b'x'; KEPT + (1 << 18)]).unwrap();
        drop(writer);
        assert_eq!(heard.all().len(), KEPT);
    }

    /// A listener that never comes loses no word, whether others keep the pipe open or nobody does.
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
