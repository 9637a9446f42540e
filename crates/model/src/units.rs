//! Times as people write them (`500us`, `10m`) and as the program counts them (integer ns).

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{fmt, str::FromStr};

/// A span of time in nanoseconds, written with a unit in plans, cells and on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ns(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Why a text is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASpan(String);

impl fmt::Display for NotASpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotASpan {}

impl Ns {
    /// Whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Converts to the standard library's type.
    pub const fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl FromStr for Ns {
    type Err = NotASpan;

    /// Parses a decimal number and one unit: d, h, m, s, ms, us (or µs), ns. At most 200 days, and whole nanoseconds.
    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(NotASpan(format!("`{text}`: a span of time cannot be negative")));
        }
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit = match unit {
            "" if number.is_empty() => {
                return Err(NotASpan("a span of time is missing, for example 500us".into()));
            }
            "" => {
                return Err(NotASpan(format!("`{text}` has no unit: write {text}us, {text}ms or {text}s")));
            }
            "µs" | "μs" => "us",
            other => other,
        };
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(NotASpan(format!("`{text}`: unit `{unit}` is not one of ns, us, ms, s, m, h, d")));
        };
        let bad = || NotASpan(format!("`{text}` is not a number with a unit, for example 500us"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') {
            return Err(bad());
        }
        let too_long = || NotASpan(format!("`{text}` is longer than 200 days"));
        let ns = whole.parse::<u64>().map_err(|_| too_long())?.checked_mul(scale).ok_or_else(too_long)?;
        let finer = || NotASpan(format!("`{text}` is finer than one nanosecond"));
        let digits = fraction.trim_end_matches('0');
        // No unit is divisible by 10^19, so more digits are always too fine; fewer fit into 128 bits.
        let one = u32::try_from(digits.len()).ok().filter(|n| *n <= 18).map(|n| 10u128.pow(n)).ok_or_else(finer)?;
        let part = digits.bytes().fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0')) * u128::from(scale);
        if !part.is_multiple_of(one) {
            return Err(finer());
        }
        let ns = u64::try_from(part / one).ok().and_then(|part| ns.checked_add(part)).ok_or_else(too_long)?;
        if ns > 200 * 86_400_000_000_000 {
            return Err(too_long());
        }
        Ok(Self(ns))
    }
}

impl fmt::Display for Ns {
    /// Writes the shortest exact form: `1ms`, `1500us`, `10m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0ns");
        }
        for (unit, scale) in UNITS {
            // Days and hours only if they are shorter: 90m reads better than 1.5h, 72h better than 3d.
            if *unit != "d" && self.0.is_multiple_of(*scale) {
                return write!(f, "{}{unit}", self.0 / scale);
            }
        }
        write!(f, "{}ns", self.0)
    }
}

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ns {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visit;
        impl serde::de::Visitor<'_> for Visit {
            type Value = Ns;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time with a unit in quotes, for example \"500us\"")
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Ns, E> {
                v.parse().map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Ns, E> {
                Err(E::custom(format!("{v} has no unit: write \"{v}us\", \"{v}ms\" or \"{v}s\"")))
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Ns, E> {
                Err(E::custom(format!("{v} has no unit: write \"{v}us\", \"{v}ms\" or \"{v}s\"")))
            }
        }
        d.deserialize_any(Visit).map_err(D::Error::custom)
    }
}

/// The units of measured spans, with their size in ns.
const READ_IN: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)];

/// Returns the unit that keeps a time in ns readable, with its size in ns: the largest unit in which the time, rounded to three digits, is
/// at least 1.
pub fn readable(ns: f64) -> (&'static str, f64) {
    READ_IN.into_iter().find(|(_, size)| ns.abs() >= 0.9995 * size).unwrap_or(("ns", 1.0))
}

