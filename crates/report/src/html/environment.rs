//! The environment: what all configurations share, and where they differ.

use super::stand_ins;
use crate::words::{self, NOT_MEASURED};
use latido_judge::configuration::Configuration;
use latido_model::{
    cell::{Item, Level},
    written,
};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the environment.
pub struct Environment {
    /// The name and the value of each property that is the same everywhere.
    pub shared: Vec<(String, String)>,
    /// How many configurations there are.
    pub configurations: usize,
    /// The columns of the differing properties.
    pub head: Vec<String>,
    /// The name of each row, and its values; the flag marks a value that is not the most frequent one.
    pub rows: Vec<(String, Vec<(String, bool)>)>,
}

impl Environment {
    /// Compares the configurations row by row.
    pub fn of(configurations: &[Configuration]) -> Self {
        let told = Told::of(configurations);
        let all: Vec<Vec<(String, String)>> = configurations.iter().map(|c| rows(c, &told)).collect();
        let (mut names, mut known) = (Vec::<&String>::new(), BTreeSet::new());
        names.extend(all.iter().flatten().map(|(name, _)| name).filter(|name| known.insert(*name)));
        let (mut shared, mut differing) = (agreed_options(configurations, &told), Vec::new());
        for name in names {
            let value = |rows: &Vec<(String, String)>| {
                rows.iter().find(|(n, _)| n == name).map_or(NOT_MEASURED.to_owned(), |(_, v)| v.clone())
            };
            let values: Vec<String> = all.iter().map(value).collect();
            match &values[..] {
                [first, rest @ ..] if rest.iter().all(|v| v == first) => shared.push((name.clone(), first.clone())),
                _ => differing.push((name.clone(), marked(&values))),
            }
        }
        let labels = configurations.iter().map(|c| c.label.clone()).collect();
        let (head, rows) = upright(labels, differing);
        Self { shared, configurations: configurations.len(), head, rows }
    }
}

type Rows = Vec<(String, Vec<(String, bool)>)>;

/// Transposes a table that is wider than high: then its rows are the configurations.
fn upright(labels: Vec<String>, differing: Rows) -> (Vec<String>, Rows) {
    if labels.len() <= differing.len() {
        return (labels, differing);
    }
    let of = |i: usize| differing.iter().filter_map(|(_, values)| values.get(i).cloned()).collect();
    let rows = labels.into_iter().enumerate().map(|(i, label)| (label, of(i))).collect();
    (differing.iter().map(|(name, _)| name.clone()).collect(), rows)
}

/// What all configurations together determine about the rows of each.
struct Told<'a> {
    /// For each probe, the options whose values differ between its configurations.
    varying: BTreeMap<&'a str, BTreeSet<&'a str>>,
    in_parts: bool,
    loads: bool,
    siblings: bool,
}

impl<'a> Told<'a> {
    fn of(all: &'a [Configuration]) -> Self {
        let mut first = BTreeMap::<&str, &Item>::new();
        let mut varying = BTreeMap::<&str, BTreeSet<&str>>::new();
        for probe in all.iter().map(|one| &one.cell.probe) {
            let first = *first.entry(&probe.name).or_insert(probe);
            let keys = first.options.keys().chain(probe.options.keys());
            let differ = keys.filter(|key| first.options.get(*key) != probe.options.get(*key));
            varying.entry(&probe.name).or_default().extend(differ.map(String::as_str));
        }
        Self {
            varying,
            in_parts: all.iter().any(|one| !one.in_parts().is_empty()),
            loads: all.iter().any(|one| one.loads().next().is_some()),
            siblings: all.iter().any(|one| !siblings(one).is_empty()),
        }
    }

    /// Returns the probe with only its varying options, or with only the others.
    fn part(&self, probe: &Item, varying: bool) -> Item {
        let known = self.varying.get(probe.name.as_str());
        let varies = |key: &str| known.is_some_and(|known| known.contains(key));
        let options = probe.options.iter().filter(|(key, _)| varies(key) == varying);
        Item { name: probe.name.clone(), options: options.map(|(key, value)| (key.clone(), value.clone())).collect() }
    }
}

/// Returns, for each probe, the options on which its configurations agree.
fn agreed_options(all: &[Configuration], told: &Told<'_>) -> Vec<(String, String)> {
    let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
    for probe in all.iter().map(|one| &one.cell.probe).filter(|probe| known.insert(probe.name.as_str())) {
        let agreed = told.part(probe, false);
        let row = (format!("options of {}", agreed.name), options(&agreed, ", "));
        rows.extend(Some(row).filter(|(_, options)| !options.is_empty()));
    }
    rows
}

/// Returns each value with a flag that marks it as not the most frequent. If all values differ, none is marked.
fn marked(values: &[String]) -> Vec<(String, bool)> {
    let mut often = BTreeMap::<&String, usize>::new();
    values.iter().for_each(|value| *often.entry(value).or_default() += 1);
    let most = often.values().copied().max().unwrap_or(0);
    let common = values.iter().find(|value| often.get(value) == Some(&most));
    values.iter().map(|value| (value.clone(), most > 1 && common != Some(value))).collect()
}

