//! The measuring process's voice: progress and records on its stream, their files in the spool.

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

/// What the measuring process tells its supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Told {
    /// How the cell goes.
    Progress(Progress),
    /// The result, or a checkpoint of it.
    Record {
        /// Without what only the supervisor knows.
        record: Box<Record>,
        /// Names and lengths of its files.
        files: Vec<(String, u64)>,
        /// Their directory in the spool.
        place: String,
    },
    /// What disturbs the threads that measure must have this priority; `None` where anything does. Told before the first
    /// sample counts, by who does not measure under the cell's policy.
    Ranks {
        /// 1 to 99, 100 for deadline tasks.
        priority: Option<u8>,
    },
    /// The machine was watched for long enough: the trace is wanted, in the spool.
    Watched,
    /// The threads of an interrupt are to have this priority: what came of it is wanted, in the spool.
    IrqPriority {
        /// How the name of its line begins.
        line: String,
        /// FIFO.
        prio: u8,
    },
    /// Why there is no record.
    Error {
        /// What happened and what to do.
        message: String,
    },
    /// Nothing follows.
    End,
}

/// The supervisor's answer to [`Told::IrqPriority`], as a file of the spool.
pub const ANSWER: &str = "irq-priority";

/// Gives it: whole, as soon as it has its name.
///
/// # Errors
/// The spool cannot be written.
pub fn answer(spool: &Path, raised: &Result<(), String>) -> Result<()> {
    let (unfinished, path) = (spool.join("answer.part"), spool.join(ANSWER));
    fs::write(&unfinished, serde_json::to_vec(raised)?).with_context(|| format!("{}", unfinished.display()))?;
    fs::rename(&unfinished, &path).with_context(|| format!("{}", path.display()))
}

/// A [`Told::Progress`] that is borrowed: it is told several times a second and made once.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Telling<'a> {
    Progress(&'a Progress),
}

/// The most that a measurement may write, in bytes: what lies in a spool in memory is taken from what is measured.
pub const QUOTA: u64 = latido_model::run::bounds::MOST_FILES_BYTES;

/// Writes the stream to the supervisor, and files to the spool.
pub struct Reporter {
    out: Writer<Stdout>,
    spool: PathBuf,
    records: u32,
    /// Bytes written so far, checkpoints apart.
    written: Arc<AtomicU64>,
    attached: Vec<String>,
}

/// A further file of the cell while it is written: a trace, or whatever else a probe hands over.
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
    /// With a spool of its own.
    pub fn new(spool: &Path) -> Self {
        Self {
            out: Writer::new(stdout()),
            spool: spool.into(),
            records: 0,
            written: Arc::default(),
            attached: Vec::new(),
        }
    }

    /// How the cell goes.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.out.send(&Telling::Progress(progress))
    }

    /// Tells how high those rank that measure.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn ranks(&mut self, priority: Option<u8>) -> Result<()> {
        self.out.send(&Told::Ranks { priority })
    }

    /// The trace is wanted in the spool: what was to be watched is over.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn wants_trace(&mut self) -> Result<()> {
        self.out.send(&Told::Watched)
    }

    /// The threads of an interrupt are wanted at a priority.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn wants_priority(&mut self, line: &str, prio: u8) -> Result<()> {
        self.out.send(&Told::IrqPriority { line: line.into(), prio })
    }

    /// Where a file of the spool is.
    pub fn spooled(&self, name: &str) -> PathBuf {
        self.spool.join(name)
    }

    /// Begins a further file of the cell, sent with its final record.
    ///
    /// # Errors
    /// The spool cannot be written, or has a file of that name.
    pub fn attach(&mut self, name: &str) -> Result<Attachment> {
        let path = self.spool.join(name);
        let file = File::create_new(&path).with_context(|| format!("cannot write {}", path.display()))?;
        self.attached.push(name.into());
        Ok(Attachment { file, written: Arc::clone(&self.written) })
    }

    /// A record with its series and their files, written one after another: no more than one series waits in memory.
    /// Whether it was told: a checkpoint that cannot be had is left out.
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
            // A checkpoint that cannot be kept is not worth the measurement.
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

    /// Puts the files of a record into their directory; what a checkpoint takes is given back soon, and not counted.
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

    /// Nothing follows.
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
