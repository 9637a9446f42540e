//! Expectations: `[[expect]]` tables, checked against the groups that must yield what they look at.

use super::{
    Expect, Group, Op, Statistic,
    kind::Kind,
    node::{Keys, Node},
    parse::TABLES_MAX,
    source::Problem,
};
use crate::{cell::Cell, probe::PROBES, registry, suggest::nearest, units::Ns};
use std::fmt;

/// The axes that `where` can name.
const AXES: &[&str] = &["kernel", "tuning", "load", "scheduling", "probe", CPU];

/// The one key of `where` that is about a series, not about its cell.
const CPU: &str = "cpu";

const OPS: &[(&str, Op)] = &[("<", Op::Less), ("<=", Op::AtMost), (">", Op::Greater), (">=", Op::AtLeast)];

const STATISTICS: &[(&str, Statistic)] = &[
    ("count", Statistic::Count),
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("max", Statistic::Max),
    ("missed", Statistic::Missed),
    ("late", Statistic::Late),
];

/// Every `[[expect]]`.
pub fn read(node: Node, groups: &[Group]) -> Result<Vec<Expect>, Problem> {
    node.tables("expect", TABLES_MAX)?.into_iter().map(|keys| one(keys, groups)).collect()
}

/// Whether some cell of the groups is covered.
pub fn reachable(expect: &Expect, groups: &[Group]) -> bool {
    groups.iter().any(|group| {
        let said = |axis: &str, level: &str| level_names(group, axis).iter().any(|name| is_level(name, level));
        let said_or_cpu = |(axis, level): &(String, String)| axis == CPU || said(axis, level);
        said("probe", &expect.probe) && expect.filter.iter().all(said_or_cpu)
    })
}

impl Expect {
    /// Whether the expectation is about this cell. `ramp` also means the levels `ramp sleep=4`, `ramp sleep=8` that an
    /// array made of it, and `fifo` every priority of it.
    pub fn covers(&self, cell: &Cell) -> bool {
        cell.probe.name == self.probe
            && self.filter.iter().all(|(axis, level)| match axis.as_str() {
                "kernel" => is_level(&cell.kernel, level),
                "tuning" => is_level(&cell.tuning.id, level),
                "load" => is_level(&cell.load.id, level),
                "scheduling" => is_level(&cell.scheduling.to_string(), level),
                "probe" => is_level(&cell.probe.name, level),
                // The others are about a series, not about its cell.
                _ => true,
            })
    }
}

fn is_level(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn level_names(group: &Group, axis: &str) -> Vec<String> {
    match axis {
        "kernel" => group.kernel.clone(),
        "tuning" => group.tuning.iter().map(|level| level.id.clone()).collect(),
        "load" => group.load.iter().map(|level| level.id.clone()).collect(),
        "scheduling" => group.scheduling.iter().map(ToString::to_string).collect(),
        _ => group.probe.iter().map(|item| item.name.clone()).collect(),
    }
}

fn one(keys: Keys, groups: &[Group]) -> Result<Expect, Problem> {
    let what = "an expectation";
    keys.only(what, &["where", "metric", "op", "value"])?;
    let filter = keys.get("where").map(|node| filter(node, groups)).transpose()?.unwrap_or_default();
    let (probe, quantity, statistic) = metric(keys.need(what, "metric")?, groups)?;
    let op_node = keys.need(what, "op")?;
    let op_text = op_node.text("op")?;
    let Some((_, op)) = OPS.iter().find(|(text, _)| *text == op_text) else {
        return Err(op_node.problem(format!("there is no comparison `{op_text}`: <, <=, > or >=")));
    };
    let value = value(keys.need(what, "value")?, statistic)?;
    let mut expect =
        Expect { filter, probe, quantity, statistic, op: *op, value, text: String::new(), line: keys.line() };
    expect.text = expect.to_string();
    if !reachable(&expect, groups) {
        return Err(keys.problem(format!("no cell of the plan is covered by `{expect}`")));
    }
    Ok(expect)
}

fn filter(node: Node, groups: &[Group]) -> Result<Vec<(String, String)>, Problem> {
    let keys = node.table("where")?;
    keys.only("where", AXES)?;
    let mut filter = Vec::new();
    for entry in keys.entries() {
        let level = entry.value.text(entry.key)?;
        if entry.key == CPU {
            if level.parse::<u32>().is_err() {
                return Err(entry.value.problem(format!("`{level}` is not the number of a CPU, for example \"2\"")));
            }
            filter.push((CPU.to_string(), level.to_string()));
            continue;
        }
        let names: Vec<String> = groups.iter().flat_map(|group| level_names(group, entry.key)).collect();
        if !names.iter().any(|name| is_level(name, level)) {
            let hint = nearest(level, names.iter().map(String::as_str));
            return Err(entry.value.problem(format!("no level of {} is called `{level}`{hint}", entry.key)));
        }
        filter.push((entry.key.to_string(), level.to_string()));
    }
    Ok(filter)
}

/// `probe.quantity.statistic`
fn metric(node: Node, groups: &[Group]) -> Result<(String, String, Statistic), Problem> {
    let text = node.text("metric")?;
    let mut parts = text.splitn(3, '.');
    let (Some(probe), Some(quantity), Some(figure)) = (parts.next(), parts.next(), parts.next()) else {
        let shape = "PROBE.QUANTITY.STATISTIC, for example wakeup.latency.p99.9";
        return Err(node.problem(format!("the metric `{text}` is not {shape}")));
    };
    let measured: Vec<_> = groups.iter().flat_map(|group| &group.probe).collect();
    let Some(item) = measured.iter().find(|item| item.name == probe) else {
        let hint = nearest(probe, measured.iter().map(|item| item.name.as_str()));
        let what = if Kind::Probe.entry(probe).is_some() { "the plan does not measure" } else { "there is no probe" };
        return Err(node.problem(format!("metric `{text}`: {what} `{probe}`{hint}")));
    };
    let built = registry::build("probe", PROBES, item).map_err(|error| node.problem(format!("{error:#}")))?;
    let quantities = built.quantities();
    if !quantities.contains(&quantity) {
        let hint = nearest(quantity, quantities.iter().copied());
        let has = quantities.join(", ");
        return Err(node.problem(format!("the probe `{probe}` does not yield `{quantity}`{hint}; it yields {has}")));
    }
    match statistic(figure) {
        Some(statistic) => Ok((probe.into(), quantity.into(), statistic)),
        None => {
            let hint = nearest(figure, STATISTICS.iter().map(|(name, _)| *name).chain(["p50", "p99", "p99.9"]));
            let all = "count, min, mean, sd, max, missed, late, or a percentile such as p99.9";
            Err(node.problem(format!("there is no statistic `{figure}`{hint}: {all}")))
        }
    }
}

/// `max`, `p99.9`.
pub fn statistic(text: &str) -> Option<Statistic> {
    if let Some((_, statistic)) = STATISTICS.iter().find(|(name, _)| *name == text) {
        return Some(*statistic);
    }
    let percent = text.strip_prefix('p')?;
    let (whole, fraction) = percent.split_once('.').map_or((percent, None), |(whole, part)| (whole, Some(part)));
    let digits = |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 2) || fraction.is_some_and(|part| !digits(part, 9)) {
        return None;
    }
    // The point is moved in the text: a division would turn 99.9 % into 0.9990000000000001.
    let quantile: f64 = format!("0.{whole:0>2}{}", fraction.unwrap_or("")).parse().ok()?;
    (quantile > 0.0).then_some(Statistic::Quantile(quantile))
}

