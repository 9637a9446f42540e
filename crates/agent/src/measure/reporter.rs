//! The outgoing channel of the measuring process: it sends progress and records on its stream, and puts their files into the spool.

use super::series::Part;
use anyhow::{Context, Result};
use latido_model::{
    protocol::{Progress, Writer},
    record::{Outcome, Record},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Stdout, Write, stdout},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A message of the measuring process to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Told {
    /// The progress of the cell.
    Progress(Progress),
    /// The result, or a checkpoint of it.
    Record {
        /// The record, without what only the supervisor knows.
        record: Box<Record>,
        /// Names and lengths of its files.
        files: Vec<(String, u64)>,
        /// Their directory in the spool.
        place: String,
    },
    /// A task needs this priority to disturb the measuring threads; `None` if any task can. A probe that does not measure under the cell's
    /// policy sends this before the first sample counts.
    Ranks {
        /// 1 to 99 for real-time priorities, 100 for deadline tasks.
        priority: Option<u8>,
    },
    /// The watching is over: the supervisor must put the trace into the spool.
    Watched,
    /// The supervisor must give the threads of an interrupt this priority, and put the result into the spool.
    IrqPriority {
        /// The beginning of the interrupt line's name.
        line: String,
        /// The SCHED_FIFO priority.
        prio: u8,
    },
    /// The reason why there is no record.
    Error {
        /// What happened, and what to do.
        message: String,
    },
    /// The last message.
    End,
}

/// The supervisor's answer to [`Told::IrqPriority`], as a file of the spool.
pub const ANSWER: &str = "irq-priority";

/// Writes the answer. The file is complete as soon as it has its final name.
///
/// # Errors
/// The spool cannot be written.
pub fn answer(spool: &Path, raised: &Result<(), String>) -> Result<()> {
    let (unfinished, path) = (spool.join("answer.part"), spool.join(ANSWER));
    fs::write(&unfinished, serde_json::to_vec(raised)?).with_context(|| format!("{}", unfinished.display()))?;
    fs::rename(&unfinished, &path).with_context(|| format!("{}", path.display()))
}

/// A borrowed [`Told::Progress`]: it is made once and sent several times per second.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Telling<'a> {
    Progress(&'a Progress),
}

/// The most bytes that a measurement may write: a spool in memory takes memory from the measured machine.
pub const QUOTA: u64 = latido_model::run::bounds::MOST_FILES_BYTES;

/// Sends messages to the supervisor, and writes files to the spool.
pub struct Reporter {
    out: Writer<Stdout>,
    spool: PathBuf,
    records: u32,
    /// Bytes written so far, checkpoints apart.
    written: Arc<AtomicU64>,
    attached: Vec<String>,
}

/// Another file of the cell while it is being written: a trace, or other data from a probe.
pub struct Attachment {
    file: File,
    written: Arc<AtomicU64>,
}

impl Write for Attachment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let so_far = self.written.load(Ordering::Relaxed);
        if so_far + bytes.len() as u64 > QUOTA {
            return Err(io::Error::other(format!("the measurement wrote more than {} GiB", QUOTA >> 30)));
        }
        let count = self.file.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Reporter {
    /// Starts with this spool.
    pub fn new(spool: &Path) -> Self {
        Self {
            out: Writer::new(stdout()),
            spool: spool.into(),
            records: 0,
            written: Arc::default(),
            attached: Vec::new(),
        }
    }

    /// Sends the progress of the cell.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.out.send(&Telling::Progress(progress))
    }

    /// Sends the priority of the measuring threads.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn ranks(&mut self, priority: Option<u8>) -> Result<()> {
        self.out.send(&Told::Ranks { priority })
    }

    /// Requests the trace in the spool, because the watching is over.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn wants_trace(&mut self) -> Result<()> {
        self.out.send(&Told::Watched)
    }

    /// Requests a priority for the threads of an interrupt.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn wants_priority(&mut self, line: &str, prio: u8) -> Result<()> {
        self.out.send(&Told::IrqPriority { line: line.into(), prio })
    }

    /// Returns the path of a file in the spool.
    pub fn spooled(&self, name: &str) -> PathBuf {
        self.spool.join(name)
    }

    /// Starts another file of the cell, which is sent with its final record.
    ///
    /// # Errors
    /// The spool cannot be written, or has a file of that name.
    pub fn attach(&mut self, name: &str) -> Result<Attachment> {
        let path = self.spool.join(name);
        let file = File::create_new(&path).with_context(|| format!("cannot write {}", path.display()))?;
        self.attached.push(name.into());
        Ok(Attachment { file, written: Arc::clone(&self.written) })
    }

    /// Sends a record with its series and their files. It writes them one after another, so that only one series at a time is in memory.
    /// Returns whether the record was sent: a checkpoint that fails is left out.
    ///
    /// # Errors
    /// The supervisor is gone, or the spool is full.
    pub fn record(&mut self, mut record: Record, parts: impl Iterator<Item = Result<Part>>) -> Result<bool> {
        self.records += 1;
        let place = self.records.to_string();
        let dir = self.spool.join(&place);
        let checkpoint = record.outcome == Outcome::Checkpoint;
        let files = match self.put(&dir, &mut record, parts, checkpoint) {
            Ok(files) => files,
            // A failed checkpoint must not end the measurement.
            Err(_) if checkpoint => {
                let _ = fs::remove_dir_all(&dir);
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        self.out.send(&Told::Record { record: Box::new(record), files, place })?;
        crate::fault::point("measure");
        Ok(true)
    }

    /// Puts the files of a record into their directory. A checkpoint's files are soon removed and do not count towards the quota.
    fn put(
        &mut self,
        dir: &Path,
        record: &mut Record,
        parts: impl Iterator<Item = Result<Part>>,
        checkpoint: bool,
    ) -> Result<Vec<(String, u64)>> {
        fs::create_dir(dir).with_context(|| format!("cannot write to the spool {}", dir.display()))?;
        let counter = if checkpoint { Arc::default() } else { Arc::clone(&self.written) };
        let mut files = Vec::new();
        for part in parts {
            let (series, own) = part?;
            for (name, bytes) in own {
                let path = dir.join(&name);
                let file = File::create_new(&path).map(|file| Attachment { file, written: Arc::clone(&counter) });
                let written = file.and_then(|mut file| file.write_all(&bytes));
                written.with_context(|| format!("cannot write {} of the spool", path.display()))?;
                files.push((name, bytes.len() as u64));
            }
            record.series.push(series);
        }
        if !checkpoint {
            for name in std::mem::take(&mut self.attached) {
                let (from, to) = (self.spool.join(&name), dir.join(&name));
                fs::rename(&from, &to).with_context(|| format!("cannot move {}", from.display()))?;
                files.push((name.clone(), fs::metadata(&to)?.len()));
                record.attachments.push(name);
            }
        }
        Ok(files)
    }

    /// Sends the error, if any, and the last message.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn end(&mut self, error: Option<String>) -> Result<()> {
        if let Some(message) = error {
            self.out.send(&Told::Error { message })?;
        }
        self.out.send(&Told::End)
    }
}
