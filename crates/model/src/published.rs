//! The numbers that the studies printed, carried in the binary, and which measurements of a plan they stand beside.

use crate::{
    consistency,
    plan::{Filter, Plan},
};
use serde::Deserialize;
use std::sync::LazyLock;

/// The figures as the studies printed them, one row a number.
const CSV: &str = include_str!("../../../plans/studies/published.csv");

/// One printed number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Figure {
    /// The table, figure or board it stands in: tells apart what is printed twice of one system and quantity.
    pub table: String,
    /// The system, as the study calls it.
    pub system: String,
    /// The load.
    pub load: String,
    /// The quantity.
    pub quantity: String,
    /// `min`, `mean`, `max`, `sd`, or a name of the study's own such as `share_up_to_1000ns`.
    pub stat: String,
    /// The number, in `unit`.
    pub value: f64,
    /// `ns`, `us`, `ms`, `%` or `samples`.
    pub unit: String,
    /// What is to be known of it.
    pub note: String,
}

impl Figure {
    /// The number in ns where it is a span of time.
    pub fn ns(&self) -> Option<f64> {
        let scale = match self.unit.as_str() {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        Some(self.value * scale)
    }
}

#[derive(Deserialize)]
struct Row {
    study: String,
    table: String,
    system: String,
    load: String,
    quantity: String,
    stat: String,
    value: f64,
    unit: String,
    note: String,
}

/// Every row with its study. A row that cannot be read is left out; a test reads them all.
static ROWS: LazyLock<Vec<(String, Figure)>> = LazyLock::new(|| {
    let rows = csv::Reader::from_reader(CSV.as_bytes()).into_deserialize::<Row>().flatten();
    let split = |Row { study, table, system, load, quantity, stat, value, unit, note }| {
        (study, Figure { table, system, load, quantity, stat, value, unit, note })
    };
    rows.map(split).collect()
});

/// The names of the studies that have numbers, each once.
pub fn studies() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (study, _) in ROWS.iter() {
        if !names.contains(&study.as_str()) {
            names.push(study);
        }
    }
    names
}

/// The numbers of one study in the order in which it prints them; none for a name that is no study.
pub fn study(name: &str) -> Vec<Figure> {
    ROWS.iter().filter(|(study, _)| study == name).map(|(_, figure)| figure.clone()).collect()
}

/// What a study printed of one system and quantity, beside the measurements that it can be compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The system; with its table (`helio, preempt`) where the study prints the quantity of a system more than once.
    pub system: String,
    /// The quantity, as the study calls it.
    pub quantity: String,
    /// `mutex.lock`: probe and quantity of the plan.
    pub metric: String,
    /// Axes and labels of the series that it stands beside: of the system and of the quantity together. `None` where the
    /// plan has no cells for the system.
    pub filter: Option<Filter>,
    /// Smallest, ns.
    pub min: Option<f64>,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// Largest, ns.
    pub max: Option<f64>,
    /// Every other number: its name, value and unit.
    pub other: Vec<(String, f64, String)>,
    /// Notes of its numbers, each once.
    pub note: String,
    /// Why the numbers cannot be true, where they cannot.
    pub impossible: Option<String>,
}

/// The printed numbers of a plan's study, one entry for each system and quantity that the plan maps to its own, in the
/// order of the plan's quantities and then of its systems. None for a plan without `[published]`.
pub fn columns(plan: &Plan) -> Vec<Column> {
    let Some(published) = &plan.published else { return Vec::new() };
    let figures = study(&published.study);
    let mut columns = Vec::new();
    for (quantity, metric, of_quantity) in &published.quantities {
        for (system, of_system) in &published.systems {
            let own: Vec<&Figure> =
                figures.iter().filter(|figure| figure.system == *system && figure.quantity == *quantity).collect();
            for (name, figures) in tables(system, &own) {
                // The quantity says more than the system: it may name another load, or another scheduling.
                let rest = of_system.iter().filter(|(key, _)| of_quantity.iter().all(|(other, _)| other != key));
                let filter: Filter = rest.chain(of_quantity).cloned().collect();
                columns.push(Column {
                    filter: (!of_system.is_empty()).then_some(filter),
                    ..column(name, quantity, metric, &figures)
                });
            }
        }
    }
    columns
}