/// Returns everything known about a configuration: how it was measured, then the machine.
fn rows(configuration: &Configuration, told: &Told<'_>) -> Vec<(String, String)> {
    let cell = &configuration.cell;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    let mut rows: Vec<(String, String)> = vec![
        ("probe".into(), item(&told.part(&cell.probe, true))),
        ("scheduling".into(), cell.scheduling.to_string()),
        (
            "CPUs measured".into(),
            cell.conditions.cpus.as_ref().map_or("the probe's default".into(), ToString::to_string),
        ),
        ("duration".into(), cell.conditions.duration.to_string()),
        ("warm-up".into(), cell.conditions.warmup.to_string()),
        ("limit".into(), or_none(cell.conditions.limit.map(|l| l.to_string()))),
        ("stops on".into(), or_none(cell.conditions.stop_on.map(|l| l.to_string()))),
        ("ends above".into(), or_none(cell.conditions.max_temp.map(|degrees| format!("{degrees} degrees")))),
        ("load".into(), level(&cell.load)),
        ("tuning".into(), level(&cell.tuning)),
        ("kernel axis".into(), cell.kernel.clone()),
        ("repeats pooled".into(), configuration.repeats.len().to_string()),
    ];
    rows.extend(cell.conditions.recorded().map(|what| ("traced".into(), words::traced(what))));
    if told.in_parts {
        rows.push((
            "measured in parts".into(),
            or_none(Some(configuration.in_parts().join("; ")).filter(|told| !told.is_empty())),
        ));
    }
    if told.loads {
        rows.push(("loads achieved".into(), words::pooled(configuration.loads())));
    }
    if told.siblings {
        rows.push(("SMT siblings".into(), siblings(configuration)));
    }
    rows.extend(configuration.machine.rows().into_iter().map(|(name, value)| (name.to_owned(), value)));
    rows
}

/// Returns what the SMT siblings of the measured CPUs did during the measurement.
fn siblings(configuration: &Configuration) -> String {
    words::siblings(configuration.repeats.iter().flat_map(|repeat| &repeat.evidence.siblings))
}

fn level(level: &Level) -> String {
    let told = |load: &Item| match stand_ins::is_loopback(load) {
        true => format!("{} over the loopback, which stands in for a wire", item(load)),
        false => item(load),
    };
    let items: Vec<String> = level.items.iter().map(told).collect();
    match (level.id.as_str(), items.join(" + ")) {
        (id, items) if items.is_empty() || items == id => id.to_owned(),
        ("", items) => items,
        (id, items) => format!("{id}: {items}"),
    }
}

/// Returns an item in the syntax of the command line: `stress-ng:sleep=16`.
pub(super) fn item(item: &Item) -> String {
    let separator = if item.options.is_empty() { "" } else { ":" };
    format!("{}{separator}{}", item.name, options(item, ","))
}

fn options(item: &Item, separator: &str) -> String {
    item.options
        .iter()
        .map(|(key, value)| format!("{key}={}", written::said(value)))
        .collect::<Vec<_>>()
        .join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn tells_the_shared_from_the_different() {
        let mut all = sample::configurations(3);
        all[1].machine.kernel = "6.12.48-rt".into();
        let environment = Environment::of(&all);
        assert!(environment.shared.contains(&("scheduling".into(), "fifo 80".into())));
        let at = environment.head.iter().position(|name| name == "kernel").unwrap();
        let kernels: Vec<bool> = environment.rows.iter().map(|(_, values)| values[at].1).collect();
        assert_eq!(kernels, [false, true, false]);
    }

    #[test]
    fn only_the_options_that_vary_stand_beside_the_probe() {
        let mut all = sample::configurations(2);
        for (configuration, period) in all.iter_mut().zip(["1ms", "5ms"]) {
            configuration.cell.probe.options = toml::toml! { clock = "monotonic" };
            configuration.cell.probe.options.insert("period".into(), period.into());
        }
        all.push(sample::gaps("idle", 3));
        let environment = Environment::of(&all);
        assert!(environment.shared.contains(&("options of wakeup".into(), "clock=monotonic".into())));
        let (_, values) = environment.rows.iter().find(|(name, _)| name == "probe").unwrap();
        let probes: Vec<&str> = values.iter().map(|(value, _)| value.as_str()).collect();
        assert_eq!(probes, ["wakeup:period=1ms", "wakeup:period=5ms", "gap"]);
    }

    #[test]
    fn the_table_of_differences_is_upright() {
        let cell = |text: &str| (text.to_owned(), false);
        let wide = vec![("load".to_owned(), vec![cell("none"), cell("busy")])];
        let (head, rows) = upright(vec!["a".into(), "b".into()], wide);
        assert_eq!(head, ["load"]);
        assert_eq!(rows, [("a".to_owned(), vec![cell("none")]), ("b".into(), vec![cell("busy")])]);
    }
}