fn value(node: Node, statistic: Statistic) -> Result<f64, Problem> {
    if matches!(statistic, Statistic::Count | Statistic::Missed | Statistic::Late) {
        return match node.as_text() {
            Some(text) => Err(node.problem(format!("{statistic} is a count: write a plain number, not \"{text}\""))),
            None => Ok(node.number("the value of a count", 0..=1 << 53)? as f64),
        };
    }
    match node.as_text().and_then(|text| text.strip_prefix('-')) {
        Some(positive) => match positive.parse::<Ns>() {
            Ok(Ns(0)) => Ok(0.0),
            Ok(Ns(ns)) => Ok(-(ns as f64)),
            Err(error) => Err(node.problem(format!("value: {error}"))),
        },
        None => node.time("value").map(|Ns(ns)| ns as f64),
    }
}

impl fmt::Display for Statistic {
    /// As a metric names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Quantile(quantile) = self else {
            let name = STATISTICS.iter().find(|(_, statistic)| statistic == self).map_or("", |(name, _)| name);
            return f.write_str(name);
        };
        let shown = quantile.to_string();
        let digits = format!("{:0<2}", shown.strip_prefix("0.").unwrap_or(&shown));
        let (whole, fraction) = digits.split_at_checked(2).unwrap_or((&digits, ""));
        let whole = whole.strip_prefix('0').unwrap_or(whole);
        if fraction.is_empty() { write!(f, "p{whole}") } else { write!(f, "p{whole}.{fraction}") }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPS.iter().find(|(_, op)| op == self).map_or("", |(text, _)| text))
    }
}

impl Expect {
    /// The metric as the plan names it.
    pub fn metric(&self) -> String {
        format!("{}.{}.{}", self.probe, self.quantity, self.statistic)
    }

    /// The value with its unit, as the plan writes it; counts are bare numbers.
    pub fn bound(&self) -> String {
        match self.statistic {
            Statistic::Count | Statistic::Missed | Statistic::Late => format!("{}", self.value),
            _ if self.value < 0.0 => format!("-{}", Ns(-self.value as u64)),
            _ => Ns(self.value as u64).to_string(),
        }
    }
}

impl fmt::Display for Expect {
    /// `wakeup.latency.p99.9 < 100us where load = ramp`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.metric(), self.op, self.bound())?;
        for (at, (axis, level)) in self.filter.iter().enumerate() {
            write!(f, "{} {axis} = {level}", if at == 0 { " where" } else { "," })?;
        }
        Ok(())
    }
}
