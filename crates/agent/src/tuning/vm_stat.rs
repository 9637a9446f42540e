//! `vm-stat`: how often each CPU folds its memory statistics.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::Form,
};
use anyhow::Result;
use latido_model::{
    registry::{self, Def, Objection},
    units::Ns,
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "vm-stat",
    about: "fold memory statistics rarely (vm.stat_interval)",
    help: "\
Every second a kernel thread runs on each CPU to add up its memory statistics: work that a busy real-time task has to
wait for. A long interval makes it rare.

Options:
  interval   whole seconds with unit; default 120s

Kernel document: Documentation/admin-guide/sysctl/vm.rst, stat_interval",
    main_option: Some("interval"),
    new: |table| {
        let read = registry::options::<VmStat>(table)?;
        if read.interval.0 < SECOND || read.interval.0 % SECOND != 0 {
            return Err(Objection::Value(format!("`interval` is whole seconds from 1s, not {}", read.interval)).into());
        }
        Ok(Box::new(read))
    },
};

const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct VmStat {
    interval: Ns,
}

impl Default for VmStat {
    fn default() -> Self {
        Self { interval: Ns::from_secs(120) }
    }
}

impl Tuning for VmStat {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str =
            "the kernel was built without CONFIG_VM_EVENT_COUNTERS or CONFIG_SMP: leave this tuning out";
        let seconds = (self.interval.0 / SECOND).to_string();
        knob::one(root, "/proc/sys/vm/stat_interval", &seconds, Form::Plain, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{trees, trial::Proof};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "vm-stat",
            options: "interval = '60s'",
            machine: &trees::server,
            after: &[("proc/sys/vm/stat_interval", "60\n")],
            other: ("proc/sys/vm/stat_interval", "10\n"),
            without: &[("proc/sys/vm/stat_interval", "CONFIG_SMP")],
        };
        proof.holds();
    }

    #[test]
    fn part_of_a_second_is_refused() {
        for text in ["interval = '0s'", "interval = '1500ms'"] {
            let error = (super::DEF.new)(text.parse().unwrap()).err().unwrap();
            assert!(error.to_string().contains("whole seconds"), "{error}");
        }
    }
}
