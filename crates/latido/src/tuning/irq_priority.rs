//! `irq-priority`: the priority of interrupts that are handled by threads.

use super::{Tuning, Wanted, knob, thread};
use crate::{
    machine::Root,
    registry::{self, Def, Objection},
};
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "irq-priority",
    about: "the FIFO priority of the threads that handle interrupts (irq/N-name)",
    help: "\
A threaded handler runs at FIFO 50: above it, a real-time task delays the device; below it, the device delays the task.

Options:
  irq    numbers of /proc/interrupts or parts of the threads' names, with commas: 24,25 or eth0; or `all`; required
  prio   1 to 98; required

Threads exist where a driver asks for one, and for nearly every interrupt on PREEMPT_RT or with the boot parameter
threadirqs.

Kernel documents: Documentation/core-api/genericirq.rst; Documentation/admin-guide/kernel-parameters.txt, threadirqs",
    main_option: Some("irq"),
    new: |table| {
        let read = registry::options::<IrqPriority>(table)?;
        if !(1..=98).contains(&read.prio) {
            return Err(Objection::Value(format!("`prio` is 1 to 98, not {}", read.prio)).into());
        }
        if read.irq.split(',').any(|part| part.trim().is_empty()) {
            return Err(Objection::Value("`irq` is numbers or names, for example 24,25 or eth0".into()).into());
        }
        Ok(Box::new(read))
    },
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IrqPriority {
    irq: String,
    prio: u8,
}

impl Tuning for IrqPriority {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let all = thread::named(root, |comm| comm.starts_with("irq/"));
        let mut steps = Vec::new();
        for part in self.irq.split(',').map(str::trim) {
            let found: Vec<_> = all.iter().filter(|thread| handles(&thread.comm, part)).collect();
            if found.is_empty() {
                let names: Vec<&str> = all.iter().map(|thread| thread.comm.as_str()).collect();
                let there = if names.is_empty() { "no thread at all".into() } else { names.join(", ") };
                bail!(
                    "no thread handles interrupt `{part}` (there is {there}): boot with threadirqs, or a PREEMPT_RT \
                     kernel; some handlers are never threads"
                );
            }
            for thread in found {
                steps.push(thread.fifo(root, self.prio)?);
            }
        }
        Ok(knob::wanted(steps))
    }
}

/// Whether a thread `irq/24-eth0-rx` is meant by `24`, by `eth0` or by `all`.
fn handles(comm: &str, part: &str) -> bool {
    let Some((number, name)) = comm.strip_prefix("irq/").and_then(|rest| rest.split_once('-')) else { return false };
    part == "all" || number == part || (part.parse::<u32>().is_err() && name.contains(part))
}

#[cfg(test)]
mod tests {
    use crate::{
        machine::fixture::Tree,
        tuning::trial::{Proof, machine, refusal, thread},
    };

    const FIFO: &str = r#"{"policy":"fifo","prio":50}"#;

    fn threaded() -> Tree {
        let tree = machine(&[]);
        thread(&tree, 50, "irq/24-eth0-rx-0", FIFO);
        thread(&tree, 51, "irq/25-eth0-tx-0", FIFO);
        thread(&tree, 52, "irq/124-ahci", FIFO);
        thread(&tree, 53, "ksoftirqd/0", r#"{"policy":"other"}"#);
        tree
    }

    #[test]
    fn it_is_applied_and_undone() {
        let new = r#"{"policy":"fifo","prio":80}"#;
        let other = ("proc/50/policy", r#"{"policy":"fifo","prio":90}"#);
        for (irq, tids) in [("24", &[50][..]), ("eth0", &[50, 51]), ("24,ahci", &[50, 52]), ("all", &[50, 51, 52])] {
            let paths: Vec<String> = tids.iter().map(|tid| format!("proc/{tid}/policy")).collect();
            let after: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), new)).collect();
            let options = format!("irq = '{irq}'\nprio = 80");
            let without = &[("proc/50", "boot with threadirqs")];
            let without = if irq.starts_with("24") { &without[..] } else { &[] };
            let proof = Proof { name: "irq-priority", options: &options, files: &[], after: &after, other, without };
            proof.holds_on(threaded);
        }
    }

    #[test]
    fn what_no_thread_handles_is_named_with_what_there_is() {
        let error = refusal("irq-priority", "irq = '4'\nprio = 80", &threaded());
        assert!(error.contains("interrupt `4`") && error.contains("irq/124-ahci"), "{error}");
        assert!((super::DEF.new)("irq = '4'\nprio = 99".parse().unwrap()).is_err());
    }
}
