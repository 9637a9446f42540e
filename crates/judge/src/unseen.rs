//! What the time watched supports about a cause that latido did not see, or saw in a few bursts only. Every sentence of this kind is made
//! here.
//!
//! Samples are not independent trials. A stall of 300 ms spoils 300 slots of 1 ms at once, threads that wait in one queue are late
//! together, and a job that runs once per second runs no more than once in any second. So trials are disjoint stretches of the time in
//! which latido watched the machine, and latido reports how often a cause strikes over time. A guest of the laboratory follows one
//! trajectory, which supports nothing over time: latido reports what the replicates of a sweep support instead.

use super::repeat::{Pooled, Repeat};
use crate::{
    span::{Span, plain, spans},
    statistics::confidence::exceedance,
};
use latido_model::{
    cell::{Axis, Cell},
    record::Sample,
};
use latido_statistics::{
    absence::{Trials, longest_crowd},
    tail::{Exceedances, Observed, Peak, default_k},
};

/// One cell in which latido looked for something. Its threads watched at the same time, so their time counts once.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Whether it is a replicate of a sweep in the laboratory.
    pub is_emulated: bool,
    /// How long latido watched, ns; 0 where that is not known.
    pub elapsed_ns: u64,
    /// The number of bursts in which it was seen.
    pub seen: u64,
    /// Whether it was seen in more than half of the samples.
    pub mostly: bool,
    /// The length of the longest cluster of large samples, ns.
    pub crowd_ns: u64,
}

/// A bound on how often a cause strikes, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rarity {
    /// Over the time watched.
    Time {
        /// The number of bursts in which it was seen.
        bursts: u64,
        /// The cause does not strike more often than once in this time, ns.
        shortest_ns: u64,
        /// It does not strike less often than once in this time, ns; absent where it was not seen.
        longest_ns: Option<u64>,
        /// The number of conditions watched: the statement holds in each.
        conditions: usize,
    },
    /// The number of bursts, where bursts that follow each other closely count as one. Most samples are above the limit, so no rate exists.
    Crowded(u64),
    /// latido watched for less than one stretch of this length, ns.
    TooShort(u64),
    /// The time watched is not known.
    Untimed,
    /// Over the replicates of a sweep.
    Members {
        /// The number of replicates in which it was seen.
        seen: u64,
        /// The number of replicates.
        all: u64,
    },
}

impl Rarity {
    /// Returns what these watches support; `None` if there are no watches. A trial is at least as long as `stretch_ns` (the larger of
    /// period and deadline) and as the longest cluster seen. The times of cells of one condition (repeats, boots) add up. With several
    /// conditions, the condition watched least decides: a cause may belong to one condition alone.
    pub fn of(watches: &[Watch<'_>], stretch_ns: u64) -> Option<Self> {
        let mut groups: Vec<Vec<&Watch<'_>>> = Vec::new();
        for watch in watches {
            let alike = |group: &&mut Vec<&Watch<'_>>| group.first().is_some_and(|known| known.is_like(watch));
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(watch),
                None => groups.push(vec![watch]),
            }
        }
        let weakest = groups.iter().map(|group| Self::of_one(group, stretch_ns)).min_by_key(Self::strength)?;
        Some(match weakest {
            Self::Time { bursts, shortest_ns, longest_ns, .. } => {
                Self::Time { bursts, shortest_ns, longest_ns, conditions: groups.len() }
            }
            other => other,
        })
    }

