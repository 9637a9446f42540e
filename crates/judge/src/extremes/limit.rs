//! How often a limit is exceeded: by samples, and by bursts where the samples come in bursts.

use crate::words::{self, number};
use latido_statistics::{
    Refusal,
    absence::Trials,
    exceed::{Bounded, Counted, Exceedance, clustered, clusters, exceedance, one_crowd},
    tail::{Exceedances, Observed, Peak},
};
use serde::Serialize;

/// A limit and what is above it.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// The limit, in the unit of the samples; a sample equal to it is not above it.
    pub limit: i64,
    /// The exceedances, with every sample counted.
    pub samples: Exceedance,
    /// The extremal index (Ferro & Segers): how much the samples above the limit crowd together. It is 1 for independent samples, and where
    /// their times are not known.
    pub extremal_index: f64,
    /// Samples at most this many samples apart belong to one burst; 0 where they come one by one.
    pub gap: u64,
    /// The exceedances, with every burst counted once; absent where the samples come one by one.
    pub clusters: Option<Exceedance>,
    /// If no sample is above: a cause that strikes more often than once in this many seconds would have been seen with 95 %. Absent where
    /// the length of the measurement is not known, and for a guest, because its time supports no rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rarest_seen_s: Option<f64>,
    /// Why bursts could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_clustered: Option<String>,
}

/// What is above a limit.
#[derive(Debug, Clone)]
pub struct Above {
    /// The number of samples, including the delays of missed slots.
    pub count: u64,
    /// The measured samples in order of time; absent where not all of them are known.
    pub peaks: Option<Vec<Peak>>,
}

impl Limit {
    /// Evaluates the limit for samples in order of time.
    ///
    /// # Errors
    /// There are no samples.
    pub fn of_samples(samples: &[i64], limit: i64, length_s: Option<f64>) -> Result<Self, Refusal> {
        let indexed = (0..).zip(samples).filter(|(_, value)| **value > limit);
        let peaks: Vec<Peak> = indexed.map(|(index, value)| Peak { index, value: *value }).collect();
        Self::of(limit, &Above { count: peaks.len() as u64, peaks: Some(peaks) }, samples.len() as u64, length_s)
    }

    /// Evaluates the limit from what is above it, among `count` samples that took `length_s` seconds.
    ///
    /// # Errors
    /// There are no samples, or more samples above the limit than samples.
    pub fn of(limit: i64, above: &Above, count: u64, length_s: Option<f64>) -> Result<Self, Refusal> {
        let mut samples = exceedance(Counted::Samples, above.count, count, length_s)?;
        let rarest_seen_s = rarest_seen(limit, above.count, count, length_s);
        if let (Some(hour), Some(rarest_s)) = (&mut samples.per_hour, rarest_seen_s) {
            hour.upper = 3600.0 / rarest_s;
        }
        let Some(peaks) = &above.peaks else {
            let why = "unknown (more samples are above the limit than latido stores)";
            let not_clustered = Some(why.to_owned());
            let (extremal_index, gap, clusters) = (1.0, 0, None);
            return Ok(Self { limit, samples, extremal_index, gap, clusters, rarest_seen_s, not_clustered });
        };
        let own = peaks.len() as u64;
        let indices: Vec<u64> = peaks.iter().map(|peak| peak.index).collect();
        // The limit itself is the threshold: it serves as the first peak that is not above the limit.
        let with_limit: Vec<Peak> = peaks.iter().copied().chain([Peak { index: 0, value: limit }]).collect();
        let observed =
            Observed { peaks: &with_limit, count: count.saturating_add(1), length_s: 1.0, block_maxima: &[] };
        let crowding = Exceedances::of(&observed, own).map_or((1.0, 0), |all| (all.extremal_index, all.gap));
        let one = one_crowd(&indices, crowding.1, count).map(|gap| (1.0 / own as f64, gap));
        let (extremal_index, gap) = one.unwrap_or(crowding);
        // The delay of a missed slot belongs to the wake-up that missed it.
        let clusters = match (one.is_some() || crowding.1 == 0, gap > 0 || above.count > own) {
            (_, false) => None,
            (true, true) => Some(exceedance(Counted::Clusters, clusters(&indices, gap), count, length_s)?),
            (false, true) => Some(clustered(&indices, extremal_index, gap, count, length_s)?),
        };
        Ok(Self { limit, samples, extremal_index, gap, clusters, rarest_seen_s, not_clustered: None })
    }
}

