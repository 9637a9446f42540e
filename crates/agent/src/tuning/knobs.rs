//! Tunings that consist of one option and one file: a table of them.

#[cfg(test)]
mod tests;

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, refusal},
};
use anyhow::{Result, ensure};
use latido_model::{
    registry::{self, Def, Objection},
    units::Ns,
};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// `timers`: whether idle CPUs hand their timers to busy ones.
pub const TIMERS: Def<dyn Tuning> = Def {
    name: "timers",
    about: "keep timers on the CPU that armed them (kernel.timer_migration off)",
    help: "\
The kernel moves the timers of idle CPUs to busy ones to save power: then a timer of another task fires on the CPU that
is measured. Off, each timer stays where it was armed.

Options:
  migration   `off` (default) or `on`

Kernel document: Documentation/admin-guide/sysctl/kernel.rst, timer_migration",
    main_option: Some("migration"),
    new: |table| {
        let path = "/proc/sys/kernel/timer_migration";
        let absent = "the kernel was built without CONFIG_SMP or CONFIG_NO_HZ_COMMON, so no timer migrates: leave this tuning out";
        Knob { option: "migration", values: SWITCH, path, absent }.read(table)
    },
};

/// `numa-balancing`: whether the kernel moves memory to the node that uses it.
pub const NUMA_BALANCING: Def<dyn Tuning> = Def {
    name: "numa-balancing",
    about: "stop the kernel from moving pages between NUMA nodes (kernel.numa_balancing off)",
    help: "\
Balancing unmaps pages to see which tasks use them: page faults and page copies in the middle of real-time work.

Options:
  balancing   `off` (default) or `on`

Kernel document: Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
    main_option: Some("balancing"),
    new: |table| {
        let path = "/proc/sys/kernel/numa_balancing";
        let absent =
            "the kernel was built without CONFIG_NUMA_BALANCING, so nothing is balanced: leave this tuning out";
        Knob { option: "balancing", values: SWITCH, path, absent }.read(table)
    },
};

/// `compaction`: whether the kernel moves locked pages.
pub const COMPACTION: Def<dyn Tuning> = Def {
    name: "compaction",
    about: "leave locked pages where they are (vm.compact_unevictable_allowed off)",
    help: "\
To make room for large pieces of memory the kernel moves pages together, also those that a real-time task has locked: a
lock keeps a page in memory, not in its place. The task's next access to a page on the move is a page fault, and waits
until the copy is made. Off, locked pages stay. Kernels with PREEMPT_RT have it off by default.

Options:
  locked   `off` (default): locked pages are not moved; or `on`

Kernel document: Documentation/admin-guide/sysctl/vm.rst, compact_unevictable_allowed",
    main_option: Some("locked"),
    new: |table| {
        let path = "/proc/sys/vm/compact_unevictable_allowed";
        let absent = "the kernel was built without CONFIG_COMPACTION, so no page is moved: leave this tuning out";
        Knob { option: "locked", values: SWITCH, path, absent }.read(table)
    },
};

/// `ksm`: whether the kernel looks for equal pages.
pub const KSM: Def<dyn Tuning> = Def {
    name: "ksm",
    about: "stop the search for equal pages (kernel samepage merging)",
    help: "\
ksmd scans memory all the time, and a page that it merged must be copied again when it is written: a page fault in the
middle of real-time work.

Options:
  run   `stop` (default): merged pages stay merged; `unmerge`: the kernel separates all of them first; `on`

Kernel document: Documentation/admin-guide/mm/ksm.rst",
    main_option: Some("run"),
    new: |table| {
        let values = Values::Words(&[("stop", "0"), ("on", "1"), ("unmerge", "2")]);
        let absent = "the kernel was built without CONFIG_KSM, so nothing is merged: leave this tuning out";
        Knob { option: "run", values, path: "/sys/kernel/mm/ksm/run", absent }.read(table)
    },
};

/// `vm-stat`: how often each CPU folds its memory statistics.
pub const VM_STAT: Def<dyn Tuning> = Def {
    name: "vm-stat",
    about: "fold memory statistics rarely (vm.stat_interval)",
    help: "\
Every second a kernel thread runs on each CPU to add up its memory statistics: work that a busy real-time task has to
wait for. A long interval makes it rare.

Options:
  interval   whole seconds with unit; default 120s

Kernel document: Documentation/admin-guide/sysctl/vm.rst, stat_interval",
    main_option: Some("interval"),
    new: |table| {
        let values = Values::Seconds { usual: 120 };
        let absent = "the kernel was built without CONFIG_VM_EVENT_COUNTERS or CONFIG_SMP: leave this tuning out";
        Knob { option: "interval", values, path: "/proc/sys/vm/stat_interval", absent }.read(table)
    },
};

