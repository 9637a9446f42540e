//! A glance at a recorder during a measurement: a few numbers, read in place, without copying the rest.

use super::{
    Reader, RecorderPhase,
    shared::{NO_MAX, NO_MIN},
};
use crate::{
    block::Sample,
    buckets::{self, HIGHEST},
};

/// The numbers that a person watches during a measurement. Each number was correct at a recent moment, but not all of them at the same
/// moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The phase of the measurement.
    pub phase: RecorderPhase,
    /// Samples so far.
    pub count: u64,
    /// The last sample, in ns; with a table the last remarkable one.
    pub last: i64,
    /// The largest sample so far, in ns.
    pub max: Option<i64>,
    /// Missed slots so far.
    pub missed: u64,
    /// Increases with every remarkable sample. While it does not change, the largest samples do not change either.
    pub noted: u64,
}

impl Reader {
    /// Reads the numbers in place, without allocating.
    pub fn glance(&self) -> Glance {
        let shared = &*self.shared;
        let max = shared.plain.max.get() as i64;
        Glance {
            phase: self.phase(),
            count: self.counted(),
            last: shared.last.get() as i64,
            max: (max != NO_MAX).then_some(max),
            missed: shared.missed_slots.get(),
            noted: shared.noted.get(),
        }
    }

    /// Returns order statistics so far: for each `p` the sample of rank ceil(count p / 1000), with the histogram's three digits, or `None`
    /// where there are fewer than 1000 / (1000 - p) samples. The values of `p` must ascend. Allocates nothing.
    pub fn quantiles<const N: usize>(&self, per_mille: [u64; N]) -> [Option<i64>; N] {
        let Glance { count, max, .. } = self.glance();
        let counters = &self.shared.plain.counters;
        // Samples in a table are below the smallest that was noted.
        let least =
            Some(self.shared.plain.min.get() as i64).filter(|min| *min != NO_MIN && self.shared.table.is_none());
        let least = least.and_then(|min| u64::try_from(min).ok()).unwrap_or(0);
        let most = max.and_then(|max| u64::try_from(max).ok()).unwrap_or(0);
        let last = buckets::index(most.min(HIGHEST));
        let mut small = self.shared.table.as_ref().map(|table| table.counts()).into_iter().flatten().peekable();
        let (mut bucket, mut seen) = (buckets::index(least.min(HIGHEST)), 0u64);
        seen = seen.wrapping_add(counters.bucket(bucket));
        per_mille.map(|part| {
            let rest = 1000u64.saturating_sub(part).max(1);
            if count.saturating_mul(rest) < 1000 {
                return None;
            }
            let rank = count.saturating_mul(part).div_ceil(1000).max(1);
            loop {
                while let Some((_, times)) = small.next_if(|(value, _)| buckets::index(*value) <= bucket) {
                    seen = seen.wrapping_add(times);
                }
                if seen >= rank {
                    let upper = i64::try_from(buckets::highest(bucket)).unwrap_or(i64::MAX);
                    return max.map(|max| upper.min(max));
                }
                if bucket >= last {
                    return max;
                }
                bucket = bucket.saturating_add(1);
                seen = seen.wrapping_add(counters.bucket(bucket));
            }
        })
    }

    /// Returns the latest of the largest samples that is above the limit, or otherwise the largest sample of all. Returns `None` also if
    /// the writer left no pause for a consistent read. Allocates nothing.
    pub fn spike(&self, limit: Option<i64>) -> Option<Sample> {
        self.at_rest(|shared| {
            let (mut above, mut largest): (Option<Sample>, Option<Sample>) = (None, None);
            for sample in shared.largest.iter() {
                let before = |other: &Sample| {
                    (sample.value, core::cmp::Reverse(sample.at_ns)) > (other.value, core::cmp::Reverse(other.at_ns))
                };
                if largest.as_ref().is_none_or(before) {
                    largest = Some(sample);
                }
                let later = above.as_ref().is_none_or(|other| sample.at_ns >= other.at_ns);
                if limit.is_some_and(|limit| sample.value > limit) && later {
                    above = Some(sample);
                }
            }
            above.or(largest)
        })?
    }

