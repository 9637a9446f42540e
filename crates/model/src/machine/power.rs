//! What the processors do to save power: frequency scaling and idle states.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// Frequency scaling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// Policies, equal ones merged; empty when the kernel does not scale, absent when sysfs is not readable.
    pub policies: Option<Vec<FrequencyPolicy>>,
    /// Whether frequencies above the nominal one are allowed (boost, turbo).
    pub boost: Option<bool>,
}

/// CPUs that scale by the same rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequencyPolicy {
    /// The CPUs.
    pub cpus: CpuSet,
    /// `intel_pstate`, `acpi-cpufreq`, ...
    pub driver: Option<String>,
    /// `performance`, `powersave`, ...
    pub governor: Option<String>,
    /// Lowest allowed frequency, kHz.
    pub min_khz: Option<u64>,
    /// Highest allowed frequency, kHz.
    pub max_khz: Option<u64>,
}

/// Idle states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// `intel_idle`, `acpi_idle`, ..., or `none`.
    pub driver: Option<String>,
    /// `menu`, `teo`, `haltpoll`, ...
    pub governor: Option<String>,
    /// The states of CPU 0, the shallowest first; empty if the kernel manages none.
    pub states: Vec<IdleState>,
}

/// One idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// `POLL`, `C1`, `C6`, ...
    pub name: String,
    /// Time to leave it, in us, as the driver states it.
    pub exit_latency_us: Option<u64>,
    /// Whether it is switched off.
    pub disabled: Option<bool>,
}

impl Idle {
    /// The longest stated exit latency among the states in use, with the state's name.
    pub fn deepest(&self) -> Option<(&str, u64)> {
        let used = self.states.iter().filter(|state| state.disabled != Some(true));
        used.filter_map(|state| Some((state.name.as_str(), state.exit_latency_us?))).max_by_key(|(_, us)| *us)
    }
}
