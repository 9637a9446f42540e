//! From formats to a table by number, and from records by that table to what happened.

use super::{Above, Call, Comm, Edge, Happened, Kind, Off, Priority, State, Switched, TaskFields, Woken};
use crate::{
    bytes::Endian,
    file::Described,
    format::{Field, Format, Number},
};

/// The events of a trace, resolved.
#[derive(Clone, Debug)]
pub struct Events {
    endian: Endian,
    kinds: Vec<Kind>,
    /// Who wrote a record: the same place in all of them.
    pid: Option<Number>,
    /// The flags that hold everywhere: interrupts off, a switch pending, in which context.
    flags: Option<Number>,
    depth: Option<Number>,
    switch: Option<(TaskFields, Number, TaskFields)>,
    woken: [Option<TaskFields>; 3],
    line: Option<Number>,
    line_name: Option<Field>,
    soft: Option<Number>,
    nmi: Option<Number>,
    raw: Option<Number>,
    expired: Option<(Number, Number)>,
    renamed: Option<(Number, usize)>,
    freed: Option<Number>,
    migrated: Option<(Number, Number, Number)>,
    /// The names of system calls that have events of their own.
    calls: Vec<String>,
    /// The names of the processor's vectors: `local_timer`.
    vectors: Vec<String>,
}

/// A task's name has so many bytes in every kernel (TASK_COMM_LEN).
const COMM: usize = 16;

impl Events {
    /// From the formats of a trace.
    pub fn of(formats: &[Described], endian: Endian) -> Self {
        let first = formats.first().map(|one| &one.format);
        let common = |name: &str| first.and_then(|format| format.number(name, endian));
        let mut events = Self {
            endian,
            kinds: Vec::new(),
            pid: common("common_pid"),
            flags: common("common_flags"),
            depth: common("common_preempt_count"),
            switch: None,
            woken: [None; 3],
            line: None,
            line_name: None,
            soft: None,
            nmi: None,
            raw: None,
            expired: None,
            renamed: None,
            freed: None,
            migrated: None,
            calls: Vec::new(),
            vectors: Vec::new(),
        };
        for described in formats {
            let kind = events.resolve(&described.system, &described.format);
            if !matches!(kind, Kind::Other) {
                let at = usize::from(described.format.id);
                if events.kinds.len() <= at {
                    events.kinds.resize(at + 1, Kind::Other);
                }
                events.kinds.get_mut(at).into_iter().for_each(|slot| *slot = kind);
            }
        }
        events
    }

    /// What a format's records mean; those that lack a field mean nothing.
    fn resolve(&mut self, system: &str, format: &Format) -> Kind {
        self.known(system, format).unwrap_or_default()
    }

