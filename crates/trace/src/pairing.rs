//! Turns events into latencies: what starts in one event and ends in another, perhaps on another CPU.
//!
//! Pairing needs the events of all CPUs in one order ([`crate::merge`]). What was open when events were lost is void: latido counts it and
//! never guesses. What is still open at the end is censored, and is counted too.

mod above;
mod activations;
mod calls;
mod expiry;
mod sink;
mod waits;

use crate::{
    accounts::{Accounts, Source},
    bytes::{Endian, Losses},
    events::{Above, Call, Comm, Events, Happened, Priority},
    file::{Buffer, Trace},
    merge::{Lost, Merge, Take},
    page::{Event, Missed},
    tasks::{Known, Tasks},
};
pub use above::{Handled, Owner, Segment};
pub use activations::{Activation, Activations, Begun, Ended, Forks, WaitCalls};
pub use calls::{Called, OffCpu};
pub use expiry::{Chain, Expiries};
pub use sink::Sink;
use std::collections::BTreeMap;
pub use waits::{Definition, Wait, Why};

/// Something that lasted, on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// What lasted.
    pub what: T,
    /// When it began, ns.
    pub begin: u64,
    /// When it ended, ns.
    pub end: u64,
    /// The CPU.
    pub cpu: u32,
}

/// What did not become a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// Pairs that lost events may have broken: void.
    pub voided: u64,
    /// Ends whose start is not in the trace: it was earlier.
    pub unbegun: u64,
    /// Starts whose end is not in the trace: it was later, or there is none (a task that exits in a system call).
    pub unended: u64,
    /// Waits whose end is not in the trace, although the task left a CPU later: the kernel recorded no switch to it.
    pub unseen: u64,
    /// Wake-ups of a task that was running: there was nothing to wait for.
    pub running: u64,
}

/// What a walk through a buffer found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// How many events there were.
    pub events: u64,
    /// The time of the first, ns.
    pub first: u64,
    /// The time of the last, ns.
    pub last: u64,
    /// How many gaps there are: a ring was full, bytes could not be read, or time went backwards.
    pub gaps: u64,
    /// How many events were lost in them, as far as the kernel counted.
    pub lost: u64,
    /// Gaps with an unknown number of lost events.
    pub uncounted: u64,
    /// Which sources report that events are missing, or that none are.
    pub said: Accounts,
    /// The time from which nothing is certain, ns: the data of a CPU ends there, before the trace does.
    pub over: Option<u64>,
    /// The first CPU whose data ends before the trace does.
    pub over_cpu: Option<u32>,
    /// How often time went backwards.
    pub backwards: u64,
    /// What could not be read of the pages.
    pub unread: Losses,
    /// What did not become a pair.
    pub unpaired: Unpaired,
    /// How often a task could not be followed, because there were too many.
    pub refused: u64,
    /// The names of devices by the number of their line.
    pub devices: BTreeMap<u32, String>,
}

impl Met {
    /// Counts missing events, and records the source that reports them.
    pub(crate) fn miss(&mut self, source: Source, lost: &Lost) {
        self.said.lost(source, Some(lost.cpu), lost.missed);
        self.gap(lost);
    }

    /// Counts missing events whose source is already recorded.
    pub(crate) fn gap(&mut self, lost: &Lost) {
        self.gaps += u64::from(lost.missed != Missed::Nothing);
        if lost.until.is_none() && self.over.is_none_or(|over| lost.since < over) {
            (self.over, self.over_cpu) = (Some(lost.since), Some(lost.cpu));
        }
        match lost.missed {
            Missed::Events(count) => self.lost = self.lost.saturating_add(count),
            Missed::Some => self.uncounted += 1,
            Missed::Nothing => {}
        }
    }
}

/// What is known of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its name when it was last seen.
    comm: Comm,
    priority: Priority,
    wait: waits::State,
    /// Since when it waits, or when it left its CPU.
    since: u64,
    left: u64,
    call: Option<Call>,
    call_begin: u64,
    blocked: u64,
    waited: u64,
}

