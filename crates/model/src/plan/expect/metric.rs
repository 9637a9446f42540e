//! What an expectation checks: `PROBE.QUANTITY.STATISTIC`, and the values to compare it with.

use crate::{
    plan::{Group, Op, Statistic, node::Node, source::Problem},
    quantity::Measurand,
    record::BAND_EDGES,
    suggest::nearest,
    units::Ns,
};
use std::fmt;

pub(super) const OPS: &[(&str, Op)] = &[("<", Op::Less), ("<=", Op::AtMost), (">", Op::Greater), (">=", Op::AtLeast)];

const STATISTICS: &[(&str, Statistic)] = &[
    ("count", Statistic::Count),
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("variance", Statistic::Variance),
    ("max", Statistic::Max),
    ("missed", Statistic::Missed),
    ("late", Statistic::Late),
];

/// The unit in which times are written and compared.
pub const NS: &str = "ns";

/// A metric that the plan measures.
pub(super) struct Metric {
    pub probe: String,
    pub quantity: String,
    pub statistic: Statistic,
    /// The unit of its values: `ns`, the quantity's own unit if it is not a time, or empty for counts and shares.
    pub unit: String,
}

/// What every probe of this name measures in the groups.
pub(super) fn measurands<'a>(groups: &'a [Group], probe: &str) -> Vec<&'a Measurand> {
    let probes = groups.iter().flat_map(|group| &group.probe).filter(|one| one.item.name == probe);
    probes.map(|one| &one.measurand).collect()
}

/// Reads `probe.quantity` and checks that the plan measures it. Returns the unit of the quantity too.
pub fn quantity(node: Node, text: &str, groups: &[Group]) -> Result<(String, String, String), Problem> {
    let Some((probe, quantity)) = text.split_once('.') else {
        return Err(node.problem(format!("the metric `{text}` is not PROBE.QUANTITY, for example mutex.lock")));
    };
    let measured: Vec<_> = groups.iter().flat_map(|group| &group.probe).collect();
    if !measured.iter().any(|one| one.item.name == probe) {
        let hint = nearest(probe, measured.iter().map(|one| one.item.name.as_str()));
        return Err(node.problem(format!("metric `{text}`: the plan does not measure `{probe}`{hint}")));
    }
    let built = measurands(groups, probe);
    match built.iter().find_map(|one| one.quantity(quantity)) {
        Some(one) => Ok((probe.into(), quantity.into(), one.unit.to_string())),
        None => {
            let mut quantities: Vec<&str> = Vec::new();
            for name in built.iter().flat_map(|one| &one.quantities).map(|one| &*one.name) {
                if !quantities.contains(&name) {
                    quantities.push(name);
                }
            }
            let hint = nearest(quantity, quantities.iter().copied());
            let has = quantities.join(", ");
            Err(node.problem(format!("the probe `{probe}` does not yield `{quantity}`{hint}; it yields {has}")))
        }
    }
}

/// Reads `probe.quantity.statistic`.
pub(super) fn read(node: Node, groups: &[Group]) -> Result<Metric, Problem> {
    let text = node.text("metric")?;
    let mut parts = text.splitn(3, '.');
    let (Some(probe), Some(name), Some(figure)) = (parts.next(), parts.next(), parts.next()) else {
        let shape = "PROBE.QUANTITY.STATISTIC, for example wakeup.latency.p99.9";
        return Err(node.problem(format!("the metric `{text}` is not {shape}")));
    };
    let (probe, quantity, unit) = quantity(node, &format!("{probe}.{name}"), groups)?;
    let statistic = self::figure(node, figure, groups)?;
    if statistic == Statistic::Variance {
        return Err(node.problem("`variance` is for tables; an expectation compares `sd`, its root"));
    }
    if statistic.edge().is_some() && unit != NS {
        return Err(node.problem(format!("`{figure}`: the bands are times, but `{quantity}` is in {unit}")));
    }
    let unit = if is_number(statistic) {
        ""
    } else if unit == "ps" {
        NS
    } else {
        &unit
    };
    Ok(Metric { unit: unit.into(), probe, quantity, statistic })
}

