//! What became of the lines of a program that reports the samples itself.

use super::ProgramRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a program reported its samples. latido's own loops see nothing of this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Its name: `node.py`.
    pub by: String,
    /// The program that was started; absent if it runs as another user, because latido then does not find the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRecord>,
    /// The format of its lines: `latido`, `csv`, ...
    pub format: String,
    /// Where they came from: `stdout`, or `fd` for a separate pipe.
    pub channel: String,
    /// The time from its start until it was ready, in ns; absent for a format that does not report this.
    pub ready_ns: Option<u64>,
    /// Whether latido gave it the cell's policy; otherwise it sets its policy itself.
    pub policy_asked: bool,
    /// Lines, including bad ones.
    pub lines: u64,
    /// Bad lines by their kind; kinds that did not occur are left out.
    pub bad: BTreeMap<String, u64>,
    /// The first ten bad lines, in printable ASCII.
    pub examples: Vec<String>,
    /// Samples that arrived before the measurement began, or ended before it. They count only here.
    pub early: u64,
    /// Samples that ended after the measurement.
    pub beyond: u64,
    /// Samples that the program reports as lost.
    pub dropped: u64,
    /// Samples that it produced and that did not arrive; absent if it does not report how many it produced.
    pub lost: Option<u64>,
    /// Samples that arrived beyond the number that it reports to have produced: some came twice, or from elsewhere.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub surplus: u64,
    /// Times that were before the previous one; the value is kept.
    pub backwards: u64,
    /// Whether it reported the end of all its series.
    pub ended: bool,
    /// The pipe.
    pub pipe: Pipe,
    /// The exit status of a program that ended by itself, as in a shell; absent if latido ended it.
    pub exit: Option<u8>,
}

impl Reported {
    /// Merges this part and the next: counts add up, and a fault in one part is a fault of both.
    pub fn and(mut self, next: Self) -> Self {
        for (kind, count) in next.bad {
            let sum = self.bad.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
        self.examples.extend(next.examples);
        let (pipe, other) = (self.pipe, next.pipe);
        let pipe = Pipe {
            size: pipe.size.min(other.size),
            latest: other.latest,
            fullest: pipe.fullest.max(other.fullest),
            blocked: pipe.blocked || other.blocked,
        };
        // All fields are here, so that the compiler asks for the rule of a new one.
        Self {
            lines: self.lines.saturating_add(next.lines),
            early: self.early.saturating_add(next.early),
            beyond: self.beyond.saturating_add(next.beyond),
            dropped: self.dropped.saturating_add(next.dropped),
            lost: self.lost.zip(next.lost).map(|(a, b)| a.saturating_add(b)),
            surplus: self.surplus.saturating_add(next.surplus),
            backwards: self.backwards.saturating_add(next.backwards),
            ended: next.ended,
            exit: next.exit,
            pipe,
            by: self.by,
            program: self.program,
            format: self.format,
            channel: self.channel,
            ready_ns: self.ready_ns,
            policy_asked: self.policy_asked,
            bad: self.bad,
            examples: self.examples,
        }
    }

    /// Returns the number of all bad lines.
    pub fn bad_lines(&self) -> u64 {
        self.bad.values().copied().fold(0, u64::saturating_add)
    }
}

/// How full the pipe was when latido read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipe {
    /// Its capacity, in bytes.
    pub size: u64,
    /// The bytes in it at the latest reading while measured.
    pub latest: u64,
    /// The most bytes that were ever in it.
    pub fullest: u64,
    /// Whether it was full while samples were still taken, so that the program may have been blocked.
    pub blocked: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none_at_all(count: &u64) -> bool {
    *count == 0
}