/// The state between two events.
#[derive(Debug, Default)]
pub struct Pairing {
    definition: Definition,
    tasks: Tasks<Task>,
    cpus: Vec<above::Cpu>,
    /// Soft interrupts of tasks that were preempted in them (PREEMPT_RT).
    aside: BTreeMap<i32, above::Frames>,
    /// What began before this time may be broken by lost events.
    doubt: u64,
    unpaired: Unpaired,
    devices: BTreeMap<u32, String>,
}

/// latido ignores CPUs from this number on.
const MOST_CPUS: usize = 1 << 16;

impl Pairing {
    /// Creates a pairing with this definition of wake-ups.
    pub fn of(definition: Definition) -> Self {
        Self { definition, ..Self::default() }
    }

    /// Processes an event.
    #[inline(always)]
    pub fn take(&mut self, cpu: u32, time: u64, happened: &Happened, sink: &mut impl Sink) {
        match *happened {
            Happened::Switch { from, state, to } => {
                self.switched(cpu, time, (&from, state, &to), sink);
                if let Some(lane) = above::lane(&mut self.cpus, cpu) {
                    lane.switch(time, (from.pid, from.priority), (to.pid, to.priority), &mut self.aside, sink);
                }
            }
            Happened::Waking(task) => self.woken(time, &task, waits::By::Waking),
            Happened::Wakeup(task) | Happened::New(task) => self.woken(time, &task, waits::By::Wakeup),
            Happened::Enter(above) => self.lane(cpu, |lane, unpaired| lane.enter(time, above, unpaired, sink)),
            Happened::Exit(above) => self.lane(cpu, |lane, unpaired| lane.exit(time, above, unpaired, sink)),
            Happened::Nmi(took) => self.lane(cpu, |lane, _| lane.nmi(time, took, sink)),
            Happened::Raise(vec) => self.lane(cpu, |lane, _| lane.raise(time, vec)),
            Happened::Off(off) => self.lane(cpu, |lane, _| lane.off(time, off)),
            Happened::On(off) => self.lane(cpu, |lane, unpaired| lane.on(time, off, unpaired, sink)),
            Happened::Call { pid, call } => self.called(time, pid, call),
            Happened::Return { pid, call } => self.returned(cpu, time, pid, call, sink),
            Happened::Renamed { pid, comm } => self.tasks.of(pid).into_iter().for_each(|task| task.comm = comm),
            // At the end callers query the task that last had this number: its name and priority stay until another task gets the number.
            Happened::Freed(pid) => self.tasks.of(pid).into_iter().for_each(|task| {
                *task = Task { comm: task.comm, priority: task.priority, ..Task::default() };
            }),
            Happened::Expired { .. } | Happened::Migrated { .. } | Happened::Exits(_) => {}
        }
    }

    #[inline]
    fn lane(&mut self, cpu: u32, apply: impl FnOnce(&mut above::Cpu, &mut Unpaired)) {
        if let Some(lane) = above::lane(&mut self.cpus, cpu) {
            apply(lane, &mut self.unpaired);
        }
    }

    /// Handles missing events of a CPU: nothing is known of the CPU in that time.
    pub fn lost(&mut self, lost: &Lost, sink: &mut impl Sink) {
        self.doubt = self.doubt.max(lost.until.unwrap_or(u64::MAX));
        self.lane(lost.cpu, |lane, _| lane.lose(lost.since, lost.until, sink));
        sink.lost(lost);
    }

    /// Handles missing events of a CPU at an unknown place: no wait and no call is certain, and nothing of that CPU.
    pub fn doubt(&mut self, cpu: u32) {
        self.doubt = u64::MAX;
        self.lane(cpu, |lane, _| lane.doubt());
    }

    /// Returns whether a pair is certain. If it started in doubt, the function counts it as void.
    #[inline]
    fn certain(&mut self, begin: u64) -> bool {
        let certain = begin >= self.doubt;
        self.unpaired.voided += u64::from(!certain);
        certain
    }

