//! Expectations: `[[expect]]` tables, checked against the groups that must yield their metrics.

mod metric;
mod reach;

pub use metric::{NS, figure, quantity, statistic};
pub use reach::{all_labels, has_label, is_level, level_names, picked, quantity_of, reachable, reads, without, yields};

use super::{
    Against, Expect, Filter, Group, Op, Sentence, TABLES_MAX, Than,
    node::{Keys, Node},
    source::Problem,
};
use crate::{
    cell::{Axis, Cell, IDLE, NO_LOAD},
    quantity::Measurand,
    suggest::nearest,
    written,
};
use metric::{Metric, OPS};
use std::fmt;

/// The axes that `where` can name besides the labels of the probe's series.
pub fn axes() -> impl Iterator<Item = Axis> {
    // Boots are repeats of everything: the plan measures the same in each.
    Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot)
}

/// The key of a filter for the number of a CPU.
pub const CPU: &str = "cpu";

/// The key of `than` for another quantity of the same probe.
pub const QUANTITY: &str = "quantity";

/// The key for a table in `where` and `than` that names options of the probe: `option.between = "threads"`.
pub const OPTION: &str = "option";

/// Returns the option of the probe that a key of a filter names.
pub fn option_of(key: &str) -> Option<&str> {
    key.strip_prefix(OPTION)?.strip_prefix('.')
}

/// Reads every `[[expect]]`; `repeats` is whether the plan repeats a publication.
pub fn read(node: Node, groups: &[Group], repeats: bool) -> Result<Vec<Expect>, Problem> {
    node.tables("expect", TABLES_MAX)?.into_iter().map(|keys| one(keys, groups, repeats)).collect()
}

const KEYS: &[&str] = &["claim", "of", "conclusion", "where", "metric", "op", "value", "than", "by", "times", "margin"];

fn one(keys: Keys, groups: &[Group], repeats: bool) -> Result<Expect, Problem> {
    let what = "an expectation";
    keys.only(what, KEYS)?;
    let claim = keys.get("claim").map(|node| node.sentence("claim")).transpose()?;
    let of = whose(keys, repeats)?;
    let metric = metric::read(keys.need(what, "metric")?, groups)?;
    let filter = keys.get("where").map(|node| filter(node, "where", &metric.probe, groups)).transpose()?;
    let op_node = keys.need(what, "op")?;
    let op_text = op_node.text("op")?;
    let Some((_, op)) = OPS.iter().find(|(text, _)| *text == op_text) else {
        return Err(op_node.problem(format!("there is no comparison `{op_text}`: <, <=, > or >=")));
    };
    let against = against(keys, &metric, groups)?;
    let Metric { probe, quantity, statistic, unit } = metric;
    let (filter, text, line) = (filter.unwrap_or_default(), String::new(), keys.line());
    let mut expect = Expect { claim, of, filter, probe, quantity, statistic, unit, op: *op, against, text, line };
    expect.text = expect.to_string();
    if !reachable(&expect, groups) {
        let none = match &expect.against {
            Against::Than(_) if reach::covered(&expect, &expect.filter, groups) => {
                "no two cells of the plan match the two sides of"
            }
            _ => "no cell of the plan matches",
        };
        return Err(keys.problem(format!("{none} `{expect}`")));
    }
    Ok(expect)
}

/// Reads `of = "study"` with the number of its conclusion, or `of = "ours"`. Without `of` the sentence is the publication's, because older
/// plans could not set it.
fn whose(keys: Keys, repeats: bool) -> Result<Option<Sentence>, Problem> {
    let conclusion = keys.get("conclusion").map(|node| node.sentence("conclusion")).transpose()?;
    let Some(node) = keys.get("of") else {
        return match keys.get("conclusion") {
            Some(node) => Err(node.problem("`conclusion` goes with `of = \"study\"`")),
            None => Ok(None),
        };
    };
    if !repeats {
        return Err(node.problem("`of` is only for plans that repeat a publication and have a [source]"));
    }
    match (node.text("of")?, conclusion) {
        ("study", Some(number)) => {
            keys.need("a sentence of the study", "claim")?;
            Ok(Some(Sentence::Study(number)))
        }
        ("study", None) => {
            Err(node.problem("a sentence of the study needs `conclusion`, its number: conclusion = \"3\""))
        }
        ("ours", None) => Ok(Some(Sentence::Ours)),
        ("ours", Some(_)) => Err(node.problem("`conclusion` goes with `of = \"study\"`")),
        (other, _) => {
            let hint = nearest(other, ["study", "ours"]);
            Err(node.problem(format!("`of` cannot be `{other}`{hint}: study or ours")))
        }
    }
}

