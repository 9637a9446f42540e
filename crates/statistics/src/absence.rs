//! How rare an event may be, given how often it came in the observed time. The trials are disjoint stretches of time.
//!
//! Samples are not trials: one stall spoils all samples during it. A stretch is as long as what one event can spoil, so that a rate over
//! time does not need independent samples.

use crate::confidence::exceedance;

/// Disjoint stretches of equal length in which the measurement looked for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// The length of a stretch, in ns; at least 1.
    pub stretch_ns: u64,
    /// The number of stretches.
    pub count: u64,
}

/// Bounds on the mean interval between events, with the confidence of [`crate::confidence::CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The event does not come more often than once per this time on average, in ns.
    pub shortest_ns: f64,
    /// The event does not come less often than once per this time on average, in ns; `None` where it was not seen.
    pub longest_ns: Option<f64>,
}

impl Trials {
    /// Counts the whole stretches in each of these lengths of time, in ns. Times that ran in parallel are one time: the caller passes them
    /// once.
    pub fn of(watched_ns: impl IntoIterator<Item = u64>, stretch_ns: u64) -> Self {
        let stretch_ns = stretch_ns.max(1);
        let whole = watched_ns.into_iter().map(|ns| ns / stretch_ns);
        Self { stretch_ns, count: whole.fold(0, u64::saturating_add) }
    }

    /// Returns how rare an event may be that came in `seen` of the stretches. A cause that strikes at random moments, once per T on
    /// average, spares a stretch L with probability `exp(-L/T)`: the bounds of Clopper and Pearson on the share of affected stretches are
    /// therefore also bounds on T. For an event that never came the bound is one-sided, `n L / ln 20`. Returns `None` where there is no
    /// whole stretch.
    pub fn interval(&self, seen: u64) -> Option<Interval> {
        let (lower, upper) = exceedance(seen.min(self.count), self.count)?;
        let mean = |share: f64| self.stretch_ns as f64 / -f64::ln_1p(-share);
        let longest_ns = (seen > 0 && lower > 0.0).then(|| mean(lower));
        Some(Interval { shortest_ns: if upper < 1.0 { mean(upper) } else { 0.0 }, longest_ns })
    }
}

/// Returns the length of the longest crowd of events, from its first to its last event. The moments of the events are in ascending order;
/// events at most `gap` apart belong to the same crowd.
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

    /// Four seconds contain four jobs of a second, not 4,000, and a rate does not depend on how finely the time is divided.
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
        // All four stretches are spared with probability 0.975 where the mean interval is this long.
        let longest = coarse.interval(1).unwrap().longest_ns.unwrap();
        assert!((longest / 1e9 + 4.0 / 0.975f64.ln()).abs() < 1e-6, "{longest}");
        assert_eq!(coarse.interval(4).unwrap().shortest_ns, 0.0, "in every stretch");
    }

    #[test]
    fn crowds_are_as_long_as_from_their_first_to_their_last() {
        assert_eq!(longest_crowd(&[1, 3, 5, 40, 41, 90], 5), 4);
        assert_eq!(longest_crowd(&[7], 5), 0);
        assert_eq!(longest_crowd(&[], 5), 0);
    }

    /// With stalls of 300 ms once per 5 s on average and 4 s of watching, the bounds are correct in nineteen of twenty runs, with stalls or
    /// without. With slots of 1 ms as trials, they would be wrong in every run without a stall.
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
