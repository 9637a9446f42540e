//! Checks whether a record can be true: figures that contradict each other are the tool's failure, never a result.

use crate::{
    record::{QUANTILES, Record, Series, Summary},
    units::many,
};
use std::fmt;

/// A contradiction in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The quantity of the series.
    pub quantity: String,
    /// Its thread.
    pub thread: u32,
    /// The CPU, where the thread was pinned.
    pub cpu: Option<u32>,
    /// Whether the contradiction is in the corrected figures.
    pub corrected: bool,
    /// The contradiction itself.
    pub what: Impossible,
}

/// Figures that cannot be true together.
#[derive(Clone, Debug, PartialEq)]
pub enum Impossible {
    /// This many samples, but no smallest or largest.
    WithoutExtremes(u64),
    /// A smallest and a largest, but no samples.
    WithoutSamples,
    /// Extremes and mean that contradict each other.
    Disorder(Disorder),
    /// A quantile outside its neighbours.
    Quantile {
        /// The quantile's name.
        key: &'static str,
        /// Its value.
        value: i64,
        /// The next smaller quantile, or else the smallest sample.
        below: i64,
        /// The largest sample.
        max: i64,
    },
    /// Bands that do not add up to the samples.
    Bands {
        /// How many samples they contain.
        held: u64,
        /// How many samples there are.
        count: u64,
    },
    /// More samples than slots that were met or late.
    Slots {
        /// Samples.
        count: u64,
        /// Slots met or late.
        run: u64,
    },
    /// More corrected samples than slots, or fewer than samples.
    Corrected {
        /// Corrected samples.
        corrected: u64,
        /// Samples.
        count: u64,
        /// Slots.
        slots: u64,
    },
}

/// Figures that contradict min <= mean <= max.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disorder {
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let corrected = if self.corrected { "corrected " } else { "" };
        write!(f, "the record contradicts itself: {corrected}{} of ", self.quantity)?;
        match self.cpu {
            Some(cpu) => write!(f, "CPU {cpu}: {}", self.what),
            None => write!(f, "thread {}: {}", self.thread, self.what),
        }
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithoutExtremes(count) => write!(f, "{} without extremes", many(*count, "sample")),
            Self::WithoutSamples => f.write_str("extremes without samples"),
            Self::Disorder(disorder) => disorder.fmt(f),
            Self::Quantile { key, value, below, max } => {
                write!(f, "quantile {key} is {value}, outside {below} to {max}")
            }
            Self::Bands { held, count: 1 } => write!(f, "its bands hold {held} samples, and there is only one"),
            Self::Bands { held, count } => write!(f, "its bands hold {held} of {count} samples"),
            Self::Slots { count, run } => {
                write!(f, "{} for {} met or late", many(*count, "sample"), many(*run, "slot"))
            }
            Self::Corrected { corrected, count, slots } => {
                let (corrected, count) = (many(*corrected, "corrected sample"), many(*count, "sample"));
                write!(f, "{corrected} of {count} and {}", many(*slots, "slot"))
            }
        }
    }
}

impl fmt::Display for Disorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.mean, self.max) {
            (Some(min), _, Some(max)) if min > max => write!(f, "min {min} above max {max}"),
            (Some(min), Some(mean), Some(max)) => write!(f, "mean {mean} outside {min} to {max}"),
            (Some(min), Some(mean), None) => write!(f, "mean {mean} below min {min}"),
            (None, Some(mean), Some(max)) => write!(f, "mean {mean} above max {max}"),
            (None, Some(mean), None) => write!(f, "the mean is {mean}"),
            (_, None, _) => f.write_str("figures in disorder"),
        }
    }
}

/// Returns every contradiction in a record; empty for a sound record.
pub fn contradictions(record: &Record) -> Vec<Contradiction> {
    let mut found = Vec::new();
    for series in &record.series {
        let told = |corrected, what| Contradiction {
            quantity: series.quantity.clone(),
            thread: series.thread,
            cpu: series.cpu,
            corrected,
            what,
        };
        let own = [impossible(&series.plain()), slots(series)];
        found.extend(own.into_iter().flatten().map(|what| told(false, what)));
        found.extend(series.corrected.as_ref().and_then(impossible).map(|what| told(true, what)));
    }
    found
}

