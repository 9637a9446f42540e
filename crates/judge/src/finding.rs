//! The result of a trust check, and its severity.

use crate::span::{Span, as_text, plain, spans};
use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// latido measured it, and it is in order.
    Ok,
    /// latido could not measure it here.
    Unknown,
    /// Worth knowing; the result stands.
    Note,
    /// Something from outside affected the samples that decide the verdict (exit 3).
    Contaminated,
    /// The measurement is not what the user requested (exit 3).
    Invalid,
}

/// The result of one trust check on one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The check's name in the table.
    pub check: String,
    /// The severity.
    #[serde(rename = "level")]
    pub grade: Grade,
    /// The result, as short as possible, with the number.
    #[serde(rename = "text", serialize_with = "as_text")]
    pub state: Vec<Span>,
}

impl Finding {
    /// Returns the result as plain text.
    pub fn text(&self) -> String {
        plain(&self.state)
    }

    /// Returns the result with the check's name before it, unless the text starts with the name.
    pub fn spans(&self) -> Vec<Span> {
        if self.text().starts_with(&format!("the {} ", self.check)) {
            return self.state.clone();
        }
        [spans![self.check.as_str(), ": "], self.state.clone()].concat()
    }

    /// Returns the same as plain text.
    pub fn sentence(&self) -> String {
        plain(&self.spans())
    }
}
