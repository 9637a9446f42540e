//! Resolves a format: what its records mean, and where its records have the necessary fields.

use super::{COMM, Edge, Events, Kind, Off, TaskFields};
use crate::{
    bytes::Endian,
    format::{Format, Int, Number},
};

/// The fields of one format.
struct Fields<'a> {
    format: &'a Format,
    endian: Endian,
}

impl Fields<'_> {
    fn number(&self, name: &str) -> Option<Number> {
        self.format.number(name, self.endian)
    }

    fn int(&self, name: &str) -> Option<Int> {
        self.format.int(name, self.endian)
    }

    /// Returns the offset of a task's name, which has the same size in all kernels.
    fn comm(&self, name: &str) -> Option<u16> {
        u16::try_from(self.format.field(name).filter(|field| field.size == COMM)?.at).ok()
    }

    fn task(&self, pid: &str, prio: &str, comm: &str) -> Option<TaskFields> {
        Some(TaskFields { pid: self.int(pid)?, prio: self.int(prio)?, comm: self.comm(comm)? })
    }
}

/// Returns the event that switches interrupts or preemption off or on.
fn off_event(name: &str) -> Option<Kind> {
    Some(match name {
        "irq_disable" => Kind::Off(Off::Interrupts, Edge::Enter),
        "irq_enable" => Kind::Off(Off::Interrupts, Edge::Exit),
        "preempt_disable" => Kind::Off(Off::Preemption, Edge::Enter),
        "preempt_enable" => Kind::Off(Off::Preemption, Edge::Exit),
        _ => return None,
    })
}

impl Events {
    /// Returns what latido knows a format for, or `None` if the format lacks a field.
    pub(super) fn known(&mut self, system: &str, format: &Format) -> Option<Kind> {
        let fields = Fields { format, endian: self.endian };
        let name = format.name.as_str();
        match (system, name) {
            ("sched", _) => self.task_event(name, &fields),
            ("task", "task_rename") => {
                self.renamed = Some((fields.int("pid")?, fields.comm("newcomm")?));
                Some(Kind::Renamed)
            }
            ("irq", _) => self.handler_event(name, &fields),
            // Arm reports interrupts between processors with one pair of events.
            ("irq_vectors", _) | ("ipi", "ipi_entry" | "ipi_exit") => {
                let (stem, edge) = match name.strip_suffix("_entry") {
                    Some(stem) => (stem, Edge::Enter),
                    None => (name.strip_suffix("_exit")?, Edge::Exit),
                };
                let at = position(&mut self.vectors, stem.to_owned());
                Some(Kind::Vector(u8::try_from(at).ok()?, edge))
            }
            ("nmi", "nmi_handler") => {
                self.nmi = Some(fields.number("delta_ns")?);
                Some(Kind::Nmi)
            }
            ("raw_syscalls", "sys_enter" | "sys_exit") => {
                self.raw = Some(fields.int("id")?);
                Some(Kind::RawCall(if name == "sys_enter" { Edge::Enter } else { Edge::Exit }))
            }
            ("syscalls", _) => {
                let (stem, edge) = match name.strip_prefix("sys_enter_") {
                    Some(stem) => (stem, Edge::Enter),
                    None => (name.strip_prefix("sys_exit_")?, Edge::Exit),
                };
                Some(Kind::Call(u16::try_from(position(&mut self.calls, stem.to_owned())).ok()?, edge))
            }
            ("preemptirq", _) => off_event(name),
            ("timer", "hrtimer_expire_entry") => {
                self.expired = Some((fields.number("hrtimer")?, fields.number("now")?));
                Some(Kind::Expired)
            }
            _ => None,
        }
    }

    /// Resolves an event of a task: waking, switch, migration, end.
    fn task_event(&mut self, name: &str, fields: &Fields<'_>) -> Option<Kind> {
        Some(match name {
            "sched_switch" => {
                let from = fields.task("prev_pid", "prev_prio", "prev_comm")?;
                let to = fields.task("next_pid", "next_prio", "next_comm")?;
                self.switch = Some((from, fields.int("prev_state")?, to));
                Kind::Switch
            }
            "sched_waking" => {
                self.waking = Some(fields.task("pid", "prio", "comm")?);
                Kind::Waking
            }
            "sched_wakeup" => {
                self.wakeup = Some(fields.task("pid", "prio", "comm")?);
                Kind::Wakeup
            }
            "sched_wakeup_new" => {
                self.new = Some(fields.task("pid", "prio", "comm")?);
                Kind::New
            }
            "sched_process_free" => {
                self.freed = Some(fields.int("pid")?);
                Kind::Freed
            }
            "sched_process_exit" => {
                self.exits = Some(fields.int("pid")?);
                Kind::Exits
            }
            "sched_migrate_task" => {
                self.migrated = Some((fields.int("pid")?, fields.int("orig_cpu")?, fields.int("dest_cpu")?));
                Kind::Migrated
            }
            _ => return None,
        })
    }

    /// Resolves an event of a handler, of an interrupt line or of a soft interrupt.
    fn handler_event(&mut self, name: &str, fields: &Fields<'_>) -> Option<Kind> {
        let kind = match name {
            "irq_handler_entry" => Kind::Line(Edge::Enter),
            "irq_handler_exit" => Kind::Line(Edge::Exit),
            "softirq_entry" => Kind::Soft(Edge::Enter),
            "softirq_exit" => Kind::Soft(Edge::Exit),
            "softirq_raise" => Kind::Raise,
            _ => return None,
        };
        match kind {
            Kind::Line(edge) => {
                self.line = Some(fields.int("irq")?);
                if edge == Edge::Enter {
                    self.line_name = fields.format.field("name").cloned();
                }
            }
            _ => self.soft = Some(fields.int("vec")?),
        }
        Some(kind)
    }
}

/// Returns the index of a name in the list. A new name is appended.
fn position(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|one| *one == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}
