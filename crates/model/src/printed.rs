//! The numbers that the studies printed, included in the binary.

use serde::Deserialize;
use std::sync::LazyLock;

/// The figures as the studies printed them, one number per row.
const CSV: &str = include_str!("../../../plans/studies/published.csv");

/// One printed number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PrintedNumber {
    /// The table, figure or board that contains it. It distinguishes numbers that are printed twice for one system and quantity.
    pub table: String,
    /// The system, as the study calls it.
    pub system: String,
    /// The load.
    pub load: String,
    /// The quantity.
    pub quantity: String,
    /// `min`, `mean`, `max`, `sd`, or a name that only the study uses, such as `share_up_to_1000ns`.
    pub stat: String,
    /// The number, in `unit`.
    pub value: f64,
    /// `ns`, `us`, `ms`, `%` or `samples`.
    pub unit: String,
    /// What the reader must know about it.
    pub note: String,
}

impl PrintedNumber {
    /// Returns the number in ns, if it is a time.
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

    /// Returns the number in the form of latido's statistics: times in ns, shares from 0 to 1, counts as they are.
    pub fn amount(&self) -> f64 {
        match self.unit.as_str() {
            // Moves the decimal point two places in the text: a division would give another number.
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

/// Every row with its study. Rows that cannot be read are left out; a test checks that all can be read.
pub(crate) static ROWS: LazyLock<Vec<(String, PrintedNumber)>> = LazyLock::new(|| {
    let rows = csv::Reader::from_reader(CSV.as_bytes()).into_deserialize::<CsvLine>().flatten();
    let split = |CsvLine { study, table, system, load, quantity, stat, value, unit, note }| {
        (study, PrintedNumber { table, system, load, quantity, stat, value, unit, note })
    };
    rows.map(split).collect()
});

/// Returns the names of the studies that have numbers, each once.
pub fn studies() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (study, _) in ROWS.iter() {
        if !names.contains(&study.as_str()) {
            names.push(study);
        }
    }
    names
}

/// Returns the numbers of one study in the order in which it prints them; empty if the study does not exist.
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