    /// Ends the trace.
    pub fn end(&mut self, time: u64, sink: &mut impl Sink) -> Unpaired {
        for lane in &mut self.cpus {
            lane.end(time, &mut self.unpaired, sink);
        }
        self.unpaired.unended += self.tasks.iter().map(|(_, task)| task.open()).sum::<u64>();
        self.unpaired
    }

    /// Returns the name and priority that a task had when it was last seen.
    pub fn task(&mut self, pid: i32) -> Option<(Comm, Priority)> {
        let task = self.tasks.of(pid)?;
        (task.comm != Comm::default()).then_some((task.comm, task.priority))
    }

    /// Returns the name of a task when it was last seen, if latido still has it.
    pub fn name(&self, pid: i32) -> Option<Comm> {
        self.tasks.get(pid).map(|task| task.comm).filter(|comm| *comm != Comm::default())
    }
}

impl Known for Task {
    fn needed(&self) -> bool {
        self.wait != waits::State::Idle || self.call.is_some()
    }
}

impl Task {
    /// Returns how many of its pairs are open.
    fn open(&self) -> u64 {
        u64::from(self.wait.waits()) + u64::from(self.call.is_some())
    }
}

/// Reads through a buffer of a trace and pairs its events.
pub fn pair<S: Sink>(trace: &Trace<'_>, buffer: &Buffer<'_>, pairing: &mut Pairing, sink: &mut S) -> Met {
    let events = Events::of(&trace.formats, trace.endian);
    let merge = Merge::of(trace, buffer);
    match events.endian() {
        Endian::Little => walk::<S, true>(&events, merge, pairing, sink),
        Endian::Big => walk::<S, false>(&events, merge, pairing, sink),
    }
}

/// Reads with the byte order known to the compiler: a decision for each number of each record costs as much as everything else.
fn walk<S: Sink, const LITTLE: bool>(
    events: &Events,
    mut merge: Merge<'_>,
    pairing: &mut Pairing,
    sink: &mut S,
) -> Met {
    let mut walk = Paired::<'_, S, LITTLE> { events, pairing, sink, met: Met::default() };
    merge.each_in::<LITTLE>(&mut walk);
    let Paired { pairing, sink, mut met, .. } = walk;
    (met.first, met.last) = merge.span();
    met.backwards = merge.backwards();
    met.unread = merge.unread();
    met.unpaired = pairing.end(met.last, sink);
    met.refused = pairing.tasks.refused();
    met.devices = pairing.devices.clone();
    // A ring without pages has no marks of loss.
    if !met.said.any() && met.events > 0 {
        met.said.none(Source::Pages);
    }
    met
}

/// A walk that pairs the events it finds.
struct Paired<'p, S, const LITTLE: bool> {
    events: &'p Events,
    pairing: &'p mut Pairing,
    sink: &'p mut S,
    met: Met,
}

impl<S: Sink, const LITTLE: bool> Take for Paired<'_, S, LITTLE> {
    #[inline(always)]
    fn event(&mut self, cpu: u32, event: Event<'_>) {
        let Self { events, pairing, sink, met } = self;
        met.events += 1;
        let Event { time, data } = event;
        let endian = if LITTLE { Endian::Little } else { Endian::Big };
        let told = events.tell(
            data,
            endian,
            #[inline(always)]
            |happened| {
                sink.event(cpu, time, data, Some(&happened));
                if let Happened::Enter(Above::Line(line)) = happened {
                    pairing.device(line, || events.device(data));
                }
                pairing.take(cpu, time, &happened, *sink);
            },
        );
        if told.is_none() {
            sink.event(cpu, time, data, None);
        }
    }

    fn lost(&mut self, lost: &Lost) {
        self.met.miss(Source::Pages, lost);
        self.pairing.lost(lost, self.sink);
    }
}

/// The most devices that latido names.
const MOST_DEVICES: usize = 4096;

impl Pairing {
    /// Records a line's device, from the line's first event.
    #[inline]
    fn device(&mut self, line: u32, name: impl FnOnce() -> Option<String>) {
        if !self.devices.contains_key(&line) && self.devices.len() < MOST_DEVICES {
            self.devices.insert(line, name().unwrap_or_default());
        }
    }
}
