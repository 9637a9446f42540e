//! What a measurement had the time to see: a maximum without it says less than it seems to.

use super::CONFIDENCE;
use crate::words;
use latido_statistics::seen;
use serde::Serialize;

/// How often the cause strikes that every maximum is held against, seconds.
const DAY_S: f64 = 86_400.0;

/// What may be missing in the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// The probability that this run missed a cause that strikes once a day.
    pub missed_once_a_day: f64,
    /// How long one must measure to have seen such a cause with 95 %, seconds.
    pub needed_s: f64,
    /// The mean interval of the rarest cause that this run has seen with 95 %, seconds.
    pub rarest_seen_s: f64,
}

impl Seen {
    /// Of a measurement of this length; `None` of a length that is none.
    pub fn of(length_s: f64) -> Option<Self> {
        Some(Self {
            missed_once_a_day: seen::missed(DAY_S, length_s)?,
            needed_s: seen::length_needed(DAY_S, CONFIDENCE)?,
            rarest_seen_s: seen::rarest_seen(length_s, CONFIDENCE)?,
        })
    }

    /// Of a measurement of so many ns; `None` where nothing was measured.
    pub fn of_ns(length_ns: u64) -> Option<Self> {
        Self::of(length_ns as f64 / 1e9).filter(|_| length_ns > 0)
    }
}

/// A probability as it is printed: never a certainty.
pub fn chance(p: f64) -> String {
    match p {
        p if p > 0.995 => "above 0.99".into(),
        p if p < 0.005 => "below 0.01".into(),
        p => format!("{p:.2}"),
    }
}

/// What stands beside the maxima of measurements of these lengths, ns: `max: a once-a-day cause is missed with P 0.96 in 60 min,
/// P 0.05 in 3 days`, a line of a terminal. `None` where nothing was measured.
pub fn note(lengths_ns: impl Iterator<Item = u64>) -> Option<String> {
    let measured: Vec<u64> = lengths_ns.filter(|ns| *ns > 0).collect();
    let (short, long) = (*measured.iter().min()?, *measured.iter().max()?);
    let (most, least) = (Seen::of_ns(short)?, Seen::of_ns(long)?);
    let range = |low: String, high: String| if low == high { low } else { format!("{low} to {high}") };
    Some(format!(
        "max: a once-a-day cause is missed with P\u{a0}{} in {}, P\u{a0}{} in {}",
        range(chance(most.missed_once_a_day), chance(least.missed_once_a_day)),
        range(words::lasted(short), words::lasted(long)),
        chance(1.0 - CONFIDENCE),
        words::roughly(most.needed_s)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published chances of one, eight and 72 hours, and that a range names both of its ends.
    #[test]
    fn a_maximum_is_told_with_what_it_may_have_missed() {
        let hours = |hours: u64| hours * 3_600_000_000_000;
        let told = |lengths: &[u64]| note(lengths.iter().copied()).map(|text| text.replace('\u{a0}', " "));
        let text = told(&[hours(1)]).unwrap();
        assert_eq!(text, "max: a once-a-day cause is missed with P 0.96 in 60 min, P 0.05 in 3 days");
        assert!(told(&[hours(72), 0, hours(8)]).unwrap().contains("P 0.72 to 0.05 in 8.0 h to 3 days,"));
        assert!(told(&[10_000_000_000]).unwrap().contains("above 0.99 in 10 s"));
        assert_eq!(told(&[0]), None);
    }
}
