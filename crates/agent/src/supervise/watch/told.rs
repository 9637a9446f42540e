//! What a task ran since it was last read, though the kernel tells it late.

/// How late the time that a running task has run may be told: at its next tick, and where ticks are stopped (nohz_full)
/// once a second.
const LAG_NS: u64 = 1_000_000_000;

/// When a task was read last, and what of the time before may still be told.
#[derive(Debug)]
pub struct Told {
    read_at: u64,
    /// How long before that it may have run without its being told yet.
    untold_ns: u64,
}

/// The clock just before a task was read, and just after: it ran on in between, and the reader may have stood still there.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub before: u64,
    pub after: u64,
}

impl Told {
    /// Read at that time, with nothing open.
    pub fn at(read_at: u64) -> Self {
        Self { read_at, untold_ns: 0 }
    }

    /// The time from which on what it runs was not read yet.
    pub fn read_at(&self) -> u64 {
        self.read_at
    }

    /// What it ran lately of what is told now: a task is on one CPU at a time, and more than passed since it was read, and
    /// may have been told late, was before. What passed is the most that lies between two readings: from just before the one
    /// to just after the other.
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

    /// A task that never rests is told in steps of a tick, which fit no look: none of it is lost, and no more is counted
    /// than time passed.
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

    /// The reader stands still between the clock and the task, and the other way round, while the task runs on: each
    /// nanosecond that it is told is counted.
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