fn impossible(summary: &Summary) -> Option<Impossible> {
    // A summary with bounds comes from another tool. Its reader has already checked the sums.
    if summary.bounds.is_some() {
        return None;
    }
    let (Some(min), Some(max)) = (summary.min, summary.max) else {
        return (summary.count > 0).then_some(Impossible::WithoutExtremes(summary.count));
    };
    if summary.count == 0 {
        return Some(Impossible::WithoutSamples);
    }
    if let Some(disorder) = disorder(Some(min as f64), summary.mean, Some(max as f64)) {
        return Some(Impossible::Disorder(disorder));
    }
    let mut below = min;
    for (key, _) in QUANTILES {
        let Some(&Some(value)) = summary.quantiles.get(*key) else { continue };
        if value < below || value > max {
            return Some(Impossible::Quantile { key, value, below, max });
        }
        below = value;
    }
    let held = summary.bands.iter().map(|band| band.count).fold(0, u64::saturating_add);
    let all = summary.bands.is_empty() || held == summary.count;
    (!all).then_some(Impossible::Bands { held, count: summary.count })
}

/// Returns what contradicts min <= mean <= max, in a record or in a printed table. An absent figure contradicts nothing. The mean may
/// deviate by its own rounding.
pub fn disorder(min: Option<f64>, mean: Option<f64>, max: Option<f64>) -> Option<Disorder> {
    let found = Disorder { min, mean, max };
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return Some(found);
    }
    let mean = mean?;
    let room = |bound: f64| 1e-9 * bound.abs() + 1e-6;
    let above = min.is_none_or(|min| mean >= min - room(min));
    let below = max.is_none_or(|max| mean <= max + room(max));
    (!above || !below || mean.is_nan()).then_some(found)
}

/// Checks the samples against the slots: a sample needs a slot that was met or late, a corrected sample any slot. A slot may have no sample
/// (latido marks a sample after a budget overrun and leaves it out), but no sample exists without a slot.
fn slots(series: &Series) -> Option<Impossible> {
    let slots = series.slots?;
    let (run, count) = (slots.met.saturating_add(slots.late), series.count);
    if count > run {
        return Some(Impossible::Slots { count, run });
    }
    let corrected = series.corrected.as_ref()?.count;
    let slots = run.saturating_add(slots.missed);
    (corrected > slots || corrected < count).then_some(Impossible::Corrected { corrected, count, slots })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Slots, sample};

    #[test]
    fn a_sound_record_has_none() {
        assert_eq!(contradictions(&sample::record()), []);
        assert_eq!(contradictions(&sample::measured(sample::cell(), &[vec![], vec![7]])), []);
    }

    #[test]
    fn bands_beyond_all_bounds_are_a_contradiction() {
        let mut record = sample::record();
        record.series[0].bands.iter_mut().for_each(|band| band.count = u64::MAX);
        assert!(contradictions(&record)[0].to_string().contains("bands"), "{:?}", contradictions(&record));
    }

    #[test]
    fn one_sample_is_told_as_one() {
        let told = [
            Impossible::WithoutExtremes(1),
            Impossible::Bands { held: 0, count: 1 },
            Impossible::Slots { count: 1, run: 2 },
            Impossible::Corrected { corrected: 2, count: 1, slots: 1 },
        ];
        assert_eq!(
            told.map(|one| one.to_string()),
            [
                "1 sample without extremes",
                "its bands hold 0 samples, and there is only one",
                "1 sample for 2 slots met or late",
                "2 corrected samples of 1 sample and 1 slot",
            ]
        );
    }

    #[test]
    fn each_impossible_row_is_told() {
        type Falsify = fn(&mut Series);
        let changes: &[(&str, Falsify)] = &[
            ("min", |s| s.min = Some(i64::MAX)),
            ("mean", |s| s.mean = Some(-5.0)),
            ("mean", |s| s.mean = Some(f64::NAN)),
            ("quantile 0.99 is", |s| {
                s.quantiles.insert("0.99".into(), Some(1_000_000_000));
            }),
            ("quantile 0.9 is", |s| {
                s.quantiles.insert("0.5".into(), Some(24_000));
            }),
            ("bands", |s| s.bands[3].count += 1),
            ("without extremes", |s| s.max = None),
            ("slots met or late", |s| s.slots = Some(Slots { met: 9_999, late: 0, missed: 0 })),
            ("corrected samples", |s| s.slots = Some(Slots { met: 10_000, late: 0, missed: 0 })),
        ];
        for (word, change) in changes {
            let mut record = sample::record();
            if let Some(corrected) = &mut record.series[0].corrected {
                corrected.count += 1;
                corrected.bands[0].count += 1;
                record.series[0].slots = Some(Slots { met: 10_000, late: 0, missed: 1 });
            }
            assert_eq!(contradictions(&record), []);
            change(&mut record.series[0]);
            let found = contradictions(&record).iter().map(|one| format!("{one}\n")).collect::<String>();
            assert!(found.contains(word) && found.contains("CPU 0"), "{word}: {found}");
        }
    }
}
