//! Families of metrics for Prometheus, in its own text and in OpenMetrics: collected here, written in `prometheus`.

use super::{
    cells::{OneCell, OneSeries},
    format::Exported,
    state::STATES,
    text, units,
};
use latido_model::{
    cell::{LOCAL, RUNNING},
    plan::expect::NS,
    record::{
        BAND_EDGES,
        quantized::{above, counted},
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// A family: all samples of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// `histogram` or `gauge`.
    pub kind: &'static str,
    /// Its description, for people.
    pub help: String,
    /// Its base unit, with which its name ends; empty if it has none.
    pub unit: String,
    /// The samples in order.
    pub samples: Vec<Sample>,
}

/// One line: the suffix after the family's name, the labels, the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// `_bucket`, or nothing.
    pub suffix: &'static str,
    /// Names and values, none of them empty.
    pub labels: Vec<(String, String)>,
    /// The value as it is printed.
    pub value: String,
}

/// A series with its labels.
type Labelled<'a> = (OneSeries<'a>, Vec<(String, String)>);

/// The families by their names.
pub type Families = BTreeMap<String, Family>;

/// Returns the families of all runs.
pub fn families(exported: &Exported) -> Families {
    let cells = exported.cells();
    let mut all = Families::new();
    let mut known = Known::default();
    let mut histograms: BTreeMap<String, Vec<Labelled<'_>>> = BTreeMap::new();
    for cell in &cells {
        let labels = unlike(&mut known, of_cell(cell));
        verdict(&mut all, cell, &labels);
        for one in cell.series() {
            let own = unlike(&mut known, [labels.clone(), of_series(&one)].concat());
            figures(&mut all, &one, &own);
            histograms.entry(name(&one, "")).or_default().push((one, own));
        }
    }
    for (name, series) in histograms {
        let unit = series.first().map(|(one, _)| suffix(one)).unwrap_or_default();
        let help = series.first().map(|(one, _)| help(one)).unwrap_or_default();
        let samples = histogram(exported, &series);
        // A quantity may have the same name as a gauge, but one name may have only one kind.
        let name = if all.contains_key(&name) { name.replacen("latido_", "latido_samples_", 1) } else { name };
        all.insert(name, Family { kind: "histogram", help, unit, samples });
    }
    finished(&mut all, exported);
    all
}

/// Writes a number as Go prints it (fmt, `%v`): with an exponent from 1e21 on, and below 0.0001.
pub fn number(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..21).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Returns the unit that ends the names.
fn suffix(one: &OneSeries) -> String {
    match units::base(&one.series.unit).name.as_str() {
        "s" => "seconds".into(),
        "rad" => "radians".into(),
        "" => String::new(),
        other => text::metric(other),
    }
}

/// Returns `latido_latency_max_seconds`.
fn name(one: &OneSeries, figure: &str) -> String {
    let parts = ["latido".to_owned(), text::metric(&one.series.quantity), figure.to_owned(), suffix(one)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

fn help(one: &OneSeries) -> String {
    let title = one.cell.stored.measurand.quantity(&one.series.quantity).map(|quantity| quantity.title.as_ref());
    let what = text::line(title.unwrap_or(&one.series.quantity));
    format!("{what}, with the delay of each missed slot where slots are counted")
}

fn of_cell(cell: &OneCell) -> Vec<(String, String)> {
    let of = &cell.stored.cell;
    let all = [
        ("plan", cell.run.run.meta.plan.clone()),
        ("target", if of.target == LOCAL { String::new() } else { of.target.clone() }),
        ("kernel", if of.kernel == RUNNING { String::new() } else { of.kernel.clone() }),
        ("tuning", of.tuning.id.clone()),
        ("load", of.load.id.clone()),
        ("scheduling", of.scheduling.to_string()),
        ("probe", of.probe.name.clone()),
        ("repeat", if of.repeat == 1 { String::new() } else { of.repeat.to_string() }),
    ];
    let all = all.into_iter().filter(|(_, value)| !value.is_empty());
    all.map(|(key, value)| (key.to_owned(), value)).collect()
}

fn of_series(one: &OneSeries) -> Vec<(String, String)> {
    let place = match one.series.cpu {
        Some(cpu) => ("cpu".to_owned(), cpu.to_string()),
        None => ("thread".into(), one.series.thread.to_string()),
    };
    let own = one.series.labels.iter().map(|(key, value)| (format!("label_{}", text::metric(key)), value.clone()));
    let quantity = ("quantity".to_owned(), one.series.quantity.clone());
    [place, quantity].into_iter().chain(own.filter(|(_, value)| !value.is_empty())).collect()
}

/// Labels that are already used.
type Known = text::Names<Vec<(String, String)>>;

/// Numbers cells that differ only in what has no label: to every reader, two samples with equal labels are an error.
fn unlike(known: &mut Known, labels: Vec<(String, String)>) -> Vec<(String, String)> {
    // Readers would refuse two keys that become the same name too.
    let mut seen = BTreeSet::new();
    let labels = labels.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect();
    known.numbered(labels, |labels, n| {
        let others = labels.iter().filter(|(key, _)| key != "nth").cloned();
        others.chain([("nth".into(), n.to_string())]).collect()
    })
}

fn gauge<'a>(all: &'a mut Families, name: &str, help: &str, unit: &str) -> &'a mut Vec<Sample> {
    let new = || Family { kind: "gauge", help: help.into(), unit: unit.into(), samples: Vec::new() };
    &mut all.entry(name.into()).or_insert_with(new).samples
}

fn with(labels: &[(String, String)], key: &str, value: &str) -> Vec<(String, String)> {
    [labels, &[(key.to_owned(), value.to_owned())]].concat()
}