/// Reads a statistic by its name. The statistic must exist, and the edge of a band must be one at which samples are counted.
pub fn figure(node: Node, figure: &str, groups: &[Group]) -> Result<Statistic, Problem> {
    let Some(statistic) = statistic(figure) else {
        let hint = nearest(figure, STATISTICS.iter().map(|(name, _)| *name).chain(["p50", "p99", "p99.9"]));
        let all =
            "count, min, mean, sd, variance, max, missed, late, a percentile such as p99.9, above100us or share100us";
        return Err(node.problem(format!("there is no statistic `{figure}`{hint}: {all}")));
    };
    if let Some(edge) = statistic.edge() {
        let limits: Vec<u64> = groups.iter().filter_map(|group| Some(group.conditions.limit?.0)).collect();
        if !is_edge(edge, &limits) {
            let edges = BAND_EDGES.iter().map(|edge| Ns(edge.unsigned_abs()).to_string());
            let edges: Vec<String> = edges.chain(limits.iter().map(|limit| Ns(*limit).to_string())).collect();
            let known = edges.join(", ");
            return Err(
                node.problem(format!("`{figure}`: latido counts samples exactly only at {known} and the limit"))
            );
        }
    }
    Ok(statistic)
}

/// Whether samples are counted exactly on both sides of an edge.
pub(super) fn is_edge(edge: i64, limits: &[u64]) -> bool {
    BAND_EDGES.contains(&edge) || limits.iter().any(|limit| i64::try_from(*limit) == Ok(edge))
}

/// Whether a statistic is a count, that is a whole number.
fn is_count(statistic: Statistic) -> bool {
    matches!(statistic, Statistic::Count | Statistic::Missed | Statistic::Late | Statistic::Above(_))
}

/// Whether a statistic is a plain number, whatever the unit of the quantity is.
fn is_number(statistic: Statistic) -> bool {
    is_count(statistic) || matches!(statistic, Statistic::Share(_))
}

/// Reads `max`, `p99.9`, `above100us`.
pub fn statistic(text: &str) -> Option<Statistic> {
    if let Some((_, statistic)) = STATISTICS.iter().find(|(name, _)| *name == text) {
        return Some(*statistic);
    }
    let edge = |text: &str| i64::try_from(text.parse::<Ns>().ok()?.0).ok();
    if let Some(edge) = text.strip_prefix("above").and_then(edge) {
        return Some(Statistic::Above(edge));
    }
    if let Some(edge) = text.strip_prefix("share").and_then(edge) {
        return Some(Statistic::Share(edge));
    }
    let percent = text.strip_prefix('p')?;
    let (whole, fraction) = percent.split_once('.').map_or((percent, None), |(whole, part)| (whole, Some(part)));
    let digits = |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 2) || fraction.is_some_and(|part| !digits(part, 9)) {
        return None;
    }
    // The decimal point moves in the text: a division would turn 99.9 % into 0.9990000000000001.
    let quantile: f64 = format!("0.{whole:0>2}{}", fraction.unwrap_or("")).parse().ok()?;
    (quantile > 0.0).then_some(Statistic::Quantile(quantile))
}

/// Reads a value or a difference (`what`) of a metric. If `signed`, it may be negative, except for counts and shares.
pub(super) fn amount(node: Node, what: &str, metric: &Metric, signed: bool) -> Result<f64, Problem> {
    let Metric { statistic, unit, .. } = metric;
    if is_count(*statistic) {
        return match node.as_text() {
            Some(text) => Err(node.problem(format!("{statistic} is a count: write a plain number, not \"{text}\""))),
            None => Ok(node.number(&format!("the {what} of a count"), 0..=1 << 53)? as f64),
        };
    }
    if matches!(statistic, Statistic::Share(_)) {
        return node.real(&format!("the {what} of a share"), 0.0..=1.0);
    }
    if unit != NS {
        let what = format!("the {what} of a quantity in {unit}");
        return node.real(&what, if signed { -1e15..=1e15 } else { 0.0..=1e15 });
    }
    match node.as_text().and_then(|text| text.strip_prefix('-')).filter(|_| signed) {
        Some(positive) => match positive.parse::<Ns>() {
            Ok(Ns(0)) => Ok(0.0),
            Ok(Ns(ns)) => Ok(-(ns as f64)),
            Err(error) => Err(node.problem(format!("{what}: {error}"))),
        },
        None => node.time(what).map(|Ns(ns)| ns as f64),
    }
}

