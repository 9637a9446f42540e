//! What a program of ours prints while it is watched: the begin of it is kept, the rest read so that it never waits.

use anyhow::{Context, Result};
use std::{
    io::{PipeReader, Read},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How much is kept, bytes.
const KEPT: usize = 1 << 20;
/// How long the end is waited for, where others keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(5);

/// What was printed so far.
#[derive(Clone, Default)]
pub struct Overheard(Arc<Mutex<Printed>>);

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
        let own = Self::default();
        let listening = own.clone();
        thread::Builder::new().spawn(move || listening.listen(pipe)).context("no thread to hear the program")?;
        Ok(own)
    }

    /// All that has come, after a short wait for the end.
    pub fn all(&self) -> Vec<u8> {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if printed.whole || Instant::now() >= until {
                return printed.bytes.clone();
            }
            drop(printed);
            thread::sleep(LOOK);
        }
    }

    fn listen(&self, mut pipe: PipeReader) {
        let mut piece = [0; 1 << 14];
        loop {
            let length = pipe.read(&mut piece).unwrap_or(0);
            let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if length == 0 {
                printed.whole = true;
                return;
            }
            let room = KEPT.saturating_sub(printed.bytes.len()).min(length);
            printed.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
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
}
