//! Numbers and names as people read them in reports.

use crate::units;

/// What is said of a figure that does not exist.
pub const NOT_MEASURED: &str = "not measured";

/// Groups of three digits, separated by a narrow space that does not break: `3 600 006`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1 wake-up`, `3 600 006 wake-ups`.
pub fn many(n: u64, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(n))
}

/// A sentence written for terminals, in ASCII, with the sign for micro: `117 us` becomes `117 µs`.
pub fn micro(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" us") {
        let number = before.ends_with(|c: char| c.is_ascii_digit());
        let whole = !after.starts_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        out.push_str(if number && whole { "\u{a0}µs" } else { " us" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A value with its unit, not to be broken: spans as `24.9 µs`, anything else as number and name of the unit.
pub fn value(v: f64, unit: &str) -> String {
    match unit {
        "ns" if v.abs() < 999.5 && v.fract() != 0.0 => format!("{}\u{a0}ns", plain(v)),
        "ns" => units::human(v.round() as i64).replace("us", "µs").replace(' ', "\u{a0}"),
        _ => format!("{}\u{a0}{unit}", plain(v)),
    }
}

/// Four significant digits at most, grouped: `0.02`, `24.9`, `2 228`.
pub fn plain(v: f64) -> String {
    let magnitude = v.abs();
    let digits = match magnitude {
        _ if magnitude >= 100.0 || magnitude == 0.0 => 0,
        _ if magnitude >= 10.0 => 1,
        _ if magnitude >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{magnitude:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if v < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9')) { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", grouped(whole))
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
        if stored != "ns" {
            return Self::stored(stored);
        }
        let (mut sum, mut n, mut low, mut high) = (0.0, 0u32, f64::INFINITY, 0.0_f64);
        for v in values.filter(|v| *v >= 1.0) {
            (sum, n, low, high) = (sum + v.ln(), n + 1, low.min(v), high.max(v));
        }
        let typical = if n == 0 { 1e3 } else { (sum / f64::from(n)).exp() };
        let (name, per) = match typical {
            _ if high > low * MOST_OF_ONE_UNIT => return Self::Each,
            t if t < 500.0 => ("ns", 1.0),
            t if t < 2e6 => ("µs", 1e3),
            t if t < 2e9 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        Self::Common { name: name.to_owned(), per }
    }

    /// A value of the stored unit.
    pub fn text(&self, v: f64) -> String {
        match self {
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
}

/// A time since the start: `4.2 s`, `1:30.250`, `2:04:32.118`.
pub fn clock(at_ns: u64) -> String {
    let (seconds, millis) = (at_ns / 1_000_000_000, at_ns / 1_000_000 % 1_000);
    match seconds {
        0..60 => format!("{seconds}.{millis:03} s"),
        60..3_600 => format!("{}:{:02}.{millis:03}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}.{millis:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

/// A long span in words, rounded: `20 min`, `3.2 h`, `2 days`.
pub fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{}\u{a0}ms", plain(s * 1e3)),
        s if s < 120.0 => format!("{s:.0}\u{a0}s"),
        s if s < 7_200.0 => format!("{:.0}\u{a0}min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1}\u{a0}h", s / 3_600.0),
        s => format!("{}\u{a0}days", count((s / 86_400.0) as u64)),
    }
}

/// From when to when, of two RFC 3339 times, to the second: `2026-11-21 20:00:00 → 21:04:12 UTC`.
pub fn between(started: &str, finished: Option<&str>) -> String {
    let split = |text: &str| {
        let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
        Some((day.to_owned(), time.split('.').next().unwrap_or(time).to_owned()))
    };
    match (split(started), finished, finished.and_then(split)) {
        (Some((day, from)), Some(_), Some((end, to))) if day == end => format!("{day} {from} → {to} UTC"),
        (Some((day, from)), Some(_), Some((end, to))) => format!("{day} {from} → {end} {to} UTC"),
        (Some((day, from)), None, _) => format!("{day} {from} UTC, not finished"),
        (_, Some(finished), _) => format!("{started} → {finished}"),
        (None, None, _) => format!("{started}, not finished"),
    }
}

/// The heading over a quantity.
pub fn title(probe: &str, quantity: &str) -> String {
    match (probe, quantity) {
        ("wakeup", "latency") => "Wake-up latency".into(),
        ("wakeup", "latency_after_overrun") => "After a budget overrun".into(),
        ("gap", "gap") => "Gaps in a busy loop".into(),
        (_, "latency") => capitalised(&format!("{probe} latency")),
        (a, b) if a == b => capitalised(a),
        _ => capitalised(&format!("{probe}: {quantity}")),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What one sample of a probe is called.
pub fn noun(probe: &str) -> &'static str {
    match probe {
        "wakeup" => "wake-up",
        "gap" => "reading",
        _ => "sample",
    }
}

/// Words of a command as a shell reads them back.
pub fn shell(argv: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(safe) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(3_600_006), "3\u{202f}600\u{202f}006");
        assert_eq!(many(1, "wake-up"), "1 wake-up");
        assert_eq!(value(24_900.0, "ns"), "24.9\u{a0}µs");
        assert_eq!(value(0.25, "rad"), "0.250\u{a0}rad");
        assert_eq!(plain(2_228.4), "2\u{202f}228");
        assert_eq!(plain(-0.0001), "0.000");
        assert_eq!(plain(-2.345), "−2.35");
        assert_eq!(clock(272_118_000_000), "4:32.118");
        assert_eq!(roughly(1_200.0), "20\u{a0}min");
        assert_eq!(title("switch", "latency"), "Switch latency");
    }

    #[test]
    fn only_units_become_micro() {
        assert_eq!(
            micro("117 us of 1000000 us, it let us go 5 users"),
            "117\u{a0}µs of 1000000\u{a0}µs, it let us go 5 users"
        );
        assert_eq!(micro("4 us"), "4\u{a0}µs");
    }

    #[test]
    fn times_say_the_day_once() {
        let start = "2026-11-21T20:00:00Z";
        assert_eq!(between(start, Some("2026-11-21T21:04:12Z")), "2026-11-21 20:00:00 → 21:04:12 UTC");
        assert_eq!(between(start, Some("2026-11-22T01:04:12Z")), "2026-11-21 20:00:00 → 2026-11-22 01:04:12 UTC");
        assert_eq!(between(start, None), "2026-11-21 20:00:00 UTC, not finished");
        let exact = between("2026-11-21T20:00:00.123456789Z", Some("2026-11-21T21:04:12.9Z"));
        assert_eq!(exact, "2026-11-21 20:00:00 → 21:04:12 UTC");
        assert_eq!(between("a+01:00", Some("b")), "a+01:00 → b");
    }

    #[test]
    fn the_unit_suits_the_values() {
        let about = |values: &[f64]| Unit::fitting("ns", values.iter().copied()).about();
        assert_eq!(about(&[20.0, 30.0]), "in ns");
        assert_eq!(about(&[20.0, 180_000.0]), "in µs");
        assert_eq!(about(&[]), "in µs");
        assert_eq!(Unit::fitting("rad", [1.0, 1e9].into_iter()).about(), "in rad");
    }

    #[test]
    fn beyond_four_decades_each_value_has_its_unit() {
        let unit = Unit::fitting("ns", [24_600.0, 2_005_000_000.0].into_iter());
        assert_eq!(unit, Unit::Each);
        let texts = [11.71, 10.0, 24_600.0, 2_005_000_000.0].map(|v| unit.text(v));
        assert_eq!(texts, ["11.7\u{a0}ns", "10\u{a0}ns", "24.6\u{a0}µs", "2.00\u{a0}s"]);
    }

    #[test]
    fn commands_survive_the_shell() {
        let argv = ["latido", "run", "it's", "a b", ""].map(String::from);
        assert_eq!(shell(&argv), r"latido run 'it'\''s' 'a b' ''");
    }
}
