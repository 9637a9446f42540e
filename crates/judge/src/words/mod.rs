//! Numbers, units, names and rates as text. Each report decides itself how a verdict looks.

mod rate;
mod siblings;
mod trace;
mod unit;

pub use rate::{of_load, per_second, pooled};
pub use siblings::siblings;
pub use trace::{trace, traced};
pub use unit::{Unit, Units, in_ns, round_value, value};

use latido_model::clean;
use std::collections::BTreeMap;

/// The text for a figure that does not exist.
pub const NOT_MEASURED: &str = "not measured";

/// Returns a text that no spreadsheet computes. Names and labels come from strangers, and a cell that starts like a formula is a formula
/// (OWASP, "CSV Injection").
pub fn uncomputed(text: &str) -> String {
    let mark = if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { "'" } else { "" };
    format!("{mark}{}", clean::line(text))
}

/// Groups digits by three, separated by a narrow no-break space: `3 600 006`.
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
    format!("{} {}", count(n), if n == 1 { noun.to_owned() } else { plural(noun) })
}

/// Returns the plural of a noun: `samples`, `expiries`, `batches`.
pub fn plural(noun: &str) -> String {
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// Writes at most four significant digits, grouped: `0.02`, `24.9`, `2 228`.
pub fn plain(v: f64) -> String {
    let magnitude = v.abs();
    let digits = match magnitude {
        _ if magnitude >= 100.0 || magnitude == 0.0 => 0,
        _ if magnitude >= 10.0 => 1,
        // A number that three digits round to 1 counts as 1, as in `units::human`.
        _ if magnitude >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{magnitude:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if v < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9')) { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", grouped(whole))
}

/// Writes four digits of a number of any size: `0.0123`, `2 228`, `1.5e21`.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-3..1e15).contains(&size) => format!("{value:.3e}"),
        _ => plain(value),
    }
}

/// A round number without needless zeros: `0.001`, `20`, `10 000`.
pub fn trimmed(v: f64) -> String {
    let digits = if v == 0.0 { 0 } else { (1.0 - v.abs().log10().floor()).clamp(3.0, 12.0) as usize };
    let text = format!("{v:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "" => "0".into(),
        _ if v >= 1e4 => count(v as u64),
        _ if v < 0.0 => text.replacen('-', "−", 1),
        _ => text.to_owned(),
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
        s => format!("{}\u{a0}days", count((s / 86_400.0).round() as u64)),
    }
}

/// How long was measured: `187 ms`, `9.21 s`, `13 s`, `3.2 h`.
pub fn lasted(ns: u64) -> String {
    match ns {
        0..10_000_000_000 => value(ns as f64, "ns"),
        _ => roughly(ns as f64 / 1e9),
    }
}

/// A share of a published size: `1 %`, `0.1 %`, `12.5 %`.
pub fn share_of_size(share: f64) -> String {
    let percent = format!("{:.6}", share * 100.0);
    format!("{}\u{a0}%", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes the start and the end of a span, from two RFC 3339 times, to the second: `2026-11-21 20:00:00 → 21:04:12 UTC`.
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

/// Writes labels: the value alone for `kind` and `mode`, the key alone for "yes", else key and value; "no" is left out: `normal, shared`,
/// `size 64`.
pub fn labels(labels: &BTreeMap<String, String>) -> String {
    let say = |(key, value): (&String, &String)| match (key.as_str(), value.as_str()) {
        (_, "no") => None,
        (key, "yes") => Some(key.to_owned()),
        ("kind" | "mode", value) => Some(value.to_owned()),
        (key, value) => Some(format!("{key} {value}")),
    };
    labels.iter().filter_map(say).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(3_600_006), "3\u{202f}600\u{202f}006");
        assert_eq!(many(1, "wake-up"), "1 wake-up");
        assert_eq!([share_of_size(0.01), share_of_size(0.125)], ["1\u{a0}%", "12.5\u{a0}%"]);
        assert_eq!(plain(2_228.4), "2\u{202f}228");
        assert_eq!(plain(-0.0001), "0.000");
        assert_eq!(plain(-2.345), "−2.35");
        assert_eq!(clock(272_118_000_000), "4:32.118");
        assert_eq!(roughly(1_200.0), "20\u{a0}min");
        assert_eq!(
            [trimmed(0.001), trimmed(0.000_02), trimmed(20.0), trimmed(-1.5)],
            ["0.001", "0.00002", "20", "−1.5"]
        );
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
    fn labels_say_what_is_so() {
        let of = |pairs: &[(&str, &str)]| labels(&pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect());
        assert_eq!(of(&[("kind", "inherit"), ("shared", "no")]), "inherit");
        assert_eq!(of(&[("kind", "normal"), ("shared", "yes")]), "normal, shared");
        assert_eq!(of(&[("size", "64")]), "size 64");
        assert_eq!(of(&[]), "");
    }
}
