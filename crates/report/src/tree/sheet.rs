//! Tables as data, for every format.

use super::estimate::Estimate;
use crate::words::{self, NOT_MEASURED, Unit, Units};

/// A table. The first column names the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// The title, without its unit.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<Head>,
    /// The rows, with one cell per column.
    pub rows: Vec<Vec<Datum>>,
    /// The units of every [`Datum::Value`], if there are values.
    pub units: Option<Units>,
    /// A further remark, after the unit: `scale to 50 µs`.
    pub remark: String,
    /// If the table is split over pages, each piece starts with this number of its first columns, which name the rows.
    pub leading: usize,
    /// Sentences below the table.
    pub notes: Vec<String>,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// If there is not enough room, columns with the largest number are dropped first; those with 0 stay.
    pub spare: u8,
    /// Whether any count except 0 is bad news.
    pub alarm: bool,
    /// The group that it shares with its neighbours: the system to which the statistic belongs; empty if it has no group.
    pub group: String,
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
    /// Puts the column into a group.
    pub fn of(self, group: &str) -> Self {
        Self { group: group.into(), ..self }
    }

    /// Marks the column to be dropped early.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Marks its counts as bad news.
    pub fn alarm(self) -> Self {
        Self { alarm: true, ..self }
    }
}

impl Sheet {
    /// Returns a table with values in the stored unit; typical values determine the unit in which people read them.
    pub fn new(title: String, head: Vec<Head>, rows: Vec<Vec<Datum>>, stored: &str, typical: &[f64]) -> Self {
        let units = Units::fitting(stored, typical);
        Self { title, head, rows, units: Some(units), remark: String::new(), leading: 1, notes: Vec::new() }
    }

    /// Returns a table without values.
    pub fn plain(title: String, head: Vec<Head>, rows: Vec<Vec<Datum>>) -> Self {
        Self { title, head, rows, units: None, remark: String::new(), leading: 1, notes: Vec::new() }
    }

    /// Sets the number of first columns that name the rows.
    pub fn leading(self, columns: usize) -> Self {
        Self { leading: columns, ..self }
    }

    /// Returns a table of these columns only.
    fn only(&self, columns: &[usize]) -> Self {
        // Notes appear only below the last piece, so a piece has none here.
        let cells = |row: &Vec<Datum>| columns.iter().filter_map(|at| row.get(*at).cloned()).collect();
        Self {
            head: columns.iter().filter_map(|at| self.head.get(*at).cloned()).collect(),
            rows: self.rows.iter().map(cells).collect(),
            units: self.units.as_ref().map(|units| units.only(columns)),
            notes: Vec::new(),
            ..self.clone()
        }
    }

    /// Splits it into pieces of at most `most` characters per line, where a missing value takes `missing` characters. Groups stay whole,
    /// and all pieces have a similar number of groups.
    pub fn pieces(&self, most: usize, missing: usize) -> Vec<Self> {
        let heads = self.headings();
        let width = |at: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(*at)).map(|cell| match cell.is_missing() {
                true => missing,
                false => cell.text(self.unit(*at)).chars().count(),
            });
            // The name of a group has a separate line above it.
            let head = self.head.get(*at).zip(heads.get(*at)).map(|(head, whole)| match head.group.is_empty() {
                true => whole.chars().count(),
                false => head.name.chars().count(),
            });
            cells.chain(head).max().unwrap_or(0) + 2
        };
        // The other columns make no sense without the units next to the names.
        let units = self.head.iter().skip(self.leading).take_while(|head| head.name == "unit").count();
        let lead: Vec<usize> = (0..(self.leading + units).min(self.head.len())).collect();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in lead.len()..self.head.len() {
            let group = |at: usize| self.head.get(at).map(|head| head.group.as_str()).filter(|group| !group.is_empty());
            match groups.last_mut() {
                Some(last) if group(at).is_some() && last.last().and_then(|last| group(*last)) == group(at) => {
                    last.push(at)
                }
                _ => groups.push(vec![at]),
            }
        }
        // If the names alone fill a line, there is still room for more than one column per piece.
        let room = most.saturating_sub(lead.iter().map(width).sum()).max(most / 3);
        let fits = |each: &usize| {
            groups.chunks(*each).all(|some| some.len() == 1 || some.iter().flatten().map(width).sum::<usize>() <= room)
        };
        let mut evenly = (1..=groups.len()).map(|pieces| groups.len().div_ceil(pieces));
        let each = evenly.find(fits).unwrap_or(1);
        let mut pieces: Vec<Self> =
            groups.chunks(each).map(|some| self.only(&[lead.clone(), some.concat()].concat())).collect();
        pieces.last_mut().into_iter().for_each(|last| last.notes.clone_from(&self.notes));
        pieces
    }

    /// Sets a further remark.
    pub fn remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    /// Adds sentences below it.
    pub fn notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: self.notes.into_iter().chain(notes).collect(), ..self }
    }

    /// Returns its title with its unit: `Wake-up latency in µs`.
    pub fn caption(&self) -> String {
        let about = self.units.as_ref().map(|units| format!(" {}", units.about())).unwrap_or_default();
        format!("{}{about}{}", self.title, self.remark)
    }

    /// Returns the unit of a column.
    pub fn unit(&self, column: usize) -> Option<&Unit> {
        self.units.as_ref()?.of(column)
    }

    /// Returns the head of a column, with its unit if columns have different units: `max (µs)`.
    pub fn heading(&self, column: usize) -> String {
        let name = self.head.get(column).map_or_else(String::new, |head| match head.group.as_str() {
            "" => head.name.clone(),
            group => format!("{group}: {}", head.name),
        });
        match (&self.units, self.unit(column)) {
            (Some(Units::PerColumn(_)), Some(unit)) => format!("{name} ({})", unit.name),
            _ => name,
        }
    }

    /// Returns all heads.
    pub fn headings(&self) -> Vec<String> {
        (0..self.head.len()).map(|column| self.heading(column)).collect()
    }

    /// Returns a row for people.
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
    /// At least this number of things: another tool did not report the exact number.
    AtLeast(u64),
    /// A value in the stored unit.
    Value(f64),
    /// A value above its limit.
    Over(f64),
    /// A value in the stored unit with the limits of its interval.
    Estimate(Estimate),
    /// A range in the stored unit; without the second value there is no upper bound.
    Between(f64, Option<f64>),
    /// A share, 0 to 1.
    Share(f64),
    /// Not measured.
    Absent,
    /// Too few samples for this quantile.
    TooFew,
}