/// Reads `value`, or `than` with its keys.
fn against(keys: Keys, metric: &Metric, groups: &[Group]) -> Result<Against, Problem> {
    let Some(than) = keys.get("than") else {
        if let Some(entry) = keys.entries().iter().find(|entry| matches!(entry.key, "by" | "times" | "margin")) {
            return Err(entry.key_problem(format!("`{}` goes with `than`, not with `value`", entry.key)));
        }
        let Some(value) = keys.get("value") else {
            return Err(keys.problem("an expectation needs the key `value`, or `than` to compare with other cells"));
        };
        return Ok(Against::Value(metric::amount(value, "value", metric, true)?));
    };
    if let Some(value) = keys.get("value") {
        return Err(value.problem("`value` and `than` exclude each other: one figure, or other cells"));
    }
    let levels = filter(than, "than", &metric.probe, groups)?;
    if levels.is_empty() {
        return Err(than.problem("`than` names no level: write for example than = { tuning = \"stock\" }"));
    }
    if levels.iter().any(|(axis, _)| axis == "probe") {
        return Err(
            than.problem("`than` compares the same metric in other cells, but another probe has another metric")
        );
    }
    if let Some((_, named)) = levels.iter().find(|(key, _)| key == QUANTITY) {
        other_quantity(than, named, metric, groups)?;
    }
    let by = keys.get("by").map(|node| metric::amount(node, "by", metric, false)).transpose()?.unwrap_or(0.0);
    let times = keys.get("times").map(|node| node.real("times", 1e-6..=1e6)).transpose()?.unwrap_or(1.0);
    let margin = keys.get("margin").map(|node| node.real("margin", 1e-6..=1.0)).transpose()?;
    if let Some(node) = keys.get("margin").filter(|_| by != 0.0) {
        return Err(node.problem("`margin` is a fraction of a ratio: use it with `times`, not with the distance `by`"));
    }
    Ok(Against::Than(Than { levels, by, times, margin }))
}

/// Checks that another quantity than the metric's belongs to the same probe and has the same unit.
fn other_quantity(node: Node, named: &str, metric: &Metric, groups: &[Group]) -> Result<(), Problem> {
    let read = |name: &str| metric::quantity(node, &format!("{}.{name}", metric.probe), groups);
    let ((_, _, unit), (_, _, own)) = (read(named)?, read(&metric.quantity)?);
    if named == metric.quantity {
        return Err(node.problem(format!("`{named}` is the metric's own quantity: name another, or leave it out")));
    }
    if unit != own {
        return Err(node.problem(format!("`{named}` is in {unit}, and `{}` in {own}", metric.quantity)));
    }
    Ok(())
}

/// Reads a table of axes and labels, each with a level.
pub fn filter(node: Node, what: &str, probe: &str, groups: &[Group]) -> Result<Filter, Problem> {
    let keys = node.table(what)?;
    let labels = reach::labels(groups, probe);
    let mut known: Vec<&str> = axes().map(Axis::name).collect();
    known.extend((what == "than").then_some(QUANTITY));
    known.extend([CPU, OPTION].into_iter().chain(labels.iter().map(|(label, _)| label.as_str())));
    keys.only(what, &known)?;
    let mut filter = Filter::new();
    for entry in keys.entries() {
        if entry.key == OPTION {
            filter.extend(options(entry.value, probe, groups)?);
            continue;
        }
        let level = entry.value.text(entry.key)?;
        if entry.key == QUANTITY {
            // `against` checks it, because it knows the metric.
        } else if entry.key == CPU {
            if level.parse::<u32>().is_err() {
                return Err(entry.value.problem(format!("`{level}` is not the number of a CPU, for example \"2\"")));
            }
        } else if let Some((label, values)) = labels.iter().find(|(label, _)| *label == entry.key) {
            if !values.iter().any(|value| value == level) {
                let hint = nearest(level, values.iter().map(String::as_str));
                let all = values.join(", ");
                let message = format!("the probe `{probe}` has no {label} `{level}`{hint}; it has {all}");
                return Err(entry.value.problem(message));
            }
        } else {
            let names: Vec<String> = groups.iter().flat_map(|group| reach::level_names(group, entry.key)).collect();
            // `idle` names the level without load, unless the plan has another level of that name.
            let idle = entry.key == Axis::Load.name() && level == IDLE && !names.iter().any(|name| name == IDLE);
            let level = if idle { NO_LOAD } else { level };
            if !names.iter().any(|name| is_level(name, level)) {
                let hint = nearest(level, names.iter().map(String::as_str));
                return Err(entry.value.problem(format!("no level of {} is called `{level}`{hint}", entry.key)));
            }
            filter.push((entry.key.to_string(), level.to_string()));
            continue;
        }
        filter.push((entry.key.to_string(), level.to_string()));
    }
    Ok(filter)
}