fn verdict(all: &mut Families, cell: &OneCell, labels: &[(String, String)]) {
    let help = "Verdict of the cell: 1 for this verdict, 0 for every other";
    let samples = gauge(all, "latido_cell_verdict", help, "");
    let own = cell.state();
    samples.extend(STATES.iter().map(|row| Sample {
        suffix: "",
        labels: with(labels, "verdict", row.word),
        value: u8::from(row.state == own).to_string(),
    }));
}

fn figures(all: &mut Families, one: &OneSeries, labels: &[(String, String)]) {
    let slots = one.slots();
    if !slots.is_empty() {
        let samples = gauge(all, "latido_slots", "Slots of the schedule, by their state", "");
        samples.extend(slots.into_iter().map(|(state, count)| Sample {
            suffix: "",
            labels: with(labels, "state", state),
            value: count.to_string(),
        }));
    }
    let max = one.figures().into_iter().find(|figure| figure.key.starts_with("max"));
    if let Some(max) = max {
        let what = if max.key == "max" { "exact maximum" } else { "a lower bound of the maximum, which was cut off" };
        let help = format!("{}: {what}", help(one));
        let value = number(units::base(&one.series.unit).of(max.value));
        let samples = gauge(all, &name(one, &max.key), &help, &suffix(one));
        samples.push(Sample { suffix: "", labels: labels.to_vec(), value });
    }
}

/// Counts the samples up to each edge at which their number is exact: the edges of the bands, or of an import's bins.
fn exact(exported: &Exported, one: &OneSeries) -> BTreeMap<i64, u64> {
    let mut upto = 0u64;
    let bands = one.summary.bands.iter().filter_map(|band| {
        upto = upto.saturating_add(band.count);
        Some((band.upto?, upto))
    });
    if one.series.bounds.is_none() || one.series.unit != NS {
        return bands.collect();
    }
    // A file without a distribution has only the count.
    let bins = exported.data(one).map(|data| data.bins).unwrap_or_default();
    if counted(&bins) != one.series.count {
        return BTreeMap::new();
    }
    // A 1 us bin begins at an edge, so the count before the edge is exact.
    let at = |edge: &i64| {
        [*edge, *edge - 1].into_iter().find_map(|edge| {
            let (least, most) = above(&bins, edge);
            (least == most).then(|| (edge, one.series.count.saturating_sub(least)))
        })
    };
    BAND_EDGES.iter().filter_map(at).collect()
}

/// Builds buckets with exact counts, at the edges that all of the series share. Imports, whose bins end elsewhere, share theirs among each
/// other.
fn histogram(exported: &Exported, series: &[(OneSeries, Vec<(String, String)>)]) -> Vec<Sample> {
    let exact: Vec<BTreeMap<i64, u64>> = series.iter().map(|(one, _)| exact(exported, one)).collect();
    let [own, imported] = [false, true].map(|imported| {
        let of = series.iter().zip(&exact).filter(|((one, _), _)| one.series.bounds.is_some() == imported);
        let edges = of.map(|(_, counts)| counts.keys().copied().collect::<BTreeSet<i64>>());
        edges.reduce(|a, b| a.intersection(&b).copied().collect()).unwrap_or_default()
    });
    let mut samples = Vec::new();
    for ((one, labels), exact) in series.iter().zip(&exact) {
        let base = units::base(&one.series.unit);
        let common = if one.series.bounds.is_some() { &imported } else { &own };
        for (edge, count) in exact.iter().filter(|(edge, _)| common.contains(edge)) {
            let labels = with(labels, "le", &number(base.of(*edge as f64)));
            samples.push(Sample { suffix: "_bucket", labels, value: count.to_string() });
        }
        let count = one.summary.count.to_string();
        samples.push(Sample { suffix: "_bucket", labels: with(labels, "le", "+Inf"), value: count.clone() });
        // With samples below zero a sum could fall, which a counter must not do.
        if let Some(mean) = one.summary.mean.filter(|_| one.summary.min.is_some_and(|min| min >= 0)) {
            let value = number(base.of(mean * one.summary.count as f64));
            samples.push(Sample { suffix: "_sum", labels: labels.clone(), value });
        }
        samples.push(Sample { suffix: "_count", labels: labels.clone(), value: count });
    }
    samples
}

/// Adds when the latest run of each plan ended. A run's id is not a label, because each id would start new series.
fn finished(all: &mut Families, exported: &Exported) {
    let mut latest: BTreeMap<&str, i64> = BTreeMap::new();
    for meta in exported.runs.iter().map(|run| &run.run.meta) {
        let at = meta.finished.as_ref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        if let Some(at) = at.map(|at| at.as_second()) {
            let known = latest.entry(&meta.plan).or_insert(at);
            *known = at.max(*known);
        }
    }
    for (plan, at) in latest {
        let help = "End of the latest run of the plan, in seconds since 1970";
        let labels =
            [("plan".to_owned(), plan.to_owned())].into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let samples = gauge(all, "latido_run_finished_timestamp_seconds", help, "seconds");
        samples.push(Sample { suffix: "", labels, value: number(at as f64) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_go_does() {
        let numbers = [1e-6, 5e-5, 1e-4, 0.02, 1.0, 1.5e9, 2.5e-7, 0.0, -3e-5].map(number);
        assert_eq!(numbers, ["1e-06", "5e-05", "0.0001", "0.02", "1", "1500000000", "2.5e-07", "0", "-3e-05"]);
        assert_eq!([1e20, 1e21, -2.5e21].map(number), ["100000000000000000000", "1e+21", "-2.5e+21"]);
    }
}
