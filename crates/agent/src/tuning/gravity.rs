//! `gravity`: how much earlier than requested a real-time core beside the kernel sets the timers of programs.

use crate::{
    machine::{Root, core},
    setting::{Tuning, Wanted, knob},
    step::Form,
};
use anyhow::{Result, bail};
use latido_model::{
    machine::CoreKind,
    registry::{self, Def},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "gravity",
    about: "how much earlier EVL or Cobalt sets the timers of programs",
    help: "\
EVL and Cobalt set each timer earlier than a program requests, by the time that they expect to need for waking it. With
more than 0 a latency can be below zero, because the core wakes the thread too early. With 0 a latency is the whole time
from the slot to the thread, and compares with that of the kernel's own threads.

Options:
  ns   for threads of programs; default 0, at most 1000000

EVL: /sys/devices/virtual/clock/monotonic/gravity. Cobalt: /proc/xenomai/latency.

Kernel documents: none; the documents of Xenomai describe it",
    main_option: Some("ns"),
    new: |table| {
        let gravity = registry::with_defaults(table, Gravity { ns: 0 })?;
        if gravity.ns > MOST_NS {
            bail!("`ns` is 0 to {MOST_NS}, not {}", gravity.ns);
        }
        Ok(Box::new(gravity))
    },
};

/// No core needs a millisecond to wake a thread.
const MOST_NS: u32 = 1_000_000;

const EVL: &str = "/sys/devices/virtual/clock/monotonic/gravity";
const COBALT: &str = "/proc/xenomai/latency";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gravity {
    ns: u32,
}

impl Tuning for Gravity {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let Some(core) = core(root) else {
            let [evl, cobalt] = CoreKind::ALL.map(CoreKind::file);
            bail!(
                "there is no real-time core beside this kernel, since neither {evl} nor {cobalt} exists: leave this tuning out"
            );
        };
        let (file, value) = match core.kind {
            CoreKind::Evl => (EVL, for_programs(&root.read(EVL).unwrap_or_default(), self.ns)),
            CoreKind::Cobalt => (COBALT, self.ns.to_string()),
        };
        let absent = "the core was built without this file: leave this tuning out";
        Ok(knob::wanted(vec![knob::step(root, file, &value, Form::Plain, absent)?]))
    }
}

/// Returns EVL's text with another gravity of programs: of `0i 3000k 3000u` (interrupts, the kernel, programs) it changes the last part.
fn for_programs(text: &str, ns: u32) -> String {
    let own = format!("{ns}u");
    let others = text.split_whitespace().filter(|part| !part.ends_with('u')).map(str::to_owned);
    others.chain([own]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::for_programs;
    use crate::fixture::{
        trees::{self, by_hand},
        trial::{Proof, refusal},
    };

    /// EVL keeps what interrupts and the kernel have.
    #[test]
    fn only_the_gravity_of_programs_changes() {
        const FILE: &str = "sys/devices/virtual/clock/monotonic/gravity";
        let proof = Proof {
            name: "gravity",
            options: "",
            machine: &trees::evl,
            after: &[(FILE, "0i 3000k 0u\n")],
            other: (FILE, "0i 3000k 77u\n"),
            without: &[(FILE, "leave this tuning out")],
        };
        proof.holds();
        assert_eq!(for_programs("0i 3000k 3000u\n", 1_500), "0i 3000k 1500u");
    }

    #[test]
    fn cobalt_has_one_number() {
        const FILE: &str = "proc/xenomai/latency";
        let proof = Proof {
            name: "gravity",
            options: "ns = 500",
            machine: &trees::cobalt,
            after: &[(FILE, "500\n")],
            other: (FILE, "77\n"),
            without: &[(FILE, "leave this tuning out")],
        };
        proof.holds();
    }

    #[test]
    fn an_ordinary_kernel_has_none() {
        let error = refusal("gravity", "", &by_hand(&[("proc/sys/kernel/osrelease", "6.12.9\n")]));
        assert!(error.contains("there is no real-time core beside this kernel"), "{error}");
    }
}