    fn known(&mut self, system: &str, format: &Format) -> Option<Kind> {
        let endian = self.endian;
        let number = |name: &str| format.number(name, endian);
        let task = |pid: &str, prio: &str, comm: &str| {
            let comm = format.field(comm).filter(|field| field.size == COMM)?.at;
            Some(TaskFields { pid: number(pid)?, prio: number(prio)?, comm })
        };
        let edge = |name: &str| {
            let enter = name.strip_suffix("_entry").map(|stem| (stem.to_owned(), Edge::Enter));
            enter.or_else(|| Some((name.strip_suffix("_exit")?.to_owned(), Edge::Exit)))
        };
        Some(match (system, format.name.as_str()) {
            ("sched", "sched_switch") => {
                let (from, to) =
                    (task("prev_pid", "prev_prio", "prev_comm"), task("next_pid", "next_prio", "next_comm"));
                self.switch = Some((from?, number("prev_state")?, to?));
                Kind::Switch
            }
            ("sched", name @ ("sched_waking" | "sched_wakeup" | "sched_wakeup_new")) => {
                let (at, kind) = match name {
                    "sched_waking" => (0, Kind::Waking),
                    "sched_wakeup" => (1, Kind::Wakeup),
                    _ => (2, Kind::New),
                };
                *self.woken.get_mut(at)? = Some(task("pid", "prio", "comm")?);
                kind
            }
            ("irq", "irq_handler_entry") => {
                self.line = Some(number("irq")?);
                self.line_name = format.field("name").cloned();
                Kind::Line(Edge::Enter)
            }
            ("irq", "irq_handler_exit") => {
                self.line = Some(number("irq")?);
                Kind::Line(Edge::Exit)
            }
            ("irq", name @ ("softirq_entry" | "softirq_exit" | "softirq_raise")) => {
                self.soft = Some(number("vec")?);
                match name {
                    "softirq_entry" => Kind::Soft(Edge::Enter),
                    "softirq_exit" => Kind::Soft(Edge::Exit),
                    _ => Kind::Raise,
                }
            }
            // Arm's interrupts between processors are told by one pair of events.
            ("irq_vectors", name) | ("ipi", name @ ("ipi_entry" | "ipi_exit")) => {
                let (stem, edge) = edge(name)?;
                Kind::Vector(u8::try_from(position(&mut self.vectors, stem)).ok()?, edge)
            }
            ("nmi", "nmi_handler") => {
                self.nmi = Some(number("delta_ns")?);
                Kind::Nmi
            }
            ("raw_syscalls", name @ ("sys_enter" | "sys_exit")) => {
                self.raw = Some(number("id")?);
                Kind::RawCall(if name == "sys_enter" { Edge::Enter } else { Edge::Exit })
            }
            ("syscalls", name) => {
                let (stem, edge) = match name.strip_prefix("sys_enter_") {
                    Some(stem) => (stem, Edge::Enter),
                    None => (name.strip_prefix("sys_exit_")?, Edge::Exit),
                };
                Kind::Call(u16::try_from(position(&mut self.calls, stem.to_owned())).ok()?, edge)
            }
            ("preemptirq", name) => match name {
                "irq_disable" => Kind::Off(Off::Interrupts, Edge::Enter),
                "irq_enable" => Kind::Off(Off::Interrupts, Edge::Exit),
                "preempt_disable" => Kind::Off(Off::Preemption, Edge::Enter),
                "preempt_enable" => Kind::Off(Off::Preemption, Edge::Exit),
                _ => return None,
            },
            ("timer", "hrtimer_expire_entry") => {
                self.expired = Some((number("hrtimer")?, number("now")?));
                Kind::Expired
            }
            ("task", "task_rename") => {
                let comm = format.field("newcomm").filter(|field| field.size == COMM)?.at;
                self.renamed = Some((number("pid")?, comm));
                Kind::Renamed
            }
            ("sched", "sched_process_free") => {
                self.freed = Some(number("pid")?);
                Kind::Freed
            }
            ("sched", "sched_migrate_task") => {
                self.migrated = Some((number("pid")?, number("orig_cpu")?, number("dest_cpu")?));
                Kind::Migrated
            }
            _ => return None,
        })
    }

    /// What a record tells; nothing where it is of another kind, or too short for what its format says.
    #[inline(always)]
    pub fn happened(&self, record: &[u8]) -> Option<Happened> {
        let id = self.endian.u16(record, 0)?;
        let kind = *self.kinds.get(usize::from(id))?;
        Some(match kind {
            Kind::Other => return None,
            Kind::Switch => {
                let (from, state, to) = self.switch.as_ref()?;
                Happened::Switch {
                    from: from.switched(record)?,
                    state: state_of(state.of(record)?),
                    to: to.switched(record)?,
                }
            }
            Kind::Waking => Happened::Waking(self.woken(0, record)?),
            Kind::Wakeup => Happened::Wakeup(self.woken(1, record)?),
            Kind::New => Happened::New(self.woken(2, record)?),
            Kind::Soft(edge) => edge.of(Above::Soft(self.vec(record)?)),
            Kind::Raise => Happened::Raise(self.vec(record)?),
            Kind::Vector(at, edge) => edge.of(Above::Vector(at)),
            Kind::Line(edge) => edge.of(Above::Line(self.line?.of(record)? as u32)),
            Kind::Nmi => Happened::Nmi(u64::try_from(self.nmi?.of(record)?).ok()?),
            Kind::Call(name, edge) => self.call(Call::Named(name), edge, record)?,
            Kind::RawCall(edge) => {
                let number = u16::try_from(self.raw?.of(record)?).ok()?;
                self.call(Call::Number(number), edge, record)?
            }
            Kind::Off(what, Edge::Enter) => Happened::Off(what),
            Kind::Off(what, Edge::Exit) => Happened::On(what),
            Kind::Expired => {
                let (timer, now) = self.expired.as_ref()?;
                Happened::Expired { timer: timer.of(record)?.cast_unsigned(), now: now.of(record)? }
            }
            Kind::Renamed => {
                let (pid, comm) = self.renamed.as_ref()?;
                Happened::Renamed { pid: pid.of(record)? as i32, comm: comm_at(record, *comm)? }
            }
            Kind::Freed => Happened::Freed(self.freed?.of(record)? as i32),
            Kind::Migrated => {
                let (pid, from, to) = self.migrated.as_ref()?;
                let cpu = |number: &Number| Some(number.of(record)? as u32);
                Happened::Migrated { pid: pid.of(record)? as i32, from: cpu(from)?, to: cpu(to)? }
            }
        })
    }

