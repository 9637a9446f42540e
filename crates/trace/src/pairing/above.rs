//! Determines what a CPU does at every moment: a task, or the innermost interrupt above it.

use super::{MOST_CPUS, Sink, Span, Unpaired};
use crate::events::{Above, Off, Priority};
use std::collections::BTreeMap;

/// A time in which a CPU did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The CPU.
    pub cpu: u32,
    /// Start, ns.
    pub begin: u64,
    /// End, ns.
    pub end: u64,
    /// What had the CPU.
    pub owner: Owner,
    /// The task that was below it, or that had the CPU itself.
    pub task: Option<(i32, Priority)>,
    /// When that task got the CPU, ns; 0 if no event shows it.
    pub came: u64,
}

/// What has a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A non-maskable interrupt.
    Nmi,
    /// A hard or soft interrupt.
    Above(Above),
    /// A task.
    Task(i32),
    /// The idle task.
    Idle,
    /// Unknown, because events were lost.
    Lost,
    /// Unknown, because it was before the CPU's first switch.
    Unknown,
}

/// An interrupt that was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled {
    /// The interrupt.
    pub above: Above,
    /// When its handler started, ns.
    pub begin: u64,
    /// When it ended, ns.
    pub end: u64,
    /// The part of this time that interrupts above it had (or, for a preemptible soft interrupt, other tasks), ns.
    pub nested: u64,
    /// The CPU.
    pub cpu: u32,
}

impl Handled {
    /// Returns how long it ran itself, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin).saturating_sub(self.nested)
    }
}

/// An interrupt that is being handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    above: Above,
    begin: u64,
    nested: u64,
}

/// The most nested interrupts: no kernel nests deeper.
const DEEPEST: usize = 16;

/// The interrupts of a CPU or of a task, the innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames(Vec<Frame>, u64);

/// The state of a CPU.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    number: u32,
    /// When it started what it does now.
    since: u64,
    task: Option<(i32, Priority)>,
    /// When the task came to the CPU.
    came: u64,
    frames: Vec<Frame>,
    /// The interrupts that were open when events were lost, the innermost last. Nothing shows whether they ended meanwhile.
    broken: Vec<Above>,
    /// What started before this time may be broken.
    doubt: u64,
    /// When each soft interrupt was first requested.
    raised: [Option<u64>; 16],
    /// Since when interrupts and preemption are off.
    off: [Option<u64>; 2],
    seen: bool,
}

/// Returns the state of a CPU.
#[inline]
pub(super) fn lane(cpus: &mut Vec<Cpu>, cpu: u32) -> Option<&mut Cpu> {
    let at = cpu as usize;
    if at >= cpus.len() {
        make(cpus, at);
    }
    cpus.get_mut(at)
}

#[cold]
fn make(cpus: &mut Vec<Cpu>, at: usize) {
    if at < MOST_CPUS {
        let numbers = u32::try_from(cpus.len()).unwrap_or(u32::MAX)..=u32::try_from(at).unwrap_or(0);
        cpus.extend(numbers.map(|number| Cpu {
            number,
            since: 0,
            task: None,
            came: 0,
            frames: Vec::new(),
            broken: Vec::new(),
            doubt: 0,
            raised: [None; 16],
            off: [None; 2],
            seen: false,
        }));
    }
}

/// The doubt of a CPU with no further certain data.
const OVER: u64 = u64::MAX;

/// The most preempted tasks whose soft interrupts latido keeps.
const MOST_ASIDE: usize = 4096;

impl Cpu {
    /// Returns what has the CPU now.
    fn owner(&self) -> Owner {
        if self.doubt == OVER {
            return Owner::Lost;
        }
        match (self.frames.last(), self.task) {
            (Some(frame), _) => Owner::Above(frame.above),
            (None, Some((0, _))) => Owner::Idle,
            (None, Some((pid, _))) => Owner::Task(pid),
            (None, None) => Owner::Unknown,
        }
    }

    /// Ends the current segment at this time, with this owner.
    #[inline]
    fn cut(&mut self, time: u64, owner: Owner, sink: &mut impl Sink) {
        if !self.seen {
            (self.seen, self.since) = (true, time);
        }
        if time > self.since {
            sink.segment(&Segment {
                cpu: self.number,
                begin: self.since,
                end: time,
                owner,
                task: self.task,
                came: self.came,
            });
            self.since = time;
        }
    }

    #[inline]
    pub fn enter(&mut self, time: u64, above: Above, unpaired: &mut Unpaired, sink: &mut impl Sink) {
        self.cut(time, self.owner(), sink);
        if let Above::Soft(vec) = above
            && let Some(begin) = self.raised.get_mut(usize::from(vec)).and_then(Option::take)
        {
            if begin < self.doubt {
                unpaired.voided += 1;
            } else {
                sink.raised(&Span { what: vec, begin, end: time, cpu: self.number });
            }
        }
        if self.frames.len() < DEEPEST {
            self.frames.push(Frame { above, begin: time, nested: 0 });
        }
    }

