//! The seconds in which another task or the hardware disturbed the CPUs, CPU by CPU. The size is bounded, however long the cell lasts.

use latido_model::record::Second;
use std::collections::{BTreeMap, btree_map::Entry};

/// With more entries than this per measured CPU, latido makes the grid twice as coarse: the timeline of a week stays small.
const PER_CPU: usize = 3600;

/// The bound for any number of CPUs: about 7 MB of memory, and 10 MB of a record that may have 32 MB.
const MOST: usize = 36_000;

/// The grid on which latido first adds up the events, in ns.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The key is the cell of the grid, the CPU, and whether the entry is longer than the cell.
type Entries = BTreeMap<(u64, Option<u32>, bool), Second>;

/// Entries on a grid of one second, or of a power of two of seconds.
#[derive(Debug)]
pub struct Timeline {
    /// Completed seconds.
    entries: Entries,
    grid_ns: u64,
    most: usize,
    /// The current second, for which more may come, and what was found late.
    fresh: Entries,
    /// The cell of the current second on the grid of one second.
    newest: u64,
}

impl Timeline {
    /// Makes a timeline for that many measured CPUs.
    pub fn of(cpus: usize) -> Self {
        let most = PER_CPU.saturating_mul(cpus.max(1)).min(MOST);
        Self { entries: Entries::new(), grid_ns: SECOND_NS, most, fresh: Entries::new(), newest: 0 }
    }

    /// Adds the events of a second. Does nothing if there are none.
    pub fn note(&mut self, second: Second) {
        if second.steal_ns == 0 && second.smi == 0 && second.foreign_ns == 0 && second.load_ns == 0 {
            return;
        }
        let cell = second.start_ns / SECOND_NS;
        if cell > self.newest {
            self.newest = cell;
            self.settle();
        }
        place(&mut self.fresh, SECOND_NS, second);
    }

    /// Completes the current second. From here on it may be merged with others.
    fn settle(&mut self) {
        for second in std::mem::take(&mut self.fresh).into_values() {
            place(&mut self.entries, self.grid_ns, second);
        }
        while self.entries.len() > self.most {
            self.grid_ns *= 2;
            for second in std::mem::take(&mut self.entries).into_values() {
                place(&mut self.entries, self.grid_ns, second);
            }
        }
    }

    /// Returns the seconds in the order of time.
    pub fn seconds(&self) -> Vec<Second> {
        let mut all = self.entries.clone();
        self.fresh.values().for_each(|second| place(&mut all, self.grid_ns, *second));
        all.into_values().collect()
    }
}

/// Merges only within one cell of the grid, so that an entry never covers more than the cell.
fn place(entries: &mut Entries, grid_ns: u64, second: Second) {
    // A task that was found late ran at some time in a longer stretch. Such an entry stays separate from those that are exact to the
    // second.
    let long = second.length_ns > grid_ns + grid_ns / 2;
    let key = (second.start_ns / grid_ns, second.cpu, long);
    match entries.entry(key) {
        Entry::Vacant(free) => {
            free.insert(second);
        }
        Entry::Occupied(mut known) => {
            let merged = merged(known.get(), &second, grid_ns > SECOND_NS);
            known.insert(merged);
        }
    }
}

