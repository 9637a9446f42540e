//! `frequency`: keeps processors at one speed.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, Step},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "frequency",
    about: "one speed for all CPUs: governor performance, no turbo, minimum = maximum if requested",
    help: "\
A slowed-down CPU runs its first instructions slowly. Turbo depends on the temperature and on the load of other CPUs.

Options:
  governor   default `performance`; any that the driver offers, or `as-is`
  turbo      `off` (default) or `as-is`
  absent     where no CPU has a frequency that can be set: `refuse` (default), or `note`: nothing is changed, and the record
             says why
  fixed      `no` (default), or `max`: minimum and maximum frequency are both the highest allowed one (without turbo, the
             nominal one where the driver reports it)

Kernel documents: Documentation/admin-guide/pm/cpufreq.rst, Documentation/admin-guide/pm/intel_pstate.rst",
    main_option: Some("governor"),
    new: |table| Ok(Box::new(registry::options::<Frequencies>(table)?)),
};

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const MIN_PERF: &str = "/sys/devices/system/cpu/intel_pstate/min_perf_pct";
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Frequencies {
    governor: String,
    turbo: Turbo,
    fixed: Fixed,
    absent: WhereAbsent,
}

/// What latido does on a machine without settable frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WhereAbsent {
    #[default]
    Refuse,
    Note,
}

