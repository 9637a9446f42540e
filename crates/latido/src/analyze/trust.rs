//! The trust checks: one table of source, threshold and level, applied to a record's evidence.

use serde::{Deserialize, Serialize};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's name in the table.
    pub check: String,
    /// How much it weighs.
    pub level: Level,
    /// One short sentence for people, with the number.
    pub text: String,
}