    #[inline]
    pub fn exit(&mut self, time: u64, above: Above, unpaired: &mut Unpaired, sink: &mut impl Sink) {
        self.cut(time, self.owner(), sink);
        let Some(at) = self.frames.iter().rposition(|frame| frame.above == above) else {
            let broken = self.broken.iter().rposition(|one| *one == above).map(|at| self.broken.remove(at));
            unpaired.voided += u64::from(broken.is_some());
            unpaired.unbegun += u64::from(broken.is_none());
            return;
        };
        let Some(frame) = self.frames.get(at).copied() else { return };
        // The interrupts above it ended without an event.
        unpaired.unended += (self.frames.len() - at - 1) as u64;
        self.frames.truncate(at);
        if let Some(below) = self.frames.last_mut() {
            below.nested = below.nested.saturating_add(time.saturating_sub(frame.begin));
        }
        if frame.begin < self.doubt {
            unpaired.voided += 1;
            return;
        }
        let Frame { above, begin, nested } = frame;
        sink.handled(&Handled { above, begin, end: time, nested, cpu: self.number });
    }

    /// Handles a non-maskable interrupt. Its event comes at the end of the handler.
    pub fn nmi(&mut self, time: u64, took: u64, sink: &mut impl Sink) {
        let begin = time.saturating_sub(took).max(self.since);
        self.cut(begin, self.owner(), sink);
        self.cut(time, Owner::Nmi, sink);
    }

    #[inline]
    pub fn switch(
        &mut self,
        time: u64,
        from: (i32, Priority),
        to: (i32, Priority),
        aside: &mut BTreeMap<i32, Frames>,
        sink: &mut impl Sink,
    ) {
        // Before the first switch this task had the CPU.
        self.task = Some(from);
        self.cut(time, self.owner(), sink);
        (self.task, self.came) = (Some(to), time);
        if !self.frames.is_empty() {
            // If preemptible tasks handle soft interrupts, the soft interrupts leave the CPU with their tasks. A hard interrupt cannot.
            self.frames.retain(|frame| matches!(frame.above, Above::Soft(_)));
            let frames = std::mem::take(&mut self.frames);
            if !frames.is_empty() && aside.len() < MOST_ASIDE {
                aside.insert(from.0, Frames(frames, time));
            }
        }
        if !aside.is_empty()
            && let Some(Frames(mut frames, since)) = aside.remove(&to.0)
        {
            frames.iter_mut().for_each(|frame| frame.nested = frame.nested.saturating_add(time.saturating_sub(since)));
            self.frames = frames;
        }
    }

    pub fn raise(&mut self, time: u64, vec: u8) {
        if let Some(raised) = self.raised.get_mut(usize::from(vec)) {
            raised.get_or_insert(time);
        }
    }

    pub fn off(&mut self, time: u64, off: Off) {
        let [interrupts, preemption] = &mut self.off;
        let since = if off == Off::Interrupts { interrupts } else { preemption };
        since.get_or_insert(time);
    }

    pub fn on(&mut self, time: u64, off: Off, unpaired: &mut Unpaired, sink: &mut impl Sink) {
        let [interrupts, preemption] = &mut self.off;
        let since = if off == Off::Interrupts { interrupts } else { preemption };
        match since.take() {
            None => unpaired.unbegun += 1,
            Some(begin) if begin < self.doubt => unpaired.voided += 1,
            Some(begin) => sink.off(&Span { what: off, begin, end: time, cpu: self.number }),
        }
    }

    /// Handles a loss: nothing is known from the CPU's last event until `until`, or from there on.
    pub fn lose(&mut self, since: u64, until: Option<u64>, sink: &mut impl Sink) {
        self.cut(since, self.owner(), sink);
        if let Some(until) = until {
            self.cut(until, Owner::Lost, sink);
        }
        self.doubt = self.doubt.max(until.unwrap_or(OVER));
        let room = DEEPEST.saturating_sub(self.broken.len());
        self.broken.extend(self.frames.drain(..).map(|frame| frame.above).take(room));
        (self.task, self.came) = (None, 0);
    }

    /// Marks everything of the CPU as uncertain.
    pub fn doubt(&mut self) {
        self.doubt = OVER;
    }

    /// Ends the current segment, and counts what is still open.
    pub fn end(&mut self, time: u64, unpaired: &mut Unpaired, sink: &mut impl Sink) {
        if self.seen {
            self.cut(time, self.owner(), sink);
        }
        unpaired.unended += self.frames.len() as u64 + self.off.iter().flatten().count() as u64;
        unpaired.voided += self.broken.len() as u64;
    }
}
