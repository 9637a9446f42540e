//! `boot`: settings that only the kernel's command line can make. latido recognises and records them, and never applies them.

use crate::machine;
use crate::{
    machine::Root,
    setting::{Tuning, Wanted},
};
use anyhow::{Context, Result, bail};
use latido_model::{
    cpus::CpuSet,
    registry::{Def, Objection},
};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "boot",
    about: "boot parameters (isolcpus, nohz_full, rcu_nocbs, threadirqs, ...): required, never applied",
    help: "\
Parameters that only a reboot changes. latido refuses a run unless the running kernel was booted with exactly these;
`latido tune apply boot:...` prints which ones to add. Both record which ones the kernel has.

Options: the parameters themselves, as on the kernel's command line. Those without a value can stand between commas:
boot:threadirqs,isolcpus=domain,managed_irq,1,nohz_full=1,rcu_nocbs=1 (in a plan: threadirqs = true)

  isolcpus, nohz_full, rcu_nocbs, irqaffinity, kthread_cpus     CPUs
  threadirqs, nosmt, nosoftlockup, nowatchdog, rcu_nocb_poll    no value
  idle, preempt, mitigations, skew_tick, tsc, clocksource, transparent_hugepage, intel_pstate, amd_pstate,
  nmi_watchdog, rt_group_sched, lockdown, cpuidle.off, intel_idle.max_cstate, processor.max_cstate,
  cpufreq.default_governor, rcutree.kthread_prio, workqueue.unbound_cpus

Kernel document: Documentation/admin-guide/kernel-parameters.txt",
    main_option: Some(PLAIN),
    new: |table| Ok(Box::new(BootParameters { wanted: read(table)? })),
};

/// The option that a leading word without a name sets: parameters without a value.
const PLAIN: &str = "parameters";

/// Parameters with a value.
const VALUED: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "kthread_cpus",
    "idle",
    "preempt",
    "mitigations",
    "skew_tick",
    "tsc",
    "clocksource",
    "transparent_hugepage",
    "intel_pstate",
    "amd_pstate",
    "nmi_watchdog",
    "rt_group_sched",
    "lockdown",
    "cpuidle.off",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "cpufreq.default_governor",
    "rcutree.kthread_prio",
    "workqueue.unbound_cpus",
];

/// Parameters without a value.
const FLAGS: &[&str] = &["threadirqs", "nosmt", "nosoftlockup", "nowatchdog", "rcu_nocb_poll"];

/// The configuration options with which a kernel must be built to obey these parameters.
const BUILT: &[(&str, &str)] = &[("nohz_full", "NO_HZ_FULL"), ("rcu_nocbs", "RCU_NOCB_CPU")];

/// Parameters by name; `None` for those without a value.
type Parameters = BTreeMap<String, Option<String>>;

#[derive(Debug)]
struct BootParameters {
    wanted: Parameters,
}