    /// Returns the number of samples so far, including those in the table that no block includes yet.
    fn counted(&self) -> u64 {
        let shared = &*self.shared;
        let settled = shared.plain.sums.count.get().wrapping_add(shared.block.count.get());
        settled.wrapping_add(shared.table.as_ref().map_or(0, |table| table.unsettled()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        block::Class,
        recorder::{self, Config},
    };
    use latido_sys::tsc::Scale;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![8 => 1_900i64..2_200, 8 => 0i64..200_000, 2 => 0i64..70_000_000_000, 1 => -3_000i64..0]
    }

    const PARTS: [u64; 4] = [1, 500, 990, 999];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Numbers read in place equal those of a snapshot at the same moment.
        #[test]
        fn a_glance_says_what_a_snapshot_says(
            values in prop::collection::vec((value(), 0u64..4_000_000), 1..6_000),
            edges in prop::collection::btree_set(0u64..300_000, 0..5),
            limit in prop_oneof![Just(None), (0i64..300_000).prop_map(Some)],
        ) {
            let edges = edges.into_iter().collect();
            let config = Config { edges, periodic: true, ..Config::default() };
            let (mut recorder, mut reader) = recorder::new(&config).unwrap();
            let mut at = 0;
            for &(value, later) in &values {
                at += later;
                let open = recorder.begin();
                recorder.record(value, at);
                if later % 7 == 0 {
                    recorder.miss(later);
                }
                recorder.commit(open);
            }
            let (glance, quantiles, spike) = (reader.glance(), reader.quantiles(PARTS), reader.spike(limit));
            let snapshot = reader.snapshot().unwrap();
            let plain = &snapshot.plain;
            prop_assert_eq!((glance.count, glance.max, glance.last), (plain.count, plain.max, snapshot.last));
            prop_assert_eq!((glance.phase, glance.missed), (snapshot.phase, snapshot.slots.missed));
            for (part, quantile) in PARTS.into_iter().zip(quantiles) {
                let supported = plain.count >= 1000u64.div_ceil(1000 - part);
                let rank = (plain.count * part).div_ceil(1000);
                prop_assert_eq!(quantile, if supported { plain.at_rank(rank) } else { None }, "{} of 1000", part);
            }
            let above = snapshot.largest.iter().filter(|sample| limit.is_some_and(|limit| sample.value > limit));
            let expected = above.max_by_key(|sample| sample.at_ns).or(snapshot.largest.first());
            prop_assert_eq!(spike.map(|s| s.at_ns), expected.map(|s| s.at_ns));
        }

        /// A glance includes samples that the busy loop only counted in its table.
        #[test]
        fn a_glance_counts_the_table(ticks in prop::collection::vec(1u64..6_000, 1..3_000), small in 1usize..3_000) {
            let config = Config { table: Some(Scale::NS), ..Config::default() };
            let (mut recorder, mut reader) = recorder::new(&config).unwrap();
            for (at, &ticks) in (1u64..).zip(ticks.iter().cycle().take(9_000)) {
                match recorder.ordinary().get(ticks as usize) {
                    Some(cell) => _ = cell.add(1),
                    None => recorder.gap(ticks, at * 1_000 * small as u64, Class::Unknown),
                }
            }
            let (glance, quantiles) = (reader.glance(), reader.quantiles(PARTS));
            let plain = reader.snapshot().unwrap().plain;
            prop_assert_eq!((glance.count, glance.max), (plain.count, plain.max));
            for (part, quantile) in PARTS.into_iter().zip(quantiles) {
                prop_assert_eq!(quantile, plain.at_rank((plain.count * part).div_ceil(1000)));
            }
        }

        /// The largest samples change only when `noted` changes: a caller that knows them need not read them again before.
        #[test]
        fn what_is_remarkable_is_noted(values in prop::collection::vec(0i64..1_000, 5_000..6_000)) {
            let (mut recorder, reader) = recorder::new(&Config::default()).unwrap();
            // Every sample that is kept is the latest above this limit.
            let latest = || reader.spike(Some(-1));
            let (mut noted, mut spike) = (0, None);
            for (at, &value) in (0u64..).zip(&values) {
                let open = recorder.begin();
                recorder.record(value, at);
                recorder.commit(open);
                let now = reader.glance().noted;
                if now == noted {
                    prop_assert_eq!(spike, latest(), "sample {}", at);
                }
                (noted, spike) = (now, latest());
            }
        }
    }
}
