//! Reads the output of other programs without disturbing the machine: by a thread of ordinary priority, in pieces, at a bounded rate.
//!
//! The supervisor of loads may have a higher priority than other tasks. If it read an endless output itself, it would do so before them. A
//! pipe that is not read fast enough fills, and throttles the program that writes.

use latido_model::clean;
use latido_sys::sched::{self, Policy};
use std::{
    io::{self, BufRead, BufReader, Read},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The most bytes of one read.
const PIECE: usize = 4096;

/// The most reads per window: together 640 KiB per second, many times what any account needs.
const READS: u32 = 16;

/// How long a window is.
const WINDOW: Duration = Duration::from_millis(100);

/// The most bytes of a line: a line without an end must not fill the memory.
pub const LINE: usize = 4096;

/// How long latido waits for the last output of a program that has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The output of a program, read at a bounded rate.
#[derive(Debug)]
pub struct Paced<R> {
    inner: R,
    window: Instant,
    reads: u32,
}

impl<R: Read> Paced<R> {
    /// Starts with the first window.
    pub fn new(inner: R) -> Self {
        Self { inner, window: Instant::now(), reads: 0 }
    }

    /// Calls `each` for each line, including its end, until the output is over.
    ///
    /// # Errors
    /// The output cannot be read, or `each` fails.
    pub fn lines<E: From<io::Error>>(self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut output = BufReader::with_capacity(PIECE, self);
        let mut line = Vec::new();
        while output.by_ref().take(LINE as u64).read_until(b'\n', &mut line)? > 0 {
            each(&line)?;
            line.clear();
        }
        Ok(())
    }
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let gone = self.window.elapsed();
        if gone >= WINDOW {
            (self.window, self.reads) = (Instant::now(), 0);
        } else if self.reads >= READS {
            thread::sleep(WINDOW - gone);
            (self.window, self.reads) = (Instant::now(), 0);
        }
        self.reads += 1;
        let room = buffer.len().min(PIECE);
        self.inner.read(buffer.get_mut(..room).unwrap_or_default())
    }
}

/// Starts a thread that reads a program's output. It never runs before ordinary tasks, whatever the priority of its creator.
///
/// # Errors
/// The machine allows no further thread.
pub fn thread(body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(move || {
        // Under `nice` without the right to lower it again, the thread stays nicer than necessary.
        let _ = sched::set_policy(0, Policy::Other { nice: 0 }, false);
        body();
    })
}

/// Keeps the last `most` bytes that a program prints.
pub fn last(output: impl Read, most: usize, kept: &Mutex<Vec<u8>>) {
    let mut output = Paced::new(output);
    let mut buffer = [0; PIECE];
    while let Ok(got @ 1..) = output.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
        let surplus = kept.len().saturating_sub(most);
        kept.drain(..surplus);
    }
}

/// The last output of a program, kept while it runs.
#[derive(Debug, Default)]
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl Tail {
    /// Reads until the program and all its descendants have closed their end.
    ///
    /// # Errors
    /// The machine allows no further thread.
    pub fn of(output: impl Read + Send + 'static, most: usize) -> io::Result<Self> {
        let kept = Arc::default();
        let keeps = Arc::clone(&kept);
        let listener = Some(thread(move || last(output, most, &keeps))?);
        Ok(Self { kept, listener })
    }

    /// Returns what the program printed, once it has ended. On a busy machine the reader is slower than that end, and a process that the
    /// program leaves behind may keep the pipe open for ever.
    pub fn text(&self) -> String {
        self.text_within(LAST_WORDS)
    }

    /// Returns the same text, but waits for `patience`.
    fn text_within(&self, patience: Duration) -> String {
        let until = Instant::now() + patience;
        while self.listener.as_ref().is_some_and(|listener| !listener.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        clean::text(String::from_utf8_lossy(&kept).trim()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    /// latido reads the output of an ended program to its end, however slow the reader is.
    #[test]
    fn last_words_are_waited_for() {
        struct Slow(u32);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                thread::sleep(Duration::from_millis(20));
                self.0 += 1;
                Ok(if self.0 > 3 {
                    0
                } else {
                    buffer[..2].copy_from_slice(b"x\n");
                    2
                })
            }
        }
        let long = Duration::from_secs(3600);
        assert_eq!(Tail::of(Slow(0), 100).unwrap().text_within(long), "x\nx\nx");
        assert_eq!(Tail::default().text(), "");
    }

    /// An endless output is read at the bounded rate, and no faster.
    #[test]
    fn an_endless_output_is_read_at_a_bounded_rate() {
        let (mut heard, began) = (0, Instant::now());
        let mut output = Paced::new(io::repeat(0));
        let mut buffer = vec![0; 1 << 20];
        while heard < 4 * READS as usize * PIECE {
            heard += output.read(&mut buffer).unwrap();
        }
        assert!(began.elapsed() >= WINDOW * 3, "{:?}", began.elapsed());
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let text = [vec![b'x'; LINE + 5], b"\nlast".to_vec()].concat();
        let mut lengths = Vec::new();
        Paced::new(text.as_slice())
            .lines(|line| -> io::Result<()> {
                lengths.push(line.len());
                Ok(())
            })
            .unwrap();
        assert_eq!(lengths, [LINE, 6, 4]);
    }

    #[test]
    fn a_listener_does_not_go_before_others() {
        let heard = thread::spawn(|| {
            if let Err(why) = sched::set_policy(0, Policy::Other { nice: -5 }, false) {
                skip("a listener of a thread that goes before others", Need::Root, &why.to_string());
            }
            let (tell, told) = std::sync::mpsc::channel();
            thread(move || tell.send(sched::policy(0).unwrap()).unwrap()).unwrap().join().unwrap();
            told.recv().unwrap()
        });
        assert!(matches!(heard.join().unwrap(), Policy::Other { nice: 0.. }));
    }
}
