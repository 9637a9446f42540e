//! Whether a record can be true: figures that contradict each other are the tool's failure, never a result.

use crate::record::{QUANTILES, Record, Series, Summary};

/// What contradicts itself in a record, one sentence each; nothing in a sound one.
pub fn contradictions(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for series in &record.series {
        let whose = match series.cpu {
            Some(cpu) => format!("{} of CPU {cpu}", series.quantity),
            None => format!("{} of thread {}", series.quantity, series.thread),
        };
        let texts = [impossible(&series.plain()), slots(series)];
        found.extend(texts.into_iter().flatten().map(|text| format!("the record contradicts itself: {whose}: {text}")));
        if let Some(corrected) = &series.corrected {
            let text = impossible(corrected);
            found.extend(text.map(|text| format!("the record contradicts itself: corrected {whose}: {text}")));
        }
    }
    found
}

fn impossible(summary: &Summary) -> Option<String> {
    let (Some(min), Some(max)) = (summary.min, summary.max) else {
        return (summary.count > 0).then(|| format!("{} samples without extremes", summary.count));
    };
    if summary.count == 0 {
        return Some("extremes without samples".into());
    }
    if let Some(text) = disorder(Some(min as f64), summary.mean, Some(max as f64)) {
        return Some(text);
    }
    let mut below = min;
    for (key, _) in QUANTILES {
        let Some(&Some(value)) = summary.quantiles.get(*key) else { continue };
        if value < below || value > max {
            return Some(format!("quantile {key} is {value}, outside {below} to {max}"));
        }
        below = value;
    }
    let banded = summary.bands.iter().map(|band| band.count).fold(0, u64::saturating_add);
    (!summary.bands.is_empty() && banded != summary.count)
        .then(|| format!("its bands hold {banded} of {} samples", summary.count))
}

/// What contradicts min <= mean <= max, in a record or in a printed table; absent figures contradict nothing. The mean
/// has the room of its own rounding.
pub fn disorder(min: Option<f64>, mean: Option<f64>, max: Option<f64>) -> Option<String> {
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return Some(format!("min {min} above max {max}"));
    }
    let mean = mean?;
    let room = |bound: f64| 1e-9 * bound.abs() + 1e-6;
    let above = min.is_none_or(|min| mean >= min - room(min));
    let below = max.is_none_or(|max| mean <= max + room(max));
    if above && below && !mean.is_nan() {
        return None;
    }
    Some(match (min, max) {
        (Some(min), Some(max)) => format!("mean {mean} outside {min} to {max}"),
        (Some(min), None) => format!("mean {mean} below min {min}"),
        (None, Some(max)) => format!("mean {mean} above max {max}"),
        (None, None) => format!("the mean is {mean}"),
    })
}

/// A sample is a slot that was run for; a corrected one is any slot. Slots may be left out of the samples (a sample
/// after a budget overrun is marked, not mixed in), but there is no sample without a slot.
fn slots(series: &Series) -> Option<String> {
    let slots = series.slots?;
    let run = slots.met.saturating_add(slots.late);
    if series.count > run {
        return Some(format!("{} samples for {run} slots met or late", series.count));
    }
    let corrected = series.corrected.as_ref()?.count;
    let all = run.saturating_add(slots.missed);
    (corrected > all || corrected < series.count)
        .then(|| format!("{corrected} corrected samples of {} samples and {all} slots", series.count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Slots, sample};

    #[test]
    fn a_sound_record_has_none() {
        assert_eq!(contradictions(&sample::record()), Vec::<String>::new());
        assert_eq!(contradictions(&sample::measured(sample::cell(), &[vec![], vec![7]])), Vec::<String>::new());
    }

    #[test]
    fn bands_beyond_all_bounds_are_a_contradiction() {
        let mut record = sample::record();
        record.series[0].bands.iter_mut().for_each(|band| band.count = u64::MAX);
        assert!(contradictions(&record)[0].contains("bands"), "{:?}", contradictions(&record));
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
            ("slots", |s| s.slots = Some(Slots { met: 9_999, late: 0, missed: 0 })),
            ("corrected samples", |s| s.slots = Some(Slots { met: 10_000, late: 0, missed: 0 })),
        ];
        for (word, change) in changes {
            let mut record = sample::record();
            if let Some(corrected) = &mut record.series[0].corrected {
                corrected.count += 1;
                corrected.bands[0].count += 1;
                record.series[0].slots = Some(Slots { met: 10_000, late: 0, missed: 1 });
            }
            assert_eq!(contradictions(&record), Vec::<String>::new());
            change(&mut record.series[0]);
            let found = contradictions(&record).join("\n");
            assert!(found.contains(word) && found.contains("CPU 0"), "{word}: {found}");
        }
    }
}
