//! What a trust check found, and how much it weighs.

use crate::span::{Span, as_text, plain, spans};
use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Measured and in order.
    Ok,
    /// Could not be measured here.
    Unknown,
    /// Worth knowing; the result stands.
    Note,
    /// Something foreign touched the samples that decide the verdict (exit 3).
    Contaminated,
    /// The measurement is not what was asked for (exit 3).
    Invalid,
}

/// The outcome of one trust check on one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The check's name in the table.
    pub check: String,
    /// How much it weighs.
    #[serde(rename = "level")]
    pub grade: Grade,
    /// What was found, as short as it can be said, with the number.
    #[serde(rename = "text", serialize_with = "as_text")]
    pub state: Vec<Span>,
}

impl Finding {
    /// What was found as plain text.
    pub fn text(&self) -> String {
        plain(&self.state)
    }

    /// The same with the check's name before it, where it does not begin with that itself.
    pub fn spans(&self) -> Vec<Span> {
        if self.text().starts_with(&format!("the {} ", self.check)) {
            return self.state.clone();
        }
        [spans![self.check.as_str(), ": "], self.state.clone()].concat()
    }

    /// The same as plain text.
    pub fn sentence(&self) -> String {
        plain(&self.spans())
    }
}
