//! Units as stored and as people read them: `ps` as nanoseconds with decimals, `urad` as radians, times in the unit that suits them.

use super::{count, plain, trimmed};
use latido_model::units;

/// Writes a value with its unit, joined by a no-break space: `24.9 µs`, `6.34 ns` for picoseconds, `12.3 mrad` for microradians; any other
/// unit as number and name.
pub fn value(v: f64, unit: &str) -> String {
    match unit {
        "ps" => value(v / 1e3, "ns"),
        "ns" if v.abs() < 999.5 && v.fract() != 0.0 => format!("{}\u{a0}ns", plain(v)),
        "ns" => units::human(v.round() as i64).replace(' ', "\u{a0}"),
        _ => {
            let own = Unit::at(v, unit);
            format!("{}\u{a0}{}", plain(v / own.per), own.name)
        }
    }
}

/// Writes a round value with its unit, as for limits: `500 ns`, `20 µs`, `1 ms`, `50 mrad`.
pub fn round_value(v: f64, unit: &str) -> String {
    Unit::at(v, unit).round_value(v)
}

/// Returns the length of one stored unit in nanoseconds, where it is a unit of time.
pub fn in_ns(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "ps" => Some(1e-3),
        _ => None,
    }
}

/// A unit in which people read values: each column of a table and each axis of a figure has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// `µs`.
    pub name: String,
    /// How many of the stored unit make one of this unit.
    pub per: f64,
}

