//! Sentences in typed pieces: one place decides what a sentence says, and each output decides how its numbers look.

use crate::words;
use latido_model::units::human;
use serde::Serializer;
use std::fmt;

/// One piece of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Words.
    Text(String),
    /// A length of time, in ns; `150 µs` as plain text.
    Time(i64),
    /// A number of things.
    Count(u64),
    /// A fraction of 1.
    Share(f64),
    /// A value in another unit; without `decimals` it has as many digits as it needs.
    Quantity {
        /// The value.
        value: f64,
        /// Its unit as stored or printed: `urad`, `µs`, `MHz`; empty where there is none.
        unit: String,
        /// The number of decimals.
        decimals: Option<usize>,
    },
    /// Where something was measured: `wakeup, busy`, `CPU 1`.
    Where(String),
}

impl Span {
    /// Makes a span from an unsigned length of time in ns.
    pub fn time(ns: u64) -> Self {
        Self::Time(i64::try_from(ns).unwrap_or(i64::MAX))
    }

    /// Makes a value rounded to whole units.
    pub fn whole(value: f64, unit: &str) -> Self {
        Self::Quantity { value, unit: unit.into(), decimals: Some(0) }
    }

    /// Makes a value with as many digits as it needs.
    pub fn exact(value: f64, unit: &str) -> Self {
        Self::Quantity { value, unit: unit.into(), decimals: None }
    }
}

impl From<&str> for Span {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Span {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for Span {
    /// Writes the piece as terminals and JSON show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Where(text) => f.write_str(text),
            Self::Time(ns) => f.write_str(&human(*ns)),
            Self::Count(n) => write!(f, "{n}"),
            Self::Share(share) => {
                // Nine decimals are enough to show one sample of the studies' 10^9.
                let text = format!("{share:.9}");
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Quantity { value, unit, decimals } => {
                match decimals {
                    Some(decimals) => write!(f, "{value:.decimals$}")?,
                    None => write!(f, "{value}")?,
                }
                if unit.is_empty() { Ok(()) } else { write!(f, " {unit}") }
            }
        }
    }
}

/// Returns a count with its noun, in the singular for 1: `1 sample`, `20000 samples`.
pub(crate) fn many(n: u64, noun: &str) -> Vec<Span> {
    let noun = if n == 1 { noun.to_owned() } else { words::plural(noun) };
    vec![Span::Count(n), Span::Text(format!(" {noun}"))]
}

/// Returns a sentence as plain text.
pub fn plain(spans: &[Span]) -> String {
    spans.iter().map(Span::to_string).collect()
}

/// Returns a sentence for pages: a number and its unit stay on one line.
pub fn unbroken(spans: &[Span]) -> String {
    let said = |span: &Span| match span {
        Span::Text(text) | Span::Where(text) => text.clone(),
        number => number.to_string().replace(' ', "\u{a0}"),
    };
    spans.iter().map(said).collect()
}

/// Joins several sentences with a separator.
pub fn joined(parts: impl IntoIterator<Item = Vec<Span>>, between: &str) -> Vec<Span> {
    let mut all = Vec::new();
    for part in parts {
        if !all.is_empty() {
            all.push(between.into());
        }
        all.extend(part);
    }
    all
}

/// Makes a sentence from pieces: text as it is, everything else as a [`Span`].
macro_rules! spans {
    ($($piece:expr),* $(,)?) => { vec![$($crate::span::Span::from($piece)),*] };
}
pub(crate) use spans;

/// Serialises the plain sentence; documents use it with `serialize_with`.
///
/// # Errors
/// The serializer fails.
pub fn as_text<S: Serializer>(spans: &[Span], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&plain(spans))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_reads_the_same_however_it_was_put_together() {
        let said = spans![Span::Count(3), " samples above ", Span::Time(100_000), ", ", Span::Share(0.999_950)];
        assert_eq!(plain(&said), "3 samples above 100 µs, 0.99995");
        let fine = Span::Quantity { value: 12.0, unit: "ns".into(), decimals: Some(2) };
        let rest = [spans![fine], spans![Span::exact(12_000.0, "urad")], spans![Span::whole(20.5, "ns")]];
        assert_eq!(plain(&joined(rest, "; ")), "12.00 ns; 12000 urad; 20 ns");
        assert_eq!(Span::Share(1.0).to_string(), "1");
        assert_eq!(Span::exact(0.0, "").to_string(), "0");
        let counts = [(1, "sample"), (0, "sample"), (20_000, "switch")].map(|(n, noun)| plain(&many(n, noun)));
        assert_eq!(counts, ["1 sample", "0 samples", "20000 switches"]);
    }
}