    fn of_one(group: &[&Watch<'_>], stretch_ns: u64) -> Self {
        if group.iter().any(|watch| watch.is_emulated) {
            let seen = group.iter().filter(|watch| watch.seen > 0).count() as u64;
            return Self::Members { seen, all: group.len() as u64 };
        }
        if group.iter().all(|watch| watch.elapsed_ns == 0) {
            return Self::Untimed;
        }
        let crowd_ns = group.iter().map(|watch| watch.crowd_ns).max().unwrap_or(0);
        let trials = Trials::of(group.iter().map(|watch| watch.elapsed_ns), stretch_ns.max(crowd_ns));
        let bursts = group.iter().map(|watch| watch.seen).fold(0, u64::saturating_add);
        if group.iter().any(|watch| watch.mostly) {
            return Self::Crowded(bursts);
        }
        trials.interval(bursts).map_or(Self::TooShort(trials.stretch_ns), |found| Self::Time {
            bursts,
            shortest_ns: found.shortest_ns as u64,
            longest_ns: found.longest_ns.map(|ns| ns as u64),
            conditions: 1,
        })
    }

    /// A rank: the lowest supports the weakest statement.
    pub fn strength(&self) -> (u8, u64) {
        match self {
            Self::Untimed => (0, 0),
            Self::TooShort(_) => (1, 0),
            Self::Members { all, .. } => (2, *all),
            Self::Crowded(_) => (3, 0),
            Self::Time { shortest_ns, .. } => (3, *shortest_ns),
        }
    }

    /// The sentence without its full stop: `a cause that strikes more often than once in 1.34 s would have been seen with 95 %
    /// probability`.
    pub fn spans(&self) -> Vec<Span> {
        match *self {
            Self::Untimed => spans!["the duration is unknown, so latido cannot say how rare a cause may be"],
            Self::TooShort(stretch_ns) => {
                spans!["it took less than ", Span::time(stretch_ns), ": too short to say how rare a cause may be"]
            }
            Self::Crowded(1) => spans!["in 1 burst, too long to say how often a cause strikes"],
            Self::Crowded(bursts) => {
                spans![format!("in {bursts} bursts, too close together to say how often a cause strikes")]
            }
            Self::Time { bursts: 0, shortest_ns, conditions, .. } => {
                let each = if conditions > 1 { format!(" in any of {conditions} conditions") } else { String::new() };
                let often = Span::time(shortest_ns);
                spans![
                    "a cause that strikes more often than once in ",
                    often,
                    each,
                    " would have been seen with 95 % probability"
                ]
            }
            Self::Time { bursts, shortest_ns, longest_ns, .. } => {
                let many = if bursts == 1 { "in 1 burst".to_owned() } else { format!("in {bursts} bursts") };
                let head = spans![many, "; with 95 % confidence, the cause strikes "];
                let rest = match (shortest_ns, longest_ns.map(Span::time)) {
                    (0, Some(longest)) => spans!["at least once in ", longest],
                    (shortest, Some(longest)) => spans!["once in ", Span::time(shortest), " to ", longest],
                    (shortest, None) => spans!["at most once in ", Span::time(shortest)],
                };
                [head, rest].concat()
            }
            Self::Members { all: 1, .. } => {
                spans![
                    "one guest shows only one course of events, so there is no probability; `--repeat 20` measures others"
                ]
            }
            Self::Members { seen, all } => {
                let (lower, upper) = exceedance(seen, all).unwrap_or((0.0, 1.0));
                let share = |share: f64| Span::whole((share * 100.0).ceil(), "%");
                let head = if seen == 0 { "none".to_owned() } else { seen.to_string() };
                let head = spans![format!("in {head} of {all} members of the sweep: with 95 % confidence in ")];
                let rest = match seen {
                    0 => spans!["fewer than ", share(upper), " of such members"],
                    _ => spans![Span::whole((lower * 100.0).floor(), "%"), " to ", share(upper), " of such members"],
                };
                [head, rest].concat()
            }
        }
    }

    /// The same as plain text.
    pub fn text(&self) -> String {
        plain(&self.spans())
    }
}

impl<'a> Watch<'a> {
    /// One repeat in which latido saw nothing.
    pub fn none(cell: &'a Cell, is_emulated: bool, elapsed_ns: u64) -> Self {
        Self { cell, is_emulated, elapsed_ns, seen: 0, mostly: false, crowd_ns: 0 }
    }

    /// Returns whether latido watched both under the same conditions: all axes but boot, repeat and seed.
    fn is_like(&self, other: &Self) -> bool {
        self.is_emulated == other.is_emulated
            && Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot).all(|axis| self.cell.agrees(other.cell, axis))
    }
}

/// Returns the length, ns, of the longest cluster among the largest samples of a thread: a trial shorter than this depends on the next one.
/// Returns 0 where the extremal index of Ferro and Segers sees no cluster.
pub fn crowd_ns(largest: &[Sample], count: u64) -> u64 {
    // The moments, in ns, take the place of sample numbers: the estimator uses only their distances.
    let peaks: Vec<Peak> = largest.iter().map(|one| Peak { index: one.at_ns, value: one.value }).collect();
    let observed = Observed { peaks: &peaks, count: u64::MAX, length_s: 1.0, block_maxima: &[] };
    let Ok(found) = Exceedances::of(&observed, default_k(count, peaks.len() as u64)) else { return 0 };
    if found.gap == 0 {
        return 0;
    }
    let mut moments: Vec<u64> =
        peaks.iter().filter(|peak| peak.value > found.threshold).map(|peak| peak.index).collect();
    moments.sort_unstable();
    longest_crowd(&moments, found.gap)
}

