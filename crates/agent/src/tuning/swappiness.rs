//! `swappiness`: how readily the kernel writes programs' memory to swap space.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::Form,
};
use anyhow::Result;
use latido_model::registry::{self, Def};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "swappiness",
    about: "keep the memory of programs from swap space (vm.swappiness)",
    help: "Swapped pages come back by slow page faults.\n\nOptions:\n  level   0 to 200; default 0",
    main_option: Some("level"),
    new: |table| Ok(Box::new(registry::with_defaults(table, Swappiness { level: 0 })?)),
};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Swappiness {
    level: u8,
}

impl Tuning for Swappiness {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let absent = "the kernel was built without CONFIG_SWAP: leave this tuning out";
        let step = knob::step(root, "/proc/sys/vm/swappiness", &self.level.to_string(), Form::Plain, absent)?;
        Ok(knob::wanted(vec![step]))
    }
}
