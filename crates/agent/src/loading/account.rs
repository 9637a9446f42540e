//! What a load reports about its work: it regularly prints cumulative counts, and the record keeps the measured part.

use super::{
    listening::{self, Paced},
    metrics,
    rates::{Course, ELAPSED, Seconds, WorkCounts},
};
use latido_model::record::Rate;
use latido_sys::clock::Clock::Monotonic;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The prefix of a line of counts. latido ignores everything else that the program prints.
const MARK: &str = "latido-load ";

/// The most counts that latido accepts, and the longest name.
const MOST: usize = 64;

/// Prints the counts for the process that started this load.
///
/// # Errors
/// The other end of the pipe is closed.
pub fn tell(counts: &[(&str, u64)]) -> std::io::Result<()> {
    let mut line = String::from(MARK);
    for (name, count) in counts {
        line.push_str(&format!("{name}={count} "));
    }
    line.push('\n');
    std::io::stdout().lock().write_all(line.as_bytes())
}

/// The receiving end.
#[derive(Clone, Debug, Default)]
pub struct Account {
    told: Arc<Mutex<Told>>,
}

/// What was received so far.
#[derive(Debug, Default)]
struct Told {
    latest: WorkCounts,
    /// When it first reported work, on CLOCK_MONOTONIC in ns.
    worked_at: Option<u64>,
    /// The seconds since the measurement began.
    seconds: Option<Seconds>,
    /// What the program reported at its end.
    at_the_end: BTreeMap<String, Rate>,
    /// Whether the program's output has ended.
    over: bool,
}

/// How a program reports its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// By lines of counts now and then.
    #[default]
    Lines,
    /// As stress-ng, at its end alone.
    StressNg,
}

impl Account {
    /// Reads what a load prints until it ends.
    ///
    /// # Errors
    /// The machine allows no further thread.
    pub fn of(output: impl Read + Send + 'static, manner: Manner) -> io::Result<Self> {
        let account = Self::default();
        let listener = account.clone();
        listening::thread(move || {
            match manner {
                Manner::Lines => follow(output, |counts| listener.hear(counts)),
                Manner::StressNg => {
                    let rates = metrics::rates(output);
                    listener.told().at_the_end = rates;
                }
            }
            listener.told().over = true;
        })?;
        Ok(account)
    }

    /// Returns the last counts that a load printed.
    pub fn read(output: impl Read) -> WorkCounts {
        let mut last = WorkCounts::new();
        follow(output, |counts| last = counts);
        last
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, counts: WorkCounts) {
        let mut told = self.told();
        let now = Monotonic.now();
        if let Some(seconds) = &mut told.seconds {
            seconds.tell(&counts, now);
        }
        if counts.iter().any(|(name, count)| name != ELAPSED && *count > 0) {
            told.worked_at.get_or_insert(now);
        }
        told.latest = counts;
    }

    /// Returns the latest counts.
    pub fn now(&self) -> WorkCounts {
        self.told().latest.clone()
    }

    /// Starts the measurement.
    pub fn start(&self) {
        self.told().seconds = Some(Seconds::default());
    }

    /// Returns when it first reported work, on CLOCK_MONOTONIC in ns.
    pub fn worked_at(&self) -> Option<u64> {
        self.told().worked_at
    }

    /// Ends the measurement, and returns what was done since [`Account::start`].
    pub fn course(&self) -> Course {
        let seconds = self.told().seconds.take();
        seconds.map(|seconds| seconds.course(Monotonic.now())).unwrap_or_default()
    }

    /// Returns what was done so far since [`Account::start`]. The measurement continues.
    pub fn so_far(&self) -> Course {
        let seconds = self.told().seconds.clone();
        seconds.map(|seconds| seconds.course(Monotonic.now())).unwrap_or_default()
    }

    /// Returns what the program reported at its end, if that arrives within `patience`.
    pub fn at_the_end(&self, patience: Duration) -> BTreeMap<String, Rate> {
        let give_up = Instant::now() + patience;
        while !self.told().over && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.told().at_the_end.clone()
    }
}

/// Calls `each` with the counts of every whole line that has some, until the end. Of a line that was cut, a count may have lost digits.
fn follow(output: impl Read, mut each: impl FnMut(WorkCounts)) {
    // An output that cannot be read is treated as ended.
    let _ = Paced::new(output).lines(|line| -> io::Result<()> {
        if line.ends_with(b"\n") {
            parse(&String::from_utf8_lossy(line)).into_iter().for_each(&mut each);
        }
        Ok(())
    });
}

/// Returns the counts between two moments. A count that is missing at the first moment started at 0.
pub fn between(before: &WorkCounts, after: &WorkCounts) -> WorkCounts {
    let since =
        |(name, count): (&String, &i64)| (name.clone(), count.saturating_sub(before.get(name).copied().unwrap_or(0)));
    after.iter().map(since).collect()
}

fn parse(line: &str) -> Option<WorkCounts> {
    let pair = |word: &str| {
        let (name, count) = word.split_once('=')?;
        let plain = (1..=MOST).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        Some((name.to_string(), count.parse().ok().filter(|_| plain)?))
    };
    line.strip_prefix(MARK)?.split_whitespace().take(MOST).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, i64)]) -> WorkCounts {
        pairs.iter().map(|(name, count)| ((*name).to_string(), *count)).collect()
    }

    #[test]
    fn the_last_whole_line_counts() {
        // The last line lacks its end: its count may have lost digits.
        let output =
            "frame=3\nlatido-load busy_ns=5 bursts=1 \nnoise\nlatido-load busy_ns=17 bursts=2 \nlatido-load busy_ns=1";
        let account = Account::of(output.as_bytes(), Manner::Lines).unwrap();
        let expected = counts(&[("busy_ns", 17), ("bursts", 2)]);
        account.at_the_end(Duration::from_secs(60));
        assert_eq!(account.now(), expected);
        assert_eq!(between(&counts(&[("busy_ns", 5)]), &expected), counts(&[("busy_ns", 12), ("bursts", 2)]));
    }

    #[test]
    fn junk_is_not_believed() {
        for junk in ["latido-load busy", "latido-load busy=x", "latido-load a b=1", "latido-load ../x=1", "busy=1"] {
            assert_eq!(parse(junk), None, "{junk}");
        }
        assert_eq!(parse("latido-load \n"), Some(WorkCounts::new()));
    }
}
