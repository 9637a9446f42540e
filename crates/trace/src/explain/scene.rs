//! What latido keeps of a window.

use super::{Cause, Slice, Window};
use crate::{
    events::{Above, Off, Priority, State},
    pairing::{Segment, Span},
};
use std::collections::{BTreeMap, VecDeque};

/// The most segments of a window, and of its interrupts-off times, that latido keeps. It reports longer windows in parts.
pub(super) const MOST_SEGMENTS: usize = 65_536;

/// How many events latido keeps at a window's start, and how many at its end.
const LINES: usize = 100;

/// How many bytes of an event latido keeps: a page of the ring may be one event of some MiB.
const LONGEST: usize = 4096;

/// A change in what a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Something on that CPU is about to wake it.
    Waking(u32),
    /// It is on a run queue, of this CPU if the event names it.
    Woken(Option<u32>),
    /// It gets a CPU.
    In(u32),
    /// It leaves its CPU.
    Out(State),
    /// It moves to another CPU.
    Moved {
        /// The CPU that it leaves.
        from: u32,
        /// The CPU that it moves to.
        to: u32,
    },
    /// It starts to wait for a lock of the kernel.
    Contends,
    /// It gets that lock.
    Acquired,
}

/// An event as recorded in the trace.
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

/// What a CPU was doing when it woke a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waker {
    /// The hard interrupt that started last, and when.
    pub entered: Option<(u64, Above)>,
    /// When a timer's function last started.
    pub expired: Option<u64>,
    /// When that timer was due at the latest, in ns on the trace's clock, if the trace has the event that set it.
    pub due: Option<u64>,
    /// The hard interrupt that ended last, with its start and end. An interrupt's thread is woken after the event of the interrupt's end.
    pub left: Option<(u64, Above, u64)>,
    /// The same, if the interrupt wakes a thread after that event.
    pub behind: Option<(u64, Above, u64)>,
}

impl Waker {
    /// Returns the hard interrupt in which the thread is woken, with its start.
    pub fn came_by(&self) -> Option<(u64, Above)> {
        self.entered.or(self.behind.map(|(began, above, _)| (began, above)))
    }
}

/// A window with what happened in it.
#[derive(Debug)]
pub(super) struct Scene {
    pub window: Window,
    /// The last CPU of a job's thread. `next` is the first task that writes an event there, or leaves it, after the window.
    pub home: Option<u32>,
    pub next: Option<i32>,
    /// Segments of all CPUs that touch the window.
    pub segments: Vec<Segment>,
    /// The changes of its thread: the last ones before the window, and all in it.
    pub turns: Vec<(u64, Turn)>,
    /// When interrupts and preemption were off, if events show it.
    pub off: Vec<Span<Off>>,
    /// Whether the trace has these events.
    pub preemptirq: bool,
    /// Which task wrote events on which CPU, except switches and the idle task's events.
    pub running: Vec<(u64, u32, i32)>,
    /// For each event except a switch: whether the CPU's task had to give way.
    pub to_give_way: Vec<(u64, u32, bool)>,
    /// With which priority a task left which CPU.
    pub left: Vec<(u64, u32, i32, Priority)>,
    /// When the scheduler started to put off a CPU's runnable real-time tasks, and when it let one run again. The first entry of a CPU may
    /// be before the window.
    pub put_off: Vec<(u64, u32, bool)>,
    /// What woke the thread in its window, and when; with the task, if a task did.
    pub wakings: Vec<(u64, Waker, Option<i32>)>,
    /// The CPU that the thread was on at its first waking.
    pub was_on: Option<u32>,
    /// Page faults of its thread in the window.
    pub faults: u64,
    pub excerpt: Excerpt,
}

impl Scene {
    /// Returns whether the scheduler put off a CPU's real-time tasks at that time.
    pub fn is_put_off(&self, cpu: u32, at: u64) -> bool {
        let mut here = self.put_off.iter().filter(|(time, of, _)| *of == cpu && *time <= at);
        here.next_back().is_some_and(|(.., put_off)| *put_off)
    }

    /// Returns, for each time at which a task got a CPU, the task that left the CPU in the switch that ended this.
    pub fn leavers(&self) -> BTreeMap<(u32, u64), i32> {
        let came = self.segments.iter().filter(|segment| segment.came != 0);
        came.filter_map(|segment| Some(((segment.cpu, segment.came), segment.task?.0))).collect()
    }

    /// Returns what woke the thread first.
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

/// Consecutive slices; neighbours with the same cause are merged.
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
