//! Jobs of a program: what they waited for, and which part of their own execution is unusual.

use super::{Cause, Explained, Slice};
use crate::events::Class;

/// The longest time that the kernel is busy with a page fault, in ns: it clears up to 2 MiB. Waiting for a disk is not execution.
const MOST_OF_A_FAULT: u64 = 100_000;

/// A time in which a job waited for another task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Start of the wait, ns.
    pub begin: u64,
    /// When the task woke the job, ns.
    pub end: u64,
    /// The task.
    pub pid: i32,
    /// `name-number`.
    pub name: String,
}

impl Explained {
    /// Marks the part of a job's own execution beyond `usual_ns`, from the moment when the usual time was used up. If an earlier job should
    /// have ended before, it marks all of that job's execution.
    pub fn own_beyond(&mut self, usual_ns: u64, is_earlier: bool) {
        let rests = |cause: &Cause| matches!(cause, Cause::Asleep | Cause::OwnTimer | Cause::Awaits(_));
        let earlier = is_earlier && self.slices.first().is_some_and(|first| !rests(&first.cause));
        let (mut left, mut all) = (if earlier { 0 } else { usual_ns }, Vec::with_capacity(self.slices.len()));
        let own = self.slices.iter().filter(|slice| slice.cause == Cause::Own).map(|slice| slice.end - slice.begin);
        let beyond_ns = own.fold(0, u64::saturating_add).saturating_sub(left);
        let may_take = self.faults.unwrap_or(0).saturating_mul(MOST_OF_A_FAULT);
        let beyond = Cause::Beyond { usual_ns, faults: may_take > 0 && may_take >= beyond_ns / 4 };
        for slice in std::mem::take(&mut self.slices) {
            if slice.cause != Cause::Own {
                all.push(slice);
                continue;
            }
            let cut = slice.begin.saturating_add(left).min(slice.end);
            left -= cut - slice.begin;
            let parts =
                [Slice { end: cut, ..slice.clone() }, Slice { begin: cut, end: slice.end, cause: beyond.clone() }];
            all.extend(parts.into_iter().filter(|part| part.end > part.begin));
        }
        self.slices = all;
    }

    /// Handles that the kernel held back the control group of this ordinary thread, for `most_ns` at the longest. Each slice that is no
    /// longer than that names the quota.
    pub fn held_back(&mut self, most_ns: u64) {
        for slice in self.slices.iter_mut().filter(|slice| slice.end - slice.begin <= most_ns) {
            match &slice.cause {
                // The throttle of real-time threads does not apply to an ordinary thread.
                Cause::Throttled => slice.cause = Cause::Quota,
                Cause::Task(name, Class::Fair) => slice.cause = Cause::TaskOrQuota(name.clone()),
                _ => {}
            }
        }
    }

    /// Handles a period in which the thread started no job. If it was still doing an earlier job, the period lost that time, until the
    /// thread slept.
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
