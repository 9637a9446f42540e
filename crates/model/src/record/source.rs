//! Where a record comes from that latido did not measure.

use serde::{Deserialize, Serialize};

/// The file of another tool that a record was read from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The format, as `latido import --format` names it.
    pub format: String,
    /// The tool that wrote it.
    pub tool: String,
    /// Its version, as far as the file tells.
    pub version: Option<String>,
    /// The file's name, without its directories.
    pub file: String,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// The copy beside the record, in the folder `source`; absent where the file was too large for one.
    pub kept: Option<String>,
    /// The command line of the tool, where the file or a person says it.
    pub command: Option<String>,
    /// When the measurement began and ended, as the file writes it.
    pub times: (Option<String>, Option<String>),
    /// What a person said of it: `host=bench-07`.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub labels: std::collections::BTreeMap<String, String>,
    /// What the file says of its own worth.
    pub findings: Vec<Told>,
    /// What a reader is to know: provenance, mends of the file, what was passed over.
    pub notes: Vec<String>,
}

/// Something that a file says of its own worth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// A short name: `missed events`.
    pub name: String,
    /// Whether the numbers may not be those of the system under test; else a reader is to know it.
    pub contaminated: bool,
    /// One sentence with the number.
    pub text: String,
}