/// Returns the mean interval of the rarest cause that would have been seen, if no sample is above the limit. It divides the time into
/// disjoint stretches as long as a sample or the limit.
fn rarest_seen(limit: i64, above: u64, count: u64, length_s: Option<f64>) -> Option<f64> {
    let length_ns = length_s.filter(|length| above == 0 && *length > 0.0)? * 1e9;
    let stretch_ns = (length_ns / count.max(1) as f64).max(limit as f64);
    let found = Trials::of([length_ns as u64], stretch_ns as u64).interval(0)?;
    Some(found.shortest_ns / 1e9)
}

impl Limit {
    /// Describes what is above the limit: `7 of 20 000: 0.035 % (0.014 to 0.072), 1 260 per hour (507 to 2 596)`, with bursts where there
    /// are some.
    pub fn sentence(&self) -> String {
        if self.samples.above == 0 {
            let none = format!("none of {}", words::count(self.samples.count));
            let rare = self.rarest_seen_s.map(|rarest_s| {
                let once = words::lasted((rarest_s * 1e9) as u64);
                format!(
                    "; a cause that strikes more often than once in {once} would have been seen with 95 % probability"
                )
            });
            return none + &rare.unwrap_or_default();
        }
        if let Some(why) = &self.not_clustered {
            // Bounds would be those of independent samples, so the sentence has none.
            let (share, of) = (self.samples.share.value * 100.0, words::count(self.samples.count));
            let hour = self.samples.per_hour.map(|hour| format!(", {} per hour", number(hour.value)));
            let above = words::count(self.samples.above);
            let hour = hour.unwrap_or_default();
            return format!("{above} of {of}: {} %{hour}; whether they come in bursts is {why}", number(share));
        }
        let mut text = rate(&self.samples);
        if let Some(bursts) = &self.clusters {
            text.push_str(&format!(
                "; they come in {} (at most {} apart); counted in bursts: {}",
                words::many(bursts.above, "burst"),
                words::many(self.gap, "sample"),
                rate(bursts)
            ));
        }
        text
    }
}

