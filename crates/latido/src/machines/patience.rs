//! Limits how much an agent may send in answer to one request, and for how long. A board may belong to anyone: what it sends costs this
//! host no more memory, disk and time than a valid answer may.

use anyhow::{Result, bail, ensure};
use latido_model::{
    cell::Cell,
    plan::extent::Extent,
    protocol::{Message, Reply, Request},
    quantity::Measurand,
    record::TRACE,
    run::bounds::{MOST_FILE, MOST_FILES, MOST_FILES_BYTES},
    units::Ns,
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// The most notes in answer to one request: one line per setting that a crash left.
const MOST_NOTES: usize = 4096;

/// The most bytes in all these notes.
const MOST_NOTED: usize = 1 << 20;

/// How long any request may take besides its purpose: the agent changes settings, starts loads, and restores everything.
const BESIDES: Duration = Duration::from_secs(600);

/// How many times its own length a cell may take: a machine under load does everything late.
const FACTOR: u64 = 4;

/// How long a cell of unknown length may take: one that ends after a number of samples.
const OPEN: Duration = Duration::from_secs(24 * 3600);

/// The file that the probe `null` sends, of the requested size.
const HANDED_OVER: &str = "attachment.bin";

/// The slowest link for files, bytes per second.
const SLOWEST: u64 = 16 << 10;

/// What the host received since a request, and how much more it accepts.
#[derive(Debug)]
pub(super) struct Patience {
    asked: Instant,
    /// The longest time for the answer; `None` for a request that the host answers itself.
    within: Option<Duration>,
    notes: usize,
    noted: usize,
    /// The files of the record that is arriving.
    files: BTreeSet<String>,
    bytes: u64,
    /// The bytes of all records and checkpoints.
    came: u64,
}

impl Default for Patience {
    fn default() -> Self {
        let (files, asked) = (BTreeSet::new(), Instant::now());
        Self { asked, within: None, notes: 0, noted: 0, files, bytes: 0, came: 0 }
    }
}

impl Patience {
    /// Returns the limits for the answer to a request.
    pub fn of(request: &Request) -> Self {
        let wait = match request {
            Request::Prepare { wait, .. } => wait.unwrap_or_default(),
            Request::Tune(tune) => tune.wait.unwrap_or_default(),
            // Without its probe, latido does not know whether the cell ends after a time or after a number of samples.
            Request::Measure { .. } => return Self::within(BESIDES.saturating_add(OPEN)),
            _ => Ns(0),
        };
        Self::within(BESIDES.saturating_add(wait.as_duration()))
    }

    /// Returns the limits for a cell whose probe is known.
    pub fn of_cell(cell: &Cell, measurand: &Measurand) -> Self {
        let extent = Extent::of_cell(&cell.conditions, measurand);
        let time = Ns(extent.time.0.saturating_mul(FACTOR)).as_duration();
        let time = if extent.open > 0 { time.saturating_add(OPEN) } else { time };
        Self::within(latido_agent::fault::cell_patience().unwrap_or(BESIDES.saturating_add(time)))
    }

    fn within(within: Duration) -> Self {
        Self { within: Some(within), ..Self::default() }
    }

    /// Removes the time limit. The laboratory runs on this host and limits its guests by their processor time.
    pub fn timeless(self) -> Self {
        Self { within: None, ..self }
    }

    /// Counts a message.
    ///
    /// # Errors
    /// The limit that it exceeds.
    pub fn hear(&mut self, message: &Message) -> Result<()> {
        match message {
            Message::Bytes(bytes) => self.came = self.came.saturating_add(bytes.len() as u64),
            Message::Reply(Reply::Note { message }) => {
                self.notes += 1;
                self.noted = self.noted.saturating_add(message.len());
                ensure!(
                    self.notes <= MOST_NOTES && self.noted <= MOST_NOTED,
                    "the agent sends more than {MOST_NOTES} notes, or {} KiB of them, in answer to one request",
                    MOST_NOTED >> 10
                );
            }
            Message::Reply(Reply::Attachment { name, len }) => self.file(name, *len)?,
            // Checkpoints have files, too, so each record starts a new count.
            Message::Reply(Reply::Record(_)) => (self.files, self.bytes) = (BTreeSet::new(), 0),
            Message::Reply(_) => {}
        }
        self.look()
    }

    fn file(&mut self, name: &str, len: u64) -> Result<()> {
        ensure!(self.files.insert(name.to_owned()), "the agent sent {name} twice");
        ensure!(self.files.len() <= MOST_FILES, "the agent sends more than {MOST_FILES} files for one record");
        self.bytes = self.bytes.saturating_add(len);
        let most = if [TRACE, HANDED_OVER].contains(&name) { MOST_FILES_BYTES } else { MOST_FILE };
        ensure!(
            len <= most && self.bytes <= MOST_FILES_BYTES,
            "the agent sends the file {name} of {len} bytes: one file may have {} MiB, and all files of a record {} \
             GiB",
            most >> 20,
            MOST_FILES_BYTES >> 30
        );
        Ok(())
    }

    fn late(&self) -> bool {
        let coming = Duration::from_secs(self.came / SLOWEST);
        self.within.is_some_and(|within| self.asked.elapsed() > within.saturating_add(coming))
    }

    /// Refuses an answer that takes too long.
    ///
    /// # Errors
    /// How long the host waited.
    pub fn look(&self) -> Result<()> {
        if self.late() {
            bail!(
                "the agent did not end within {:.0} s, so latido ended it",
                self.within.unwrap_or_default().as_secs_f64()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{protocol::Progress, sample};

    fn note(message: &str) -> Message {
        Message::Reply(Reply::Note { message: message.into() })
    }

    fn file(name: &str, len: u64) -> Message {
        Message::Reply(Reply::Attachment { name: name.into(), len })
    }

    /// The host limits notes in number and bytes, and files in name, number and bytes. Each record starts a new count of files.
    #[test]
    fn what_an_agent_says_is_bounded() {
        let fresh = || Patience::of(&Request::Recover);
        let mut heard = fresh();
        (0..MOST_NOTES).for_each(|_| heard.hear(&note("x")).unwrap());
        assert!(heard.hear(&note("x")).unwrap_err().to_string().contains("4096 notes"));
        assert!(fresh().hear(&note(&"x".repeat(MOST_NOTED + 1))).unwrap_err().to_string().contains("1024 KiB"));
        let mut heard = fresh();
        for number in 0..MOST_FILES {
            heard.hear(&file(&number.to_string(), 1)).unwrap();
        }
        assert!(heard.hear(&file("more", 1)).unwrap_err().to_string().contains("files for one record"));
        let mut heard = fresh();
        heard.hear(&file("a.hdr", MOST_FILE)).unwrap();
        assert!(heard.hear(&file("a.hdr", 1)).unwrap_err().to_string().contains("twice"));
        heard.hear(&Message::Reply(Reply::Record(Box::new(sample::record())))).unwrap();
        heard.hear(&file("a.hdr", 1)).unwrap();
        assert!(fresh().hear(&file("a.hdr", MOST_FILE + 1)).unwrap_err().to_string().contains("256 MiB"));
        heard.hear(&file(TRACE, MOST_FILES_BYTES - 1)).unwrap();
        assert!(heard.hear(&file("b.hdr", 1)).unwrap_err().to_string().contains("4 GiB"));
    }

    /// Endless progress messages reach a limit. Those of the laboratory, which runs on this host, do not.
    #[test]
    fn an_answer_has_an_end() {
        let progress = Message::Reply(Reply::Progress(Progress::default()));
        let mut heard = Patience { within: Some(Duration::ZERO), ..Patience::default() };
        assert!(heard.hear(&progress).unwrap_err().to_string().contains("did not end within"));
        heard.timeless().hear(&progress).unwrap();
        // Files over a slow link get more time.
        let mut heard = Patience { within: Some(Duration::ZERO), came: SLOWEST * 3600, ..Patience::default() };
        heard.hear(&progress).unwrap();
    }

    /// A cell may take four times its length and ten minutes. A cell that ends after a number of samples may take a day.
    #[test]
    fn a_cell_has_as_long_as_it_takes() {
        let mut cell = sample::cell();
        (cell.conditions.duration, cell.conditions.warmup) = (Ns(100_000_000_000), Ns(0));
        let mut measurand = Measurand { counts_samples: false, ..sample::measurand(&cell) };
        let within = |cell: &Cell, measurand: &Measurand| Patience::of_cell(cell, measurand).within.unwrap();
        assert_eq!(within(&cell, &measurand), Duration::from_secs(600 + 400));
        cell.conditions.duration = Ns(u64::MAX);
        assert!(within(&cell, &measurand) > Duration::from_secs(1_000_000_000));
        (measurand.counts_samples, measurand.expected) = (true, None);
        assert!(within(&cell, &measurand) >= OPEN);
    }
}
