//! Sections: one per quantity of a probe and set of labels, with one series per configuration.

use super::extremes::Named;
use crate::words;
use latido_judge::{
    configuration::Configuration,
    repeat::{Pooled, Track},
};
use latido_model::{quantity::Quantity, record::Sample, run::packed::Packed, summary::Counted};
use std::{cell::OnceCell, collections::BTreeMap};

/// The number of series that readers can distinguish in a figure; tables show all.
pub const SHOWN: usize = 8;

/// The width of a page's figures, in pixels.
pub const PAGE: f64 = 1080.0;

/// Everything that was measured of one quantity with one set of labels.
#[derive(Debug)]
pub struct Section<'a> {
    /// The probe's name.
    pub probe: &'a str,
    /// The quantity's name.
    pub quantity: &'a str,
    /// What its probe declares about it; nothing if the run does not include that.
    pub declared: Option<&'a Quantity>,
    /// The stored unit, `ns` or another named one.
    pub unit: &'a str,
    /// What distinguishes it from other sections of the quantity: `kind` of a mutex, `size` of a matrix.
    pub labels: &'a BTreeMap<String, String>,
    /// One per configuration.
    pub series: Vec<Curve<'a>>,
    /// The width of its figures, in pixels: that of a page or of a paper's column.
    pub width: f64,
    pub(super) extremes: OnceCell<Vec<Named>>,
}

/// One line of a table, one curve of a figure.
#[derive(Debug)]
pub struct Curve<'a> {
    /// What distinguishes it from the others of the section.
    pub name: String,
    /// What distinguishes it from all others: the name with the probe's.
    pub full_name: String,
    /// Its configuration.
    pub configuration: &'a Configuration,
    /// The figures.
    pub pooled: &'a Pooled,
    /// The histogram's occupied buckets in ascending order: middle and count.
    pub buckets: Vec<(f64, u64)>,
    kept: OnceCell<Vec<Kept<'a>>>,
}

/// A sample that the record kept with its time.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// The CPU, if the thread was pinned.
    pub cpu: Option<u32>,
    /// The repeat.
    pub repeat: u32,
}

/// Returns the sections of these configurations, probe by probe and quantity by quantity, in the order in which they first appear.
pub fn sections(configurations: &[Configuration]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section> = Vec::new();
    for configuration in configurations {
        for pooled in configuration.told() {
            let (probe, quantity) = (&configuration.cell.probe.name, &pooled.quantity);
            let (unit, labels) = (&pooled.unit, &pooled.labels);
            let series = Curve::new(configuration, pooled);
            let known = |s: &&mut Section| {
                (s.probe, s.quantity, s.unit, s.labels) == (probe.as_str(), quantity.as_str(), unit.as_str(), labels)
            };
            match sections.iter_mut().find(known) {
                Some(section) => section.series.push(series),
                None => {
                    let declared = configuration.measurand.quantity(quantity);
                    let (series, extremes) = (vec![series], OnceCell::new());
                    sections.push(Section { probe, quantity, declared, unit, labels, series, width: PAGE, extremes });
                }
            }
        }
    }
    let (mut probes, mut quantities): (Vec<&str>, Vec<(&str, &str)>) = (Vec::new(), Vec::new());
    let places = sections.iter().map(|s| (place(&mut probes, s.probe), place(&mut quantities, (s.probe, s.quantity))));
    let places: Vec<(usize, usize)> = places.collect();
    let mut placed: Vec<_> = places.into_iter().zip(sections).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, section)| section).collect()
}

/// Returns the index of a value in the order of first appearance.
fn place<T: PartialEq>(known: &mut Vec<T>, one: T) -> usize {
    known.iter().position(|other| *other == one).unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    })
}

impl<'a> Section<'a> {
    /// Returns the name that expectations use: `wakeup.latency`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.probe, self.quantity)
    }

    /// Returns the heading.
    pub fn title(&self) -> String {
        self.with_labels(self.name())
    }

    /// Returns the name that all sections of the quantity share: `Mutex: lock`.
    pub fn name(&self) -> String {
        self.declared.map_or_else(|| self.key(), |quantity| quantity.title.to_string())
    }

    /// Returns the heading below that of its probe: `lock, inherit`.
    pub fn short_title(&self) -> String {
        self.with_labels(self.short_name())
    }

    /// Returns the quantity's name below the heading of its probe: `lock in batches`.
    pub fn short_name(&self) -> String {
        self.declared.map_or_else(|| self.quantity.replace('_', " "), Quantity::short)
    }

    fn with_labels(&self, name: String) -> String {
        match words::labels(self.labels) {
            labels if labels.is_empty() => name,
            labels => format!("{name}, {labels}"),
        }
    }

    /// Returns a name for files: `mutex.lock`, `mutex.lock-kind-inherit`.
    pub fn stem(&self) -> String {
        let labels = self.labels.iter().map(|(key, value)| format!("-{key}-{value}"));
        std::iter::once(self.key()).chain(labels).collect()
    }

    /// Returns the noun for one sample.
    pub fn noun(&self) -> &'a str {
        self.declared.map_or("sample", |quantity| &quantity.noun)
    }

    /// Returns the series that figures show.
    pub fn shown(&self) -> &[Curve<'a>] {
        self.series.get(..SHOWN).unwrap_or(&self.series)
    }

    /// Returns their names in figures.
    pub fn names(&self) -> Vec<&str> {
        self.shown().iter().map(|series| series.name.as_str()).collect()
    }

    /// Returns whether anything was measured.
    pub fn has_samples(&self) -> bool {
        self.series.iter().any(|series| series.pooled.summary.count > 0)
    }

    /// Returns whether it extends over time: over more than one block, or over slots.
    pub fn is_over_time(&self) -> bool {
        let blocks = |series: &Curve| {
            series.tracks().any(|track| track.blocks.iter().filter(|block| block.count > 0).count() > 1)
        };
        self.has_samples() && self.series.iter().any(|series| series.pooled.slots.is_some() || blocks(series))
    }

    /// Returns whether its samples were kept in order: then a figure of the chapter shows them.
    pub fn is_ordered(&self) -> bool {
        self.series.iter().flat_map(|series| series.tracks()).any(|track| !track.samples.is_empty())
    }

    /// Returns the different limits of the shown series, ascending.
    pub fn limits(&self) -> Vec<f64> {
        let mut limits: Vec<_> = self.shown().iter().filter_map(Curve::limit).collect();
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        limits
    }

    /// Returns a value with its unit.
    pub fn value(&self, v: f64) -> String {
        words::value(v, self.unit)
    }
}

