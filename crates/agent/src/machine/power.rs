//! How the processors save power: frequency scaling and idle states.

use super::Root;
use latido_model::{
    cpus::MAX_CPU,
    machine::{Frequency, FrequencyPolicy, Idle, IdleState},
};

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";

/// Reads /sys/devices/system/cpu/cpufreq, see Documentation/admin-guide/pm/cpufreq.rst.
pub fn frequency(root: &Root) -> Frequency {
    let boost = root.flag(&format!("{CPUFREQ}/boost"));
    let no_turbo = root.flag("sys/devices/system/cpu/intel_pstate/no_turbo");
    let policies = root.exists("sys/devices/system/cpu").then(|| policies(root));
    Frequency { policies, boost: boost.or(no_turbo.map(|no| !no)) }
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
        // The policy of offline CPUs names no CPU.
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

/// Reads /sys/devices/system/cpu/cpuidle, see Documentation/admin-guide/pm/cpuidle.rst.
pub fn idle(root: &Root) -> Idle {
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
    Idle {
        driver: root.read(&format!("{CPUIDLE}/current_driver")),
        governor: governor.or_else(|| root.read(&format!("{CPUIDLE}/current_governor_ro"))),
        states: root.list(states).iter().filter(|name| name.starts_with("state")).map(state).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    /// A policy that goes into a record must be readable again: the reader refuses CPUs that no machine has.
    #[test]
    fn a_policy_of_impossible_cpus_is_left_out() {
        let tree = fixture::empty();
        tree.write("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 171336\n");
        let policies = policies(&tree.root);
        assert_eq!(policies.iter().map(|policy| policy.cpus.to_string()).collect::<Vec<_>>(), ["0"]);
    }
}
