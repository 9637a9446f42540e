//! `cstates`: keeps the processors out of their idle states during measurements. On by default.

use crate::{
    machine::Root,
    setting::{Guard, Hold, Tuning, Wanted, knob},
    step::Form,
};
use anyhow::{Context, Result, bail};
use latido_model::{
    record::{Change, TuningRecord},
    registry::{self, Def, Objection},
    units::Ns,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
};

/// The knob. The request lasts while the file is open, so the kernel itself undoes it after any crash. Source:
/// Documentation/power/pm_qos_interface.rst.
const KNOB: &str = "/dev/cpu_dma_latency";

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "cstates",
    about: "keep CPUs out of idle states through /dev/cpu_dma_latency (on by default)",
    help: "\
Holds /dev/cpu_dma_latency at 0 µs while measuring, so that no CPU enters an idle state with an exit latency. This
flatters a system that will not hold it in the field: measure both ways. It is on unless you give `cstates:as-is`.

Options:
  mode      `hold` (default); `disable`: each state of each CPU that takes longer to leave is switched off, which lasts
            without a process that holds it; `as-is`: the idle states are left as they are
  latency   the longest exit latency allowed, whole microseconds with unit; default 0us

Kernel documents: Documentation/power/pm_qos_interface.rst, Documentation/admin-guide/pm/cpuidle.rst",
    main_option: Some("mode"),
    new: |table| {
        let read = registry::options::<Cstates>(table)?;
        if read.latency.0 % 1000 != 0 || read.us() > i32::MAX as u64 {
            let given = read.latency;
            return Err(Objection::Value(format!("`latency` is whole microseconds, not {given}")).into());
        }
        Ok(Box::new(read))
    },
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Cstates {
    mode: IdleMode,
    latency: Ns,
}

impl Default for Cstates {
    fn default() -> Self {
        Self { mode: IdleMode::Hold, latency: Ns(0) }
    }
}

impl Cstates {
    fn us(&self) -> u64 {
        self.latency.0 / 1000
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum IdleMode {
    #[default]
    Hold,
    Disable,
    AsIs,
}

impl Tuning for Cstates {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let us = self.us();
        match self.mode {
            IdleMode::AsIs => Ok(Wanted::default()),
            IdleMode::Disable => disable(root, us),
            IdleMode::Hold => {
                let hold: Hold = Box::new(move |root| hold(root, us as i32));
                Ok(Wanted { holds: vec![hold], ..Wanted::default() })
            }
        }
    }

    fn confirm(&self, root: &Root, record: &mut TuningRecord) {
        // Another program may request a lower latency, which is just as good.
        if self.mode == IdleMode::Hold {
            record.in_force = strictest(root).is_ok_and(|now| now <= self.us() as i64);
        }
    }
}

/// Disables each state of each CPU that has a longer exit latency.
fn disable(root: &Root, us: u64) -> Result<Wanted> {
    let mut steps = Vec::new();
    let mut states = 0;
    for cpu in knob::online(root)?.iter() {
        let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in root.list(&directory).iter().filter(|name| name.starts_with("state")) {
            states += 1;
            if root.value::<u64>(&format!("{directory}/{state}/latency")).is_some_and(|latency| latency > us) {
                steps.push(knob::step(root, &format!("{directory}/{state}/disable"), "1", Form::Plain, "")?);
            }
        }
    }
    if states == 0 {
        bail!(
            "the kernel manages no idle states here (no CPU has a directory cpuidle): in a virtual machine the host \
             does; else boot without cpuidle.off=1, or with idle=poll"
        );
    }
    let mut wanted = knob::wanted(steps);
    if wanted.steps.is_empty() {
        wanted.note = Some(format!("no idle state in use takes longer than {us} µs to leave: nothing was changed"));
    }
    Ok(wanted)
}

/// Opens the knob, and keeps it open with the requested latency.
fn hold(root: &Root, us: i32) -> Result<(Change, Guard)> {
    let original = strictest(root).map_or_else(|_| "not readable".into(), |us| format!("{us} µs"));
    let ask = || -> std::io::Result<File> {
        let mut file = OpenOptions::new().write(true).open(root.path(KNOB))?;
        file.write_all(&us.to_ne_bytes())?;
        Ok(file)
    };
    let file = ask().with_context(|| {
        format!("cannot hold {KNOB} at {us}: run as root, or leave idle states as they are with --tune cstates:as-is")
    })?;
    let change = Change { knob: KNOB.into(), original, new: format!("{} µs", strictest(root)?) };
    Ok((change, Box::new(file)))
}

/// Returns the strictest latency that any program requests now, in µs.
fn strictest(root: &Root) -> Result<i64> {
    let mut bytes = [0; 4];
    root.open(KNOB)?.read_exact(&mut bytes)?;
    Ok(i32::from_ne_bytes(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture::{
            trees::{self, by_hand},
            trial::{MakeMachine, Proof, applied, refusal},
        },
        journal::Journal,
    };
    use latido_model::cell::Item;

    /// ACPI's C2 of eight CPUs, PSCI's only deep state of four.
    #[test]
    fn it_is_applied_and_undone() {
        let machines: [(MakeMachine, u32, u32); 2] = [(&trees::server, 8, 2), (&trees::arm, 4, 1)];
        for (machine, cpus, state) in machines {
            let file = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable");
            let files: Vec<String> = (0..cpus).map(file).collect();
            let after: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "1\n")).collect();
            let proof = Proof {
                name: "cstates",
                options: "mode = 'disable'\nlatency = '10us'",
                machine,
                after: &after,
                other: (after[1].0, "2\n"),
                without: &[(after[0].0, "there is no")],
            };
            proof.holds();
        }
    }

    #[test]
    fn no_idle_states_are_an_error_and_none_too_deep_is_none() {
        let error = refusal("cstates", "mode = 'disable'", &trees::cgroup_v1());
        assert!(error.contains("no CPU has a directory cpuidle"), "{error}");
        let (_dir, mut journal) = Journal::scratch();
        let options = "mode = 'disable'\nlatency = '1ms'";
        let record = applied("cstates", options, &trees::arm().root, &mut journal).unwrap();
        assert!(record.in_force && record.note.unwrap().contains("no idle state in use"));
    }

    /// The request is in force unless the kernel reports a latency that allows more.
    #[test]
    fn a_hold_is_confirmed_by_what_the_kernel_reads_back() {
        let tree = by_hand(&[(super::KNOB, "")]);
        let tuning = Cstates { mode: IdleMode::Hold, latency: Ns(5_000) };
        let hold = tuning.wanted(&tree.root).unwrap().holds.pop().unwrap();
        let (change, _guard) = hold(&tree.root).unwrap();
        assert_eq!((change.original.as_str(), change.new.as_str()), ("not readable", "5 µs"));
        for (now, in_force) in [(0i32, true), (5, true), (6, false)] {
            std::fs::write(tree.root.path(super::KNOB), now.to_ne_bytes()).unwrap();
            let mut record = TuningRecord {
                item: Item::default(),
                changes: vec![],
                in_force: !in_force,
                note: None,
                programs: vec![],
            };
            tuning.confirm(&tree.root, &mut record);
            assert_eq!(record.in_force, in_force, "{now}");
        }
    }

    /// `tune apply` has no process that could keep the knob open.
    #[test]
    fn what_is_held_is_for_runs_alone() {
        let error = refusal("cstates", "", &trees::server());
        assert!(error.contains("as long as a process holds it"), "{error}");
    }
}