/// Returns the number of bursts in which a repeat was above a limit, all its threads together. Samples at most `stretch_ns` apart belong to
/// one burst. Returns `None` where the record does not store all samples above the limit.
pub fn bursts(repeat: &Repeat, of: &Pooled, limit: i64, stretch_ns: u64) -> Option<u64> {
    let mut moments: Vec<u64> = Vec::new();
    for track in repeat.quantities.iter().filter(|one| one.pooled.key() == of.key()).flat_map(|one| &one.tracks) {
        let whole = track.largest.len() as u64 == track.plain.count
            || track.largest.last().is_some_and(|last| last.value <= limit);
        if !whole {
            return None;
        }
        moments.extend(track.largest.iter().filter(|one| one.value > limit).map(|one| one.at_ns));
    }
    moments.sort_unstable();
    let apart = moments.windows(2).filter(|two| matches!(two, [a, b] if b - a > stretch_ns)).count() as u64;
    Some(apart + u64::from(!moments.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{record::Class, sample};

    const SECOND: u64 = 1_000_000_000;

    fn said(watches: &[Watch<'_>], stretch_ns: u64) -> String {
        Rarity::of(watches, stretch_ns).unwrap().text()
    }

    #[test]
    fn time_and_not_samples_says_how_rare_a_cause_is() {
        let cell = sample::cell();
        let watch = Watch::none(&cell, false, 4 * SECOND);
        insta::assert_snapshot!(said(&[watch], SECOND), @"a cause that strikes more often than once in 1.34 s would have been seen with 95 % probability");
        insta::assert_snapshot!(said(&[watch; 3], SECOND), @"a cause that strikes more often than once in 4.01 s would have been seen with 95 % probability");
        insta::assert_snapshot!(said(&[watch], 5 * SECOND), @"it took less than 5.00 s: too short to say how rare a cause may be");
        insta::assert_snapshot!(said(&[Watch { elapsed_ns: 0, ..watch }], SECOND), @"the duration is unknown, so latido cannot say how rare a cause may be");
        // A cluster of 3 s leaves one trial.
        insta::assert_snapshot!(said(&[Watch { crowd_ns: 3 * SECOND, ..watch }], SECOND), @"a cause that strikes more often than once in 1.00 s would have been seen with 95 % probability");
        insta::assert_snapshot!(said(&[Watch { seen: 2, ..watch }], 1_000_000), @"in 2 bursts; with 95 % confidence, the cause strikes once in 554 ms to 16.5 s");
        // Most samples are above the limit, so no rate exists, however few the bursts.
        insta::assert_snapshot!(said(&[Watch { seen: 2_000, mostly: true, ..watch }], 1_000_000), @"in 2000 bursts, too close together to say how often a cause strikes");
        insta::assert_snapshot!(said(&[Watch { seen: 1, mostly: true, ..watch }], 1_000_000), @"in 1 burst, too long to say how often a cause strikes");
        assert!(Rarity::of(&[], SECOND).is_none());
    }

    /// A cause may belong to one load alone. The time under other loads does not count for it.
    #[test]
    fn the_condition_that_was_watched_least_decides() {
        let (idle, busy) = (sample::cell(), sample::under("busy"));
        let both = [Watch::none(&idle, false, 400 * SECOND), Watch::none(&busy, false, 4 * SECOND)];
        insta::assert_snapshot!(said(&both, SECOND), @"a cause that strikes more often than once in 1.34 s in any of 2 conditions would have been seen with 95 % probability");
    }

    #[test]
    fn in_the_laboratory_members_are_counted_and_no_time() {
        let cell = sample::cell();
        let member = Watch::none(&cell, true, 3_600 * SECOND);
        insta::assert_snapshot!(said(&[member], SECOND), @"one guest shows only one course of events, so there is no probability; `--repeat 20` measures others");
        insta::assert_snapshot!(said(&[member; 20], SECOND), @"in none of 20 members of the sweep: with 95 % confidence in fewer than 14 % of such members");
        let mut some = [member; 20];
        some[0].seen = 40;
        insta::assert_snapshot!(said(&some, SECOND), @"in 1 of 20 members of the sweep: with 95 % confidence in 0 % to 25 % of such members");
    }

    /// Clusters of 20 ms twice per second among 10,000 samples are found. Samples of one kind form no long cluster.
    #[test]
    fn crowds_among_the_largest_are_found() {
        let at = |index: u64, value: i64| Sample { value, at_ns: index * 1_000_000, class: Class::Unknown };
        let crowd =
            |i: u64| if i % 500 < 20 { 50_000 + (i * 7 % 20) as i64 * 100 } else { 5_000 + (i * 7_919 % 997) as i64 };
        let crowded: Vec<Sample> = (0..10_000).map(|i| at(i, crowd(i))).collect();
        let found = crowd_ns(&crowded, 10_000);
        assert!((10_000_000..30_000_000).contains(&found), "{found}");
        let even: Vec<Sample> = (0..10_000).map(|i| at(i, 5_000 + (i * 7_919 % 9_973) as i64)).collect();
        assert!(crowd_ns(&even, 10_000) < 100_000_000);
        assert_eq!(crowd_ns(&[], 0), 0);
    }
}
