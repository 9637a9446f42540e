//! `numa-balancing`: whether the kernel moves memory to the node that uses it.

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
    name: "numa-balancing",
    about: "stop the kernel from moving pages between NUMA nodes (kernel.numa_balancing off)",
    help: "\
Balancing unmaps pages to see who touches them: page faults, and pages copied, in the middle of real-time work.

Options:
  balancing   `off` (default) or `on`

Kernel document: Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
    main_option: Some("balancing"),
    new: |table| Ok(Box::new(registry::options::<NumaBalancing>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NumaBalancing {
    balancing: Switch,
}

impl Tuning for NumaBalancing {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str =
            "the kernel was built without CONFIG_NUMA_BALANCING, so nothing is balanced: leave this tuning out";
        knob::one(root, "/proc/sys/kernel/numa_balancing", self.balancing.digit(), Form::Plain, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees,
            trial::{Proof, applied, refusal},
        },
        journal::Journal,
    };

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "numa-balancing",
            options: "",
            machine: &trees::server,
            after: &[("proc/sys/kernel/numa_balancing", "0\n")],
            other: ("proc/sys/kernel/numa_balancing", "2\n"),
            without: &[],
        };
        proof.holds();
    }

    /// PREEMPT_RT excludes it.
    #[test]
    fn a_kernel_without_it_says_so() {
        assert!(refusal("numa-balancing", "", &trees::cgroup_v2()).contains("CONFIG_NUMA_BALANCING"));
    }

    /// Nothing to do is said, and changes nothing.
    #[test]
    fn a_machine_that_is_so_already_is_left_alone() {
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("numa-balancing", "", &trees::arm().root, &mut journal).unwrap();
        assert!(record.in_force && record.changes.is_empty());
        assert!(record.note.unwrap().contains("already"));
    }
}
