//! How often a limit is exceeded: by samples, and where these come in bursts by bursts.

use crate::words::{self, number};
use latido_statistics::{
    Refusal,
    exceed::{Bounded, Counted, Exceedance, clusters, exceedance},
    tail::{Exceedances, Observed, Peak},
};
use serde::Serialize;

/// A limit and what lies above it.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// The limit, in the unit of the samples; a sample equal to it is not above it.
    pub limit: i64,
    /// Every sample counted.
    pub samples: Exceedance,
    /// How much those above crowd together (Ferro & Segers); 1 of independent ones, and where their moments are not known.
    pub extremal_index: f64,
    /// Those at most so many samples apart are one burst; 0 where they come one by one.
    pub gap: u64,
    /// Every burst counted once; none where they come one by one.
    pub clusters: Option<Exceedance>,
    /// Why bursts could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_clustered: Option<String>,
}

/// What lies above a limit.
#[derive(Debug, Clone)]
pub struct Above {
    /// How many samples, the delays of missed slots among them.
    pub count: u64,
    /// Those that were measured, in order of time; none where not all of them are known.
    pub peaks: Option<Vec<Peak>>,
}

impl Limit {
    /// The limit, what lies above it of so many samples, and how long these took, seconds.
    ///
    /// # Errors
    /// There are no samples, or more above than there are.
    pub fn of(limit: i64, above: &Above, count: u64, length_s: Option<f64>) -> Result<Self, Refusal> {
        let samples = exceedance(Counted::Samples, above.count, count, length_s)?;
        let Some(peaks) = &above.peaks else {
            let why = "not possible: more samples are above the limit than largest samples are stored";
            let not_clustered = Some(why.to_owned());
            return Ok(Self { limit, samples, extremal_index: 1.0, gap: 0, clusters: None, not_clustered });
        };
        let own = peaks.len() as u64;
        let indices: Vec<u64> = peaks.iter().map(|peak| peak.index).collect();
        // The limit itself is the threshold: the first of the peaks that is not above it.
        let with_limit: Vec<Peak> = peaks.iter().copied().chain([Peak { index: 0, value: limit }]).collect();
        let observed =
            Observed { peaks: &with_limit, count: count.saturating_add(1), length_s: 1.0, block_maxima: &[] };
        let (extremal_index, gap) =
            Exceedances::of(&observed, own).map_or((1.0, 0), |all| (all.extremal_index, all.gap));
        // The delay of a missed slot belongs to the wake-up that missed it.
        let bursts = (gap > 0 || above.count > own).then(|| clusters(&indices, gap));
        let clusters = bursts.map(|bursts| exceedance(Counted::Clusters, bursts, count, length_s)).transpose()?;
        Ok(Self { limit, samples, extremal_index, gap, clusters, not_clustered: None })
    }
}

impl Limit {
    /// What is above it: `7 of 20 000: 0.035 % (0.014 to 0.072), 1 260 an hour (507 to 2 596)`, with bursts where there are some.
    pub fn sentence(&self) -> String {
        let mut text = rate(&self.samples);
        if let Some(bursts) = &self.clusters {
            text.push_str(&format!(
                "; they come in {} (at most {} samples apart), and bursts count: {}",
                words::many(bursts.above, "burst"),
                self.gap,
                rate(bursts)
            ));
        }
        if let Some(why) = &self.not_clustered {
            text.push_str(&format!("; whether they come in bursts: {why}"));
        }
        text
    }
}

/// `3 of 1 000: 0.3 % (0.062 to 0.87), 10 800 an hour (2 200 to 31 000)`.
fn rate(found: &Exceedance) -> String {
    let bounds = |bounded: &Bounded, per: f64, unit: &str| {
        let limits = match found.above {
            0 => format!("at most {}", number(bounded.upper * per)),
            _ => format!("{} to {}", number(bounded.lower * per), number(bounded.upper * per)),
        };
        format!("{}{unit} ({limits})", number(bounded.value * per))
    };
    let hour = found.per_hour.as_ref().map(|hour| format!(", {}", bounds(hour, 1.0, " an hour"))).unwrap_or_default();
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

    /// Of ten bursts of five samples each ten are counted, with wider bounds an hour than fifty single ones have.
    #[test]
    fn bursts_count_once() {
        let bursts: Vec<u64> = (0..50).map(|i| i / 5 * 10_000 + i % 5).collect();
        let found = Limit::of(100, &Above { count: 50, peaks: Some(at(&bursts)) }, 100_000, Some(100.0)).unwrap();
        assert_eq!((found.samples.above, found.clusters.unwrap().above), (50, 10));
        let even: Vec<u64> = (0..50).map(|i| i * i * 40).collect();
        let found = Limit::of(100, &Above { count: 50, peaks: Some(at(&even)) }, 100_000, Some(100.0)).unwrap();
        assert!(found.clusters.is_none() || found.clusters.unwrap().above > 40, "{found:?}");
    }

    /// A wake-up late by three slots is one miss of the system and four of the slots.
    #[test]
    fn missed_slots_belong_to_the_wake_up_that_missed_them() {
        let found = Limit::of(100, &Above { count: 4, peaks: Some(at(&[700])) }, 1_000, Some(1.0)).unwrap();
        assert_eq!((found.samples.above, found.clusters.unwrap().above), (4, 1));
    }

    /// What cannot be counted is said, and no bound is made up for it.
    #[test]
    fn what_is_not_stored_is_not_clustered() {
        let found = Limit::of(100, &Above { count: 5_000, peaks: None }, 10_000, None).unwrap();
        assert!(found.clusters.is_none() && found.not_clustered.unwrap().starts_with("not possible: "));
        assert!(Limit::of(100, &Above { count: 2, peaks: None }, 1, None).is_err());
    }
}
