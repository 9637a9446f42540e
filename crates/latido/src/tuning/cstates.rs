//! `cstates`: keep the processors out of their idle states while measuring. On by default.

use super::{Guard, Hold, Tuning, Wanted};
use crate::{
    machine::Root,
    record::{Change, TuningRecord},
    registry::{self, Def},
};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
};

/// The knob; the request lasts as long as the file is open, so the kernel itself undoes it after any crash.
/// Source: Documentation/power/pm_qos_interface.rst.
const KNOB: &str = "/dev/cpu_dma_latency";

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "cstates",
    about: "keep CPUs out of idle states through /dev/cpu_dma_latency (on by default)",
    help: "\
Holds /dev/cpu_dma_latency at 0 us while measuring, so that no CPU sleeps deeper than a wake-up of no cost. This
flatters a system that will not hold it in the field: measure both ways. It is on unless you say `cstates:as-is`.

Options:
  mode   `hold` (default) or `as-is`, which leaves the idle states as they are

Kernel document: Documentation/power/pm_qos_interface.rst",
    main_option: Some("mode"),
    new: |table| Ok(Box::new(registry::options::<Cstates>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Cstates {
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    #[default]
    Hold,
    AsIs,
}

impl Tuning for Cstates {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, _root: &Root) -> Result<Wanted> {
        let holds: Vec<Hold> = if self.mode == Mode::Hold { vec![Box::new(hold)] } else { Vec::new() };
        Ok(Wanted { holds, ..Wanted::default() })
    }

    fn confirm(&self, _root: &Root, record: &mut TuningRecord) {
        record.in_force = record.changes.iter().all(|change| change.new == "0 us");
    }
}

/// Holds the knob open, with 0 us asked for.
fn hold(root: &Root) -> Result<(Change, Guard)> {
    let original = read(root).unwrap_or_else(|_| "not readable".into());
    let ask = || -> std::io::Result<File> {
        let mut file = OpenOptions::new().write(true).open(root.path(KNOB))?;
        file.write_all(&0i32.to_ne_bytes())?;
        Ok(file)
    };
    let file = ask().with_context(|| {
        format!("{KNOB} cannot be held at 0 (root may): run as root, or leave idle states with --tune cstates:as-is")
    })?;
    let now = read(root)?;
    let change = Change { knob: KNOB.into(), original: format!("{original} us"), new: format!("{now} us") };
    Ok((change, Box::new(file)))
}

/// The strictest latency anyone asks for now, in us.
fn read(root: &Root) -> Result<String> {
    let mut bytes = [0; 4];
    root.open(KNOB)?.read_exact(&mut bytes)?;
    Ok(i32::from_ne_bytes(bytes).to_string())
}
