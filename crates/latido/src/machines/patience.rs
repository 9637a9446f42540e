//! How much an agent may say, and for how long, in answer to one request. A board may be anybody's: what it sends costs this
//! host no more memory, disk and time than a sound answer may.

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

/// Notes in answer to one request: a line for each setting that a crash left.
const MOST_NOTES: usize = 4096;

/// Bytes of all these notes.
const MOST_NOTED: usize = 1 << 20;

/// What every request may take besides what it is for: settings are changed, loads started, all is put back.
const BESIDES: Duration = Duration::from_secs(600);

/// How many times its own length a cell may take: a machine under load comes late to everything.
const FACTOR: u64 = 4;

/// How long a cell may take of which nobody knows how long it takes: it ends after a number of samples.
const OPEN: Duration = Duration::from_secs(24 * 3600);

/// What the probe `null` hands over, as long as somebody asks for it.
const HANDED_OVER: &str = "attachment.bin";

/// The slowest link that files may come over, bytes a second.
const SLOWEST: u64 = 16 << 10;

/// What was heard since a request, and how much more may be.
#[derive(Debug)]
pub(super) struct Patience {
    asked: Instant,
    /// For how long; absent for a request that is no board's to answer.
    within: Option<Duration>,
    notes: usize,
    noted: usize,
    /// Of the record that is coming.
    files: BTreeSet<String>,
    bytes: u64,
    /// Of all records and checkpoints.
    came: u64,
}

impl Default for Patience {
    fn default() -> Self {
        let (files, asked) = (BTreeSet::new(), Instant::now());
        Self { asked, within: None, notes: 0, noted: 0, files, bytes: 0, came: 0 }
    }
}

impl Patience {
    /// For the answer to a request.
    pub fn of(request: &Request) -> Self {
        let wait = match request {
            Request::Prepare { wait, .. } => wait.unwrap_or_default(),
            Request::Tune(tune) => tune.wait.unwrap_or_default(),
            // Without its probe nobody knows whether it ends after a time or a number of samples.
            Request::Measure { .. } => return Self::within(BESIDES.saturating_add(OPEN)),
            _ => Ns(0),
        };
        Self::within(BESIDES.saturating_add(wait.as_duration()))
    }

    /// For a cell of which its probe is known.
    pub fn of_cell(cell: &Cell, measurand: &Measurand) -> Self {
        let extent = Extent::of_cell(&cell.conditions, measurand);
        let time = Ns(extent.time.0.saturating_mul(FACTOR)).as_duration();
        let time = if extent.open > 0 { time.saturating_add(OPEN) } else { time };
        Self::within(latido_agent::fault::cell_patience().unwrap_or(BESIDES.saturating_add(time)))
    }

    fn within(within: Duration) -> Self {
        Self { within: Some(within), ..Self::default() }
    }

    /// Without an end of time: the laboratory is this host's own, and bounds its guests by the processor time that they take.
    pub fn timeless(self) -> Self {
        Self { within: None, ..self }
    }

    /// Counts a message.
    ///
    /// # Errors
    /// The bound that it exceeds.
    pub fn hear(&mut self, message: &Message) -> Result<()> {
        match message {
            Message::Bytes(bytes) => self.came = self.came.saturating_add(bytes.len() as u64),
            Message::Reply(Reply::Note { message }) => {
                self.notes += 1;
                self.noted = self.noted.saturating_add(message.len());
                ensure!(
                    self.notes <= MOST_NOTES && self.noted <= MOST_NOTED,
                    "the agent says more than {MOST_NOTES} notes, or {} KiB of them, in answer to one request",
                    MOST_NOTED >> 10
                );
            }
            Message::Reply(Reply::Attachment { name, len }) => self.file(name, *len)?,
            // Checkpoints have files, too.
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
            "the agent sends the file {name} of {len} bytes: one may have {} MiB, and all of a record {} GiB",
            most >> 20,
            MOST_FILES_BYTES >> 30
        );
        Ok(())
    }

    fn late(&self) -> bool {
        let coming = Duration::from_secs(self.came / SLOWEST);
        self.within.is_some_and(|within| self.asked.elapsed() > within.saturating_add(coming))
    }

    /// Refuses an answer that does not come to its end.
    ///
    /// # Errors
    /// How long it was waited for.
    pub fn look(&self) -> Result<()> {
        if self.late() {
            bail!(
                "the agent did not come to its end within {:.0} s, and was ended",
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

    /// Notes are bounded in number and in bytes, files in name, number and bytes, each record with its own.
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

    /// Progress without an end comes to one, and the laboratory's, which is this host's, does not.
    #[test]
    fn an_answer_has_an_end() {
        let progress = Message::Reply(Reply::Progress(Progress::default()));
        let mut heard = Patience { within: Some(Duration::ZERO), ..Patience::default() };
        assert!(heard.hear(&progress).unwrap_err().to_string().contains("did not come to its end"));
        heard.timeless().hear(&progress).unwrap();
        // What comes over a slow link takes its time.
        let mut heard = Patience { within: Some(Duration::ZERO), came: SLOWEST * 3600, ..Patience::default() };
        heard.hear(&progress).unwrap();
    }

    /// A cell has its length with room for a crowd; one that ends after a number of samples has a day.
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