/// Merges both into one. Times within one second add up. Of several seconds, a sample can only meet one.
fn merged(a: &Second, b: &Second, several: bool) -> Second {
    let start_ns = a.start_ns.min(b.start_ns);
    let most = several.then(|| a.most().or(b.most()));
    // Within one second the tasks may have run one after the other.
    let together = if several { u64::max } else { u64::saturating_add };
    let bursts = [a.foreign_burst_ns, b.foreign_burst_ns].into_iter().flatten().reduce(together);
    Second {
        start_ns,
        length_ns: (a.start_ns + a.length_ns).max(b.start_ns + b.length_ns) - start_ns,
        cpu: a.cpu,
        steal_ns: a.steal_ns + b.steal_ns,
        smi: a.smi + b.smi,
        foreign_ns: a.foreign_ns + b.foreign_ns,
        kernel_ns: a.kernel_ns + b.kernel_ns,
        load_ns: a.load_ns + b.load_ns,
        foreign_burst_ns: bursts,
        steal_most_ns: most.map(|most| most.steal_ns),
        foreign_most_ns: most.map(|most| most.foreign_ns),
        kernel_most_ns: most.map(|most| most.kernel_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// 72 h with steal in every second: every entry must cover the same short stretch, and nothing may be lost.
    #[test]
    fn three_days_stay_even_and_whole() {
        let mut timeline = Timeline::of(2);
        for second in 0..72 * 3600 {
            let cpu = Some((second % 2) as u32);
            timeline.note(Second { start_ns: second * S, length_ns: S, cpu, steal_ns: 10, ..Second::default() });
        }
        let seconds = timeline.seconds();
        assert!((PER_CPU..=2 * PER_CPU).contains(&seconds.len()), "{}", seconds.len());
        assert_eq!(seconds.iter().map(|s| s.steal_ns).sum::<u64>(), 72 * 3600 * 10);
        assert!(seconds.iter().all(|s| s.length_ns <= 128 * S), "no entry covers hours");
        assert!(seconds.is_sorted_by_key(|s| s.start_ns / (128 * S)));
    }

    /// A task found after three seconds must not stretch the second in which there was steal.
    #[test]
    fn a_long_stretch_leaves_seconds_as_they_are() {
        let mut timeline = Timeline::of(2);
        timeline.note(Second { start_ns: 0, length_ns: S, steal_ns: 10, ..Second::default() });
        timeline.note(Second { start_ns: 0, length_ns: 3 * S, foreign_ns: 7, kernel_ns: 2, ..Second::default() });
        timeline.note(Second { start_ns: 0, length_ns: S, foreign_ns: 5, kernel_ns: 1, ..Second::default() });
        let seconds = timeline.seconds();
        assert_eq!(seconds.len(), 2);
        assert_eq!((seconds[0].length_ns, seconds[0].steal_ns, seconds[0].foreign_ns), (S, 10, 5));
        assert_eq!((seconds[1].length_ns, seconds[1].foreign_ns, seconds[1].kernel_ns), (3 * S, 7, 2));
    }

    /// Two tasks in one second add up, those in different seconds do not: no sample met more than the worst second contained.
    #[test]
    fn a_merged_entry_knows_what_one_second_had() {
        let mut timeline = Timeline::of(1);
        for second in 0..=PER_CPU as u64 {
            let at = Second { start_ns: second * S, length_ns: S, cpu: Some(0), ..Second::default() };
            let steal_ns = if second == 70 { 20 } else { 10 };
            timeline.note(Second { steal_ns, ..at });
            timeline.note(Second { foreign_ns: 3, ..at });
            timeline.note(Second { foreign_ns: 5, kernel_ns: 4, ..at });
        }
        let alone = timeline.seconds().into_iter().find(|second| second.start_ns == 70 * S).unwrap();
        assert_eq!((alone.length_ns, alone.steal_ns, alone.foreign_ns, alone.steal_most_ns), (S, 20, 8, None));
        let last = Second { start_ns: (PER_CPU as u64 + 1) * S, length_ns: S, cpu: Some(0), ..Second::default() };
        timeline.note(Second { steal_ns: 1, ..last });
        let merged = timeline.seconds().into_iter().find(|second| second.start_ns == 70 * S).unwrap();
        assert_eq!((merged.length_ns, merged.steal_ns, merged.foreign_ns, merged.kernel_ns), (2 * S, 30, 16, 8));
        let most = (merged.steal_most_ns, merged.foreign_most_ns, merged.kernel_most_ns);
        assert_eq!(most, (Some(20), Some(4), Some(4)));
    }

    /// Many CPUs must not make the seconds of each coarser, up to the capacity of a record.
    #[test]
    fn each_cpu_has_its_share_up_to_a_bound() {
        let longest = |cpus: u32| {
            let mut timeline = Timeline::of(cpus as usize);
            for second in 0..PER_CPU as u64 {
                for cpu in 0..cpus {
                    let at = Second { start_ns: second * S, length_ns: S, cpu: Some(cpu), ..Second::default() };
                    timeline.note(Second { steal_ns: 10, ..at });
                }
            }
            let seconds = timeline.seconds();
            assert!(seconds.len() <= MOST + cpus as usize, "{}", seconds.len());
            seconds.iter().map(|second| second.length_ns).max().unwrap()
        };
        assert_eq!((longest(1), longest(8), longest(16)), (S, S, 2 * S));
        // Every field has a value, as in an entry at the end of a year.
        let amount = u64::MAX / 1_000_000;
        let full = Second {
            start_ns: 366 * 86_400 * S,
            length_ns: 86_400 * S,
            cpu: Some(1023),
            steal_ns: amount,
            smi: 9_999,
            foreign_ns: amount,
            kernel_ns: amount,
            load_ns: amount,
            foreign_burst_ns: Some(10 * S),
            steal_most_ns: Some(10 * S),
            foreign_most_ns: Some(10 * S),
            kernel_most_ns: Some(10 * S),
        };
        assert!(serde_json::to_string(&full).unwrap().len() * MOST < 11_000_000);
    }

    /// Two programs in one second may have run one after the other. Of several seconds a sample meets one.
    #[test]
    fn bursts_of_a_second_add_up_and_those_of_several_do_not() {
        let burst = |start_ns, foreign_burst_ns| Second {
            start_ns,
            length_ns: S,
            foreign_ns: 9,
            foreign_burst_ns,
            ..Second::default()
        };
        assert_eq!(merged(&burst(0, Some(3)), &burst(0, Some(4)), false).foreign_burst_ns, Some(7));
        assert_eq!(merged(&burst(0, Some(3)), &burst(S, Some(4)), true).foreign_burst_ns, Some(4));
        assert_eq!(merged(&burst(0, None), &burst(0, Some(4)), false).foreign_burst_ns, Some(4));
    }

    #[test]
    fn a_quiet_second_is_no_entry() {
        let mut timeline = Timeline::of(2);
        timeline.note(Second { start_ns: 5, length_ns: S, ..Second::default() });
        assert_eq!(timeline.seconds(), []);
    }
}
