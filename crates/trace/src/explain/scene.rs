//! What is kept of a window.

use super::{Cause, Slice, Window};
use crate::{
    events::{Above, Off, Priority, State},
    pairing::{Segment, Span},
};
use std::collections::{BTreeMap, VecDeque};

/// Segments of a window, and of its interrupts-off times; longer windows are told in parts.
pub(super) const MOST_SEGMENTS: usize = 65_536;

/// So many events at its begin are kept, and so many at its end.
const LINES: usize = 100;

/// So much of an event is kept: a page of the ring may be one event of some MiB.
const LONGEST: usize = 4096;

/// What became of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Somebody is about to wake it, on that CPU.
    Waking(u32),
    /// It is among those that may run, of that CPU where the event tells.
    Woken(Option<u32>),
    /// It has a CPU.
    In(u32),
    /// It left its CPU.
    Out(State),
    /// It goes to another CPU.
    Moved {
        /// From there.
        from: u32,
        /// To there.
        to: u32,
    },
    /// It begins to wait for a lock of the kernel.
    Contends,
    /// It has that.
    Acquired,
}

/// An event as it stands in the trace.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub time: u64,
    pub cpu: u32,
    pub bytes: Vec<u8>,
}

/// The events around a window: the first and the last ones.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    first: Vec<Record>,
    last: VecDeque<Record>,
    pub omitted: u64,
}

impl Excerpt {
    pub fn push(&mut self, time: u64, cpu: u32, bytes: &[u8]) {
        let shown = bytes.get(..LONGEST.min(bytes.len())).unwrap_or_default();
        let record = Record { time, cpu, bytes: shown.to_vec() };
        if self.first.len() < LINES {
            self.first.push(record);
            return;
        }
        if self.last.len() >= LINES {
            self.last.pop_front();
            self.omitted += 1;
        }
        self.last.push_back(record);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.first.iter().chain(&self.last)
    }
}

/// What a CPU was at when a thread was woken there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waker {
    /// The hard interrupt that began last, and when.
    pub entered: Option<(u64, Above)>,
    /// When a timer's function began last.
    pub expired: Option<u64>,
    /// When that timer had to be served at the latest, ns on the trace's clock, where its setting was seen.
    pub due: Option<u64>,
    /// The hard interrupt that ended last, its begin and its end: an interrupt's thread is woken behind the event of its end.
    pub left: Option<(u64, Above, u64)>,
    /// The same where it wakes somebody behind that event.
    pub behind: Option<(u64, Above, u64)>,
}

impl Waker {
    /// The hard interrupt in which somebody is woken, with its begin.
    pub fn came_by(&self) -> Option<(u64, Above)> {
        self.entered.or(self.behind.map(|(began, above, _)| (began, above)))
    }
}

/// A window with what happened in it.
#[derive(Debug)]
pub(super) struct Scene {
    pub window: Window,
    /// Where a job's thread was last, and who was the first to write an event there, or to leave, behind the window.
    pub home: Option<u32>,
    pub next: Option<i32>,
    /// Segments of all CPUs that touch it.
    pub segments: Vec<Segment>,
    /// What became of its thread, before it (the last time) and in it.
    pub turns: Vec<(u64, Turn)>,
    /// When interrupts and preemption were off, where events tell.
    pub off: Vec<Span<Off>>,
    /// Whether they would.
    pub preemptirq: bool,
    /// Which task wrote events on which CPU, but for switches and the idle one.
    pub running: Vec<(u64, u32, i32)>,
    /// Whether the task of a CPU was to give way, by each event but switches.
    pub to_give_way: Vec<(u64, u32, bool)>,
    /// With which priority tasks left which CPU.
    pub left: Vec<(u64, u32, i32, Priority)>,
    /// When the scheduler began to put off real-time tasks of a CPU that could run, and when it let one come again; the first of each CPU
    /// may lie before the window.
    pub put_off: Vec<(u64, u32, bool)>,
    /// Who woke it in its window, and when; the task, where it was one.
    pub wakings: Vec<(u64, Waker, Option<i32>)>,
    /// On which CPU it was at the first.
    pub was_on: Option<u32>,
    /// Page faults of its thread in it.
    pub faults: u64,
    pub excerpt: Excerpt,
}

impl Scene {
    /// Whether the scheduler put off the real-time tasks of a CPU at that time.
    pub fn is_put_off(&self, cpu: u32, at: u64) -> bool {
        let mut here = self.put_off.iter().filter(|(time, of, _)| *of == cpu && *time <= at);
        here.next_back().is_some_and(|(.., put_off)| *put_off)
    }

    /// Of each time at which a task got a CPU the task that left it then, by the switch that ended this.
    pub fn leavers(&self) -> BTreeMap<(u32, u64), i32> {
        let came = self.segments.iter().filter(|segment| segment.came != 0);
        came.filter_map(|segment| Some(((segment.cpu, segment.came), segment.task?.0))).collect()
    }

    /// Who woke it first.
    pub fn woken(&self) -> Option<(u64, Waker, Option<i32>)> {
        self.wakings.first().copied()
    }

    pub fn of(window: Window, preemptirq: bool) -> Self {
        Self {
            window,
            home: None,
            next: None,
            segments: Vec::new(),
            turns: Vec::new(),
            off: Vec::new(),
            preemptirq,
            running: Vec::new(),
            to_give_way: Vec::new(),
            left: Vec::new(),
            put_off: Vec::new(),
            wakings: Vec::new(),
            was_on: None,
            faults: 0,
            excerpt: Excerpt::default(),
        }
    }
}

/// Slices that follow each other; neighbours of one cause are one.
pub(super) struct Slices(pub Vec<Slice>);

impl Slices {
    pub fn push(&mut self, begin: u64, end: u64, cause: Cause) {
        if end <= begin {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.cause == cause => last.end = end,
            _ => self.0.push(Slice { begin, end, cause }),
        }
    }
}
