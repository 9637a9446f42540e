//! What a CPU does at every moment: a task, or an interrupt above it, the innermost one.

use super::{MOST_CPUS, Sink, Span, Unpaired};
use crate::events::{Above, Off, Priority};
use std::collections::BTreeMap;

/// A time in which a CPU did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The CPU.
    pub cpu: u32,
    /// From then, ns.
    pub begin: u64,
    /// To then, ns.
    pub end: u64,
    /// What had it.
    pub owner: Owner,
    /// The task that it lay above, or that was it.
    pub task: Option<(i32, Priority)>,
    /// When that task got the CPU, ns; 0 where that was not seen.
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
    /// Nothing: its idle task.
    Idle,
    /// Nobody knows: events were lost.
    Lost,
    /// Nobody knows yet: before its first switch.
    Unknown,
}

/// An interrupt that was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled {
    /// Which.
    pub above: Above,
    /// When its handler began, ns.
    pub begin: u64,
    /// When it ended, ns.
    pub end: u64,
    /// How much of this others had that came above it (or, of a preemptible soft interrupt, other tasks), ns.
    pub nested: u64,
    /// Where.
    pub cpu: u32,
}

impl Handled {
    /// How long it ran itself, ns.
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

/// Interrupts above each other; deeper than this is no kernel.
const DEEPEST: usize = 16;

/// Those of a CPU or of a task, the innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames(Vec<Frame>, u64);

/// A CPU.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    number: u32,
    /// When it began what it does.
    since: u64,
    task: Option<(i32, Priority)>,
    /// When it came.
    came: u64,
    frames: Vec<Frame>,
    /// Those that were open when events were lost, the innermost last: whether they ended meanwhile nobody knows.
    broken: Vec<Above>,
    /// What began before this time may be broken.
    doubt: u64,
    /// When each soft interrupt was asked for first.
    raised: [Option<u64>; 16],
    /// Since when interrupts and preemption are off.
    off: [Option<u64>; 2],
    seen: bool,
}

/// The lane of a CPU.
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

/// The doubt of a CPU of which nothing more is known.
const OVER: u64 = u64::MAX;

/// So many preempted tasks keep their soft interrupts.
const MOST_ASIDE: usize = 4096;

impl Cpu {
    /// What has it now.
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

    /// Up to now it did what it did.
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
        // Those above it have ended unseen.
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

    /// The event comes at the end of the handler.
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
        // Before the first switch it was this one.
        self.task = Some(from);
        self.cut(time, self.owner(), sink);
        (self.task, self.came) = (Some(to), time);
        if !self.frames.is_empty() {
            // Where soft interrupts are handled by tasks that can be preempted, they go with them. A hard one cannot.
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

    /// From its last event to then, or from there on, nothing is known.
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

    /// Nothing of it is certain.
    pub fn doubt(&mut self) {
        self.doubt = OVER;
    }

    /// Cuts what it does, and counts what is open.
    pub fn end(&mut self, time: u64, unpaired: &mut Unpaired, sink: &mut impl Sink) {
        if self.seen {
            self.cut(time, self.owner(), sink);
        }
        unpaired.unended += self.frames.len() as u64 + self.off.iter().flatten().count() as u64;
        unpaired.voided += self.broken.len() as u64;
    }
}