    #[inline(always)]
    fn woken(&self, at: usize, record: &[u8]) -> Option<Woken> {
        let fields = self.woken.get(at)?.as_ref()?;
        let Switched { pid, priority, comm } = fields.switched(record)?;
        Some(Woken { pid, priority, comm })
    }

    #[inline(always)]
    fn vec(&self, record: &[u8]) -> Option<u8> {
        u8::try_from(self.soft?.of(record)?).ok()
    }

    #[inline(always)]
    fn call(&self, call: Call, edge: Edge, record: &[u8]) -> Option<Happened> {
        let pid = self.writer(record)?;
        Some(match edge {
            Edge::Enter => Happened::Call { pid, call },
            Edge::Exit => Happened::Return { pid, call },
        })
    }

    /// The number of a record's format.
    #[inline]
    pub fn id(&self, record: &[u8]) -> Option<u16> {
        self.endian.u16(record, 0)
    }

    /// The task that wrote a record.
    #[inline(always)]
    pub fn writer(&self, record: &[u8]) -> Option<i32> {
        Some(self.pid?.of(record)? as i32)
    }

    /// The flags of a record (`enum trace_flag_type`) and how deep preemption is off.
    #[inline]
    pub fn context(&self, record: &[u8]) -> Option<(u8, u8)> {
        Some((self.flags?.of(record)? as u8, self.depth?.of(record)? as u8))
    }

    /// The name of the device whose handler a record of `irq_handler_entry` announces.
    pub fn device(&self, record: &[u8]) -> Option<String> {
        Some(self.line_name.as_ref()?.text(record, self.endian)?.into_owned())
    }

    /// The names of system calls with events of their own, as [`Call::Named`] counts them.
    pub fn calls(&self) -> &[String] {
        &self.calls
    }

    /// The names of vectors, as [`Above::Vector`] counts them.
    pub fn vectors(&self) -> &[String] {
        &self.vectors
    }
}

impl Edge {
    #[inline]
    fn of(self, above: Above) -> Happened {
        match self {
            Self::Enter => Happened::Enter(above),
            Self::Exit => Happened::Exit(above),
        }
    }
}

impl TaskFields {
    #[inline(always)]
    fn switched(&self, record: &[u8]) -> Option<Switched> {
        let priority = Priority(self.prio.of(record)? as i16);
        Some(Switched { pid: self.pid.of(record)? as i32, priority, comm: comm_at(record, self.comm)? })
    }
}

#[inline(always)]
fn comm_at(record: &[u8], at: usize) -> Option<Comm> {
    record.get(at..)?.first_chunk().map(|bytes| Comm(*bytes))
}

/// The state of a task that leaves (TASK_REPORT and TASK_STATE_MAX of include/linux/sched.h): nothing set, or only the bit
/// above all reported ones, of one that would go on.
#[inline]
fn state_of(bits: i64) -> State {
    match bits & 0xff {
        0 => State::Runnable,
        state if state & 0x0c != 0 => State::Stopped,
        state if state & 0x30 != 0 => State::Dead,
        _ => State::Sleeping,
    }
}

/// Where a name is in the list, at the end if it was not there.
fn position(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|one| *one == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}