impl Default for Frequencies {
    fn default() -> Self {
        Self { governor: "performance".into(), turbo: Turbo::Off, fixed: Fixed::No, absent: WhereAbsent::Refuse }
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

impl Tuning for Frequencies {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let policies: Vec<String> = root
            .list(CPUFREQ)
            .into_iter()
            .filter(|name| name.starts_with("policy"))
            // The policy of offline CPUs lists no CPU and refuses everything.
            .filter(|name| root.read(&format!("{CPUFREQ}/{name}/affected_cpus")).is_some_and(|cpus| !cpus.is_empty()))
            .collect();
        if policies.is_empty() && self.absent == WhereAbsent::Note {
            let note = format!("no CPU has a frequency that can be set ({CPUFREQ} has no policy): nothing was changed");
            return Ok(Wanted { note: Some(note), ..Wanted::default() });
        }
        if policies.is_empty() {
            bail!(
                "no CPU has a frequency that can be set ({CPUFREQ} has no policy): in a virtual machine set it on the \
                 host, else load a driver (modprobe acpi-cpufreq) or allow the system to scale in the firmware's setup"
            );
        }
        let mut steps = Vec::new();
        for name in &policies {
            let policy = format!("{CPUFREQ}/{name}");
            if self.governor != "as-is" {
                steps.extend(governor(root, &policy, &self.governor)?);
            }
            if self.fixed == Fixed::Max {
                steps.extend(fix(root, &policy, self.turbo)?);
            }
        }
        // This comes last, and so latido undoes it first. Without turbo the kernel clamps the frequencies that turbo allows, and they would
        // be read back clamped.
        let mut note = None;
        if self.turbo == Turbo::Off {
            let switches = switches(root, &policies)?;
            note = switches.is_empty().then(|| NO_SWITCH.to_string());
            steps.extend(switches);
        }
        let mut wanted = knob::wanted(steps);
        wanted.note = wanted.note.or(note);
        Ok(wanted)
    }
}

const NO_SWITCH: &str = "there is no switch for turbo here: neither boost nor intel_pstate/no_turbo";

/// Returns the steps that forbid turbo. Some of them may have nothing to do. Empty if there is no switch.
fn switches(root: &Root, policies: &[String]) -> Result<Vec<Option<Step>>> {
    let off = |path: &str, off: &str| knob::step(root, path, off, Form::Plain, "");
    if root.exists(NO_TURBO) {
        // The kernel lowers this with the switch, and does not raise it again.
        let least = Step::kept(root, MIN_PERF, Form::Plain);
        let step = off(NO_TURBO, "1")?;
        return Ok(vec![least.filter(|_| step.is_some()), step]);
    }
    // The global switch sets that of each policy. If some were off already, undoing it would turn them on, so latido does not use it.
    let own = |name: &String| Some(format!("{CPUFREQ}/{name}/boost")).filter(|path| root.exists(path));
    let own: Vec<String> = policies.iter().filter_map(own).collect();
    let some_off = own.iter().any(|path| root.read(path).as_deref() == Some("0"));
    match root.exists(BOOST) {
        true if some_off => own.iter().map(|path| off(path, "0")).collect(),
        true => Ok(vec![off(BOOST, "0")?]),
        false => own.iter().map(|path| off(path, "0")).collect(),
    }
}

/// Returns the steps to a governor. They also remember what the kernel forgets with the previous governor.
fn governor(root: &Root, policy: &str, wanted: &str) -> Result<Vec<Option<Step>>> {
    let offered = root.read(&format!("{policy}/scaling_available_governors")).unwrap_or_default();
    ensure!(
        offered.is_empty() || offered.split_whitespace().any(|one| one == wanted),
        "{policy} has no governor `{wanted}`; it has {offered}: modprobe cpufreq_{wanted} where that is a module"
    );
    let path = format!("{policy}/scaling_governor");
    let step = knob::step(root, &path, wanted, Form::Plain, "the driver has no governors")?;
    let mut steps: Vec<Option<Step>> = Vec::new();
    if let Some(Step::Value { original, .. }) = &step {
        // The settings of a governor belong to the policy or to all policies (Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling
        // Governors"), and disappear with the governor.
        for dir in [format!("{policy}/{original}"), format!("{CPUFREQ}/{original}")] {
            steps.extend(root.list(&dir).iter().map(|file| Step::kept(root, &format!("{dir}/{file}"), Form::Plain)));
        }
        let speed =
            (original == "userspace").then(|| Step::kept(root, &format!("{policy}/scaling_setspeed"), Form::Plain));
        steps.push(speed.flatten());
    }
    steps.push(step);
    Ok(steps)
}

/// Returns the steps that set minimum and maximum to the highest frequency that stays allowed.
fn fix(root: &Root, policy: &str, turbo: Turbo) -> Result<[Option<Step>; 2]> {
    let khz = |file: &str| root.value::<u64>(&format!("{policy}/{file}"));
    let max = khz("scaling_max_freq").with_context(|| format!("{policy}/scaling_max_freq is not readable"))?;
    // The available frequencies leave out those that only boost reaches.
    let available = root.read(&format!("{policy}/scaling_available_frequencies")).unwrap_or_default();
    let nominal = match turbo {
        Turbo::Off => khz("base_frequency").or_else(|| available.split_whitespace().flat_map(str::parse).max()),
        Turbo::AsIs => None,
    };
    let target = nominal.map_or(max, |nominal| nominal.min(max)).to_string();
    let set = |file: &str| knob::step(root, &format!("{policy}/{file}"), &target, Form::Plain, "");
    // The minimum comes first, so that it is never above the maximum, not even while latido undoes the steps.
    Ok([set("scaling_min_freq")?, set("scaling_max_freq")?])
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees::{self, by_hand},
            trial::{Proof, applied, refusal},
        },
        journal::Journal,
    };

    const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

    /// latido must not fix a frequency that only boost reaches.
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

    /// acpi-cpufreq has a policy per CPU, and no switch if the processor has no boost.
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

    /// Written by hand: intel_pstate needs registers that no emulated processor has.
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
            ("sys/devices/system/cpu/intel_pstate/min_perf_pct", "90\n"),
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

    /// Written by hand, as above. What the kernel changes or forgets in addition must be restored afterwards.
    #[test]
    fn what_goes_with_a_switch_comes_back() {
        let files = [
            ("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/schedutil/rate_limit_us", "500\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("sys/devices/system/cpu/intel_pstate/min_perf_pct", "90\n"),
        ];
        let tree = by_hand(&files);
        let (done, _) = trees::apply(&super::Frequencies::default(), &tree.root).unwrap();
        // The kernel clamps the minimum, and a governor that comes back has its defaults.
        tree.write(files[4].0, "59\n");
        tree.write(files[2].0, "10000\n");
        trees::undo(&done, &tree.root);
        for (path, text) in files {
            assert_eq!(tree.root.read(path).as_deref(), Some(text.trim()), "{path}");
        }
    }

    /// One of two policies is without boost already: the global switch would turn it on.
    #[test]
    fn boost_that_was_off_stays_off() {
        let tree = by_hand(&[
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/boost", "1\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/affected_cpus", "1\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/boost", "0\n"),
        ]);
        let (done, _) = trees::apply(&super::Frequencies::default(), &tree.root).unwrap();
        let paths: Vec<String> = done.iter().map(|step| step.change().knob).collect();
        assert_eq!(paths, ["/sys/devices/system/cpu/cpufreq/policy0/boost"]);
        trees::undo(&done, &tree.root);
    }

    /// A plan for any machine fixes the frequency if there is one, and otherwise notes that there is none.
    #[test]
    fn where_there_is_none_it_may_be_noted_instead() {
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("frequency", "absent = 'note'", &trees::cgroup_v1().root, &mut journal).unwrap();
        assert!(record.changes.is_empty() && record.note.unwrap().contains("nothing was changed"));
        let record = applied("frequency", "absent = 'note'", &trees::server().root, &mut journal).unwrap();
        assert!(!record.changes.is_empty(), "where there is one it is set");
    }

    #[test]
    fn what_the_machine_does_not_have_is_named() {
        let error = refusal("frequency", "", &trees::cgroup_v1());
        assert!(error.contains("no CPU has a frequency that can be set"), "{error}");
        let error = refusal("frequency", "governor = 'conservative'", &trees::server());
        assert!(error.contains("it has ondemand performance schedutil"), "{error}");
    }
}