impl Tuning for BootParameters {
    fn options(&self) -> Table {
        let value = |value: &Option<String>| value.clone().map_or(Value::Boolean(true), Value::String);
        self.wanted.iter().map(|(name, one)| (name.clone(), value(one))).collect()
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let line = root.try_read("proc/cmdline").context("/proc/cmdline cannot be read")?;
        let there = recognised(&line);
        let note = format!("the kernel was booted with {}", shown(&there));
        let missing: Parameters = self
            .wanted
            .iter()
            .filter(|(name, value)| !there.get(*name).is_some_and(|found| same(found, value)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if missing.is_empty() {
            ignored(root, &self.wanted)?;
            return Ok(Wanted { note: Some(note), ..Wanted::default() });
        }
        let mut text = format!(
            "the running kernel was not booted with {}. Add to its command line:\n  {}",
            shown(&missing),
            shown(&missing)
        );
        let other: Parameters = there.into_iter().filter(|(name, _)| missing.contains_key(name)).collect();
        if !other.is_empty() {
            text.push_str(&format!("\nin place of\n  {}", shown(&other)));
        }
        for (name, option) in BUILT.iter().filter(|(name, _)| missing.contains_key(*name)) {
            let release = root.read("proc/sys/kernel/osrelease").unwrap_or_default();
            if machine::config(root, &release).and_then(|config| config.is_on(option)) == Some(false) {
                text.push_str(&format!("\nThis kernel ignores {name}=: it was built without CONFIG_{option}."));
            }
        }
        text.push_str(
            "\nwith GRUB in GRUB_CMDLINE_LINUX of /etc/default/grub, then update-grub (or grubby --update-kernel=ALL \
             --args=...); on a Raspberry Pi in cmdline.txt. Then reboot.",
        );
        bail!("{text}")
    }
}

/// Reads the requested parameters.
fn read(table: Table) -> Result<Parameters> {
    let mut wanted = Parameters::new();
    let known = || VALUED.iter().chain(FLAGS).map(|name| (*name).to_string()).collect();
    for (key, value) in table {
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Boolean(true) if FLAGS.contains(&key.as_str()) => String::new(),
            Value::Integer(number) => number.to_string(),
            other => return Err(Objection::Value(format!("`{key}` cannot be {other}")).into()),
        };
        let mut pieces: Vec<&str> = text.split(',').map(str::trim).filter(|piece| !piece.is_empty()).collect();
        if key == PLAIN {
            for piece in pieces {
                let (name, value) = piece.split_once('=').map_or((piece, None), |(name, value)| (name, Some(value)));
                check(name, value.is_some())?;
                wanted.insert(name.into(), value.map(String::from));
            }
            continue;
        }
        if !VALUED.contains(&key.as_str()) && !FLAGS.contains(&key.as_str()) {
            return Err(Objection::Unknown { key, known: known() }.into());
        }
        // On the command line a word without `=` came with the value before it.
        while let Some(flag) = pieces.last().copied().filter(|piece| FLAGS.contains(piece)) {
            wanted.insert(flag.into(), None);
            pieces.pop();
        }
        check(&key, !pieces.is_empty())?;
        wanted.insert(key, (!pieces.is_empty()).then(|| pieces.join(",")));
    }
    if wanted.is_empty() {
        return Err(Objection::Missing(PLAIN.into()).into());
    }
    Ok(wanted)
}

/// Checks that the parameter exists and has a value if it needs one.
fn check(name: &str, valued: bool) -> Result<()> {
    if FLAGS.contains(&name) && !valued || VALUED.contains(&name) && valued {
        return Ok(());
    }
    let sentence = match (FLAGS.contains(&name), VALUED.contains(&name)) {
        (true, _) => format!("the boot parameter `{name}` has no value"),
        (_, true) => format!("the boot parameter `{name}` needs a value: {name}=..."),
        _ => format!("`{name}` is not a boot parameter known here; `latido help boot` lists them"),
    };
    Err(Objection::Value(sentence).into())
}

/// Returns the known parameters of a command line. The last one of a name counts, and what follows `--` is for init.
fn recognised(line: &str) -> Parameters {
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let pairs = words.map(|word| match word.split_once('=') {
        Some((name, value)) => (name, Some(value.trim_matches('"').to_string())),
        None => (word, None),
    });
    // The kernel treats a dash and an underscore in a name as equal.
    let all = VALUED.iter().chain(FLAGS);
    let name = |word: &str| all.clone().find(|name| name.replace('-', "_") == word.replace('-', "_"));
    pairs.filter_map(|(word, value)| Some(((*name(word)?).to_string(), value))).collect()
}

/// Tells whether two values are equivalent: equal words, or lists of the same CPUs.
fn same(found: &Option<String>, wanted: &Option<String>) -> bool {
    let cpus = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<CpuSet>().ok());
    found == wanted || cpus(found).is_some_and(|found| cpus(wanted) == Some(found))
}

/// Formats them as on the command line.
fn shown(parameters: &Parameters) -> String {
    let one = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    };
    match parameters.is_empty() {
        true => "none of the parameters that latido knows".into(),
        false => parameters.iter().map(one).collect::<Vec<_>>().join(" "),
    }
}

