//! The seconds in which something foreign happened, CPU by CPU, bounded however long the cell.

use latido_model::record::Second;
use std::collections::BTreeMap;

/// After this many entries the grid is made twice as coarse: the timeline of a week stays small.
const MOST: usize = 3600;

/// Entries on a grid of one second, or of a power of two of them.
#[derive(Debug)]
pub struct Timeline {
    /// By cell of the grid, CPU, and whether it reaches over more than that.
    entries: BTreeMap<(u64, Option<u32>, bool), Second>,
    grid_ns: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), grid_ns: 1_000_000_000 }
    }
}

impl Timeline {
    /// Adds what happened in a second; nothing is not added.
    pub fn note(&mut self, second: Second) {
        if second.steal_ns == 0 && second.smi == 0 && second.foreign_ns == 0 {
            return;
        }
        self.place(second);
        while self.entries.len() > MOST {
            self.grid_ns *= 2;
            for second in std::mem::take(&mut self.entries).into_values() {
                self.place(second);
            }
        }
    }

    /// Only what lies in the same cell of the grid is merged: an entry never covers more than that.
    fn place(&mut self, second: Second) {
        // What was found late ran some time in a longer stretch: what is known to the second stays that.
        let long = second.length_ns > self.grid_ns + self.grid_ns / 2;
        let key = (second.start_ns / self.grid_ns, second.cpu, long);
        let empty = Second { steal_ns: 0, smi: 0, foreign_ns: 0, kernel_ns: 0, ..second };
        let entry = self.entries.entry(key).or_insert(empty);
        let end = (entry.start_ns + entry.length_ns).max(second.start_ns + second.length_ns);
        entry.start_ns = entry.start_ns.min(second.start_ns);
        entry.length_ns = end - entry.start_ns;
        entry.steal_ns += second.steal_ns;
        entry.smi += second.smi;
        entry.foreign_ns += second.foreign_ns;
        entry.kernel_ns += second.kernel_ns;
    }

    /// In the order of time.
    pub fn seconds(&self) -> Vec<Second> {
        self.entries.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// 72 h with steal in every second: every entry covers the same short stretch, and nothing is lost.
    #[test]
    fn three_days_stay_even_and_whole() {
        let mut timeline = Timeline::default();
        for second in 0..72 * 3600 {
            let cpu = Some((second % 2) as u32);
            timeline.note(Second { start_ns: second * S, length_ns: S, cpu, steal_ns: 10, ..Second::default() });
        }
        let seconds = timeline.seconds();
        assert!((MOST / 2..=MOST).contains(&seconds.len()), "{}", seconds.len());
        assert_eq!(seconds.iter().map(|s| s.steal_ns).sum::<u64>(), 72 * 3600 * 10);
        assert!(seconds.iter().all(|s| s.length_ns <= 256 * S), "no entry covers hours");
        assert!(seconds.is_sorted_by_key(|s| s.start_ns / (256 * S)));
    }

    /// A task found after three seconds does not stretch the second in which something was stolen.
    #[test]
    fn a_long_stretch_leaves_seconds_as_they_are() {
        let mut timeline = Timeline::default();
        timeline.note(Second { start_ns: 0, length_ns: S, steal_ns: 10, ..Second::default() });
        timeline.note(Second { start_ns: 0, length_ns: 3 * S, foreign_ns: 7, kernel_ns: 2, ..Second::default() });
        timeline.note(Second { start_ns: 0, length_ns: S, foreign_ns: 5, kernel_ns: 1, ..Second::default() });
        let seconds = timeline.seconds();
        assert_eq!(seconds.len(), 2);
        assert_eq!((seconds[0].length_ns, seconds[0].steal_ns, seconds[0].foreign_ns), (S, 10, 5));
        assert_eq!((seconds[1].length_ns, seconds[1].foreign_ns, seconds[1].kernel_ns), (3 * S, 7, 2));
    }

    #[test]
    fn a_quiet_second_is_no_entry() {
        let mut timeline = Timeline::default();
        timeline.note(Second { start_ns: 5, length_ns: S, ..Second::default() });
        assert_eq!(timeline.seconds(), []);
    }
}
