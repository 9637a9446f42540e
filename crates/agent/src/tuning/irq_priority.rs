//! `irq-priority`: the priority of interrupts whose handlers are threads.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::thread,
};
use anyhow::{Result, bail};
use latido_model::registry::{self, Def, Objection};
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

Threads exist where a driver requests one, and for nearly every interrupt on PREEMPT_RT or with the boot parameter
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

/// Returns the tuning for a line whose thread has run once, and the tuning's name. It accepts any priority, for a probe that examines the
/// effect of each.
pub fn of(line: &str, prio: u8) -> (Box<dyn Tuning>, &'static str) {
    (Box::new(IrqPriority { irq: line.into(), prio }), DEF.name)
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

/// Tells whether `24`, `eth0` or `all` selects a thread `irq/24-eth0-rx`.
fn handles(comm: &str, part: &str) -> bool {
    let Some((number, name)) = comm.strip_prefix("irq/").and_then(|rest| rest.split_once('-')) else { return false };
    part == "all" || number == part || (part.parse::<u32>().is_err() && name.contains(part))
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees,
            trial::{MakeMachine, Proof, applied, refusal},
        },
        journal::Journal,
    };

    /// Returns the stat of a handler at FIFO 80 instead of 50.
    fn raised(stat: &str) -> String {
        let (before, after) = (stat.matches(" -51 0 1 ").count(), stat.matches(" 50 1 0 0 ").count());
        assert_eq!((before, after), (1, 1), "{stat}");
        stat.replace(" -51 0 1 ", " -81 0 1 ").replace(" 50 1 0 0 ", " 80 1 0 0 ")
    }

    /// PREEMPT_RT with a device of three interrupts, and the boot parameter threadirqs.
    #[test]
    fn it_is_applied_and_undone() {
        let eth0 = &["irq/24-eth0-rx-0", "irq/25-eth0-tx-0", "irq/26-eth0"][..];
        let cases: [(MakeMachine, &str, &[&str]); 4] = [
            (&trees::cgroup_v2, "24", &eth0[..1]),
            (&trees::cgroup_v2, "eth0", eth0),
            (&trees::cgroup_v2, "8,acpi", &["irq/8-rtc0", "irq/9-acpi"]),
            (&trees::server, "ttyS0", &["irq/4-ttyS0"]),
        ];
        for (machine, irq, threads) in cases {
            let tree = machine();
            let stat = |comm: &&str| format!("proc/{}/stat", tree.thread(comm));
            let paths: Vec<String> = threads.iter().map(stat).collect();
            let read = |path: &String| std::fs::read_to_string(tree.root.path(path)).unwrap();
            let new: Vec<String> = paths.iter().map(|path| raised(&read(path))).collect();
            let after: Vec<(&str, &str)> =
                paths.iter().map(String::as_str).zip(new.iter().map(String::as_str)).collect();
            let others = new[0].replace(" -81 0 1 ", " -91 0 1 ").replace(" 80 1 0 0 ", " 90 1 0 0 ");
            let gone = paths[0].trim_end_matches("/stat");
            let proof = Proof {
                name: "irq-priority",
                options: &format!("irq = '{irq}'\nprio = 80"),
                machine,
                after: &after,
                other: (&paths[0], &others),
                without: if threads.len() == 3 { &[] } else { &[(gone, "boot with threadirqs")] },
            };
            proof.holds();
        }
    }

    /// A user's process with the name of a handler must get no priority.
    #[test]
    fn a_process_that_is_called_like_a_handler_stays_as_it_is() {
        let tree = trees::cgroup_v2();
        let stat = tree.root.read(&format!("proc/{}/stat", tree.thread("irq/24-eth0-rx-0"))).unwrap();
        let (_, fields) = stat.split_once(')').unwrap();
        assert!(fields.contains(" -1 2129984 "), "the flags of a kernel thread: {stat}");
        // Flags of a process: it used superuser's privileges, and wrote to its own memory.
        tree.write("proc/4990/stat", &format!("4990 (irq/9-x){}\n", fields.replace(" -1 2129984 ", " -1 4194560 ")));
        tree.write("proc/4990/comm", "irq/9-x\n");
        let before = tree.root.read("proc/4990/stat");
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("irq-priority", "irq = 'all'\nprio = 80", &tree.root, &mut journal).unwrap();
        assert!(!record.changes.is_empty(), "{record:?}");
        assert!(record.changes.iter().all(|change| !change.knob.contains("irq/9-x")), "{record:?}");
        assert_eq!(tree.root.read("proc/4990/stat"), before);
    }

    #[test]
    fn what_no_thread_handles_is_named_with_what_there_is() {
        let error = refusal("irq-priority", "irq = '44'\nprio = 80", &trees::cgroup_v2());
        assert!(error.contains("interrupt `44`") && error.contains("irq/24-eth0-rx-0"), "{error}");
        let error = refusal("irq-priority", "irq = 'all'\nprio = 80", &trees::cgroup_v1());
        assert!(error.contains("there is no thread at all"), "{error}");
        assert!((super::DEF.new)("irq = '4'\nprio = 99".parse().unwrap()).is_err());
    }
}
