//! `ksm`: whether the kernel looks for equal pages.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::Form,
};
use anyhow::Result;
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "ksm",
    about: "stop the search for equal pages (kernel samepage merging)",
    help: "\
ksmd scans memory all the time, and a page that it merged must be copied again when it is written: a page fault in the
middle of real-time work.

Options:
  run   `stop` (default): merged pages stay merged; `unmerge`: all of them are copied apart first; `on`

Kernel document: Documentation/admin-guide/mm/ksm.rst",
    main_option: Some("run"),
    new: |table| Ok(Box::new(registry::options::<Ksm>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Ksm {
    run: Run,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Run {
    #[default]
    Stop,
    On,
    Unmerge,
}

impl Tuning for Ksm {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "the kernel was built without CONFIG_KSM, so nothing is merged: leave this tuning out";
        let value = match self.run {
            Run::Stop => "0",
            Run::On => "1",
            Run::Unmerge => "2",
        };
        knob::one(root, "/sys/kernel/mm/ksm/run", value, Form::Plain, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{trees, trial::Proof};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "ksm",
            options: "run = 'unmerge'",
            machine: &trees::server,
            after: &[("sys/kernel/mm/ksm/run", "2\n")],
            other: ("sys/kernel/mm/ksm/run", "0\n"),
            without: &[("sys/kernel/mm/ksm/run", "CONFIG_KSM")],
        };
        proof.holds();
    }
}
