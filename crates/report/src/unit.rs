//! Stored units and how people read them: `ps` as nanoseconds with decimals, `urad` as radians, times in what suits them.

use crate::words::{count, plain};
use latido_model::units;

/// A value with its unit, not to be broken: `24.9 µs`, `6.34 ns` of picoseconds, `12.3 mrad` of microradians; anything
/// else as number and name of the unit.
pub fn value(v: f64, unit: &str) -> String {
    match unit {
        "ps" => value(v / 1e3, "ns"),
        "ns" if v.abs() < 999.5 && v.fract() != 0.0 => format!("{}\u{a0}ns", plain(v)),
        "ns" => units::human(v.round() as i64).replace("us", "µs").replace(' ', "\u{a0}"),
        "urad" => {
            let (name, per) = angle(v.abs());
            format!("{}\u{a0}{name}", plain(v / per))
        }
        _ => format!("{}\u{a0}{unit}", plain(v)),
    }
}

/// The unit of an angle of this many microradians.
fn angle(urad: f64) -> (&'static str, f64) {
    match urad {
        m if m < 1e3 => ("µrad", 1.0),
        m if m < 1e6 => ("mrad", 1e3),
        _ => ("rad", 1e6),
    }
}

/// How many nanoseconds one of the stored unit is, where it is a span of time.
pub fn in_ns(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "ps" => Some(1e-3),
        _ => None,
    }
}

/// Name and size, in the stored unit, of the unit in which an axis has a tick of this size.
pub fn of_tick(v: f64, unit: &str) -> (String, f64) {
    let magnitude = v.abs();
    if unit == "urad" {
        let (name, per) = angle(magnitude);
        return (name.into(), per);
    }
    let Some(ns) = in_ns(unit) else { return (unit.to_owned(), 1.0) };
    let (name, per) = match magnitude * ns {
        m if m < 999.5 => ("ns", 1.0),
        m if m < 999.5e3 => ("µs", 1e3),
        m if m < 999.5e6 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    (name.into(), per / ns)
}

/// How a table writes its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// All in one unit, stated once.
    Common {
        /// `µs`.
        name: String,
        /// How many of the stored unit make one.
        per: f64,
    },
    /// Nanoseconds, each value in the unit that suits it: one for all would be zeros here and millions there.
    Each,
}

/// From this ratio of the largest to the smallest on, four decades, values have units of their own.
const MOST_OF_ONE_UNIT: f64 = 1e4;

impl Unit {
    /// The stored unit as it is.
    pub fn stored(name: &str) -> Self {
        Self::Common { name: name.to_owned(), per: 1.0 }
    }

    /// The unit that suits these values of the stored unit: neither all zeros nor all thousands.
    pub fn fitting(stored: &str, values: impl Iterator<Item = f64>) -> Self {
        let (mut sum, mut n, mut low, mut high) = (0.0, 0u32, f64::INFINITY, 0.0_f64);
        for v in values.filter(|v| *v >= 1.0) {
            (sum, n, low, high) = (sum + v.ln(), n + 1, low.min(v), high.max(v));
        }
        let typical = (n > 0).then(|| (sum / f64::from(n)).exp());
        if stored == "ns" && high > low * MOST_OF_ONE_UNIT {
            return Self::Each;
        }
        let Some(ns) = in_ns(stored) else { return Self::around(stored, typical.unwrap_or(1e3)) };
        let (name, per) = match typical.map_or(1e3, |t| t * ns) {
            t if t < 500.0 => ("ns", 1.0),
            t if t < 2e6 => ("µs", 1e3),
            t if t < 2e9 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        Self::Common { name: name.to_owned(), per: per / ns }
    }

    /// The one unit of a table's row whose typical value this is: whole numbers of it where they have up to four digits,
    /// so that rare giants beside it keep their place in the row.
    pub fn of_row(stored: &str, typical: f64) -> Self {
        let Some(ns) = in_ns(stored) else { return Self::around(stored, typical) };
        let (name, per) = match typical.abs() * ns {
            t if t < 1e4 => ("ns", 1.0),
            t if t < 1e7 => ("µs", 1e3),
            t if t < 1e10 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        Self::Common { name: name.to_owned(), per: per / ns }
    }

    /// The unit of what is no time.
    fn around(stored: &str, typical: f64) -> Self {
        match stored {
            "urad" => {
                let (name, per) = if typical.abs() < 1e6 { ("mrad", 1e3) } else { ("rad", 1e6) };
                Self::Common { name: name.to_owned(), per }
            }
            _ => Self::stored(stored),
        }
    }

    /// A value of the stored unit.
    pub fn text(&self, v: f64) -> String {
        match self {
            // The clock counts whole nanoseconds: a decimal would promise more.
            Self::Common { per, .. } if *per == 1.0 && v.fract() == 0.0 && v.abs() < 1e15 => {
                let text = count(v.abs() as u64);
                if v < 0.0 { format!("−{text}") } else { text }
            }
            Self::Common { per, .. } => plain(v / per),
            Self::Each => value(v, "ns"),
        }
    }

    /// What is said once of all values: `in µs`.
    pub fn about(&self) -> String {
        match self {
            Self::Common { name, .. } => format!("in {name}"),
            Self::Each => "in the unit beside each".into(),
        }
    }

    /// The unit's name, `each` where every value has its own.
    pub fn name(&self) -> &str {
        match self {
            Self::Common { name, .. } => name,
            Self::Each => "each",
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
        assert_eq!(
            [said(6_340.0, "ps"), said(340.0, "ps"), said(2_340_000.0, "ps")],
            ["6.34 ns", "0.340 ns", "2.34 µs"]
        );
        assert_eq!(
            [said(-12_300.0, "urad"), said(1.57e6, "urad"), said(80.0, "urad")],
            ["−12.3 mrad", "1.57 rad", "80.0 µrad"]
        );
        assert_eq!(said(0.25, "rad"), "0.250 rad");
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
            format!("{} {}", unit.text(v), unit.name()).replace('\u{202f}', " ")
        };
        assert_eq!(row("ns", 61.0, 562_230.0), "562 230 ns");
        assert_eq!([row("ns", 61.0, 61.0), row("ns", 61.0, 61.25)], ["61 ns", "61.2 ns"]);
        assert_eq!(row("ns", 1_058_000.0, 1_002_345.0), "1 002 µs");
        assert_eq!(row("ps", 6_340.0, 6_340.0), "6.34 ns");
        assert_eq!(row("urad", 6_340.0, 6_340.0), "6.34 mrad");
    }

    #[test]
    fn beyond_four_decades_each_value_has_its_unit() {
        let unit = Unit::fitting("ns", [24_600.0, 2_005_000_000.0].into_iter());
        assert_eq!(unit, Unit::Each);
        let texts = [11.71, 10.0, 24_600.0, 2_005_000_000.0].map(|v| unit.text(v));
        assert_eq!(texts, ["11.7\u{a0}ns", "10\u{a0}ns", "24.6\u{a0}µs", "2.00\u{a0}s"]);
    }
}
