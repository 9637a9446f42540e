//! What crate `judge` finds in numbers from other programs, as text and as JSON.

pub mod compare;
pub mod effects;
pub mod history;
pub mod one;

pub use crate::words::number;
pub use latido_judge::numbers::{Kind, Observation, Question, Scale};

use anyhow::Result;
use latido_model::clean;
use serde::Serialize;

/// The version of the documents. It increases when the meaning of a key changes, not when a key is added.
pub const SCHEMA: u32 = 1;

/// Returns the document, indented, with a final line end. A number that is not finite becomes `null`.
///
/// # Errors
/// None in practice: every part can be JSON.
pub fn document<T: Serialize>(found: &T) -> Result<String> {
    #[derive(Serialize)]
    struct Document<'a, T> {
        schema: u32,
        #[serde(flatten)]
        found: &'a T,
    }
    Ok(clean::text(&serde_json::to_string_pretty(&Document { schema: SCHEMA, found })?).into_owned() + "\n")
}

/// Formats a p-value: it is never 0.
pub fn p_text(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// Formats an interval: `8.80 to 9.41`. A unit that both ends share appears once: `−74 to +30 µs`.
pub fn between(interval: Option<(f64, f64)>, text: impl Fn(f64) -> String) -> Option<String> {
    let (low, high) = interval.map(|(low, high)| (text(low), text(high)))?;
    let last = high.rfind(|letter: char| letter.is_ascii_digit());
    let unit = last.and_then(|at| high.get(at + 1..)).unwrap_or_default();
    let low = low.strip_suffix(unit).unwrap_or(&low);
    Some(format!("{low} to {high}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_both_limits_stands_once() {
        let of = |unit: &'static str| between(Some((-1.5, 2.0)), |value| format!("{value:.2}\u{a0}{unit}")).unwrap();
        assert_eq!(of("µs"), "-1.50 to 2.00\u{a0}µs");
        assert_eq!(of("per million"), "-1.50 to 2.00\u{a0}per million");
        let mixed = between(Some((1.0, 2.0)), |value| format!("{value} {}", if value < 1.5 { "µs" } else { "ms" }));
        assert_eq!(mixed.unwrap(), "1 µs to 2 ms");
        assert_eq!(between(Some((8.8, 9.41)), |value| format!("{value:.2}")).unwrap(), "8.80 to 9.41");
        assert_eq!(between(None, |value| value.to_string()), None);
    }

    #[test]
    fn numbers_keep_four_digits_whatever_their_size() {
        let text = |value| Kind::AsGiven.text(value).replace('\u{202f}', " ");
        assert_eq!(
            [2_228.0, 0.0123, 0.0, -3.0, 1.5e21, 2e-9].map(text),
            ["2 228", "0.012", "0", "−3.00", "1.500e21", "2.000e-9"]
        );
        assert_eq!([p_text(0.0), p_text(0.031_25)], ["< 0.0001", "0.0312"]);
    }
}
