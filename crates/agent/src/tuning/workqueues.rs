//! `workqueues`: where the kernel's unbound work runs.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, refusal},
};
use anyhow::{Result, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def},
};
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
        // The requested mask, if the kernel shows it. Partitions narrow it further, and end before this tuning does.
        let asked = format!("{PATH}_requested");
        let file = if root.exists(&asked) { asked.as_str() } else { PATH };
        let text = root.try_read(file).map_err(|error| refusal::of_read(root, file, ABSENT, &error))?;
        let left = knob::unmask(&text)?.without(&self.away);
        ensure!(
            !left.is_empty(),
            "away={} leaves no CPU for the kernel's unbound work ({PATH} says {text}): name fewer",
            self.away
        );
        knob::one(root, PATH, &knob::mask(&left), Form::Requested, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{
        trees,
        trial::{MakeMachine, Proof, refusal},
    };

    /// A kernel prints 32 of its possible CPUs per word. latido must write the same.
    #[test]
    fn it_is_applied_and_undone() {
        let cases: [(MakeMachine, &str, &str, &str); 2] =
            [(&trees::arm, "2-3", "3\n", "7\n"), (&trees::cgroup_v1, "0-31", "ff,00000000\n", "00,00000001\n")];
        for (machine, away, new, others) in cases {
            let proof = Proof {
                name: "workqueues",
                options: &format!("away = '{away}'"),
                machine,
                after: &[(&super::PATH[1..], new)],
                other: (&super::PATH[1..], others),
                without: &[(super::PATH, "before 4.1")],
            };
            proof.holds();
        }
    }

    /// A partition took CPU 1 out of the mask. When both are undone, the mask must contain it again.
    #[test]
    fn what_was_asked_for_is_put_back() {
        let tree = trees::cgroup_v2();
        let requested = format!("{}_requested", super::PATH);
        tree.write(super::PATH, "9\n");
        tree.write(&requested, "f\n");
        let tuning = super::Workqueues { away: "2".parse().unwrap() };
        let (done, _) = trees::apply(&tuning, &tree.root).unwrap();
        assert_eq!(tree.root.read(&requested).as_deref(), Some("b"));
        // The kernel shows what the partition leaves of it.
        tree.write(super::PATH, "9\n");
        trees::undo(&done, &tree.root);
        assert_eq!(tree.root.read(&requested).as_deref(), Some("f"));
    }

    #[test]
    fn some_cpu_must_be_left() {
        let error = refusal("workqueues", "away = '0-3'", &trees::arm());
        assert!(error.contains("leaves no CPU"), "{error}");
    }
}
