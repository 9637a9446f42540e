//! `preempt`: the preemption model of a kernel that can change it while it runs.

use super::{Tuning, Wanted, knob, step::Form};
use crate::{
    machine::Root,
    registry::{self, Def},
};
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "preempt",
    about: "the preemption model of a dynamic kernel: none, voluntary, full or lazy",
    help: "\
How soon kernel work for another task gives way to a real-time task. Kernels built with CONFIG_PREEMPT_DYNAMIC change
it at run time through debugfs; PREEMPT_RT is a kernel of its own (and may have `full` and `lazy`).

Options:
  model   `none`, `voluntary`, `full` or `lazy`; required. The kernel says which of them it has.

Where debugfs is refused (kernel lockdown, Secure Boot), boot with preempt=MODEL instead: the tuning `boot`.

Kernel document: Documentation/admin-guide/kernel-parameters.txt, preempt=; kernel/Kconfig.preempt",
    main_option: Some("model"),
    new: |table| Ok(Box::new(registry::options::<Preempt>(table)?)),
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preempt {
    model: Model,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Model {
    None,
    Voluntary,
    Full,
    Lazy,
}

impl Model {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Full => "full",
            Self::Lazy => "lazy",
        }
    }
}

impl Tuning for Preempt {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let absent = format!(
            "the model of this kernel is fixed (no CONFIG_PREEMPT_DYNAMIC, or older than 5.13): boot with preempt={0}, \
             which --tune boot:preempt={0} recognises, or another kernel",
            self.model.word()
        );
        knob::one(root, "/sys/kernel/debug/sched/preempt", self.model.word(), Form::Choice, &absent)
    }
}

#[cfg(test)]
mod tests {
    use crate::tuning::trial::{Proof, machine, refusal};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "preempt",
            options: "model = 'full'",
            files: &[
                ("sys/kernel/debug/sched/preempt", "none (voluntary) full lazy \n"),
                ("sys/kernel/debug/sched/features", "GENTLE\n"),
            ],
            after: &[("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy \n")],
            other: ("sys/kernel/debug/sched/preempt", "none voluntary full (lazy) \n"),
            without: &[("sys/kernel/debug/sched/preempt", "preempt=full"), ("sys/kernel/debug", "mount -t debugfs")],
        };
        proof.holds();
    }

    #[test]
    fn a_model_that_the_kernel_does_not_have_is_named() {
        let tree = machine(&[("sys/kernel/debug/sched/preempt", "(full) lazy \n")]);
        let error = refusal("preempt", "model = 'none'", &tree);
        assert!(error.contains("no choice `none`: it has full, lazy"), "{error}");
    }
}
