//! Tables as data: what every format prints.

use crate::words::{self, NOT_MEASURED, Unit, Units};

/// A table. The first column names the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// What it shows, without its unit.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<Head>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Datum>>,
    /// The units of every [`Datum::Value`], where there are values.
    pub units: Option<Units>,
    /// What must be known besides, after the unit: `scale to 50 µs`.
    pub remark: String,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// Where there is no room for all, columns of the largest number leave first; 0 stays.
    pub spare: u8,
    /// Whether any count but 0 is bad news.
    pub alarm: bool,
}

impl From<String> for Head {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

impl From<&str> for Head {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl Head {
    /// Leaves early.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Counts of bad news.
    pub fn alarm(self) -> Self {
        Self { alarm: true, ..self }
    }
}

impl Sheet {
    /// A table whose values are in the stored unit; typical ones decide in which units they are read.
    pub fn new(title: String, head: Vec<Head>, rows: Vec<Vec<Datum>>, stored: &str, typical: &[f64]) -> Self {
        let column = |k: usize| rows.iter().filter_map(|row| row.get(k)?.number()).collect::<Vec<f64>>();
        let units = Units::fitting(stored, typical, &(0..head.len()).map(column).collect::<Vec<_>>());
        Self { title, head, rows, units: Some(units), remark: String::new() }
    }

    /// A table without values.
    pub fn plain(title: String, head: Vec<Head>, rows: Vec<Vec<Datum>>) -> Self {
        Self { title, head, rows, units: None, remark: String::new() }
    }

    /// With something to know besides.
    pub fn remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// What it shows, with its unit: `Wake-up latency in µs`.
    pub fn caption(&self) -> String {
        let about = self.units.as_ref().map(|units| format!(" {}", units.about())).unwrap_or_default();
        format!("{}{about}{}", self.title, self.remark)
    }

    /// The unit of a column.
    pub fn unit(&self, column: usize) -> Option<&Unit> {
        self.units.as_ref()?.of(column)
    }

    /// The head of a column with its unit, where it has one of its own: `max (µs)`.
    pub fn heading(&self, column: usize) -> String {
        let name = self.head.get(column).map_or("", |head| head.name.as_str());
        match (&self.units, self.unit(column)) {
            (Some(Units::PerColumn(_)), Some(unit)) => format!("{name} ({})", unit.name),
            _ => name.to_owned(),
        }
    }

    /// All heads.
    pub fn headings(&self) -> Vec<String> {
        (0..self.head.len()).map(|column| self.heading(column)).collect()
    }

    /// A row as people read it.
    pub fn texts(&self, row: &[Datum]) -> Vec<String> {
        row.iter().enumerate().map(|(column, datum)| datum.text(self.unit(column))).collect()
    }
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
    /// A value above its limit.
    Over(f64),
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

    /// For people; a value without a unit is in the stored one.
    pub fn text(&self, unit: Option<&Unit>) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => words::count(*n),
            Self::Value(v) | Self::Over(v) => unit.map_or_else(|| words::plain(*v), |unit| unit.text(*v)),
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
            Self::Value(v) | Self::Over(v) => v.to_string(),
            Self::Share(share) => share.to_string(),
            Self::Absent | Self::TooFew => String::new(),
        }
    }

    /// The value, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Value(v) | Self::Over(v) => Some(*v),
            _ => None,
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
        assert_eq!(Datum::value(None).text(Some(&unit)), "not measured");
        assert_eq!(Datum::value(Some(f64::NAN)), Datum::Absent);
        assert_eq!(Datum::Value(24_900.0).text(Some(&unit)), "24.9");
        assert_eq!((Datum::Value(24_900.0).raw(), Datum::TooFew.raw()), ("24900".into(), String::new()));
    }

    #[test]
    fn percentages_never_round_to_certainty() {
        assert_eq!(percent(0.999_999_999), "> 99.9999 %");
        assert_eq!(percent(1e-9), "< 0.0001 %");
        assert_eq!((percent(0.0), percent(1.0), percent(0.5)), ("0 %".into(), "100 %".into(), "50.0 %".into()));
    }
}
