//! `timers`: whether idle CPUs hand their timers to busy ones.

use crate::{
    machine::Root,
    setting::{
        Tuning, Wanted,
        knob::{self, Switch},
    },
    step::Form,
};
use anyhow::Result;
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "timers",
    about: "keep timers on the CPU that armed them (kernel.timer_migration off)",
    help: "\
The kernel moves the timers of idle CPUs to busy ones to save power: then a timer of another task fires on the CPU that
is measured. Off, each timer stays where it was armed.

Options:
  migration   `off` (default) or `on`

Kernel document: Documentation/admin-guide/sysctl/kernel.rst, timer_migration",
    main_option: Some("migration"),
    new: |table| Ok(Box::new(registry::options::<Timers>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Timers {
    migration: Switch,
}

impl Tuning for Timers {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "the kernel was built without CONFIG_SMP or CONFIG_NO_HZ_COMMON, so no timer migrates: leave this tuning out";
        knob::one(root, "/proc/sys/kernel/timer_migration", self.migration.digit(), Form::Plain, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{trees, trial::Proof};

    #[test]
    fn it_is_applied_and_undone() {
        for machine in [trees::cgroup_v1, trees::cgroup_v2, trees::arm, trees::server] {
            let proof = Proof {
                name: "timers",
                options: "",
                machine: &machine,
                after: &[("proc/sys/kernel/timer_migration", "0\n")],
                other: ("proc/sys/kernel/timer_migration", "2\n"),
                without: &[("proc/sys/kernel/timer_migration", "CONFIG_NO_HZ_COMMON")],
            };
            proof.holds();
        }
    }
}