/// Fails if the kernel was booted with a parameter and did not obey it.
fn ignored(root: &Root, wanted: &Parameters) -> Result<()> {
    for (name, file) in [("isolcpus", "isolated"), ("nohz_full", "nohz_full")] {
        let Some(value) = wanted.get(name).and_then(Option::as_ref) else { continue };
        // isolcpus= begins with words: domain, managed_irq, nohz.
        let list: Vec<&str> =
            value.split(',').filter(|piece| piece.starts_with(|c: char| c.is_ascii_digit())).collect();
        let path = format!("sys/devices/system/cpu/{file}");
        let (Ok(asked), Some(found)) = (list.join(",").parse::<CpuSet>(), root.read(&path)) else { continue };
        let in_force = found.parse::<CpuSet>().unwrap_or_default();
        // Words before the CPUs replace the default `domain`, and only `domain` isolates.
        let mut words =
            value.split(',').filter(|piece| piece.starts_with(|c: char| c.is_ascii_alphabetic())).peekable();
        let isolates = words.peek().is_none() || words.any(|word| word == "domain");
        if isolates && !asked.without(&in_force).is_empty() {
            bail!(
                "the kernel was booted with {name}={value} but does not apply it: /{path} contains `{found}`; see dmesg"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture::{
            trees::{self, Tree},
            trial::{applied, refusal},
        },
        journal::Journal,
    };

    fn note(options: &str, tree: &Tree) -> Result<String> {
        let (_dir, mut journal) = Journal::scratch();
        Ok(applied("boot", options, &tree.root, &mut journal)?.note.unwrap_or_default())
    }

    /// The machine was booted with nohz-full=, with a dash, and with `idle=poll` after the dashes that end the kernel's part.
    #[test]
    fn what_is_there_is_recognised_and_recorded() {
        for options in ["nohz_full = '3'", "rcu_nocbs = '2,3'", "isolcpus = 'managed_irq,3'\nnohz_full = 3"] {
            let note = note(options, &trees::cgroup_v2()).unwrap();
            assert_eq!(note, "the kernel was booted with isolcpus=managed_irq,3 nohz_full=3 rcu_nocbs=2-3");
        }
        let note = note("parameters = 'threadirqs'", &trees::server()).unwrap();
        assert_eq!(note, "the kernel was booted with threadirqs");
    }

    #[test]
    fn what_is_missing_is_never_applied_but_printed() {
        let tree = trees::cgroup_v2();
        let error = refusal("boot", "nohz_full = '2-3'\nidle = 'poll'\nthreadirqs = true", &tree);
        assert!(error.contains("\n  idle=poll nohz_full=2-3 threadirqs\nin place of\n  nohz_full=3\n"), "{error}");
        assert!(!error.contains("built without"), "{error}");
        // All recorded kernels have the option.
        let config = format!("boot/config-{}", tree.root.read("proc/sys/kernel/osrelease").unwrap());
        let text = tree.root.read(&config).unwrap();
        assert!(text.contains("CONFIG_NO_HZ_FULL=y"), "{text}");
        tree.write(&config, &text.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set"));
        let error = refusal("boot", "nohz_full = '2-3'", &tree);
        assert!(error.contains("built without CONFIG_NO_HZ_FULL"), "{error}");
    }

    /// The line alone proves nothing: what the kernel reports about its CPUs does.
    #[test]
    fn a_kernel_that_did_not_listen_is_found_out() {
        let tree = trees::cgroup_v2();
        tree.write("sys/devices/system/cpu/nohz_full", "\n");
        assert!(note("nohz_full = 3", &tree).unwrap_err().to_string().contains("does not apply it"));
        // Without the word `domain`, nothing is isolated; with it, the CPUs must show.
        assert!(note("isolcpus = 'managed_irq,3'", &tree).is_ok());
        tree.write("proc/cmdline", "isolcpus=domain,managed_irq,2-3 quiet\n");
        let isolated = || note("isolcpus = 'domain,managed_irq,2-3'", &tree);
        assert!(isolated().unwrap_err().to_string().contains("does not apply it"));
        tree.write("sys/devices/system/cpu/isolated", "2-3\n");
        assert!(isolated().is_ok());
    }

    #[test]
    fn words_are_read_as_they_are_typed() {
        let read = |text: &str| read(text.parse().unwrap()).map(|all| shown(&all)).map_err(|error| error.to_string());
        assert_eq!(read("rcu_nocbs = '1,threadirqs'").unwrap(), "rcu_nocbs=1 threadirqs");
        assert_eq!(read("parameters = 'nosmt,threadirqs'").unwrap(), "nosmt threadirqs");
        assert!(read("isolcpu = '1'").unwrap_err().contains("did you mean `isolcpus`"));
        assert!(read("isolcpus = ''").unwrap_err().contains("needs a value"));
        assert!(read("threadirqs = 'yes'").unwrap_err().contains("has no value"));
        assert!(read("nohz_full = true").unwrap_err().contains("cannot be"));
        assert!(read("").is_err());
    }
}
