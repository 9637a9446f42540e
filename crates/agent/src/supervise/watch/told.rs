//! How long a task ran since the last read, although the kernel reports it late.

/// How late the kernel may report the time of a running task, ns: at the task's next tick, and once per second while ticks are stopped
/// (nohz_full).
const LAG_NS: u64 = 1_000_000_000;

/// When a task was read last, and how much of the time before the kernel may still report.
#[derive(Debug)]
pub struct Told {
    read_at: u64,
    /// How long the task may have run before that without a report yet, ns.
    untold_ns: u64,
}

/// The clock just before and just after a task was read. The task ran on in between, and the reader may have been delayed there.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub before: u64,
    pub after: u64,
}

impl Told {
    /// Starts with a read at that time, with nothing left to report.
    pub fn at(read_at: u64) -> Self {
        Self { read_at, untold_ns: 0 }
    }

    /// Returns the time of the last read.
    pub fn read_at(&self) -> u64 {
        self.read_at
    }

    /// Returns how much of the newly reported time the task ran lately. A task is on one CPU at a time: time beyond what passed since the
    /// last read, and beyond what may have been reported late, is older. What passed is the most that there can be between two reads: from
    /// just before the first to just after the second.
    pub fn lately(&mut self, told_ns: u64, reading: Reading) -> u64 {
        let since = std::mem::replace(&mut self.read_at, reading.before);
        let passed = reading.after.saturating_sub(since).saturating_add(self.untold_ns);
        let ran_ns = told_ns.min(passed);
        self.untold_ns = (passed - ran_ns).min(LAG_NS);
        ran_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at_once(now: u64) -> Reading {
        Reading { before: now, after: now }
    }

    /// The kernel reports a task that never rests in steps of a tick, which do not match the looks. No time may be lost, and no more may
    /// count than has passed.
    #[test]
    fn what_is_told_late_is_counted_all_the_same() {
        let counted_ms = |tick_ms| {
            let mut task = Told::at(0);
            let (mut told, mut counted) = (0, 0);
            for look in 1..=100 {
                let now = look * 11 * MS;
                let tells = now / (tick_ms * MS) * (tick_ms * MS);
                counted += task.lately(tells - std::mem::replace(&mut told, tells), at_once(now));
            }
            counted / MS
        };
        assert_eq!((counted_ms(4), counted_ms(10), counted_ms(1000)), (1100, 1100, 1000));
        let mut first = Told::at(5 * MS);
        assert_eq!(first.lately(90 * MS, at_once(15 * MS)), 10 * MS, "the rest was before");
        assert_eq!(first.lately(9 * MS, at_once(25 * MS)), 9 * MS);
    }

    /// The reader is delayed between the clock and the task, and the other way round, while the task runs on. Each reported nanosecond must
    /// count.
    #[test]
    fn a_reader_that_stands_still_loses_nothing() {
        let mut task = Told::at(0);
        let first = task.lately(18 * MS, Reading { before: 10 * MS, after: 18 * MS });
        assert_eq!(first, 18 * MS, "the clock, 8 ms of standing, the task");
        let second = task.lately(MS, Reading { before: 20 * MS, after: 29 * MS });
        assert_eq!(second, MS, "the task, 9 ms of standing, the clock");
        assert_eq!(task.lately(10 * MS, at_once(30 * MS)), 10 * MS, "what it ran in those 9 ms");
    }
}