/// Writes a count with its noun, in the singular for 1: `1 sample`, `20000 samples`. The noun takes an `s`.
pub fn many(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Writes a measured time in the unit that keeps it readable: `870 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
pub fn human(ns: i64) -> String {
    let (unit, size) = readable(ns as f64);
    let value = ns as f64 / size;
    let digits = match value.abs() {
        _ if size == 1.0 => 0,
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// Writes the same with every digit, for times that are compared: `533.999 µs`, `534 µs`.
pub fn exact(ns: i64) -> String {
    let (unit, size) = readable(ns as f64);
    let size = size as u64;
    let (whole, rest) = (ns.unsigned_abs() / size, ns.unsigned_abs() % size);
    let digits = size.ilog10() as usize;
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:0digits$}") };
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{whole}{} {unit}", fraction.trim_end_matches('0'))
}

/// Writes a planned time in the unit in which people plan: `about 45 s`, `about 12 min`, `1 h 31 min`, `2 d 3 h`.
pub fn about(span: Ns) -> String {
    const SECOND: u64 = 1_000_000_000;
    let (seconds, minutes, hours) =
        (span.0.div_ceil(SECOND), (span.0 / SECOND + 30) / 60, (span.0 / SECOND + 1800) / 3600);
    match minutes {
        _ if span.0 < SECOND => "less than 1 s".into(),
        _ if seconds < 120 => format!("about {seconds} s"),
        0..60 => format!("about {minutes} min"),
        60..2880 => match minutes % 60 {
            0 => format!("{} h", minutes / 60),
            rest => format!("{} h {rest} min", minutes / 60),
        },
        _ => match hours % 24 {
            0 => format!("{} d", hours / 24),
            rest => format!("{} d {rest} h", hours / 24),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_span_has_every_digit_and_no_more() {
        let all = [533_999, 534_000, -1_500, 72_600_001, 7, 0, 1_000_000_050].map(exact);
        assert_eq!(all, ["533.999 µs", "534 µs", "-1.5 µs", "72.600001 ms", "7 ns", "0 ns", "1.00000005 s"]);
    }

    #[test]
    fn a_planned_span_reads_like_a_plan() {
        let ms = |ms: u64, text: &str| assert_eq!(about(Ns::from_millis(ms)), text, "{ms} ms");
        ms(0, "less than 1 s");
        ms(1_100, "about 2 s");
        ms(61_000, "about 61 s");
        ms(119_900, "about 2 min");
        ms(125_300, "about 2 min");
        ms(726_000, "about 12 min");
        ms(3_570_000, "1 h");
        ms(5_460_000, "1 h 31 min");
        ms(172_800_000, "2 d");
        ms(183_600_000, "2 d 3 h");
    }

    #[test]
    fn a_span_that_rounds_to_a_thousand_is_one_of_the_next_unit() {
        let said = [999, 999_499, 999_500, 999_600, 1_000_000, -999_999_999].map(human);
        assert_eq!(said, ["999 ns", "999 µs", "1.00 ms", "1.00 ms", "1.00 ms", "-1.00 s"]);
        assert_eq!([0, -870, 12_340, 123_456].map(human), ["0 ns", "-870 ns", "12.3 µs", "123 µs"]);
    }

    #[test]
    fn reads_what_people_write() {
        for (text, ns) in [("500us", 500_000), ("1.5ms", 1_500_000), ("10m", 600_000_000_000), ("2 s", 0), ("0ns", 0)] {
            match text.parse::<Ns>() {
                Ok(value) => assert_eq!(value, Ns(ns), "{text}"),
                Err(_) => assert_eq!(text, "2 s"),
            }
        }
        assert_eq!("7µs".parse(), Ok(Ns(7_000)));
    }

    #[test]
    fn refuses_bare_numbers_and_names_the_remedy() {
        let error = "500".parse::<Ns>().unwrap_err().to_string();
        assert!(error.contains("500us"), "{error}");
        for junk in ["", "us", "1e3us", "-1us", "1..2s", "0.5ns", "999999999999999999999s", "300d", "5min"] {
            assert!(junk.parse::<Ns>().is_err(), "{junk}");
        }
    }

    #[test]
    fn a_negative_span_is_called_so() {
        assert_eq!("-1s".parse::<Ns>().unwrap_err().to_string(), "`-1s`: a span of time cannot be negative");
    }

    #[test]
    fn a_fraction_is_exact_or_refused() {
        for (text, ns) in
            [("0.00000000005m", 3), ("1.50000000000000000000000000s", 1_500_000_000), ("1.s", 1_000_000_000)]
        {
            assert_eq!(text.parse(), Ok(Ns(ns)), "{text}");
        }
        for finer in ["0.00000000001s", "0.00000000000000000000001d", "0.00000000004m", "1.01ns"] {
            let error = finer.parse::<Ns>().unwrap_err().to_string();
            assert!(error.contains("finer"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_agree(ns in 0u64..200 * 86_400_000_000_000) {
            proptest::prop_assert_eq!(Ns(ns).to_string().parse::<Ns>(), Ok(Ns(ns)));
        }

        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = text.parse::<Ns>();
        }
    }
}
