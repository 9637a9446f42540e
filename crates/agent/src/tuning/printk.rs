//! `printk`: which kernel messages go to the console.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, refusal},
};
use anyhow::{Result, ensure};
use latido_model::registry::{self, Def, Objection};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "printk",
    about: "keep kernel messages off the console (kernel.printk)",
    help: "\
A message on a serial console of 115200 baud takes milliseconds, with interrupts off on many kernels. The log keeps
every message all the same (dmesg).

Options:
  level   messages more urgent than this go to the console, 1 to 8; default 1: only the last one of a dying kernel

Kernel document: Documentation/admin-guide/sysctl/kernel.rst, printk",
    main_option: Some("level"),
    new: |table| {
        let read = registry::options::<Printk>(table)?;
        if !(1..=8).contains(&read.level) {
            return Err(Objection::Value(format!("`level` is 1 to 8, not {}", read.level)).into());
        }
        Ok(Box::new(read))
    },
};

const PATH: &str = "/proc/sys/kernel/printk";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Printk {
    level: u8,
}

impl Default for Printk {
    fn default() -> Self {
        Self { level: 1 }
    }
}

impl Tuning for Printk {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "the kernel was built without CONFIG_PRINTK, so it prints nothing: leave this tuning out";
        let text = root.try_read(PATH).map_err(|error| refusal::of_read(root, PATH, ABSENT, &error))?;
        // The console's level is the first of four; the others stay.
        let rest = text.split_once(char::is_whitespace).map(|(_, rest)| rest.trim());
        ensure!(rest.is_some(), "{PATH} says `{text}`, which is not four levels");
        let level = format!("{}\t{}", self.level, rest.unwrap_or_default());
        knob::one(root, PATH, &level, Form::Plain, ABSENT)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{trees, trial::Proof};

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "printk",
            options: "",
            machine: &trees::arm,
            after: &[("proc/sys/kernel/printk", "1\t4\t1\t7\n")],
            other: ("proc/sys/kernel/printk", "3\t4\t1\t7\n"),
            without: &[("proc/sys/kernel/printk", "CONFIG_PRINTK")],
        };
        proof.holds();
    }
}
