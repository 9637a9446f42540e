//! Which measurements of a plan belong next to the numbers of its study.

use crate::{
    consistency,
    plan::{Filter, Plan, Statistic, Taken},
    printed::{PrintedNumber, study},
};

/// What a study printed for one system and quantity, with the measurements that it can be compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The system; with its table (`helio, preempt`) if the study prints the quantity of a system more than once.
    pub system: String,
    /// The quantity, as the study calls it.
    pub quantity: String,
    /// `mutex.lock`: probe and quantity of the plan.
    pub metric: String,
    /// Axes and labels of the series to compare it with: those of the system and of the quantity together. `None` if the plan has no cells
    /// for the system.
    pub filter: Option<Filter>,
    /// How the study took the numbers: which of latido's distributions, and which options of the probe, they can be compared with.
    pub taken: Taken,
    /// Smallest, ns.
    pub min: Option<f64>,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// Largest, ns.
    pub max: Option<f64>,
    /// Every other number.
    pub other: Vec<Other>,
    /// Notes of its numbers, each once.
    pub note: String,
    /// Why the numbers cannot be true, if they contradict each other.
    pub impossible: Option<String>,
}

/// A printed number that is neither minimum, mean nor maximum.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// As the study's numbers call it: `share_up_to_1000ns`.
    pub name: String,
    /// As printed.
    pub value: f64,
    /// `%`, `samples`, or a unit of time.
    pub unit: String,
    /// latido's statistic for it; `None` if latido has none.
    pub statistic: Option<Statistic>,
    /// The number in the form of latido's statistics: times in ns, shares from 0 to 1, counts as they are.
    pub amount: f64,
}

/// Returns latido's statistic for a printed number; `None` if latido has none.
pub fn statistic(printed: &PrintedNumber) -> Option<Statistic> {
    let edge = |name: &str| name.strip_suffix("ns")?.parse().ok();
    match (printed.stat.strip_prefix("count_above_"), printed.stat.strip_prefix("share_up_to_")) {
        (Some(at), _) => edge(at).map(Statistic::Above),
        (_, Some(at)) => edge(at).map(Statistic::Share),
        _ => [Statistic::Min, Statistic::Mean, Statistic::Max, Statistic::Sd]
            .into_iter()
            .find(|statistic| statistic.to_string() == printed.stat),
    }
}

impl Other {
    fn of(printed: &PrintedNumber) -> Self {
        let PrintedNumber { stat, value, unit, .. } = printed;
        let statistic =
            statistic(printed).filter(|one| !matches!(one, Statistic::Min | Statistic::Mean | Statistic::Max));
        Self { name: stat.clone(), value: *value, unit: unit.clone(), statistic, amount: printed.amount() }
    }
}

/// Returns the printed numbers of a plan's study, one entry for each system and quantity that the plan maps to its own, in the order of the
/// plan's quantities and then of its systems. Empty for a plan without `[published]`.
pub fn columns(plan: &Plan) -> Vec<Column> {
    let Some(published) = &plan.published else { return Vec::new() };
    let figures = study(&published.study);
    let mut columns = Vec::new();
    for (quantity, metric, of_quantity) in &published.quantities {
        for (system, of_system) in &published.systems {
            let own: Vec<&PrintedNumber> =
                figures.iter().filter(|figure| figure.system == *system && figure.quantity == *quantity).collect();
            for (name, figures) in tables(system, &own) {
                // The quantity overrides the system: it may name another load, or another scheduling.
                let rest = of_system.iter().filter(|(key, _)| of_quantity.iter().all(|(other, _)| other != key));
                let filter: Filter = rest.chain(of_quantity).cloned().collect();
                columns.push(Column {
                    filter: (!of_system.is_empty()).then_some(filter),
                    taken: published.taken(quantity),
                    ..column(name, quantity, metric, &figures)
                });
            }
        }
    }
    columns
}