impl<'a> Curve<'a> {
    fn new(configuration: &'a Configuration, pooled: &'a Pooled) -> Self {
        // The section's title already names the probe.
        let names = [&configuration.short, &configuration.label, &configuration.cell.plan];
        let name = names.into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        let labels = words::labels(&pooled.labels);
        let parts = [configuration.label.as_str(), &labels].into_iter().filter(|part| !part.is_empty());
        let full_name = parts.collect::<Vec<_>>().join(", ");
        let buckets = pooled.histogram.steps().map(|(end, count)| (Packed::middle(end) as f64, count)).collect();
        Self { name, full_name, configuration, pooled, buckets, kept: OnceCell::new() }
    }

    /// Returns its threads, repeat after repeat.
    pub fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.configuration.tracks(self.pooled).map(|(_, track)| track)
    }

    /// Returns the limit that judged it, in ns.
    pub fn limit(&self) -> Option<f64> {
        self.pooled.above_limit?;
        Some(self.configuration.cell.conditions.limit?.0 as f64)
    }

    /// Returns the kept samples of all threads and repeats, largest first, each once.
    pub fn kept(&self) -> &[Kept<'a>] {
        self.kept.get_or_init(|| {
            let mut kept: Vec<Kept> = Vec::new();
            for (repeat, track) in self.configuration.tracks(self.pooled) {
                let in_blocks = track.blocks.iter().flat_map(|b| &b.largest);
                let mut samples: Vec<&Sample> = track.largest.iter().chain(in_blocks).collect();
                // The list of the largest samples comes first and is the most detailed: among equal samples its entry stays.
                samples.sort_by(|a, b| b.value.cmp(&a.value).then(a.at_ns.cmp(&b.at_ns)));
                samples.dedup_by(|b, a| (a.value, a.at_ns) == (b.value, b.at_ns));
                kept.extend(samples.into_iter().map(|sample| Kept { sample, cpu: track.cpu, repeat: repeat.repeat }));
            }
            kept.sort_by(|a, b| b.sample.value.cmp(&a.sample.value).then(a.sample.at_ns.cmp(&b.sample.at_ns)));
            kept
        })
    }

    /// Returns the largest value, if there is one.
    pub fn max(&self) -> Option<f64> {
        self.pooled.summary.max.map(|v| v as f64)
    }

    /// Returns the smallest value, if there is one.
    pub fn min(&self) -> Option<f64> {
        self.pooled.summary.min.map(|v| v as f64)
    }

    /// Returns one of the stated quantiles, by its key.
    pub fn quantile(&self, key: &str) -> Option<f64> {
        self.pooled.summary.quantiles.get(key).copied().flatten().map(|v| v as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_sample_in_both_lists_is_kept_once() {
        let all = [sample::of("x", &[3_000, 9_000, 5_000], None)];
        let values: Vec<i64> = sections(&all)[0].series[0].kept().iter().map(|k| k.sample.value).collect();
        assert_eq!(values, [9_000, 5_000, 3_000]);
    }

    #[test]
    fn the_probe_is_not_named_again() {
        let labels = [
            ("wakeup, none", "none"),
            ("wakeup period=1ms, none", "period=1ms, none"),
            ("wakeup", ""),
            ("busy", "busy"),
        ];
        let all = labels.map(|(label, short)| {
            let one = sample::of(label, &[1_000], None);
            Configuration { label: label.into(), short: short.into(), ..one }
        });
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

    /// Different labels mean different things: they are not overlaid, and the sections of a quantity stay together.
    #[test]
    fn labels_and_quantities_make_sections() {
        let kind = |label: &str, kind: &str| {
            let mut one = sample::of(label, &[1_000], None);
            sample::change(&mut one, 0, |own| own.labels = [("kind".to_owned(), kind.to_owned())].into());
            one
        };
        let other = sample::gaps("idle", 1);
        let all = [kind("idle", "inherit"), other, kind("busy", "inherit"), kind("busy", "normal")];
        let named: Vec<(String, String, Vec<String>)> = sections(&all)
            .into_iter()
            .map(|s| (s.key(), s.title(), s.series.into_iter().map(|s| s.full_name).collect()))
            .collect();
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            named,
            [
                (
                    "wakeup.latency".to_owned(),
                    "Wake-up latency, inherit".to_owned(),
                    texts(&["idle, inherit", "busy, inherit"])
                ),
                ("wakeup.latency".to_owned(), "Wake-up latency, normal".to_owned(), texts(&["busy, normal"])),
                ("gap.gap".to_owned(), "Gaps in a busy loop".to_owned(), texts(&["idle"])),
            ]
        );
    }
}
