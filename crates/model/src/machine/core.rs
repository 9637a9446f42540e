//! The real-time core that runs beside the kernel, and the file that shows it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of real-time cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// EVL, the core of Xenomai 4.
    Evl,
    /// Cobalt, the core of Xenomai 3.
    Cobalt,
}

impl CoreKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Evl, Self::Cobalt];

    /// Returns its word in a kernel's file of the laboratory.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Evl => "evl",
            Self::Cobalt => "cobalt",
        }
    }

    /// Returns its name for sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evl => "EVL",
            Self::Cobalt => "Cobalt",
        }
    }

    /// Returns the file that exists only where a kernel has this core. The file contains the core's version.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Evl => "/sys/devices/virtual/evl/control/abi",
            Self::Cobalt => "/proc/xenomai/version",
        }
    }
}

/// The real-time core of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// Its kind.
    pub kind: CoreKind,
    /// The number of EVL's ABI, or the version of Cobalt; absent if latido could not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.name();
        match (&self.version, self.kind) {
            (Some(version), CoreKind::Evl) => write!(f, "{name} (ABI {version})"),
            (Some(version), CoreKind::Cobalt) => write!(f, "{name} {version}"),
            (None, _) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word of a kind is the same in a kernel's file and in a record, and a core tells its version.
    #[test]
    fn a_core_has_one_word_and_a_version() {
        for kind in CoreKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
        let told = |kind, version: Option<&str>| Core { kind, version: version.map(str::to_owned) }.to_string();
        assert_eq!(told(CoreKind::Evl, Some("36")), "EVL (ABI 36)");
        assert_eq!(told(CoreKind::Cobalt, Some("3.3.1")), "Cobalt 3.3.1");
        assert_eq!(told(CoreKind::Cobalt, None), "Cobalt");
    }
}
