//! The numbers that the studies printed, carried in the binary.

use serde::Deserialize;
use std::sync::LazyLock;

/// The figures as the studies printed them, one row a number.
const CSV: &str = include_str!("../../../plans/studies/published.csv");

/// One printed number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PrintedNumber {
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

impl PrintedNumber {
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

    /// The number as our statistics are: times in ns, shares from 0 to 1, counts as they are.
    pub fn amount(&self) -> f64 {
        match self.unit.as_str() {
            // The same decimal, two places further: a quotient would be another one.
            "%" => format!("{}e-2", self.value).parse().unwrap_or(self.value / 100.0),
            _ => self.ns().unwrap_or(self.value),
        }
    }
}

#[derive(Deserialize)]
struct CsvLine {
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
pub(crate) static ROWS: LazyLock<Vec<(String, PrintedNumber)>> = LazyLock::new(|| {
    let rows = csv::Reader::from_reader(CSV.as_bytes()).into_deserialize::<CsvLine>().flatten();
    let split = |CsvLine { study, table, system, load, quantity, stat, value, unit, note }| {
        (study, PrintedNumber { table, system, load, quantity, stat, value, unit, note })
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
pub fn study(name: &str) -> Vec<PrintedNumber> {
    ROWS.iter().filter(|(study, _)| study == name).map(|(_, figure)| figure.clone()).collect()
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
        let of =
            |unit: &str| PrintedNumber { unit: unit.into(), value: 2.5, ..study("scheduling-latency")[0].clone() }.ns();
        assert_eq!([of("ns"), of("us"), of("ms")], [Some(2.5), Some(2_500.0), Some(2_500_000.0)]);
        assert_eq!([of("%"), of("samples")], [None, None]);
    }
}
