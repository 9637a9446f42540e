//! Tables as data: the one source of what HTML, LaTeX, Markdown and CSV print.

use crate::words::{self, NOT_MEASURED, Unit};

/// A table. The first column names the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// What it shows, with its unit.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Datum>>,
    /// The unit of every [`Datum::Value`].
    pub unit: Unit,
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A name.
    Text(String),
    /// A whole number of things.
    Count(u64),
    /// A value in the stored unit.
    Value(f64),
    /// A share, 0 to 1.
    Share(f64),
    /// Was not measured.
    Absent,
    /// There are too few samples for this quantile.
    TooFew,
}

impl Datum {
    /// A value, or that it was not measured.
    pub fn value(v: Option<f64>) -> Self {
        v.filter(|v| v.is_finite()).map_or(Self::Absent, Self::Value)
    }

    /// For people.
    pub fn text(&self, unit: &Unit) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => words::count(*n),
            Self::Value(v) => unit.text(*v),
            Self::Share(share) => percent(*share),
            Self::Absent => NOT_MEASURED.into(),
            Self::TooFew => "too few".into(),
        }
    }

    /// For programs: the stored unit, no grouping, empty where there is nothing.
    pub fn raw(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => n.to_string(),
            Self::Value(v) => v.to_string(),
            Self::Share(share) => share.to_string(),
            Self::Absent | Self::TooFew => String::new(),
        }
    }

    /// Whether it is a name rather than a number.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Whether there is nothing to print.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Absent | Self::TooFew)
    }
}

/// A share as a percentage that never rounds to all or nothing: `99.9999 %`, `< 0.0001 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        p if p < 0.0001 => "< 0.0001 %".into(),
        p if p < 1.0 => format!("{p:.4} %"),
        p if p >= 100.0 => "100 %".into(),
        p if p > 99.9999 => "> 99.9999 %".into(),
        p if p > 99.0 => format!("{p:.4} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_said() {
        let unit = Unit::fitting("ns", [24_900.0].into_iter());
        assert_eq!(Datum::value(None).text(&unit), "not measured");
        assert_eq!(Datum::value(Some(f64::NAN)), Datum::Absent);
        assert_eq!(Datum::Value(24_900.0).text(&unit), "24.9");
        assert_eq!((Datum::Value(24_900.0).raw(), Datum::TooFew.raw()), ("24900".into(), String::new()));
    }

    #[test]
    fn percentages_never_round_to_certainty() {
        assert_eq!(percent(0.999_999_999), "> 99.9999 %");
        assert_eq!(percent(1e-9), "< 0.0001 %");
        assert_eq!((percent(0.0), percent(1.0), percent(0.5)), ("0 %".into(), "100 %".into(), "50.0 %".into()));
    }
}
