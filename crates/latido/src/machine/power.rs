//! What the processors do to save power: frequency scaling and idle states.

use super::Root;
use crate::cpus::{CpuSet, MAX_CPU};
use serde::{Deserialize, Serialize};

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";

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

impl Frequency {
    /// Reads /sys/devices/system/cpu/cpufreq, see Documentation/admin-guide/pm/cpufreq.rst.
    pub fn read(root: &Root) -> Self {
        let boost = root.flag(&format!("{CPUFREQ}/boost"));
        let no_turbo = root.flag("sys/devices/system/cpu/intel_pstate/no_turbo");
        let policies = root.exists("sys/devices/system/cpu").then(|| policies(root));
        Self { policies, boost: boost.or(no_turbo.map(|no| !no)) }
    }
}

fn policies(root: &Root) -> Vec<FrequencyPolicy> {
    let mut merged: Vec<FrequencyPolicy> = Vec::new();
    for name in root.list(CPUFREQ).iter().filter(|name| name.starts_with("policy")) {
        let path = |file: &str| format!("{CPUFREQ}/{name}/{file}");
        // The kernel separates these CPUs by blanks.
        let cpus = root.read(&path("affected_cpus")).unwrap_or_default();
        let new = FrequencyPolicy {
            cpus: cpus.split_whitespace().filter_map(|cpu| cpu.parse().ok()).filter(|cpu| *cpu <= MAX_CPU).collect(),
            driver: root.read(&path("scaling_driver")),
            governor: root.read(&path("scaling_governor")),
            min_khz: root.value(&path("scaling_min_freq")),
            max_khz: root.value(&path("scaling_max_freq")),
        };
        // The policy of CPUs that are off names none.
        if new.cpus.is_empty() {
            continue;
        }
        let rule = |p: &FrequencyPolicy| (p.driver.clone(), p.governor.clone(), p.min_khz, p.max_khz);
        match merged.iter_mut().find(|old| rule(old) == rule(&new)) {
            Some(old) => old.cpus.0.extend(new.cpus.iter()),
            None => merged.push(new),
        }
    }
    merged
}

/// Idle states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// `intel_idle`, `acpi_idle`, ..., or `none`.
    pub driver: Option<String>,
    /// `menu`, `teo`, `haltpoll`, ...
    pub governor: Option<String>,
    /// The states of CPU 0 from the lightest; empty when the kernel manages none.
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
    /// Reads /sys/devices/system/cpu/cpuidle, see Documentation/admin-guide/pm/cpuidle.rst.
    pub fn read(root: &Root) -> Self {
        let states = "sys/devices/system/cpu/cpu0/cpuidle";
        let governor = root.read(&format!("{CPUIDLE}/current_governor"));
        let state = |name: &String| {
            let path = |file: &str| format!("{states}/{name}/{file}");
            IdleState {
                name: root.read(&path("name")).unwrap_or_else(|| name.clone()),
                exit_latency_us: root.value(&path("latency")),
                disabled: root.flag(&path("disable")),
            }
        };
        Self {
            driver: root.read(&format!("{CPUIDLE}/current_driver")),
            governor: governor.or_else(|| root.read(&format!("{CPUIDLE}/current_governor_ro"))),
            states: root.list(states).iter().filter(|name| name.starts_with("state")).map(state).collect(),
        }
    }

    /// The longest stated exit latency among the states in use, with the state's name.
    pub fn deepest(&self) -> Option<(&str, u64)> {
        let used = self.states.iter().filter(|state| state.disabled != Some(true));
        used.filter_map(|state| Some((state.name.as_str(), state.exit_latency_us?))).max_by_key(|(_, us)| *us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture;

    /// What is written into a record must be read again: the reader refuses CPUs that no machine has.
    #[test]
    fn a_policy_of_impossible_cpus_is_left_out() {
        let tree = fixture::empty();
        tree.write("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 171336\n");
        let policies = policies(&tree.root);
        assert_eq!(policies.iter().map(|policy| policy.cpus.to_string()).collect::<Vec<_>>(), ["0"]);
    }
}
