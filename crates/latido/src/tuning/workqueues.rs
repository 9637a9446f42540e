//! `workqueues`: where the kernel's unbound work runs.

use super::{Tuning, Wanted, knob, refusal, step::Form};
use crate::{
    cpus::CpuSet,
    machine::Root,
    registry::{self, Def},
};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "workqueues",
    about: "keep the kernel's unbound work off the given CPUs",
    help: "\
Deferred work of the kernel (disk writeback, network, file systems) that is not bound to a CPU runs on any; the mask
keeps it off those that are measured. Work that is bound to a CPU stays there.

Options:
  away   the CPUs to be kept free, for example 1 or 2-5; required

Kernel document: Documentation/core-api/workqueue.rst, affinity scopes",
    main_option: Some("away"),
    new: |table| Ok(Box::new(registry::options::<Workqueues>(table)?)),
};

const PATH: &str = "/sys/devices/virtual/workqueue/cpumask";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workqueues {
    away: CpuSet,
}

impl Tuning for Workqueues {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "kernels before 4.1 have no mask for unbound work: leave this tuning out";
        let text = root.try_read(PATH).map_err(|error| refusal::of_read(root, PATH, ABSENT, &error))?;
        let left = knob::unmask(&text)?.without(&self.away);
        ensure!(
            !left.is_empty(),
            "away={} leaves no CPU for the kernel's unbound work ({PATH} says {text}): name fewer",
            self.away
        );
        knob::one(root, PATH, &knob::mask(&left), Form::Mask, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::tuning::trial::{Proof, machine, refusal};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "workqueues",
            options: "away = '2-3'",
            files: &[("sys/devices/virtual/workqueue/cpumask", "f\n")],
            after: &[("sys/devices/virtual/workqueue/cpumask", "3\n")],
            other: ("sys/devices/virtual/workqueue/cpumask", "7\n"),
            without: &[("sys/devices/virtual/workqueue/cpumask", "before 4.1")],
        };
        proof.holds();
    }

    /// A server prints 32 bits to a word; the same are written.
    #[test]
    fn many_cpus_make_many_words() {
        let files = [(&super::PATH[1..], "00ffffff,ffffffff\n")];
        let proof = Proof {
            name: "workqueues",
            options: "away = '0-31'",
            files: &files,
            after: &[(&super::PATH[1..], "00ffffff,00000000\n")],
            other: (&super::PATH[1..], "00000000,00000001\n"),
            without: &[],
        };
        proof.holds();
    }

    #[test]
    fn some_cpu_must_be_left() {
        let error = refusal("workqueues", "away = '0-3'", &machine(&[(&super::PATH[1..], "f\n")]));
        assert!(error.contains("leaves no CPU"), "{error}");
    }
}
