//! `watchdog`: whether the kernel looks for CPUs that hang.

use crate::{
    machine::Root,
    setting::{
        Tuning, Wanted,
        knob::{self, OffOn},
    },
    step::Form,
};
use anyhow::{Result, bail};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "watchdog",
    about: "switch the lockup detectors off (kernel.soft_watchdog, kernel.nmi_watchdog)",
    help: "\
The soft-lockup detector wakes a thread of the highest priority on every CPU each few seconds; the hard one uses a
performance counter and sends non-maskable interrupts. Off, a hanging kernel is no longer reported.

latido switches each of them separately: restoring the file `watchdog` would also switch on what was off before.

Options:
  detectors   `off` (default) or `on`

Kernel document: Documentation/admin-guide/lockup-watchdogs.rst",
    main_option: Some("detectors"),
    new: |table| Ok(Box::new(registry::options::<Watchdog>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Watchdog {
    detectors: OffOn,
}

impl Tuning for Watchdog {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let files = ["/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel/soft_watchdog"];
        let there: Vec<&str> = files.into_iter().filter(|path| root.exists(path)).collect();
        if there.is_empty() {
            bail!(
                "there is neither {} nor {}: the kernel was built without CONFIG_LOCKUP_DETECTOR, so nothing watches: \
                 leave this tuning out",
                files[0],
                files[1]
            );
        }
        let steps = there.into_iter().map(|path| knob::step(root, path, self.detectors.digit(), Form::Plain, ""));
        Ok(knob::wanted(steps.collect::<Result<Vec<_>>>()?))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{
        trees,
        trial::{Proof, refusal},
    };

    /// No emulated processor has the counter of the hard detector: the detector is off there, and can only be switched on.
    #[test]
    fn each_is_switched_by_itself() {
        let [soft, nmi] = ["proc/sys/kernel/soft_watchdog", "proc/sys/kernel/nmi_watchdog"];
        for machine in [trees::cgroup_v1, trees::server] {
            for (options, path, new) in [("", soft, "0\n"), ("detectors = 'on'", nmi, "1\n")] {
                let after = &[(path, new)];
                let other = (path, "7\n");
                Proof { name: "watchdog", options, machine: &machine, after, other, without: &[] }.holds();
            }
        }
    }

    #[test]
    fn a_kernel_without_any_says_so() {
        let tree = trees::server();
        for name in ["nmi_watchdog", "soft_watchdog"] {
            std::fs::remove_file(tree.root.path(&format!("proc/sys/kernel/{name}"))).unwrap();
        }
        assert!(refusal("watchdog", "", &tree).contains("CONFIG_LOCKUP_DETECTOR"));
    }
}