/// The units of time: name, size in ns, and the number of each from which latido uses it.
type TimeUnits = [(&'static str, f64, f64); 4];

/// The ratio of the largest to the smallest value, four decades, from which the unit of a table is between the two: the unit that suits the
/// many small values would give the rare large ones millions.
const WIDE: f64 = 1e4;

impl Unit {
    /// Returns the stored unit as it is. A record from elsewhere may name any unit.
    pub fn stored(name: &str) -> Self {
        Self { name: latido_model::clean::line(name).into_owned(), per: 1.0 }
    }

    /// Returns the stored unit behind this one: for times `ns` or `ps`, whatever unit they are shown in.
    pub fn base(&self) -> &str {
        let sizes = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
        let Some((_, size)) = sizes.into_iter().find(|(name, _)| *name == self.name) else {
            return &self.name;
        };
        let is_stored = |name: &&str| in_ns(name).is_some_and(|ns| (ns * self.per / size - 1.0).abs() < 1e-9);
        ["ns", "ps"].into_iter().find(is_stored).unwrap_or(&self.name)
    }

    /// Returns the largest unit of the stored unit's kind that suits a magnitude: `times` says how many of each it takes.
    fn of(stored: &str, magnitude: f64, times: TimeUnits) -> Self {
        match (in_ns(stored), stored) {
            (Some(ns), _) => Self::largest(&times, magnitude.abs() * ns, ns),
            (None, "urad") => Self::largest(&ANGLES, magnitude.abs(), 1.0),
            _ => Self::stored(stored),
        }
    }

    /// Returns the largest of these units (listed from small to large) that suits a magnitude.
    fn largest(sizes: &[(&str, f64, f64)], magnitude: f64, one: f64) -> Self {
        let found = sizes.iter().rev().find(|(_, size, from)| magnitude >= size * from).or(sizes.first());
        let (name, size) = found.map_or(("", one), |(name, size, _)| (*name, *size));
        Self { name: name.to_owned(), per: size / one }
    }

    /// The unit of this value alone.
    pub fn at(v: f64, stored: &str) -> Self {
        match (in_ns(stored), stored) {
            (Some(ns), _) => {
                let (name, size) = units::readable(v * ns);
                Self { name: name.to_owned(), per: size / ns }
            }
            (None, "urad") => Self::largest(&[("µrad", 1.0, 0.0), ("mrad", 1e3, 1.0), ("rad", 1e6, 1.0)], v.abs(), 1.0),
            _ => Self::stored(stored),
        }
    }

    /// Returns the unit that suits these values, given in the stored unit: neither all zeros nor all thousands.
    pub fn fitting(stored: &str, values: impl Iterator<Item = f64>) -> Self {
        let (sum, n) = values.filter(|v| *v > 0.0).fold((0.0, 0u32), |(sum, n), v| (sum + v.ln(), n + 1));
        let typical = if n > 0 { (sum / f64::from(n)).exp() } else { 1e3 / in_ns(stored).unwrap_or(1.0) };
        Self::of(stored, typical, [("ns", 1.0, 0.0), ("µs", 1e3, 0.5), ("ms", 1e6, 2.0), ("s", 1e9, 2.0)])
    }

    /// Returns the one unit of a table's row with this typical value. The row shows whole numbers of up to four digits, so that rare large
    /// values in it still fit.
    pub fn of_row(stored: &str, typical: f64) -> Self {
        Self::of(stored, typical, [("ns", 1.0, 0.0), ("µs", 1e3, 10.0), ("ms", 1e6, 10.0), ("s", 1e9, 10.0)])
    }

    /// Returns the most decimals that a measured time may have: the clock resolves no less than the stored unit.
    pub fn decimals(&self) -> Option<usize> {
        ["ns", "µs", "ms", "s"].contains(&self.name.as_str()).then(|| self.per.log10().round().max(0.0) as usize)
    }

    /// Writes a measured value, given in the stored unit, or a mean of such values. A time is rounded to the resolution of the clock.
    pub fn measured(&self, v: f64) -> String {
        self.text(if self.decimals().is_some() && v.abs() >= 1.0 { v.round() } else { v })
    }

    /// Writes a value that is given in the stored unit.
    pub fn text(&self, v: f64) -> String {
        // The clock counts whole nanoseconds: a decimal would claim more.
        if self.per == 1.0 && v.fract() == 0.0 && v.abs() < 1e15 {
            let text = count(v.abs() as u64);
            return if v < 0.0 { format!("−{text}") } else { text };
        }
        match (v / self.per).abs() {
            // In a column of one unit, a small value next to a large one must not become zero.
            shown if shown > 0.0 && shown < 0.001 => {
                format!("{:.*}", 1 + (-shown.log10()).ceil() as usize, v / self.per)
            }
            _ => plain(v / self.per),
        }
    }

    /// Writes a round value, such as a tick's, with its unit. The value is given in the stored unit.
    pub fn round_value(&self, v: f64) -> String {
        if v == 0.0 { "0".into() } else { format!("{} {}", trimmed(v / self.per), self.name) }
    }

    /// Words the unit of all values: `in µs`.
    pub fn about(&self) -> String {
        format!("in {}", self.name)
    }
}

/// Tables write angles in thousandths of a radian or in radians, never less.
const ANGLES: [(&str, f64, f64); 3] = [("µrad", 1.0, f64::INFINITY), ("mrad", 1e3, 0.0), ("rad", 1e6, 1.0)];

/// The units of a table: one for all values of a kind, else one per column.
#[derive(Clone, Debug, PartialEq)]
pub enum Units {
    /// All values have this unit, which the caption states.
    One(Unit),
    /// Each column has a unit, which its head states; a column without values has no unit.
    PerColumn(Vec<Option<Unit>>),
}

impl Units {
    /// The one unit that suits a table of these typical values.
    pub fn fitting(stored: &str, typical: &[f64]) -> Self {
        let many = || typical.iter().copied().filter(|v| *v >= 1.0);
        let (low, high) = many().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        Self::One(match high > low * WIDE {
            true => Unit::fitting(stored, [low, high].into_iter()),
            false => Unit::fitting(stored, many()),
        })
    }

    /// Returns the unit of a column, if it has one.
    pub fn of(&self, column: usize) -> Option<&Unit> {
        match self {
            Self::One(unit) => Some(unit),
            Self::PerColumn(units) => units.get(column)?.as_ref(),
        }
    }

    /// Returns the units of these columns only.
    pub fn only(&self, columns: &[usize]) -> Self {
        match self {
            Self::One(unit) => Self::One(unit.clone()),
            Self::PerColumn(units) => {
                Self::PerColumn(columns.iter().map(|at| units.get(*at).cloned().flatten()).collect())
            }
        }
    }

    /// Words the unit of all values: `in µs`.
    pub fn about(&self) -> String {
        match self {
            Self::One(unit) => unit.about(),
            Self::PerColumn(_) => "in the unit of each column".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_in_the_unit_of_people() {
        let said = |v, unit| value(v, unit).replace('\u{a0}', " ");
        assert_eq!(said(24_900.0, "ns"), "24.9 µs");
        // A unit from a stranger's record must not start a new line.
        assert_eq!(said(3.0, "a\nok 1"), "3.00 a\\u000aok 1");
        assert_eq!(
            [said(6_340.0, "ps"), said(340.0, "ps"), said(2_340_000.0, "ps")],
            ["6.34 ns", "0.340 ns", "2.34 µs"]
        );
        assert_eq!(
            [said(-12_300.0, "urad"), said(1.57e6, "urad"), said(80.0, "urad")],
            ["−12.3 mrad", "1.57 rad", "80.0 µrad"]
        );
        assert_eq!(said(0.25, "rad"), "0.250 rad");
        // A time has the same text here, in sentences and as the unit of a round value.
        for ns in [999, 999_499, 999_600, 1_000_400, 999_600_000] {
            assert_eq!(said(ns as f64, "ns"), units::human(ns));
            let unit = Unit::at(ns as f64, "ns");
            assert_eq!(said(ns as f64, "ns"), format!("{} {}", unit.text(ns as f64), unit.name));
        }
    }

    #[test]
    fn round_values_have_no_needless_digits() {
        let label = |v| round_value(v, "ns");
        assert_eq!([0.0, 500.0, 2e4, 1e6, 5e9].map(label), ["0", "500 ns", "20 µs", "1 ms", "5 s"]);
        assert_eq!([round_value(500.0, "ps"), round_value(2e6, "ps")], ["0.5 ns", "2 µs"]);
        assert_eq!([round_value(-2e4, "urad"), round_value(5e5, "urad")], ["−20 mrad", "500 mrad"]);
    }

    #[test]
    fn the_unit_suits_the_values() {
        let about = |unit: &str, values: &[f64]| Unit::fitting(unit, values.iter().copied()).about();
        assert_eq!(about("ns", &[20.0, 30.0]), "in ns");
        assert_eq!(about("ns", &[20.0, 180_000.0]), "in µs");
        assert_eq!(about("ns", &[]), "in µs");
        assert_eq!(about("ps", &[6_340.0, 9_000.0]), "in ns");
        assert_eq!(about("urad", &[6_340.0, 90_000.0]), "in mrad");
        assert_eq!(about("rad", &[1.0, 1e9]), "in rad");
    }

    #[test]
    fn a_row_has_one_unit_whatever_its_maximum() {
        let row = |stored, typical: f64, v: f64| {
            let unit = Unit::of_row(stored, typical);
            format!("{} {}", unit.text(v), unit.name).replace('\u{202f}', " ")
        };
        assert_eq!(row("ns", 61.0, 562_230.0), "562 230 ns");
        assert_eq!([row("ns", 61.0, 61.0), row("ns", 61.0, 61.25)], ["61 ns", "61.2 ns"]);
        assert_eq!(row("ns", 1_058_000.0, 1_002_345.0), "1 002 µs");
        assert_eq!(row("ps", 6_340.0, 6_340.0), "6.34 ns");
        assert_eq!(row("urad", 6_340.0, 6_340.0), "6.34 mrad");
    }

    /// A row has one unit, however far its maximum is from its median, and no value becomes zero.
    #[test]
    fn beyond_four_decades_the_unit_lies_between() {
        let units = Units::fitting("ns", &[10.0, 12.0, 7_330_000.0]);
        assert_eq!(units.about(), "in µs");
        let unit = units.of(7).unwrap();
        let text = |v: f64| unit.text(v).replace('\u{202f}', " ");
        assert_eq!([10.0, 1_470.0, 7_330_000.0, 0.0].map(text), ["0.010", "1.47", "7 330", "0"]);
        assert_eq!(Units::fitting("ns", &[24_600.0, 2_005_000.0]).about(), "in µs");
        assert_eq!(Units::fitting("ns", &[]).about(), "in µs");
    }

    /// A mean of a clock of whole nanoseconds has no picoseconds; a mean of batches, stored in picoseconds, does.
    #[test]
    fn no_more_decimals_than_the_clock_tells() {
        let measured =
            |stored: &str, per_ns: f64, v: f64| Unit { name: "ns".into(), per: per_ns }.measured(v) + " " + stored;
        assert_eq!([measured("ns", 1.0, 4.03), measured("ps", 1e3, 4_034.0)], ["4 ns", "4.03 ps"]);
        assert_eq!(measured("ns", 1.0, 0.287), "0.287 ns", "a small spread is not nothing");
        let us = Unit { name: "µs".into(), per: 1e3 };
        assert_eq!((us.measured(29.4), us.decimals(), Unit::stored("rad").decimals()), ("0.029".into(), Some(3), None));
    }
}
