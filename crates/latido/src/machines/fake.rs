//! A scripted agent, for tests of everything that can go wrong with a real agent. Release builds do not contain it.

use super::{Def, Target, Unavailable, session::Session};
use crate::stop::Stopped;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    io::{self, Read, Write},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The list entry.
pub const DEF: Def = Def {
    name: "fake",
    about: "what a file says that an agent says, for tests: its bytes, with `#wait N` for the Nth request and `#hang`; \
            the same with the ending .again, where it is there, for the sessions after the first",
    for_tests: true,
    place: "FILE",
    new: |place| {
        ensure!(!place.is_empty(), "name the file that has the agent's words: fake:FILE");
        Ok(Box::new(Fake { script: place.into(), opened: AtomicBool::new(false) }))
    },
};

struct Fake {
    script: PathBuf,
    opened: AtomicBool,
}

impl Target for Fake {
    fn open(&self, _kernel: &str, _boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable> {
        let again = self.script.with_extension("again");
        let file = if self.opened.swap(true, Ordering::Relaxed) && again.is_file() { &again } else { &self.script };
        let script = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let heard = Arc::new(Heard::default());
        let output = Output { script, at: 0, heard: Arc::clone(&heard) };
        Ok(Session::on(Box::new(Input(heard)), Box::new(output), None, Arc::default(), "the scripted agent", stopped)?)
    }
}

/// The number of requests received, and whether the input is closed.
#[derive(Default)]
struct Heard {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Heard {
    fn state(&self) -> MutexGuard<'_, (usize, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Input(Arc<Heard>);

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A request is one write. Pings and stop requests do not count.
        let text = String::from_utf8_lossy(bytes);
        let counts = !text.contains("\"type\":\"ping\"") && !text.contains("\"type\":\"stop\"");
        self.0.state().0 += usize::from(counts);
        self.0.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.0.state().1 = true;
        self.0.changed.notify_all();
    }
}

struct Output {
    script: Vec<u8>,
    at: usize,
    heard: Arc<Heard>,
}

impl Output {
    /// Waits until a condition holds, or the input is closed.
    fn until(&self, so: impl Fn(usize) -> bool) {
        let mut state = self.heard.state();
        while !so(state.0) && !state.1 {
            state = self.heard.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.script.get(self.at..).unwrap_or_default();
            let begins = self.at == 0 || self.script.get(self.at - 1) == Some(&b'\n');
            let until = |window: &[u8]| window.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            if !(begins && rest.first() == Some(&b'#')) {
                let window = rest.get(..rest.len().min(buffer.len())).unwrap_or_default();
                let piece = window.get(..until(window).unwrap_or(window.len())).unwrap_or_default();
                if let Some(to) = buffer.get_mut(..piece.len()) {
                    to.copy_from_slice(piece);
                }
                self.at += piece.len();
                return Ok(piece.len());
            }
            let line = rest.get(1..until(rest).unwrap_or(rest.len())).unwrap_or_default();
            let words = String::from_utf8_lossy(line).into_owned();
            self.at += line.len() + 1;
            match words.trim().split_once(' ') {
                Some(("wait", number)) => {
                    let number = number.parse().unwrap_or(1);
                    self.until(|heard| heard >= number);
                }
                _ => {
                    self.until(|_| false);
                    return Ok(0);
                }
            }
        }
    }
}
