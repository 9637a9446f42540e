//! What a measurement had the time to see: without this information a maximum seems to say more than it does.

use super::CONFIDENCE;
use crate::words;
use latido_statistics::seen;
use serde::Serialize;

/// The interval of the reference cause for every maximum, seconds.
const DAY_S: f64 = 86_400.0;

/// What the maximum may lack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// The probability that this run missed a cause that strikes once a day.
    pub missed_once_a_day: f64,
    /// How long a measurement must be to see such a cause with 95 %, seconds.
    pub needed_s: f64,
    /// The mean interval of the rarest cause that this run had a 95 % chance to see, seconds.
    pub rarest_seen_s: f64,
}

impl Seen {
    /// Computes this for a measurement of this length; `None` for an invalid length.
    pub fn of(length_s: f64) -> Option<Self> {
        Some(Self {
            missed_once_a_day: seen::missed(DAY_S, length_s)?,
            needed_s: seen::length_needed(DAY_S, CONFIDENCE)?,
            rarest_seen_s: seen::rarest_seen(length_s, CONFIDENCE)?,
        })
    }

    /// Computes this for a length in ns; `None` where nothing was measured.
    pub fn of_ns(length_ns: u64) -> Option<Self> {
        Self::of(length_ns as f64 / 1e9).filter(|_| length_ns > 0)
    }
}

/// Formats a probability: never as a certainty.
pub fn chance(p: f64) -> String {
    match p {
        p if p > 0.995 => "above 0.99".into(),
        p if p < 0.005 => "below 0.01".into(),
        p => format!("{p:.2}"),
    }
}

/// Returns the note next to the maxima of measurements of these lengths (ns): `A once-a-day event shows in 60 min with a chance of 4 %, in
/// 3 days with 95 %`. `None` where nothing was measured.
pub fn note(lengths_ns: impl Iterator<Item = u64>) -> Option<String> {
    let measured: Vec<u64> = lengths_ns.filter(|ns| *ns > 0).collect();
    let (short, long) = (*measured.iter().min()?, *measured.iter().max()?);
    let (least, most) = (Seen::of_ns(short)?, Seen::of_ns(long)?);
    let range = |low: String, high: String| if low == high { low } else { format!("{low} to {high}") };
    let percent = |missed: f64| match (1.0 - missed) * 100.0 {
        p if p < 0.5 => "less than 1\u{a0}%".to_owned(),
        p if p > 99.5 => "more than 99\u{a0}%".to_owned(),
        p => format!("{p:.0}\u{a0}%"),
    };
    Some(format!(
        "A once-a-day event shows in {} with a chance of {}, in {} with {:.0}\u{a0}%",
        range(words::lasted(short), words::lasted(long)),
        range(percent(least.missed_once_a_day), percent(most.missed_once_a_day)),
        words::roughly(least.needed_s),
        CONFIDENCE * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The note must give the published chances for one, eight and 72 hours; a range must name both ends.
    #[test]
    fn a_maximum_is_told_with_what_it_may_have_missed() {
        let hours = |hours: u64| hours * 3_600_000_000_000;
        let told = |lengths: &[u64]| note(lengths.iter().copied()).map(|text| text.replace('\u{a0}', " "));
        let text = told(&[hours(1)]).unwrap();
        assert_eq!(text, "A once-a-day event shows in 60 min with a chance of 4 %, in 3 days with 95 %");
        let text = told(&[hours(72), 0, hours(8)]).unwrap();
        assert!(text.contains("shows in 8.0 h to 3 days with a chance of 28 % to 95 %, in "), "{text}");
        assert!(told(&[10_000_000_000]).unwrap().contains("shows in 10 s with a chance of less than 1 %, "));
        assert_eq!(told(&[0]), None);
    }
}