impl Datum {
    /// Returns a value, or `Absent` if there is none.
    pub fn value(v: Option<f64>) -> Self {
        v.filter(|v| v.is_finite()).map_or(Self::Absent, Self::Value)
    }

    /// Returns the text for people; a value without a unit is in the stored one.
    pub fn text(&self, unit: Option<&Unit>) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => words::count(*n),
            Self::AtLeast(n) => format!("{} or more", words::count(*n)),
            Self::Value(v) | Self::Over(v) => unit.map_or_else(|| words::plain(*v), |unit| unit.measured(*v)),
            Self::Estimate(one) => one.text(|v| Self::Value(v).text(unit)),
            Self::Between(low, high) => {
                let text = |v: &f64| Self::Value(*v).text(unit);
                match high {
                    Some(high) if text(low) == text(high) => text(low),
                    Some(high) => format!("{} to {}", text(low), text(high)),
                    None => format!("{} or more", text(low)),
                }
            }
            Self::Share(share) => percent(*share),
            Self::Absent => NOT_MEASURED.into(),
            Self::TooFew => "too few".into(),
        }
    }

    /// Returns the text for programs: the stored unit, no grouping of digits, empty if there is nothing.
    pub fn raw(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => n.to_string(),
            // No number is better than a possibly wrong one.
            Self::AtLeast(_) => String::new(),
            Self::Value(v) | Self::Over(v) => v.to_string(),
            Self::Estimate(one) => one.value.to_string(),
            Self::Between(_, high) => high.map(|high| high.to_string()).unwrap_or_default(),
            Self::Share(share) => share.to_string(),
            Self::Absent | Self::TooFew => String::new(),
        }
    }

    /// Returns the value, if it is one; for a range its upper end, else its lower end.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Value(v) | Self::Over(v) => Some(*v),
            Self::Estimate(one) => Some(one.value),
            Self::Between(low, high) => Some(high.unwrap_or(*low)),
            _ => None,
        }
    }

    /// Returns whether it is a name rather than a number.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Returns whether there is nothing to print.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Absent | Self::TooFew)
    }
}

/// Formats a share as a percentage that never rounds to all or nothing: `99.9999 %`, `< 0.0001 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        p if p < 0.0001 => "< 0.0001 %".into(),
        p if p < 1.0 => format!("{p:.0$} %", decimals(p)),
        p if p >= 100.0 => "100 %".into(),
        p if p > 99.9999 => "> 99.9999 %".into(),
        // The distance to 100 % has two digits.
        p if p > 99.0 => format!("{p:.0$} %", decimals(100.0 - p)),
        p => format!("{p:.1} %"),
    }
}

/// Returns how many decimals give a number below 1 two digits, at most four.
fn decimals(below_one: f64) -> usize {
    // A tenth may come out slightly too small.
    (1.0 - (below_one * (1.0 + 1e-9)).log10().floor()).clamp(1.0, 4.0) as usize
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

    /// A page has a limited width: groups stay whole, the first columns start each piece, and no column is lost.
    #[test]
    fn a_wide_table_is_split_between_groups() {
        let head = |group: &str| Head::from("average of all").of(group);
        let heads = vec![Head::from(""), head("a"), head("a"), head("b"), head("b"), head("c")];
        let row: Vec<Datum> = (0..6).map(Datum::Count).collect();
        let sheet = Sheet::plain("t".into(), heads, vec![row]);
        assert_eq!(sheet.pieces(200, 2).len(), 1, "a page takes it");
        let pieces = sheet.pieces(40, 2);
        let columns: Vec<Vec<u64>> = pieces
            .iter()
            .map(|piece| piece.rows[0].iter().map(|cell| if let Datum::Count(n) = cell { *n } else { 99 }).collect())
            .collect();
        assert_eq!(columns, [vec![0, 1, 2], vec![0, 3, 4], vec![0, 5]]);
    }

    #[test]
    fn percentages_never_round_to_certainty() {
        assert_eq!(percent(0.999_999_999), "> 99.9999 %");
        assert_eq!(percent(1e-9), "< 0.0001 %");
        let said = [0.006_433, 0.000_045, 0.990_099, 0.999_987].map(percent);
        assert_eq!(said, ["0.64 %", "0.0045 %", "99.01 %", "99.9987 %"]);
        assert_eq!((percent(0.0), percent(1.0), percent(0.5)), ("0 %".into(), "100 %".into(), "50.0 %".into()));
    }
}
