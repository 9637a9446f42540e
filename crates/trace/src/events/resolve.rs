//! Turns the formats into a table by number, and with that table turns records into what happened.

mod known;

use super::{Above, Call, Comm, Edge, Happened, Kind, Off, Priority, State, Switched, TaskFields, Woken};
use crate::{
    bytes::Endian,
    file::Described,
    format::{Field, Format, Int, Number},
};

/// The events of a trace, resolved.
#[derive(Clone, Debug)]
pub struct Events {
    endian: Endian,
    kinds: Vec<Kind>,
    /// The task that wrote a record: at the same place in all records.
    pid: Option<Int>,
    /// The flags that every record has: interrupts off, a switch pending, the context.
    flags: Option<Number>,
    depth: Option<Number>,
    switch: Option<(TaskFields, Int, TaskFields)>,
    waking: Option<TaskFields>,
    wakeup: Option<TaskFields>,
    new: Option<TaskFields>,
    line: Option<Int>,
    line_name: Option<Field>,
    soft: Option<Int>,
    nmi: Option<Number>,
    raw: Option<Int>,
    expired: Option<(Number, Number)>,
    renamed: Option<(Int, u16)>,
    freed: Option<Int>,
    exits: Option<Int>,
    migrated: Option<(Int, Int, Int)>,
    /// The names of system calls that have separate events.
    calls: Vec<String>,
    /// The names of the processor's vectors: `local_timer`.
    vectors: Vec<String>,
}

/// The size of a task's name in bytes, in every kernel (TASK_COMM_LEN).
const COMM: usize = 16;