/// `printk`: which kernel messages go to the console.
pub const PRINTK: Def<dyn Tuning> = Def {
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
        let values = Values::FirstOfFour { usual: 1, most: 8 };
        let absent = "the kernel was built without CONFIG_PRINTK, so it prints nothing: leave this tuning out";
        Knob { option: "level", values, path: "/proc/sys/kernel/printk", absent }.read(table)
    },
};

/// The words of a switch. Most knobs are turned off.
const SWITCH: Values = Values::Words(&[("off", "0"), ("on", "1")]);

/// A file whose value one option sets.
struct Knob {
    /// The option's name.
    option: &'static str,
    /// The values that it can have.
    values: Values,
    /// The file.
    path: &'static str,
    /// Why the file may not exist, and what to do then.
    absent: &'static str,
}

/// The possible values of an option, and the file's content for each.
#[derive(Clone, Copy)]
enum Values {
    /// Words with the file's content for each, the default first.
    Words(&'static [(&'static str, &'static str)]),
    /// Whole seconds.
    Seconds {
        /// The default.
        usual: u64,
    },
    /// A level from 1: the first of four numbers in the file. The others stay.
    FirstOfFour {
        /// The default.
        usual: u8,
        /// The highest.
        most: u8,
    },
}

/// A knob with its wanted setting.
struct Turned {
    knob: Knob,
    /// The option's value, for the record.
    given: Value,
    /// The wanted content of the file, or of its first word.
    value: String,
}

impl Knob {
    fn read(self, table: Table) -> Result<Box<dyn Tuning>> {
        if let Some(key) = table.keys().find(|key| *key != self.option) {
            return Err(Objection::Unknown { key: key.clone(), known: vec![self.option.into()] }.into());
        }
        let (given, value) = match self.values {
            Values::Words(words) => self.word(&table, words)?,
            Values::Seconds { usual } => {
                let given: Ns = self.typed(table)?.unwrap_or(Ns::from_secs(usual));
                let seconds = given.0 / SECOND;
                if seconds == 0 || !given.0.is_multiple_of(SECOND) {
                    let sentence = format!("`{}` is whole seconds from 1s, not {given}", self.option);
                    return Err(Objection::Value(sentence).into());
                }
                (given.to_string().into(), seconds.to_string())
            }
            Values::FirstOfFour { usual, most } => {
                let given: u8 = self.typed(table)?.unwrap_or(usual);
                if !(1..=most).contains(&given) {
                    let sentence = format!("`{}` is 1 to {most}, not {given}", self.option);
                    return Err(Objection::Value(sentence).into());
                }
                (i64::from(given).into(), given.to_string())
            }
        };
        Ok(Box::new(Turned { knob: self, given, value }))
    }

    /// Reads the option as its own type.
    fn typed<T: serde::de::DeserializeOwned>(&self, table: Table) -> Result<Option<T>> {
        Ok(registry::options::<BTreeMap<String, T>>(table)?.remove(self.option))
    }

    /// Reads the option as one of its words.
    fn word(&self, table: &Table, words: &'static [(&'static str, &'static str)]) -> Result<(Value, String)> {
        let known = words.iter().map(|(word, _)| *word);
        let found = match table.get(self.option) {
            None => words.first(),
            Some(given) => {
                let asked = registry::word(self.option, given, known.clone())?;
                words.iter().find(|(word, _)| *word == asked)
            }
        };
        let (word, value) = found.ok_or_else(|| Objection::Missing(self.option.into()))?;
        Ok(((*word).into(), (*value).into()))
    }
}

const SECOND: u64 = 1_000_000_000;

impl Tuning for Turned {
    fn options(&self) -> Table {
        Table::from_iter([(self.knob.option.to_string(), self.given.clone())])
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let Knob { path, absent, values, .. } = self.knob;
        if !matches!(values, Values::FirstOfFour { .. }) {
            return knob::one(root, path, &self.value, Form::Plain, absent);
        }
        let text = root.try_read(path).map_err(|error| refusal::of_read(root, path, absent, &error))?;
        let rest = text.split_once(char::is_whitespace).map(|(_, rest)| rest.trim());
        ensure!(rest.is_some(), "{path} contains `{text}`, which is not four levels");
        let value = format!("{}\t{}", self.value, rest.unwrap_or_default());
        knob::one(root, path, &value, Form::Plain, absent)
    }
}
