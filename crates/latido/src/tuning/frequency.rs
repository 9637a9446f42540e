//! `frequency`: processors at one speed.

use super::{
    Tuning, Wanted, knob,
    step::{Form, Step},
};
use crate::{
    machine::Root,
    registry::{self, Def},
};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "frequency",
    about: "one speed for all CPUs: governor performance, no turbo, minimum = maximum if asked",
    help: "\
A CPU that was slowed down runs its first instructions slowly; turbo comes and goes with temperature and neighbours.

Options:
  governor   default `performance`; any that the driver offers, or `as-is`
  turbo      `off` (default) or `as-is`
  fixed      `no` (default), or `max`: minimum and maximum frequency are both the highest allowed one (without turbo, the
             nominal one where the driver tells it)

Kernel documents: Documentation/admin-guide/pm/cpufreq.rst, Documentation/admin-guide/pm/intel_pstate.rst",
    main_option: Some("governor"),
    new: |table| Ok(Box::new(registry::options::<Frequency>(table)?)),
};

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Frequency {
    governor: String,
    turbo: Turbo,
    fixed: Fixed,
}

impl Default for Frequency {
    fn default() -> Self {
        Self { governor: "performance".into(), turbo: Turbo::Off, fixed: Fixed::No }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Turbo {
    #[default]
    Off,
    AsIs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fixed {
    #[default]
    No,
    Max,
}

impl Tuning for Frequency {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let policies: Vec<String> = root
            .list(CPUFREQ)
            .into_iter()
            .filter(|name| name.starts_with("policy"))
            // The policy of CPUs that are off names none and refuses everything.
            .filter(|name| root.read(&format!("{CPUFREQ}/{name}/affected_cpus")).is_some_and(|cpus| !cpus.is_empty()))
            .collect();
        if policies.is_empty() {
            bail!(
                "no CPU has a frequency that can be set ({CPUFREQ} has no policy): in a virtual machine set it on the \
                 host, else load a driver (modprobe acpi-cpufreq) or allow the system to scale in the firmware's setup"
            );
        }
        let mut steps = Vec::new();
        let mut note = None;
        // First: it changes what the highest frequency is.
        match switch(root) {
            _ if self.turbo == Turbo::AsIs => {}
            Some((path, off)) => steps.push(knob::step(root, path, off, Form::Plain, "")?),
            None => note = Some("there is no switch for turbo here: neither boost nor intel_pstate/no_turbo".into()),
        }
        for name in &policies {
            let policy = format!("{CPUFREQ}/{name}");
            if self.governor != "as-is" {
                steps.push(governor(root, &policy, &self.governor)?);
            }
            if self.fixed == Fixed::Max {
                steps.extend(fix(root, &policy, self.turbo)?);
            }
        }
        let mut wanted = knob::wanted(steps);
        wanted.note = wanted.note.or(note);
        Ok(wanted)
    }
}

/// The file that forbids turbo, and what it says then.
fn switch(root: &Root) -> Option<(&'static str, &'static str)> {
    [(NO_TURBO, "1"), (BOOST, "0")].into_iter().find(|(path, _)| root.exists(path))
}

fn governor(root: &Root, policy: &str, wanted: &str) -> Result<Option<Step>> {
    let offered = root.read(&format!("{policy}/scaling_available_governors")).unwrap_or_default();
    ensure!(
        offered.is_empty() || offered.split_whitespace().any(|one| one == wanted),
        "{policy} has no governor `{wanted}`; it has {offered}: modprobe cpufreq_{wanted} where that is a module"
    );
    knob::step(root, &format!("{policy}/scaling_governor"), wanted, Form::Plain, "the driver has no governors")
}

/// Minimum and maximum, both at the highest frequency that stays allowed.
fn fix(root: &Root, policy: &str, turbo: Turbo) -> Result<[Option<Step>; 2]> {
    let khz = |file: &str| root.value::<u64>(&format!("{policy}/{file}"));
    let max = khz("scaling_max_freq").with_context(|| format!("{policy}/scaling_max_freq is not readable"))?;
    // What boost alone reaches is not among the available ones.
    let available = root.read(&format!("{policy}/scaling_available_frequencies")).unwrap_or_default();
    let nominal = match turbo {
        Turbo::Off => khz("base_frequency").or_else(|| available.split_whitespace().flat_map(str::parse).max()),
        Turbo::AsIs => None,
    };
    let target = nominal.map_or(max, |nominal| nominal.min(max)).to_string();
    let set = |file: &str| knob::step(root, &format!("{policy}/{file}"), &target, Form::Plain, "");
    // The minimum first: it must never be above the maximum, on the way back neither.
    Ok([set("scaling_min_freq")?, set("scaling_max_freq")?])
}

#[cfg(test)]
mod tests {
    use crate::{
        agent::journal::Journal,
        tuning::{
            trees::{self, by_hand},
            trial::{Proof, applied, refusal},
        },
    };

    const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

    /// What boost alone reaches is no speed to be fixed at.
    #[test]
    fn a_board_is_fixed_at_its_highest_speed_without_boost() {
        let proof = Proof {
            name: "frequency",
            options: "fixed = 'max'",
            machine: &trees::arm,
            after: &[
                ("sys/devices/system/cpu/cpufreq/boost", "0\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "1200000\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1200000\n"),
            ],
            other: ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            without: &[
                ("sys/devices/system/cpu/cpufreq", "has no policy"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "no governors"),
            ],
        };
        proof.holds();
    }

    /// acpi-cpufreq: a policy for each CPU, and no switch where the processor has no boost.
    #[test]
    fn a_server_has_a_policy_for_each_cpu() {
        let governors: Vec<String> = (0..8).map(|cpu| format!("{CPUFREQ}/policy{cpu}/scaling_governor")).collect();
        let after: Vec<(&str, &str)> = governors.iter().map(|path| (path.as_str(), "performance\n")).collect();
        let other = (after[7].0, "ondemand\n");
        let machine = &trees::server;
        Proof { name: "frequency", options: "", machine, after: &after, other, without: &[] }.holds();
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("frequency", "", &machine().root, &mut journal).unwrap();
        assert!(record.note.unwrap().contains("no switch for turbo"));
    }

    /// By hand: intel_pstate needs registers that no emulated processor has.
    #[test]
    fn intel_pstate_has_a_switch_and_tells_the_nominal_speed() {
        let files = [
            ("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1 2 3\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "400000\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "4700000\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/base_frequency", "2800000\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ];
        let proof = Proof {
            name: "frequency",
            options: "fixed = 'max'",
            machine: &|| by_hand(&files),
            after: &[
                ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "2800000\n"),
                ("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2800000\n"),
            ],
            other: ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n"),
            without: &[],
        };
        proof.holds();
    }

    #[test]
    fn what_the_machine_does_not_have_is_named() {
        let error = refusal("frequency", "", &trees::cgroup_v1());
        assert!(error.contains("no CPU has a frequency that can be set"), "{error}");
        let error = refusal("frequency", "governor = 'conservative'", &trees::server());
        assert!(error.contains("it has ondemand performance schedutil"), "{error}");
    }
}
