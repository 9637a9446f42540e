//! Sections: one per quantity of a probe, with one series per configuration and labels.

use super::words;
use crate::{
    analyze::configuration::{Configuration, Pooled},
    record::Sample,
};
use std::cell::OnceCell;

/// How many series a figure can tell apart; tables show all.
pub const SHOWN: usize = 8;

/// All that was measured of one quantity.
#[derive(Debug)]
pub struct Section<'a> {
    /// The probe's name.
    pub probe: &'a str,
    /// The quantity's name.
    pub quantity: &'a str,
    /// The stored unit, `ns` or another named one.
    pub unit: &'a str,
    /// One per configuration and set of labels.
    pub series: Vec<Series<'a>>,
}

/// One line of a table, one curve of a figure.
#[derive(Debug)]
pub struct Series<'a> {
    /// What tells it from the others of the section.
    pub name: String,
    /// What tells it from all others: the name with the probe's.
    pub full_name: String,
    /// Where it comes from.
    pub configuration: &'a Configuration,
    /// The figures.
    pub pooled: &'a Pooled,
    /// The histogram's occupied buckets in ascending order: middle and count.
    pub buckets: Vec<(f64, u64)>,
    kept: OnceCell<Vec<Kept<'a>>>,
}

/// A sample that was kept with its time.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// Where, if the thread was pinned.
    pub cpu: Option<u32>,
    /// In which repeat.
    pub repeat: u32,
}

/// The sections of these configurations, in the order in which their quantities first appear.
pub fn sections(configurations: &[Configuration]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section> = Vec::new();
    for configuration in configurations {
        for pooled in configuration.told() {
            let (probe, quantity, unit) = (&configuration.cell.probe.name, &pooled.quantity, &pooled.unit);
            let series = Series::new(configuration, pooled);
            match sections.iter_mut().find(|s| (s.probe, s.quantity, s.unit) == (probe, quantity, unit)) {
                Some(section) => section.series.push(series),
                None => sections.push(Section { probe, quantity, unit, series: vec![series] }),
            }
        }
    }
    sections
}

impl<'a> Section<'a> {
    /// The name that expectations use: `wakeup.latency`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.probe, self.quantity)
    }

    /// The heading.
    pub fn title(&self) -> String {
        words::title(self.probe, self.quantity)
    }

    /// What one sample is called.
    pub fn noun(&self) -> &'static str {
        words::noun(self.probe)
    }

    /// The series that figures show.
    pub fn shown(&self) -> &[Series<'a>] {
        self.series.get(..SHOWN).unwrap_or(&self.series)
    }

    /// The different limits of the shown series, ascending.
    pub fn limits(&self) -> Vec<f64> {
        let mut limits: Vec<_> = self.shown().iter().filter_map(Series::limit).collect();
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        limits
    }

    /// A value with its unit.
    pub fn value(&self, v: f64) -> String {
        words::value(v, self.unit)
    }
}

impl<'a> Series<'a> {
    fn new(configuration: &'a Configuration, pooled: &'a Pooled) -> Self {
        let with_labels = |label: &str| {
            let mut name = label.to_owned();
            for (key, label) in &pooled.labels {
                let separator = if name.is_empty() { "" } else { ", " };
                name.push_str(&format!("{separator}{key} {label}"));
            }
            if name.is_empty() { configuration.cell.plan.clone() } else { name }
        };
        // The section's title names the probe.
        let rest = configuration.label.strip_prefix(&configuration.cell.probe.name);
        let short = rest.and_then(|rest| rest.strip_prefix(", ").or_else(|| rest.strip_prefix(' ')));
        let name = with_labels(short.filter(|short| !short.is_empty()).unwrap_or(&configuration.label));
        let full_name = with_labels(&configuration.label);
        let histogram = &pooled.histogram;
        let middle = |v| histogram.median_equivalent(v) as f64;
        let buckets = histogram.iter_recorded().map(|b| (middle(b.value_iterated_to()), b.count_at_value())).collect();
        Self { name, full_name, configuration, pooled, buckets, kept: OnceCell::new() }
    }

    /// The limit it was judged by, in ns.
    pub fn limit(&self) -> Option<f64> {
        self.pooled.above_limit?;
        Some(self.configuration.cell.limit?.0 as f64)
    }

    /// The samples kept of all threads and repeats, largest first, each once.
    pub fn kept(&self) -> &[Kept<'a>] {
        self.kept.get_or_init(|| {
            let mut kept: Vec<Kept> = Vec::new();
            for track in &self.pooled.tracks {
                let in_blocks = track.blocks.iter().flat_map(|b| &b.largest);
                let mut samples: Vec<&Sample> = track.largest.iter().chain(in_blocks).collect();
                // The list of the largest comes first and says most: among equals its entry stays.
                samples.sort_by(|a, b| b.value.cmp(&a.value).then(a.at_ns.cmp(&b.at_ns)));
                samples.dedup_by(|b, a| (a.value, a.at_ns) == (b.value, b.at_ns));
                kept.extend(samples.into_iter().map(|sample| Kept { sample, cpu: track.cpu, repeat: track.repeat }));
            }
            kept.sort_by(|a, b| b.sample.value.cmp(&a.sample.value).then(a.sample.at_ns.cmp(&b.sample.at_ns)));
            kept
        })
    }

    /// The largest value, where there is one.
    pub fn max(&self) -> Option<f64> {
        self.pooled.summary.max.map(|v| v as f64)
    }

    /// The smallest value, where there is one.
    pub fn min(&self) -> Option<f64> {
        self.pooled.summary.min.map(|v| v as f64)
    }

    /// One of the stated quantiles, by its key.
    pub fn quantile(&self, key: &str) -> Option<f64> {
        self.pooled.summary.quantiles.get(key).copied().flatten().map(|v| v as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_sample_in_both_lists_is_kept_once() {
        let all = [sample::of("x", &[3_000, 9_000, 5_000], None)];
        let values: Vec<i64> = sections(&all)[0].series[0].kept().iter().map(|k| k.sample.value).collect();
        assert_eq!(values, [9_000, 5_000, 3_000]);
    }

    #[test]
    fn the_probe_is_not_named_again() {
        let all = ["wakeup, none", "wakeup period=1ms, none", "wakeup", "busy"].map(|l| sample::of(l, &[1_000], None));
        let sections = sections(&all);
        let names: Vec<_> = sections[0].series.iter().map(|s| (s.name.as_str(), s.full_name.as_str())).collect();
        assert_eq!(
            names,
            [
                ("none", "wakeup, none"),
                ("period=1ms, none", "wakeup period=1ms, none"),
                ("wakeup", "wakeup"),
                ("busy", "busy")
            ]
        );
    }

    #[test]
    fn labels_make_series_and_quantities_make_sections() {
        let mut labelled = sample::of("idle", &[1_000], None);
        labelled.quantities[0].labels = [("kind".to_owned(), "inherit".to_owned())].into();
        let mut other = sample::of("idle", &[20], None);
        other.cell.probe.name = "gap".into();
        other.quantities[0].quantity = "gap".into();
        let all = [labelled, sample::of("busy", &[1_000], None), other];
        let named: Vec<(String, Vec<String>)> =
            sections(&all).into_iter().map(|s| (s.key(), s.series.into_iter().map(|s| s.name).collect())).collect();
        assert_eq!(
            named,
            [
                ("wakeup.latency".to_owned(), vec!["idle, kind inherit".to_owned(), "busy".into()]),
                ("gap.gap".to_owned(), vec!["idle".to_owned()])
            ]
        );
    }
}
