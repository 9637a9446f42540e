//! How much less the samples of a repeat say about each quantile than the same number of independent samples, because late samples come in
//! crowds.

use latido_model::record::{Block, QUANTILES, Sample, Summary};
use latido_statistics::dependence::{design_effect, design_effect_of_sums};

/// What the record contains about a thread's samples over time.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// Its largest samples, in descending order.
    pub largest: &'a [Sample],
    /// The number of samples, as woken.
    pub count: u64,
    /// The blocks of its samples.
    pub blocks: &'a [Block],
}

/// The design effect of each quantile, by its key; 1 where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crowds(Vec<(&'static str, f64)>);

impl Crowds {
    /// Computes the effects for the threads of one repeat, which run in parallel, from the times of the samples above each quantile. Where
    /// the record stores the times of only some of these samples, the larger of two effects stands in: that of the lowest threshold above
    /// which all samples are stored, and that of the sums of the blocks. A wake-up that missed slots counts for each of them.
    pub fn of(threads: &[Thread<'_>], summary: &Summary, period_ns: Option<u64>, elapsed_ns: u64) -> Self {
        let count = summary.count;
        if elapsed_ns == 0 || count == 0 {
            return Self::default();
        }
        // The record stores all samples above this value.
        let cut = threads.iter().filter(|thread| (thread.largest.len() as u64) < thread.count);
        let least = cut.clone().filter_map(|thread| Some(thread.largest.last()?.value)).max();
        if cut.clone().any(|thread| thread.largest.is_empty()) {
            return Self::default();
        }
        let above = |threshold: i64| {
            let slots = |value: i64| {
                let late = value.saturating_sub(threshold).unsigned_abs();
                period_ns.filter(|period| *period > 0).map_or(1.0, |period| (1 + late / period) as f64)
            };
            let largest = threads.iter().flat_map(|thread| thread.largest).filter(|one| one.value > threshold);
            let events: Vec<(u64, f64)> = largest.map(|one| (one.at_ns, slots(one.value))).collect();
            design_effect(&events, elapsed_ns, count)
        };
        let stand_in = least.map_or(1.0, above).max(blocks(threads));
        let of = |(key, _): &(&'static str, f64)| {
            let value = summary.quantiles.get(*key).copied().flatten()?;
            let known = least.is_none_or(|least| least <= value);
            Some((*key, if known { above(value) } else { stand_in }))
        };
        Self(QUANTILES.iter().filter_map(of).collect())
    }

    /// Combines repeats with their numbers of samples: their variances add up.
    pub fn over<'a>(all: impl Iterator<Item = (&'a Self, u64)> + Clone) -> Self {
        if all.clone().all(|(one, _)| !one.are_known()) {
            return Self::default();
        }
        let of = |(key, _): &(&'static str, f64)| {
            let weighted = all.clone().map(|(one, count)| (one.effect(key) * count as f64, count as f64));
            let (sum, count) = weighted.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (count > 0.0).then(|| (*key, sum / count))
        };
        Self(QUANTILES.iter().filter_map(of).collect())
    }

    /// Whether it is known when the samples came.
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns how many samples say as much about a quantile as one independent sample.
    pub fn effect(&self, key: &str) -> f64 {
        self.0.iter().find(|(known, _)| *known == key).map_or(1.0, |(_, effect)| *effect)
    }
}

/// Returns the design effect from the sums of the samples of each block of about a second, all threads together.
fn blocks(threads: &[Thread<'_>]) -> f64 {
    let most = threads.iter().map(|thread| thread.blocks.len()).max().unwrap_or(0);
    let each = (0..most).map(|at| {
        let blocks = threads.iter().filter_map(|thread| thread.blocks.get(at));
        blocks.fold((0.0, 0.0, 0.0), |(count, sum, squares), block| {
            (count + block.count as f64, sum + block.sum as f64, squares + block.sum_squares as f64)
        })
    });
    design_effect_of_sums(&each.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::record::Class;

    fn thread(largest: &[Sample], count: u64) -> Thread<'_> {
        Thread { largest, count, blocks: &[] }
    }

    fn summary(count: u64, p99: i64) -> Summary {
        let quantiles = [("0.99".to_owned(), Some(p99))].into_iter().collect();
        Summary { count, quantiles, ..Summary::default() }
    }

    /// Ten crowds of ten samples in 10,000 of 1 ms count as ten events; a hundred single samples count as a hundred.
    #[test]
    fn crowds_of_ten_count_as_one() {
        let at = |index: u64| Sample { value: 50_000, at_ns: index * 1_000_000, class: Class::Unknown };
        let of = |indices: Vec<u64>| {
            let largest: Vec<Sample> =
                indices.into_iter().map(at).chain([Sample { value: 20_000, ..Sample::default() }]).collect();
            Crowds::of(&[thread(&largest, 10_000)], &summary(10_000, 20_000), Some(1_000_000), 10_000_000_000)
                .effect("0.99")
        };
        let crowded = of((0..10).flat_map(|crowd| (0..10).map(move |i| crowd * 937 + crowd * crowd * 7 + i)).collect());
        assert!((9.0..12.0).contains(&crowded), "{crowded}");
        assert!(of((0..100).map(|i| i * 99 + i * i % 37).collect()) < 2.0);
    }

    /// One stall of 300 ms gives one stored sample, although 300 slots of 1 ms were late.
    #[test]
    fn the_slots_that_a_stall_took_are_of_one_event() {
        let largest = vec![
            Sample { value: 300_000_000, at_ns: 4_000_000_000, class: Class::Unknown },
            Sample { value: 20_000, at_ns: 1, class: Class::Unknown },
        ];
        let of = |period| Crowds::of(&[thread(&largest, 9_700)], &summary(10_000, 20_000), period, 10_000_000_000);
        assert!(of(Some(1_000_000)).effect("0.99") > 100.0);
        assert_eq!(of(Some(1_000_000)).effect("0.5"), 1.0, "not known of it");
        let pooled = Crowds::over([(&of(Some(1_000_000)), 10_000), (&Crowds::default(), 10_000)].into_iter());
        assert!((pooled.effect("0.99") - (of(Some(1_000_000)).effect("0.99") + 1.0) / 2.0).abs() < 1e-9);
    }
}
