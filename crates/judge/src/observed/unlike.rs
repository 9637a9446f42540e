//! In what sides can be so unlike that a comparison says nothing about the systems.

use serde::Serialize;
use std::fmt;

/// In what two sides can be unlike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlike {
    /// Options of the probe.
    Probe,
    /// The clock that the probe read, or the kernel's source of it.
    Clock,
    /// The load, or its rate.
    Load,
    /// The measured CPUs.
    Cpus,
    /// The length of the measurement: a maximum grows with it.
    Length,
}

impl Unlike {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Probe, Self::Clock, Self::Load, Self::Cpus, Self::Length];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Clock => "clock",
            Self::Load => "load",
            Self::Cpus => "cpus",
            Self::Length => "length",
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the kind of a difference in a column; `None` where systems may differ in it, or need not agree.
    pub(super) fn of_column(column: &str) -> Option<Self> {
        match column {
            "target" | "kernel" | "tuning" | "scheduling" | "limit" => None,
            "load" => Some(Self::Load),
            "cpus" => Some(Self::Cpus),
            _ => Some(Self::Probe),
        }
    }
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something in which the sides are unlike, although latido compared them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Despite {
    /// The kind.
    pub what: Unlike,
    /// The details in words.
    pub detail: String,
}

/// Returns what was found unlike, each once, if all of it is permitted.
///
/// # Errors
/// Some of it is not permitted; the error has the reasons and says how to permit them.
pub fn permitted(found: impl Iterator<Item = (Unlike, String)>, despite: &[Unlike]) -> Result<Vec<Despite>, String> {
    let mut all: Vec<Despite> = Vec::new();
    for (what, detail) in found {
        let one = Despite { what, detail };
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let reasons: Vec<&str> =
        all.iter().filter(|one| !despite.contains(&one.what)).map(|one| one.detail.as_str()).collect();
    if reasons.is_empty() {
        return Ok(all);
    }
    let kinds = Unlike::ALL.into_iter().filter(|kind| all.iter().any(|one| one.what == *kind));
    let kinds: Vec<&str> = kinds.map(Unlike::name).collect();
    Err(format!(
        "these are not alike: {}; that alone could explain a difference; --despite {} compares them anyway",
        reasons.join("; "),
        kinds.join(",")
    ))
}