/// Returns `3 of 1 000: 0.3 % (0.062 to 0.87), 10 800 per hour (2 200 to 31 000)`.
fn rate(found: &Exceedance) -> String {
    let bounds = |bounded: &Bounded, per: f64, unit: &str| {
        let limits = format!("{} to {}", number(bounded.lower * per), number(bounded.upper * per));
        format!("{}{unit} ({limits})", number(bounded.value * per))
    };
    let hour = found.per_hour.as_ref().map(|hour| format!(", {}", bounds(hour, 1.0, " per hour"))).unwrap_or_default();
    format!(
        "{} of {}: {}{hour}",
        words::count(found.above),
        words::count(found.count),
        bounds(&found.share, 100.0, " %")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(indices: &[u64]) -> Vec<Peak> {
        indices.iter().map(|index| Peak { index: *index, value: 200 }).collect()
    }

    /// Ten bursts of five samples each count as ten, with wider bounds per hour than fifty single samples.
    #[test]
    fn bursts_count_once() {
        let bursts: Vec<u64> = (0..50).map(|i| i / 5 * 10_000 + i % 5).collect();
        let found = Limit::of(100, &Above { count: 50, peaks: Some(at(&bursts)) }, 100_000, Some(100.0)).unwrap();
        let bursts = found.clusters.unwrap();
        assert_eq!((found.samples.above, bursts.above), (50, 10));
        let spread = |one: &Exceedance| one.per_hour.map(|hour| hour.upper / hour.lower).unwrap();
        assert!(spread(&bursts) > 1.5 * spread(&found.samples), "{found:?}");
        let even: Vec<u64> = (0..50).map(|i| i * i * 40).collect();
        let found = Limit::of(100, &Above { count: 50, peaks: Some(at(&even)) }, 100_000, Some(100.0)).unwrap();
        assert!(found.clusters.is_none() || found.clusters.unwrap().above > 40, "{found:?}");
    }

    /// One burst counts once, whether it has twenty samples in a row or two close ones; two samples far apart count twice.
    #[test]
    fn one_burst_counts_once() {
        let of = |indices: &[u64]| {
            let above = Above { count: indices.len() as u64, peaks: Some(at(indices)) };
            Limit::of(100, &above, 20_000, Some(20.0)).unwrap()
        };
        for burst in [(7_000..7_020).collect::<Vec<u64>>(), vec![7_000, 7_002]] {
            let found = of(&burst).clusters.unwrap();
            let hour = found.per_hour.unwrap();
            assert_eq!((found.above, hour.value), (1, 180.0));
            assert!((4.5..4.6).contains(&hour.lower) && (1_000.0..1_010.0).contains(&hour.upper), "{hour:?}");
        }
        assert!(of(&[3_000, 9_000]).clusters.is_none_or(|found| found.above == 2));
        let near = Limit { gap: 1, ..of(&[7_000, 7_002]) }.sentence();
        assert!(near.contains("they come in 1 burst (at most 1 sample apart)"), "{near}");
    }

    /// Crowds come at random: the interval of their rate must contain the true rate in nine cases of ten, whatever their size and distance.
    #[test]
    fn crowds_that_come_at_random_are_counted() {
        const COUNT: u64 = 20_000;
        for (kind, (gap, length)) in [(2_500.0, 30), (800.0, 10), (300.0, 5), (5_000.0, 2)].into_iter().enumerate() {
            // Knuth's linear congruential generator, its upper 53 bits: the same numbers in every run.
            let mut state = 900 + kind as u64;
            let mut uniform = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
            };
            let holds = (0..100).filter(|_| {
                let (mut at_sample, mut above) = (0, Vec::new());
                while at_sample < COUNT {
                    at_sample += (-gap * uniform().ln()) as u64 + 1;
                    above.extend((at_sample..at_sample + length).filter(|index| *index < COUNT));
                    at_sample += length;
                }
                let all = Above { count: above.len() as u64, peaks: Some(at(&above)) };
                let found = Limit::of(100, &all, COUNT, Some(20.0)).unwrap();
                let share = found.clusters.unwrap_or(found.samples).share;
                (share.lower..=share.upper).contains(&(1.0 / (gap + 0.5 + length as f64)))
            });
            let holds = holds.count();
            assert!(holds >= 90, "gap {gap}, length {length}: {holds}");
        }
    }

    /// A wake-up that is late by three slots is one miss of the system and four of the slots.
    #[test]
    fn missed_slots_belong_to_the_wake_up_that_missed_them() {
        let found = Limit::of(100, &Above { count: 4, peaks: Some(at(&[700])) }, 1_000, Some(1.0)).unwrap();
        assert_eq!((found.samples.above, found.clusters.unwrap().above), (4, 1));
    }

    /// No sample of a thousand is above the limit: latido makes a statement about time, and the statement does not depend on the number of
    /// samples.
    #[test]
    fn none_above_is_said_of_time() {
        let none =
            |count, length_s| Limit::of(100, &Above { count: 0, peaks: Some(Vec::new()) }, count, length_s).unwrap();
        let said = none(1_000, Some(4.0)).sentence().replace(['\u{202f}', '\u{a0}'], " ");
        assert_eq!(
            said,
            "none of 1 000; a cause that strikes more often than once in 1.34 s would have been seen with 95 % probability"
        );
        assert!(
            none(64_000, Some(4.0))
                .sentence()
                .ends_with("once in 1.34\u{a0}s would have been seen with 95 % probability")
        );
        assert_eq!(none(7, None).sentence(), "none of 7");
    }

    /// latido reports what it cannot count, and gives no bound for it.
    #[test]
    fn what_is_not_stored_is_not_clustered() {
        let found = Limit::of(100, &Above { count: 5_000, peaks: None }, 10_000, None).unwrap();
        assert!(found.clusters.is_none() && found.not_clustered.unwrap().starts_with("unknown ("));
        assert!(Limit::of(100, &Above { count: 2, peaks: None }, 1, None).is_err());
    }
}
