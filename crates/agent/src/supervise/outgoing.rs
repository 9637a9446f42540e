//! The agent's outgoing channel. A separate thread writes to it, so that ending loads and restoring settings never wait for a slow link or
//! for a host that does not read. New progress replaces progress that was not sent yet.

use super::client::urgently;
use anyhow::Result;
use latido_model::{
    protocol::{Hello, Phase, Progress, Reply, Writer},
    record::{Outcome, Record},
};
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{Stdout, Write, stdout},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A record with its files, which are in a directory of the spool.
#[derive(Debug)]
pub struct Parcel {
    /// The record.
    pub record: Box<Record>,
    /// The names and lengths of its files.
    pub files: Vec<(String, u64)>,
    /// Their directory. The agent removes them after sending.
    pub dir: PathBuf,
}

impl Parcel {
    fn is_checkpoint(&self) -> bool {
        self.record.outcome == Outcome::Checkpoint
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

enum Out {
    Reply(Reply),
    Parcel(Parcel),
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Out>,
    progress: Option<Progress>,
    /// Whether the thread is writing.
    busy: bool,
    /// Whether the peer accepts no more. Then everything is discarded.
    broken: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The agent's outgoing channel. Its copies send on the same stream.
#[derive(Clone)]
pub struct Voice(Arc<Shared>);

impl Voice {
    /// Sends the greeting, and starts the thread that writes.
    ///
    /// # Errors
    /// The host is gone already.
    pub fn start(hello: &Hello) -> Result<Self> {
        let mut out = Writer::new(stdout());
        writeln!(out.inner(), "{}", hello.line()?)?;
        out.inner().flush()?;
        let shared = Arc::new(Shared::default());
        let voice = Self(Arc::clone(&shared));
        thread::Builder::new().name("latido-voice".into()).spawn(move || {
            urgently();
            Self(shared).write(&mut out);
        })?;
        Ok(voice)
    }

    /// Sends one reply, after the earlier ones.
    pub fn say(&self, reply: Reply) {
        self.push(Out::Reply(reply));
    }

    /// Sends a message for the user.
    pub fn note(&self, message: impl Into<String>) {
        self.say(Reply::Note { message: message.into() });
    }

    /// Sends a record with its files. It replaces any checkpoint that still waits: a newer record makes it useless.
    pub fn send(&self, parcel: Parcel) {
        let mut queue = self.queue();
        queue.waiting.retain(|out| !matches!(out, Out::Parcel(older) if older.is_checkpoint()));
        drop(queue);
        self.push(Out::Parcel(parcel));
    }

    /// Sends the progress. It replaces earlier progress that was not written yet.
    pub fn progress(&self, progress: Progress) {
        let mut queue = self.queue();
        // The time at which the first timer was armed is sent only once: it must survive the replacement of its message.
        let armed = queue.progress.as_ref().map_or(0, |older| older.armed_at_ns).max(progress.armed_at_ns);
        queue.progress = Some(Progress { armed_at_ns: armed, ..progress });
        drop(queue);
        self.0.changed.notify_all();
    }

    /// Sends the next phase.
    pub fn phase(&self, phase: Phase) {
        self.progress(Progress::of(phase));
        crate::fault::point("agent");
    }

    /// Waits until all is written or cannot be written, at most this long. Returns whether that is so.
    pub fn drained(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut queue = self.queue();
        while !queue.broken && (queue.busy || !queue.waiting.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            queue = self.0.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn push(&self, out: Out) {
        let mut queue = self.queue();
        if !queue.broken {
            queue.waiting.push_back(out);
        }
        drop(queue);
        self.0.changed.notify_all();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes whatever is queued, until the process ends.
    fn write(&self, out: &mut Writer<Stdout>) {
        loop {
            let mut queue = self.queue();
            while queue.waiting.is_empty() && queue.progress.is_none() {
                queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            // What waits in the queue is older than the progress.
            let next = queue.waiting.pop_front().or_else(|| queue.progress.take().map(Reply::Progress).map(Out::Reply));
            queue.busy = true;
            drop(queue);
            let written = match next {
                Some(Out::Reply(reply)) => out.send(&reply),
                Some(Out::Parcel(parcel)) => self.deliver(out, &parcel),
                None => Ok(()),
            };
            let mut queue = self.queue();
            queue.busy = false;
            if written.is_err() {
                queue.broken = true;
                queue.waiting.clear();
            }
            drop(queue);
            self.0.changed.notify_all();
        }
    }

    /// Sends the files first, then the record that names them. Sends progress in between.
    fn deliver(&self, out: &mut Writer<Stdout>, parcel: &Parcel) -> Result<()> {
        for (name, len) in &parcel.files {
            let Ok(file) = File::open(parcel.dir.join(name)) else {
                // The spool is gone, because the cell was abandoned. The stream itself is still intact.
                return out.send(&Reply::Error { message: format!("{name} was not sent: the cell was abandoned") });
            };
            out.attach(name, *len, file, |out| match self.queue().progress.take() {
                Some(progress) => out.send(&Reply::Progress(progress)),
                None => Ok(()),
            })?;
        }
        out.send(&Reply::Record(parcel.record.clone()))
    }
}