/// Reads options of the probe, each with a value, as keys of a filter.
fn options(node: Node, probe: &str, groups: &[Group]) -> Result<Filter, Problem> {
    let mut filter = Filter::new();
    for entry in node.table(OPTION)?.entries() {
        let level = entry.value.text(entry.key)?;
        let key = format!("{OPTION}.{}", entry.key);
        let values = reach::values_of(groups, probe, entry.key);
        if values.is_empty() {
            return Err(entry.key_problem(format!("the probe `{probe}` has no option `{}` in the plan", entry.key)));
        }
        if !values.iter().any(|value| value == level) {
            let hint = nearest(level, values.iter().map(String::as_str));
            let all = values.join(", ");
            let message =
                format!("no probe `{probe}` of the plan has {} = {level}{hint}; the values are {all}", entry.key);
            return Err(entry.value.problem(message));
        }
        filter.push((key, level.to_string()));
    }
    Ok(filter)
}

/// Whether a key of a filter concerns the series of a cell, not the cell: `cpu`, `quantity` or a label.
pub fn is_of_series(key: &str) -> bool {
    key == CPU || (Axis::named(key).is_none() && option_of(key).is_none())
}

/// Returns the cell's level of an axis or its value of an option; empty if its probe has no such option. `None` if the key concerns the
/// cell's series.
pub fn level_of(cell: &Cell, key: &str) -> Option<String> {
    match option_of(key) {
        Some(option) => Some(cell.probe.options.get(option).map(written::said).unwrap_or_default()),
        None => Axis::named(key).map(|axis| cell.level(axis)),
    }
}

impl Expect {
    /// Whether the expectation is about this cell. `ramp` also means the levels `ramp sleep=4`, `ramp sleep=8` that an array made from it,
    /// and `fifo` means every priority.
    pub fn covers(&self, cell: &Cell, measurand: &Measurand) -> bool {
        let is = |(axis, level): &(String, String)| level_of(cell, axis).is_none_or(|name| is_level(&name, level));
        cell.probe.name == self.probe
            && self.filter.iter().all(is)
            && reads(self, &self.filter, &cell.probe.name, measurand)
    }

    /// The metric as the plan names it.
    pub fn metric(&self) -> String {
        format!("{}.{}.{}", self.probe, self.quantity, self.statistic)
    }

    /// Writes an amount of its unit as the plan does: times with their unit, everything else as plain numbers.
    pub fn amount(&self, amount: f64) -> String {
        metric::written(amount, &self.unit)
    }

    /// Returns what must hold for its quantity, without `where`: `p99.9 < 100us`.
    pub fn condition(&self) -> String {
        self.must_hold_of(&self.statistic.to_string())
    }

    fn must_hold_of(&self, metric: &str) -> String {
        let op = self.op;
        match &self.against {
            Against::Value(value) => format!("{metric} {op} {}", self.amount(*value)),
            Against::Than(than) => {
                let grown = |text: &str| {
                    let times = if than.times == 1.0 { String::new() } else { format!("{} x ", than.times) };
                    let by = if than.by == 0.0 { String::new() } else { format!(" + {}", self.amount(than.by)) };
                    format!("{times}{text}{by}")
                };
                let (of, others): (Filter, Filter) = than.levels.iter().cloned().partition(|(key, _)| key == QUANTITY);
                let of = of.first().map_or(String::new(), |(_, quantity)| format!(" of {quantity}"));
                let others = if others.is_empty() { String::new() } else { format!(" with {}", listed(&others)) };
                let with = format!("that{of}{others}");
                match op {
                    Op::Less | Op::AtMost => format!("{} {op} {with}", grown(metric)),
                    Op::Greater | Op::AtLeast => format!("{metric} {op} {}", grown(&with)),
                }
            }
        }
    }
}

impl fmt::Display for Expect {
    /// `wakeup.latency.p99.9 < 100us where load = ramp`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.must_hold_of(&self.metric()))?;
        if self.filter.is_empty() { Ok(()) } else { write!(f, " where {}", listed(&self.filter)) }
    }
}

fn listed(filter: &Filter) -> String {
    filter.iter().map(|(axis, level)| format!("{axis} = {level}")).collect::<Vec<_>>().join(", ")
}
