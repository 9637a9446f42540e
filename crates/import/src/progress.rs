//! What a screen reports about a thread repeatedly. Within one run, counts and largest values never fall, smallest values never rise, and
//! the thread stays the same.

use crate::imported::Series;
use anyhow::{Result, ensure};

/// The figures of one moment, in any unit. latido does not compare absent figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The thread's id in the kernel. Absent for 0, which tools print before the thread runs.
    pub task: Option<u64>,
    /// The number of cycles so far.
    pub count: Option<u64>,
    /// The smallest value so far.
    pub min: Option<i64>,
    /// The largest value so far.
    pub max: Option<i64>,
}

impl Progress {
    /// Returns the figures of a series at its moment.
    pub fn of(series: &Series) -> Self {
        Self { task: None, count: series.count, min: series.min.map(|one| one.low), max: series.max.map(|one| one.low) }
    }

    /// Checks later figures of the same thread against these.
    ///
    /// # Errors
    /// The later figures can only come from another run.
    pub fn then(&self, later: &Self) -> Result<()> {
        fn against<T: PartialOrd>(one: Option<T>, other: Option<T>, holds: fn(&T, &T) -> bool) -> bool {
            one.zip(other).is_none_or(|(one, other)| holds(&one, &other))
        }
        let broken = [
            ("the thread's id changes", against(self.task, later.task, |one, other| one == other)),
            ("the count falls", against(self.count, later.count, |one, other| one <= other)),
            ("the smallest value rises", against(self.min, later.min, |one, other| one >= other)),
            ("the largest value falls", against(self.max, later.max, |one, other| one <= other)),
        ];
        let why = broken.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why);
        ensure!(why.is_none(), "a second run: keep one run per file ({})", why.unwrap_or_default());
        Ok(())
    }
}

/// Checks a block of a screen against the block before it: the figures as [`Progress`], and the facts, none of which may fall.
///
/// # Errors
/// The later block can only come from another run; the error names the CPU.
pub fn blocks(before: &[Series], later: &[Series]) -> Result<()> {
    for one in before {
        let same =
            |other: &&Series| (other.cpu, &other.quantity, &other.labels) == (one.cpu, &one.quantity, &one.labels);
        let Some(other) = later.iter().find(same) else { continue };
        let of = || format!("CPU {}", one.cpu.unwrap_or_default());
        anyhow::Context::with_context(Progress::of(one).then(&Progress::of(other)), of)?;
        let fallen = one.facts.iter().find(|(name, value)| other.facts.get(*name).is_some_and(|later| later < value));
        let name = fallen.map(|(name, _)| name.as_str()).unwrap_or_default();
        ensure!(fallen.is_none(), "{}: a second run: keep one run per file ({name} falls)", of());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_only_grows() {
        let first = Progress { task: Some(7), count: Some(10), min: Some(5), max: Some(177) };
        let grown = Progress { count: Some(11), min: Some(4), max: Some(178), ..first };
        first.then(&first).unwrap();
        first.then(&grown).unwrap();
        Progress { task: None, ..first }.then(&grown).unwrap();
        for (other, why) in [
            (Progress { task: Some(8), ..grown }, "id changes"),
            (Progress { count: Some(9), ..grown }, "count falls"),
            (Progress { min: Some(6), ..grown }, "smallest value rises"),
            (Progress { max: Some(87), ..grown }, "largest value falls"),
        ] {
            assert!(first.then(&other).unwrap_err().to_string().contains(why), "{why}");
        }
    }
}
