//! What the agent says. A thread of its own writes it, so that ending loads and putting settings back never waits for a
//! slow link or a host that does not read; progress that nobody has taken yet is replaced by newer progress.

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

/// A record with its files, which lie in a directory of the spool.
#[derive(Debug)]
pub struct Parcel {
    /// The record.
    pub record: Box<Record>,
    /// Names and lengths of its files.
    pub files: Vec<(String, u64)>,
    /// Where they are; removed once they are sent.
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
    /// Something is being written.
    busy: bool,
    /// The peer does not take any more: all is thrown away.
    broken: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The agent's end of the stream; its copies speak on the same.
#[derive(Clone)]
pub struct Voice(Arc<Shared>);

impl Voice {
    /// Says hello, and starts the thread that writes.
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

    /// One reply, behind those before it.
    pub fn say(&self, reply: Reply) {
        self.push(Out::Reply(reply));
    }

    /// Something that a person should know.
    pub fn note(&self, message: impl Into<String>) {
        self.say(Reply::Note { message: message.into() });
    }

    /// A record with its files. A checkpoint that still waits is of no use once there is a newer one.
    pub fn send(&self, parcel: Parcel) {
        let mut queue = self.queue();
        queue.waiting.retain(|out| !matches!(out, Out::Parcel(older) if older.is_checkpoint()));
        drop(queue);
        self.push(Out::Parcel(parcel));
    }

    /// How it goes; what was said before and not written yet is forgotten.
    pub fn progress(&self, progress: Progress) {
        let mut queue = self.queue();
        // When the first timer was armed is told once, and must not be lost with the line that tells it.
        let armed = queue.progress.as_ref().map_or(0, |older| older.armed_at_ns).max(progress.armed_at_ns);
        queue.progress = Some(Progress { armed_at_ns: armed, ..progress });
        drop(queue);
        self.0.changed.notify_all();
    }

    /// The next phase.
    pub fn phase(&self, phase: Phase) {
        self.progress(Progress::of(phase));
        crate::fault::point("agent");
    }

    /// Waits until all is written or cannot be, at most so long; says whether it is.
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

    /// Writes what comes, for as long as the process lives.
    fn write(&self, out: &mut Writer<Stdout>) {
        loop {
            let mut queue = self.queue();
            while queue.waiting.is_empty() && queue.progress.is_none() {
                queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            // What was said before progress is older than it.
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

    /// Files first, then the record that names them; progress in between.
    fn deliver(&self, out: &mut Writer<Stdout>, parcel: &Parcel) -> Result<()> {
        for (name, len) in &parcel.files {
            let Ok(file) = File::open(parcel.dir.join(name)) else {
                // The spool is gone: somebody wants no more. The stream is as sound as before.
                return out.send(&Reply::Error { message: format!("{name} was not sent: the cell was given up") });
            };
            out.attach(name, *len, file, |out| match self.queue().progress.take() {
                Some(progress) => out.send(&Reply::Progress(progress)),
                None => Ok(()),
            })?;
        }
        out.send(&Reply::Record(parcel.record.clone()))
    }
}