/// The figures of one system by table where a number of it is printed in several; together where not.
fn tables<'a>(system: &str, figures: &[&'a Figure]) -> Vec<(String, Vec<&'a Figure>)> {
    if figures.is_empty() {
        return Vec::new();
    }
    let twice = |one: &&&Figure| figures.iter().filter(|other| other.stat == one.stat).count() > 1;
    if !figures.iter().any(|figure| twice(&figure)) {
        return vec![(system.into(), figures.to_vec())];
    }
    let mut split: Vec<(String, Vec<&Figure>)> = Vec::new();
    for figure in figures {
        let name = format!("{}, {system}", figure.table);
        match split.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(figure),
            None => split.push((name, vec![figure])),
        }
    }
    split
}

fn column(system: String, quantity: &str, metric: &str, figures: &[&Figure]) -> Column {
    let of = |stat: &str| figures.iter().find(|figure| figure.stat == stat).and_then(|figure| figure.ns());
    let known = |figure: &Figure| matches!(figure.stat.as_str(), "min" | "mean" | "max") && figure.ns().is_some();
    let others = figures.iter().filter(|figure| !known(figure));
    let mut notes: Vec<&str> =
        figures.iter().map(|figure| figure.note.as_str()).filter(|note| !note.is_empty()).collect();
    notes.dedup();
    Column {
        system,
        quantity: quantity.into(),
        metric: metric.into(),
        filter: None,
        min: of("min"),
        mean: of("mean"),
        max: of("max"),
        other: others.map(|figure| (figure.stat.clone(), figure.value, figure.unit.clone())).collect(),
        note: notes.join("; "),
        impossible: consistency::disorder(of("min"), of("mean"), of("max")),
    }
}

/// A printed row that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The study.
    pub study: String,
    /// The table.
    pub table: String,
    /// The system.
    pub system: String,
    /// The load.
    pub load: String,
    /// The quantity.
    pub quantity: String,
    /// What contradicts itself: `mean 1348700 outside 1069300 to 1226500`, in ns.
    pub why: String,
}

/// Every printed row whose numbers contradict each other, by the rule that guards our own records.
pub fn impossible() -> Vec<Impossible> {
    let mut found = Vec::new();
    for name in studies() {
        let figures = study(name);
        let same = |a: &Figure, b: &Figure| {
            (&a.table, &a.system, &a.load, &a.quantity) == (&b.table, &b.system, &b.load, &b.quantity)
        };
        for (at, first) in figures.iter().enumerate() {
            if figures.iter().take(at).any(|earlier| same(earlier, first)) {
                continue;
            }
            let of = |stat: &str| {
                figures.iter().find(|figure| same(figure, first) && figure.stat == stat).and_then(Figure::ns)
            };
            if let Some(why) = consistency::disorder(of("min"), of("mean"), of("max")) {
                let Figure { table, system, load, quantity, .. } = first.clone();
                found.push(Impossible { study: name.into(), table, system, load, quantity, why });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), CSV.trim_end().lines().count() - 1);
        let mut names = studies();
        names.sort_unstable();
        assert_eq!(names, ["embedded-properties", "ftrace-latencies", "interrupt-determinism", "scheduling-latency"]);
        assert!(ROWS.iter().all(|(_, figure)| figure.value.is_finite() && figure.value >= 0.0));
        assert_eq!(study("no-such-study"), []);
    }

    #[test]
    fn times_come_in_ns() {
        let of = |unit: &str| Figure { unit: unit.into(), value: 2.5, ..study("scheduling-latency")[0].clone() }.ns();
        assert_eq!([of("ns"), of("us"), of("ms")], [Some(2.5), Some(2_500.0), Some(2_500_000.0)]);
        assert_eq!([of("%"), of("samples")], [None, None]);
    }

    /// The one row known to be misprinted, and no other.
    #[test]
    fn the_impossible_row_is_told_and_no_other() {
        let found = impossible();
        let [row] = found.as_slice() else { panic!("{found:#?}") };
        let place = (row.study.as_str(), row.table.as_str(), row.system.as_str(), row.quantity.as_str());
        assert_eq!(place, ("scheduling-latency", "6", "rt+isolated", "sleep_relative_1000us"));
        assert_eq!(row.why, "mean 1348700 outside 1069300 to 1226500");
        let noted: Vec<_> = ROWS.iter().filter(|(_, figure)| figure.note.contains("mean exceeds max")).collect();
        assert!(noted.iter().all(|(_, figure)| figure.system == row.system && figure.quantity == row.quantity));
        assert_eq!(noted.len(), 3);
    }
}
