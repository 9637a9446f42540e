//! The surroundings of the system: a hypervisor below it, a container around it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A layer between this process and the hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// No such layer.
    Absent,
    /// A layer of this name.
    Present(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("none"),
            Self::Present(name) => f.write_str(name),
        }
    }
}
