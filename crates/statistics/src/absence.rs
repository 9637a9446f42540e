//! How rare an event may be, given how often it came while it was looked for: trials are disjoint stretches of time.
//!
//! Samples are no trials: one stall spoils all that fall into it. A stretch that is as long as what one event can spoil is
//! one, and a rate over time then needs no sample to be independent of the next.

use crate::confidence::exceedance;

/// Disjoint stretches of one length in which an event was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// How long a stretch is, ns; at least 1.
    pub stretch_ns: u64,
    /// How many there were.
    pub count: u64,
}

/// Between which mean intervals an event strikes, with the confidence of [`crate::confidence::CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// It does not strike more often than once in so many ns on average.
    pub shortest_ns: f64,
    /// Nor less often than once in so many; `None` where it was not seen.
    pub longest_ns: Option<f64>,
}

impl Trials {
    /// The whole stretches that fit into each of these lengths of time, ns. Times that ran side by side are one time: the
    /// caller gives them once.
    pub fn of(watched_ns: impl IntoIterator<Item = u64>, stretch_ns: u64) -> Self {
        let stretch_ns = stretch_ns.max(1);
        let whole = watched_ns.into_iter().map(|ns| ns / stretch_ns);
        Self { stretch_ns, count: whole.fold(0, u64::saturating_add) }
    }

    /// How rare an event may be that struck in `seen` of the stretches. A cause that strikes at random moments, once in T on
    /// average, spares a stretch L with `exp(-L/T)`: the bounds of Clopper and Pearson on the share of the stretches that were
    /// hit are bounds on T. Of an event that never came the bound is one-sided, `n L / ln 20`. `None` where no whole stretch
    /// was watched.
    pub fn interval(&self, seen: u64) -> Option<Interval> {
        let (lower, upper) = exceedance(seen.min(self.count), self.count)?;
        let mean = |share: f64| self.stretch_ns as f64 / -f64::ln_1p(-share);
        let longest_ns = (seen > 0 && lower > 0.0).then(|| mean(lower));
        Some(Interval { shortest_ns: if upper < 1.0 { mean(upper) } else { 0.0 }, longest_ns })
    }
}

/// How long the longest crowd of events is, from its first to its last, of events at these moments in ascending order, where
/// those at most `gap` apart are of one crowd.
pub fn longest_crowd(moments: &[u64], gap: u64) -> u64 {
    let (mut longest, mut first, mut last) = (0, None, 0);
    for moment in moments {
        match first {
            Some(begin) if moment.saturating_sub(last) <= gap => longest = longest.max(moment.saturating_sub(begin)),
            _ => first = Some(*moment),
        }
        last = *moment;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{generator, uniform};

    /// Four seconds hold four jobs of a second, not 4,000; and a rate does not depend on how finely time is cut.
    #[test]
    fn trials_are_stretches_and_not_samples() {
        let second = 1_000_000_000;
        let coarse = Trials::of([4 * second], second);
        assert_eq!(coarse.count, 4);
        let shortest = coarse.interval(0).unwrap().shortest_ns;
        assert!((shortest / 1e9 - 4.0 / 20f64.ln()).abs() < 1e-9, "{shortest}");
        let fine = Trials::of([4 * second], 1_000_000).interval(0).unwrap().shortest_ns;
        assert!((fine / shortest - 1.0).abs() < 1e-9);
        assert_eq!(Trials::of([second - 1, second - 1], second).interval(0), None, "no whole stretch");
        assert_eq!(coarse.interval(0).unwrap().longest_ns, None);
        assert_eq!(coarse.interval(4).unwrap().shortest_ns, 0.0, "in every stretch");
    }

    #[test]
    fn crowds_are_as_long_as_from_their_first_to_their_last() {
        assert_eq!(longest_crowd(&[1, 3, 5, 40, 41, 90], 5), 4);
        assert_eq!(longest_crowd(&[7], 5), 0);
        assert_eq!(longest_crowd(&[], 5), 0);
    }

    /// Stalls of 300 ms once in 5 s on average, watched for 4 s: the statement where none is seen, and where some are, holds in
    /// nineteen of twenty runs. Of slots of 1 ms as trials it held in none that saw no stall.
    #[test]
    fn what_is_said_of_planted_stalls_holds_in_nineteen_of_twenty() {
        let (truth, runs) = (5e9, 4_000);
        let mut random = generator(29);
        let (mut wrong, mut none, mut slots_wrong) = (0, 0, 0);
        for _ in 0..runs {
            let (mut at, mut hit) = (0.0, std::collections::BTreeSet::new());
            loop {
                at += -uniform(&mut random).ln() * truth;
                if at >= 4e9 {
                    break;
                }
                hit.insert((at / 300e6) as u64);
            }
            let trials = Trials::of([4_000_000_000], 300_000_000);
            let found = trials.interval(hit.len() as u64).unwrap();
            wrong += u32::from(found.shortest_ns > truth || found.longest_ns.is_some_and(|longest| longest < truth));
            none += u32::from(hit.is_empty());
            // One slot in 17 is late: 300 ms in 5 s.
            slots_wrong += u32::from(hit.is_empty() && exceedance(0, 4_000).unwrap().1 < 300.0 / 5_300.0);
        }
        assert!(wrong * 20 <= runs, "{wrong} of {runs}");
        assert!(none > 1_500 && slots_wrong == none, "{slots_wrong} of {none}");
    }
}