impl Events {
    /// Resolves the formats of a trace.
    pub fn of(formats: &[Described], endian: Endian) -> Self {
        let first = formats.first().map(|one| &one.format);
        let common = |name: &str| first.and_then(|format| format.number(name, endian));
        let mut events = Self {
            endian,
            kinds: Vec::new(),
            pid: first.and_then(|format| format.int("common_pid", endian)),
            flags: common("common_flags"),
            depth: common("common_preempt_count"),
            switch: None,
            waking: None,
            wakeup: None,
            new: None,
            line: None,
            line_name: None,
            soft: None,
            nmi: None,
            raw: None,
            expired: None,
            renamed: None,
            freed: None,
            exits: None,
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

    /// Returns what a format's records mean. A format that lacks a field means nothing.
    fn resolve(&mut self, system: &str, format: &Format) -> Kind {
        self.known(system, format).unwrap_or_default()
    }

    /// Returns what a record reports, or `None` if it is of another kind or shorter than its format says.
    pub fn happened(&self, record: &[u8]) -> Option<Happened> {
        self.tell(record, self.endian, |happened| happened)
    }

    /// Passes what a record reports to `then`. The compiler builds `then` into each case, so `Happened` never becomes a value that the code
    /// must match again. The caller passes the byte order, because it knows it before its loop starts.
    #[inline(always)]
    pub(crate) fn tell<R>(&self, record: &[u8], endian: Endian, then: impl FnOnce(Happened) -> R) -> Option<R> {
        let id = endian.u16(record, 0)?;
        let kind = *self.kinds.get(usize::from(id))?;
        let int = |field: &Option<Int>| field.as_ref()?.of(record, endian);
        let soft = || u8::try_from(int(&self.soft)?).ok();
        let woken = |fields: &Option<TaskFields>| fields.as_ref()?.woken(record, endian);
        Some(match kind {
            Kind::Other => return None,
            Kind::Switch => {
                let (from, state, to) = self.switch.as_ref()?;
                then(Happened::Switch {
                    from: from.switched(record, endian)?,
                    state: state_of(state.of(record, endian)?),
                    to: to.switched(record, endian)?,
                })
            }
            Kind::Waking => then(Happened::Waking(woken(&self.waking)?)),
            Kind::Wakeup => then(Happened::Wakeup(woken(&self.wakeup)?)),
            Kind::New => then(Happened::New(woken(&self.new)?)),
            Kind::Soft(Edge::Enter) => then(Happened::Enter(Above::Soft(soft()?))),
            Kind::Soft(Edge::Exit) => then(Happened::Exit(Above::Soft(soft()?))),
            Kind::Raise => then(Happened::Raise(soft()?)),
            Kind::Vector(at, Edge::Enter) => then(Happened::Enter(Above::Vector(at))),
            Kind::Vector(at, Edge::Exit) => then(Happened::Exit(Above::Vector(at))),
            Kind::Line(Edge::Enter) => then(Happened::Enter(Above::Line(int(&self.line)? as u32))),
            Kind::Line(Edge::Exit) => then(Happened::Exit(Above::Line(int(&self.line)? as u32))),
            Kind::Nmi => then(Happened::Nmi(u64::try_from(self.nmi?.of(record)?).ok()?)),
            Kind::Call(name, Edge::Enter) => then(Happened::Call { pid: int(&self.pid)?, call: Call::Named(name) }),
            Kind::Call(name, Edge::Exit) => {
                then(Happened::Return { pid: int(&self.pid)?, call: Some(Call::Named(name)) })
            }
            Kind::RawCall(Edge::Enter) => {
                then(Happened::Call { pid: int(&self.pid)?, call: numbered(int(&self.raw)?)? })
            }
            Kind::RawCall(Edge::Exit) => {
                let number = int(&self.raw)?;
                // The return from a signal has this number.
                let call = if number == -1 { None } else { Some(numbered(number)?) };
                then(Happened::Return { pid: int(&self.pid)?, call })
            }
            Kind::Off(what, Edge::Enter) => then(Happened::Off(what)),
            Kind::Off(what, Edge::Exit) => then(Happened::On(what)),
            Kind::Expired => {
                let (timer, now) = self.expired.as_ref()?;
                then(Happened::Expired { timer: timer.of(record)?.cast_unsigned(), now: now.of(record)? })
            }
            Kind::Renamed => {
                let (pid, comm) = self.renamed.as_ref()?;
                then(Happened::Renamed { pid: pid.of(record, endian)?, comm: comm_at(record, *comm)? })
            }
            Kind::Freed => then(Happened::Freed(int(&self.freed)?)),
            Kind::Exits => then(Happened::Exits(int(&self.exits)?)),
            Kind::Migrated => {
                let (pid, from, to) = self.migrated.as_ref()?;
                let int = |field: &Int| field.of(record, endian);
                then(Happened::Migrated { pid: int(pid)?, from: int(from)? as u32, to: int(to)? as u32 })
            }
        })
    }

    /// Returns the byte order of all records.
    pub(crate) fn endian(&self) -> Endian {
        self.endian
    }

    /// Returns the number of a record's format.
    #[inline]
    pub fn id(&self, record: &[u8]) -> Option<u16> {
        self.endian.u16(record, 0)
    }

    /// Returns the task that wrote a record.
    #[inline(always)]
    pub fn writer(&self, record: &[u8]) -> Option<i32> {
        self.pid?.of(record, self.endian)
    }

    /// Returns the flags of a record (`enum trace_flag_type`) and the depth of disabled preemption.
    #[inline]
    pub fn context(&self, record: &[u8]) -> Option<(u8, u8)> {
        Some((self.flags?.of(record)? as u8, self.depth?.of(record)? as u8))
    }

    /// Returns the name of the device whose handler a record of `irq_handler_entry` announces.
    pub fn device(&self, record: &[u8]) -> Option<String> {
        Some(self.line_name.as_ref()?.text(record, self.endian)?.into_owned())
    }

    /// Returns the names of system calls with separate events, as [`Call::Named`] numbers them.
    pub fn calls(&self) -> &[String] {
        &self.calls
    }

    /// Returns the names of vectors, as [`Above::Vector`] numbers them.
    pub fn vectors(&self) -> &[String] {
        &self.vectors
    }
}

impl TaskFields {
    #[inline(always)]
    fn switched(&self, record: &[u8], endian: Endian) -> Option<Switched> {
        let priority = Priority(self.prio.of(record, endian)? as i16);
        Some(Switched { pid: self.pid.of(record, endian)?, priority, comm: comm_at(record, self.comm)? })
    }

    #[inline(always)]
    fn woken(&self, record: &[u8], endian: Endian) -> Option<Woken> {
        let Switched { pid, priority, comm } = self.switched(record, endian)?;
        Some(Woken { pid, priority, comm })
    }
}

/// Returns the call with that number, if a call can have it.
#[inline(always)]
fn numbered(number: i32) -> Option<Call> {
    u16::try_from(number).ok().map(Call::Number)
}

#[inline(always)]
fn comm_at(record: &[u8], at: u16) -> Option<Comm> {
    let at = usize::from(at);
    record.get(at..at + COMM)?.first_chunk().map(|bytes| Comm(*bytes))
}

/// Returns the state of a task that leaves the CPU (TASK_REPORT and TASK_STATE_MAX of include/linux/sched.h). No bit, or only the bit above
/// all reported ones, means a task that could continue.
#[inline]
pub(crate) fn state_of(bits: i32) -> State {
    match bits & 0xff {
        0 => State::Runnable,
        state if state & 0x0c != 0 => State::Stopped,
        state if state & 0x30 != 0 => State::Dead,
        _ => State::Sleeping,
    }
}
