//! What crate `judge` finds in numbers that latido did not measure, as text and as JSON.

pub mod compare;
pub mod effects;
pub mod history;
pub mod one;

pub use crate::words::number;
pub use latido_judge::numbers::{Kind, Observation, Question, Scale};

use anyhow::Result;
use latido_model::clean;
use serde::Serialize;

/// The version of the documents; raised when a key changes its meaning, not when one is added.
pub const SCHEMA: u32 = 1;

/// The document, indented, with a line end. What is not finite is `null`.
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

/// A p as it is printed: never 0.
pub fn p_text(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// What lies between two limits: `8.80 to 9.41`.
pub fn between(interval: Option<(f64, f64)>, text: impl Fn(f64) -> String) -> Option<String> {
    interval.map(|(low, high)| format!("{} to {}", text(low), text(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
