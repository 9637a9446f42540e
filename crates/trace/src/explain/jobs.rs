//! Jobs of a program: what they waited for, and what of their own execution is not the usual.

use super::{Cause, Explained, Slice};

/// A time in which a job waited for another task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// From then, ns.
    pub begin: u64,
    /// Until the task woke it, ns.
    pub end: u64,
    /// The task.
    pub pid: i32,
    /// `name-number`.
    pub name: String,
}

impl Explained {
    /// Of a period in which the thread began no job: where it was still at an earlier one, that is what it lost, until it slept.
    pub fn of_an_earlier_job(&mut self) {
        let rests = |slice: &Slice| matches!(slice.cause, Cause::Asleep | Cause::OwnTimer);
        if self.slices.first().is_none_or(rests) {
            return;
        }
        let done = self.slices.iter().position(rests).unwrap_or(self.slices.len());
        self.slices.truncate(done);
        self.window.end = self.slices.last().map_or(self.window.end, |last| last.end);
    }
}
