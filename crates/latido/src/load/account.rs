//! What a load says it did: cumulative counts, printed now and then, of which the record keeps the measured part.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// Cumulative counts since the start of the load, by name. `elapsed_ns` is the load's own clock, for rates.
pub type Counts = BTreeMap<String, i64>;

/// How a line of counts begins; everything else that the program prints is its own business.
const MARK: &str = "latido-load ";

/// The most counts and the longest name that are believed.
const MOST: usize = 64;

/// Prints the counts for whoever started this load.
///
/// # Errors
/// Nobody listens any more.
pub fn tell(counts: &[(&str, u64)]) -> std::io::Result<()> {
    let mut line = String::from(MARK);
    for (name, count) in counts {
        line.push_str(&format!("{name}={count} "));
    }
    line.push('\n');
    std::io::stdout().lock().write_all(line.as_bytes())
}

/// The listening end.
#[derive(Clone, Debug, Default)]
pub struct Account {
    latest: Arc<Mutex<Counts>>,
}

impl Account {
    /// Listens to what a load prints until it ends.
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let account = Self::default();
        let latest = Arc::clone(&account.latest);
        std::thread::spawn(move || {
            follow(output, |counts| *latest.lock().unwrap_or_else(PoisonError::into_inner) = counts);
        });
        account
    }

    /// The last counts in what a load printed.
    pub fn read(output: impl Read) -> Counts {
        let mut last = Counts::new();
        follow(output, |counts| last = counts);
        last
    }

    /// The counts last told.
    pub fn now(&self) -> Counts {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Calls for the counts of every line that has some, until the end.
fn follow(output: impl Read, mut each: impl FnMut(Counts)) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    // A program that never ends its line must not fill the memory.
    while let Ok(1..) = lines.by_ref().take(4096).read_until(b'\n', &mut line) {
        parse(&String::from_utf8_lossy(&line)).into_iter().for_each(&mut each);
        line.clear();
    }
}

/// What was counted between two moments; a count that was not told at the first began at 0.
pub fn between(before: &Counts, after: &Counts) -> Counts {
    let since =
        |(name, count): (&String, &i64)| (name.clone(), count.saturating_sub(before.get(name).copied().unwrap_or(0)));
    after.iter().map(since).collect()
}

fn parse(line: &str) -> Option<Counts> {
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

    fn counts(pairs: &[(&str, i64)]) -> Counts {
        pairs.iter().map(|(name, count)| ((*name).to_string(), *count)).collect()
    }

    #[test]
    fn the_last_whole_line_counts() {
        let output = "frame=3\nlatido-load busy_ns=5 bursts=1 \nnoise\nlatido-load busy_ns=17 bursts=2 \n";
        let account = Account::of(output.as_bytes());
        let expected = counts(&[("busy_ns", 17), ("bursts", 2)]);
        while account.now() != expected {
            std::thread::yield_now();
        }
        assert_eq!(between(&counts(&[("busy_ns", 5)]), &expected), counts(&[("busy_ns", 12), ("bursts", 2)]));
    }

    #[test]
    fn junk_is_not_believed() {
        for junk in ["latido-load busy", "latido-load busy=x", "latido-load a b=1", "latido-load ../x=1", "busy=1"] {
            assert_eq!(parse(junk), None, "{junk}");
        }
        assert_eq!(parse("latido-load \n"), Some(Counts::new()));
    }
}