/// Writes an amount as [`amount`] reads it.
pub(super) fn written(amount: f64, unit: &str) -> String {
    match unit {
        NS if amount < 0.0 => format!("-{}", Ns(-amount as u64)),
        NS => Ns(amount as u64).to_string(),
        _ => amount.to_string(),
    }
}

impl Statistic {
    /// Returns the band edge at which it counts, in ns.
    pub fn edge(self) -> Option<i64> {
        match self {
            Self::Above(edge) | Self::Share(edge) => Some(edge),
            _ => None,
        }
    }
}

impl fmt::Display for Statistic {
    /// Writes the statistic as in a metric.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above(edge) => return write!(f, "above{}", Ns(edge.unsigned_abs())),
            Self::Share(edge) => return write!(f, "share{}", Ns(edge.unsigned_abs())),
            _ => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{node::Keys, parse, source::Source};

    fn read(text: &str, statistic: Statistic, unit: &str) -> Result<f64, String> {
        let text = format!("value = {text}");
        let source = Source::file("t", &text);
        let document = parse::document("t", &source).unwrap();
        let node = Keys::document(&source, document.get_ref()).get("value").unwrap();
        let metric = Metric { probe: "p".into(), quantity: "q".into(), statistic, unit: unit.into() };
        amount(node, "value", &metric, true).map_err(|problem| problem.to_string())
    }

    #[test]
    fn each_metric_has_values_of_its_own_kind() {
        assert_eq!(read("\"10ns\"", Statistic::Max, NS), Ok(10.0));
        assert_eq!(read("\"-2us\"", Statistic::Min, NS), Ok(-2_000.0));
        assert_eq!(read("0.9999", Statistic::Share(1_000), ""), Ok(0.9999));
        assert_eq!(read("1", Statistic::Share(1_000), ""), Ok(1.0));
        assert_eq!(read("8", Statistic::Above(100_000), ""), Ok(8.0));
        assert_eq!(read("-0.5", Statistic::Max, "urad"), Ok(-0.5));
        assert_eq!(read("200_000", Statistic::Max, "urad"), Ok(200_000.0));
        for (text, statistic, unit, answer) in [
            ("\"99%\"", Statistic::Share(1), "", "t:1: the value of a share must be a number, not \"99%\""),
            ("1.5", Statistic::Share(1), "", "t:1: the value of a share must be from 0 to 1, not 1.5"),
            ("nan", Statistic::Share(1), "", "t:1: the value of a share must be from 0 to 1, not nan"),
            ("\"1us\"", Statistic::Above(1), "", "t:1: above1ns is a count: write a plain number, not \"1us\""),
            ("\"1us\"", Statistic::Max, "urad", "t:1: the value of a quantity in urad must be a number, not \"1us\""),
            ("5", Statistic::Max, NS, "t:1: value: 5 has no unit: write \"5us\", \"5ms\" or \"5s\""),
        ] {
            assert_eq!(read(text, statistic, unit), Err(answer.into()));
        }
    }

    #[test]
    fn statistics_are_read_as_they_are_written() {
        for text in ["max", "p99.9", "p5", "above100us", "above1ms", "share1us", "share150us"] {
            assert_eq!(statistic(text).unwrap().to_string(), text);
        }
        for text in ["above", "share", "above5", "aboveus", "above-1us", "p0", "p100"] {
            assert_eq!(statistic(text), None, "{text}");
        }
        assert_eq!(statistic("share1us "), Some(Statistic::Share(1_000)));
    }
}
