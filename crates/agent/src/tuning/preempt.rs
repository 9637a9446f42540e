//! `preempt`: the preemption model of a kernel that can change it while it runs.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, refusal},
};
use anyhow::{Result, bail, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "preempt",
    about: "the preemption model of a dynamic kernel: none, voluntary, full or lazy",
    help: "\
How soon kernel work for another task gives way to a real-time task. Kernels built with CONFIG_PREEMPT_DYNAMIC change
it at run time through debugfs; PREEMPT_RT is a separate kernel (and may have `full` and `lazy`).

Options:
  model   `none`, `voluntary`, `full` or `lazy`; required. The kernel says which of them it has.

Where debugfs is refused (kernel lockdown, Secure Boot), boot with preempt=MODEL instead: the tuning `boot`.

Kernel document: Documentation/admin-guide/kernel-parameters.txt, preempt=; kernel/Kconfig.preempt",
    main_option: Some("model"),
    new: |table| Ok(Box::new(registry::options::<Preempt>(table)?)),
};

const PATH: &str = "/sys/kernel/debug/sched/preempt";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preempt {
    model: Offered,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Offered {
    None,
    Voluntary,
    Full,
    Lazy,
}

impl Offered {
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
        let word = self.model.word();
        ensure!(
            root.exists(PATH) || !root.exists("sys/kernel/debug/sched"),
            "there is no {PATH}: the model of this kernel is fixed (no CONFIG_PREEMPT_DYNAMIC): use another kernel"
        );
        if let Err(error) = root.try_read(PATH) {
            let error = refusal::of_read(root, PATH, "the kernel is older than 5.13", &error);
            bail!("{error:#}; or boot with preempt={word}, which --tune boot:preempt={word} then recognises");
        }
        knob::one(root, PATH, word, Form::Choice, "")
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{
        trees,
        trial::{Proof, refusal, unprivileged},
    };
    use std::os::unix::fs::PermissionsExt;

    const FILE: &str = "sys/kernel/debug/sched/preempt";

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "preempt",
            options: "model = 'full'",
            machine: &trees::server,
            after: &[(FILE, "none voluntary (full) \n")],
            other: (FILE, "(none) voluntary full \n"),
            without: &[(FILE, "the model of this kernel is fixed"), ("sys/kernel/debug", "mount -t debugfs")],
        };
        proof.holds();
        // PREEMPT_RT has other models.
        let proof = Proof {
            name: "preempt",
            options: "model = 'full'",
            machine: &trees::cgroup_v2,
            after: &[(FILE, "(full) lazy laziest \n")],
            other: (FILE, "full lazy (laziest) \n"),
            without: &[],
        };
        proof.holds();
    }

    /// A locked kernel lets no user open debugfs, although the file exists.
    #[test]
    fn lockdown_is_named_with_the_other_way() {
        let tree = trees::server();
        tree.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        std::fs::set_permissions(tree.root.path(FILE), std::fs::Permissions::from_mode(0o0)).unwrap();
        unprivileged(|| {
            let error = refusal("preempt", "model = 'none'", &tree);
            assert!(error.contains("lockdown (integrity) refuses debugfs"), "{error}");
            assert!(error.contains("boot with preempt=none"), "{error}");
        });
    }

    #[test]
    fn a_model_that_the_kernel_does_not_have_is_named() {
        let error = refusal("preempt", "model = 'none'", &trees::cgroup_v2());
        assert!(error.contains("does not offer `none`: it offers full, lazy, laziest"), "{error}");
        let error = refusal("preempt", "model = 'full'", &trees::arm());
        assert!(error.contains("the model of this kernel is fixed"), "{error}");
    }
}
