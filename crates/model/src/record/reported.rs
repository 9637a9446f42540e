//! What became of the lines of a program that told the samples itself.

use super::ProgramRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a program told its samples: nothing of this is seen by latido's own loops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Its name: `node.py`.
    pub by: String,
    /// The program that was started; absent where it runs as another person, who finds it by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRecord>,
    /// The format of its lines: `latido`, `csv`, ...
    pub format: String,
    /// Where they came from: `stdout`, or `fd` for a pipe of their own.
    pub channel: String,
    /// From its start until it was ready, in ns; absent for a format that does not say so.
    pub ready_ns: Option<u64>,
    /// Whether the cell's policy was given to it; else its policy is its own.
    pub policy_asked: bool,
    /// Lines, bad ones with them.
    pub lines: u64,
    /// Bad lines by their kind; kinds that did not come are left out.
    pub bad: BTreeMap<String, u64>,
    /// The first ten bad lines, in printable ASCII.
    pub examples: Vec<String>,
    /// Samples that came before the measurement began, or ended before it: counted here and nowhere else.
    pub early: u64,
    /// Samples that ended behind the measurement.
    pub beyond: u64,
    /// Samples that the program says it lost.
    pub dropped: u64,
    /// Samples that it produced and that did not arrive; absent where it does not say how many it produced.
    pub lost: Option<u64>,
    /// Samples that arrived beyond those that it says it produced: some came twice, or are not its own.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub surplus: u64,
    /// Times that were before the time before: the value is kept.
    pub backwards: u64,
    /// Whether it told the end of all its series.
    pub ended: bool,
    /// The pipe.
    pub pipe: Pipe,
    /// The exit status of a program that ended by itself, as a shell has it; absent where it was ended.
    pub exit: Option<u8>,
}

impl Reported {
    /// Of this part and the next: counts add up, what went wrong in one went wrong.
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
        Self {
            lines: self.lines.saturating_add(next.lines),
            early: self.early.saturating_add(next.early),
            beyond: self.beyond.saturating_add(next.beyond),
            dropped: self.dropped.saturating_add(next.dropped),
            lost: self.lost.zip(next.lost).map(|(a, b)| a.saturating_add(b)),
            backwards: self.backwards.saturating_add(next.backwards),
            ended: next.ended,
            exit: next.exit,
            pipe,
            ..self
        }
    }

    /// All bad lines.
    pub fn bad_lines(&self) -> u64 {
        self.bad.values().copied().fold(0, u64::saturating_add)
    }
}

/// How full the pipe was when it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipe {
    /// What it holds, in bytes.
    pub size: u64,
    /// What was in it at the latest reading while measured, in bytes.
    pub latest: u64,
    /// The most that was ever in it, in bytes.
    pub fullest: u64,
    /// Whether it was full, so that the program may have stood still, while samples were still taken.
    pub blocked: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none_at_all(count: &u64) -> bool {
    *count == 0
}
