//! The environment: what all configurations share, and what tells them apart.

use crate::{
    analyze::configuration::Configuration,
    cell::{Item, Level},
    report::words::NOT_MEASURED,
};

/// The rows of the environment.
pub struct Environment {
    /// Name and value of what is the same everywhere.
    pub shared: Vec<(String, String)>,
    /// Names of the configurations.
    pub labels: Vec<String>,
    /// Name, and the value of each configuration, with whether it is not the commonest.
    pub differing: Vec<(String, Vec<(String, bool)>)>,
}

impl Environment {
    /// Compares the configurations row by row.
    pub fn of(configurations: &[Configuration]) -> Self {
        let all: Vec<Vec<(String, String)>> = configurations.iter().map(rows).collect();
        let mut names: Vec<&String> = Vec::new();
        for (name, _) in all.iter().flatten() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let (mut shared, mut differing) = (Vec::new(), Vec::new());
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
        Self { shared, labels: configurations.iter().map(|c| c.label.clone()).collect(), differing }
    }
}

/// Each value with whether it is another than the commonest; where all differ there is none.
fn marked(values: &[String]) -> Vec<(String, bool)> {
    let often = |v: &String| values.iter().filter(|other| *other == v).count();
    let most = values.iter().map(often).max().unwrap_or(0);
    let common = values.iter().find(|v| often(v) == most);
    let differs = |v: &String| most > 1 && common != Some(v);
    values.iter().map(|v| (v.clone(), differs(v))).collect()
}

/// Everything known of a configuration: how it was measured, then the machine.
fn rows(configuration: &Configuration) -> Vec<(String, String)> {
    let cell = &configuration.cell;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    let mut rows: Vec<(String, String)> = vec![
        ("probe".into(), item(&cell.probe)),
        ("scheduling".into(), cell.scheduling.to_string()),
        ("CPUs measured".into(), cell.cpus.as_ref().map_or("the probe's default".into(), ToString::to_string)),
        ("duration".into(), cell.duration.to_string()),
        ("warm-up".into(), cell.warmup.to_string()),
        ("limit".into(), or_none(cell.limit.map(|l| l.to_string()))),
        ("stops on".into(), or_none(cell.stop_on.map(|l| l.to_string()))),
        ("load".into(), level(&cell.load)),
        ("tuning".into(), level(&cell.tuning)),
        ("kernel axis".into(), cell.kernel.clone()),
        ("repeats pooled".into(), configuration.members.len().to_string()),
    ];
    rows.extend(configuration.machine.rows().into_iter().map(|(name, value)| (name.to_owned(), value)));
    rows
}

fn level(level: &Level) -> String {
    let items: Vec<String> = level.items.iter().map(item).collect();
    match (level.id.as_str(), items.join(" + ")) {
        (id, items) if items.is_empty() || items == id => id.to_owned(),
        ("", items) => items,
        (id, items) => format!("{id}: {items}"),
    }
}

/// As the command line names it: `stress-ng:sleep=16`.
fn item(item: &Item) -> String {
    let value = |v: &toml::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let options: Vec<String> = item.options.iter().map(|(key, v)| format!("{key}={}", value(v))).collect();
    let separator = if options.is_empty() { "" } else { ":" };
    format!("{}{separator}{}", item.name, options.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn tells_the_shared_from_the_different() {
        let mut all = sample::configurations(3);
        all[1].machine.kernel = "6.12.48-rt".into();
        let environment = Environment::of(&all);
        assert!(environment.shared.contains(&("scheduling".into(), "fifo 80".into())));
        let (_, kernels) = environment.differing.iter().find(|(name, _)| name == "kernel").unwrap();
        assert_eq!(kernels.iter().map(|k| k.1).collect::<Vec<_>>(), [false, true, false]);
    }
}
