//! The origin of a record that latido did not measure.

use serde::{Deserialize, Serialize};

/// The file of another tool that a record was read from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The format, as `latido import --format` names it.
    pub format: String,
    /// The tool that wrote it.
    pub tool: String,
    /// Its version, if the file contains it.
    pub version: Option<String>,
    /// The file's name, without its directories.
    pub file: String,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// The copy next to the record, in the folder `source`; absent if the file was too large to copy.
    pub kept: Option<String>,
    /// The command line of the tool, if the file or a person gives it.
    pub command: Option<String>,
    /// When the measurement began and ended, as the file writes it.
    pub times: (Option<String>, Option<String>),
    /// Labels that a person gave it: `host=bench-07`.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub labels: std::collections::BTreeMap<String, String>,
    /// What the file reports about its own quality.
    pub findings: Vec<Told>,
    /// What the reader must know: provenance, repairs of the file, parts that were skipped.
    pub notes: Vec<String>,
}

/// Something that a file reports about its own quality.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// A short name: `missed events`.
    pub name: String,
    /// Whether the numbers may not be those of the system under test; otherwise the finding is only information for the reader.
    pub contaminated: bool,
    /// One sentence with the number.
    pub text: String,
}