/// Splits the figures of one system by table if several tables print the same statistic; otherwise keeps them together.
fn tables<'a>(system: &str, figures: &[&'a PrintedNumber]) -> Vec<(String, Vec<&'a PrintedNumber>)> {
    if figures.is_empty() {
        return Vec::new();
    }
    let twice = |one: &&&PrintedNumber| figures.iter().filter(|other| other.stat == one.stat).count() > 1;
    if !figures.iter().any(|figure| twice(&figure)) {
        return vec![(system.into(), figures.to_vec())];
    }
    let mut split: Vec<(String, Vec<&PrintedNumber>)> = Vec::new();
    for figure in figures {
        let name = format!("{}, {system}", figure.table);
        match split.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(figure),
            None => split.push((name, vec![figure])),
        }
    }
    split
}

fn column(system: String, quantity: &str, metric: &str, figures: &[&PrintedNumber]) -> Column {
    let of = |stat: &str| figures.iter().find(|figure| figure.stat == stat).and_then(|figure| figure.ns());
    let known =
        |figure: &PrintedNumber| matches!(figure.stat.as_str(), "min" | "mean" | "max") && figure.ns().is_some();
    let others = figures.iter().filter(|figure| !known(figure));
    let mut notes: Vec<&str> =
        figures.iter().map(|figure| figure.note.as_str()).filter(|note| !note.is_empty()).collect();
    notes.dedup();
    Column {
        system,
        quantity: quantity.into(),
        metric: metric.into(),
        filter: None,
        taken: Taken::default(),
        min: of("min"),
        mean: of("mean"),
        max: of("max"),
        other: others.map(|figure| Other::of(figure)).collect(),
        note: notes.join("; "),
        impossible: consistency::disorder(of("min"), of("mean"), of("max")).map(|why| why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printed::{ROWS, studies};

    /// A printed row that cannot be true.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Impossible {
        /// The study.
        study: String,
        /// The table.
        table: String,
        /// The system.
        system: String,
        /// The load.
        load: String,
        /// The quantity.
        quantity: String,
        /// The contradiction: `mean 1348700 outside 1069300 to 1226500`, in ns.
        why: String,
    }

    /// Returns every printed row whose numbers contradict each other, by the rule that latido's own records must meet.
    fn impossible() -> Vec<Impossible> {
        let mut found = Vec::new();
        for name in studies() {
            let figures = study(name);
            let same = |a: &PrintedNumber, b: &PrintedNumber| {
                (&a.table, &a.system, &a.load, &a.quantity) == (&b.table, &b.system, &b.load, &b.quantity)
            };
            for (at, first) in figures.iter().enumerate() {
                if figures.iter().take(at).any(|earlier| same(earlier, first)) {
                    continue;
                }
                let of = |stat: &str| {
                    figures.iter().find(|figure| same(figure, first) && figure.stat == stat).and_then(PrintedNumber::ns)
                };
                if let Some(why) = consistency::disorder(of("min"), of("mean"), of("max")) {
                    let PrintedNumber { table, system, load, quantity, .. } = first.clone();
                    found.push(Impossible { study: name.into(), table, system, load, quantity, why: why.to_string() });
                }
            }
        }
        found
    }

    /// latido has a statistic for every printed number.
    #[test]
    fn each_printed_number_has_its_statistic() {
        for (study, printed) in ROWS.iter() {
            let known = matches!(printed.stat.as_str(), "min" | "mean" | "max");
            assert!(known || Other::of(printed).statistic.is_some(), "{study}: {}", printed.stat);
        }
        let of = |stat: &str, value, unit: &str| {
            Other::of(&PrintedNumber { stat: stat.into(), value, unit: unit.into(), ..ROWS[0].1.clone() })
        };
        let share = of("share_up_to_1000ns", 99.89, "%");
        assert_eq!((share.statistic, share.amount), (Some(Statistic::Share(1_000)), 0.9989));
        assert_eq!(of("share_up_to_1000ns", 99.99, "%").amount, 0.9999);
        let count = of("count_above_50000ns", 3.0, "samples");
        assert_eq!((count.statistic, count.amount), (Some(Statistic::Above(50_000)), 3.0));
        assert_eq!((of("sd", 0.3, "us").amount, of("median", 1.0, "ns").statistic), (300.0, None));
    }

    /// Exactly one printed row is impossible: the one that is known to be misprinted.
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
