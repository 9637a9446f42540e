//! Why a sample was late: its time, cut into slices that each have one cause, the innermost.
//!
//! What is asked is a window of one thread: from when it should have gone on to when it did. What the CPU did in it is known
//! by segments ([`crate::pairing::Segment`]), what the thread was at by its switches and wake-ups. What no event explains is
//! a slice of its own, *unexplained*; slices add up to the window exactly.

mod collect;
mod cut;
mod jobs;
mod scene;
mod wakers;

use crate::{
    events::{Above, Class, Comm, Priority},
    file::{Buffer, Trace},
    pairing::{Definition, Met, Pairing, Segment, pair},
    text::Input,
};
use collect::Collect;
pub use jobs::Awaited;
use std::collections::BTreeMap;

/// A time of a thread that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// When it should have gone on: a timer was due, a reading was taken. In ns of the trace's clock.
    pub begin: u64,
    /// When it did, ns.
    pub end: u64,
    /// The thread.
    pub pid: i32,
    /// Where it is at home: the CPU that is looked at as long as no event tells another.
    pub cpu: u32,
    /// What it was at when it began.
    pub begins: Begins,
}

/// What a thread was at when its window began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Begins {
    /// It slept, until a timer that was due then.
    Asleep,
    /// It ran, and read the clock again and again.
    Reading,
    /// A job of a program was due, and the thread slept or still did the job before.
    Job,
}

/// What a slice of a window was lost to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A non-maskable interrupt.
    Nmi,
    /// A hard interrupt, by its name.
    Interrupt(String),
    /// A soft interrupt, by its name.
    Soft(String),
    /// The timer was due and no interrupt came while this task ran: interrupts were off, or the machine was elsewhere
    /// (system management, a hypervisor). Generic events cannot tell these apart.
    NoInterrupt(String),
    /// The timer was due and this task had turned interrupts off: events of `preemptirq` tell.
    InterruptsOff(String),
    /// The timer was due and no interrupt came although these events tell that interrupts were on: the machine was
    /// elsewhere (system management, a hypervisor), or its timer was late.
    Elsewhere,
    /// Another task of higher or equal priority had the CPU.
    Task(String, Class),
    /// A task of lower priority had the CPU and kept it, and events on its CPU tell that it was to give way: it could not be
    /// preempted.
    NotPreemptible(String),
    /// A task that came with lower priority had the CPU and kept it, and no event tells that it was to give way, or it no longer
    /// was: it may have raised its priority meanwhile.
    Kept(String),
    /// The CPU was idle: it was late to leave that.
    IdleExit,
    /// The timer was due and no interrupt came to the idle CPU, for longer than leaving idle takes: a hypervisor, firmware, or
    /// an idle state that is left more slowly than it says.
    NoInterruptIdle,
    /// The hypervisor had stopped the machine: stolen time was counted, and no CPU of it wrote an event.
    Standstill,
    /// This handler had begun, and as much time was stolen while no CPU wrote an event: it took so long, or the hypervisor stopped the
    /// machine in it.
    HandlerOrStandstill(Box<Cause>),
    /// It slept until this ordinary task woke it, while its own timer did not: a freezer let it go on, or somebody took the timer.
    NotByTimer(String),
    /// Another CPU woke it: the message took so long.
    InterProcessor,
    /// It was moved to another CPU.
    Migration,
    /// It was awake and waited for a lock of the kernel, spinning or asleep: events of `lock` tell.
    Lock,
    /// It was awake, ran, and then waited for something in the kernel.
    Blocked,
    /// In a job, or before it: it waited until this task or interrupt woke it.
    Awaits(String),
    /// It waited for the first task, and the second one had that one's CPU.
    Inverted(String, String),
    /// It slept until a timer that it had set for then.
    OwnTimer,
    /// It slept, and nothing tells for what.
    Asleep,
    /// It did its job.
    Own,
    /// It did its job for longer than usual, and whether page faults may be why.
    Beyond {
        /// How long usual is, ns.
        usual_ns: u64,
        /// Whether there were as many page faults as may take a quarter of what is longer.
        faults: bool,
    },
    /// It was stopped by a signal or a tracer.
    Stopped,
    /// It could run, and the scheduler gave the CPU to a lower one, or to nobody: real-time throttling.
    Throttled,
    /// It could run, and nobody had the CPU: its control group had used up its CPU quota.
    Quota,
    /// An ordinary task had the CPU while its control group may have used up its CPU quota: no event tells which of these kept it off.
    TaskOrQuota(String),
    /// It ran itself: its way back to its own code.
    Itself,
    /// Events of that time were lost.
    Lost,
    /// Nothing of its CPU was recorded yet, or any more.
    Untraced,
    /// More happened than is followed: what comes after so many changes of its CPUs is not told apart.
    TooMany,
    /// No event explains it.
    Unexplained,
}

/// A slice of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// From then, ns.
    pub begin: u64,
    /// To then, ns.
    pub end: u64,
    /// What it was lost to.
    pub cause: Cause,
}

impl Slice {
    /// How long, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// An explained window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The window.
    pub window: Window,
    /// `name-number` of its thread, where an event names it.
    pub name: Option<String>,
    /// Its slices in order of time; they add up to it.
    pub slices: Vec<Slice>,
    /// What each CPU did around it.
    pub segments: Vec<Segment>,
    /// The events around it, as text, with their CPU and time.
    pub excerpt: Vec<Line>,
    /// How many events there were besides, in its middle.
    pub omitted: u64,
    /// How it was woken, where it slept.
    pub chain: Chain,
    /// The tasks that it waited for in a job: each with the time of that.
    pub awaited: Vec<Awaited>,
    /// The CPU that its thread had last when it began, as far as events tell.
    pub cpu: u32,
    /// Its page faults; none where the trace has no events of them.
    pub faults: Option<u64>,
}

/// How a thread came back from a sleep: each step where an event tells it, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The interrupt in which it was woken began, with its name.
    pub interrupt: Option<(u64, String)>,
    /// A timer's function began in that interrupt.
    pub timer: Option<u64>,
    /// A task woke it, in no interrupt: the interrupt's thread, where handlers are threads.
    pub by: Option<Waker>,
    /// Somebody was about to wake it.
    pub waking: Option<u64>,
    /// Until then it did nothing but sleep: it was not stopped, and waited for no lock.
    pub merely_slept: bool,
    /// It got a CPU.
    pub on_cpu: Option<u64>,
    /// Where it was when it was woken, if no event tells where it waited then.
    pub was_on: Option<u32>,
}

/// A task that woke another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waker {
    /// The task.
    pub pid: i32,
    /// `name-number`.
    pub name: String,
    /// Its class.
    pub class: Class,
    /// When it got the CPU on which it did that, where that was after the begin, ns.
    pub on_cpu: Option<u64>,
}

/// An event as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When, ns.
    pub time: u64,
    /// Where.
    pub cpu: u32,
    /// What, with its fields.
    pub text: String,
}

/// Leaving idle takes no longer than this, ns, whatever the state: the deepest ones of processors say up to about 1 ms.
const IDLE_EXIT_NS: u64 = 1_000_000;

impl Explained {
    /// Tells idle time that is longer than leaving idle may take, ns, from leaving idle: before the waking no interrupt came, and behind
    /// it nothing tells why the scheduler chose nobody. A message between CPUs takes no longer either.
    pub fn idle_exits_within(&mut self, allowed_ns: u64) {
        wakers::messages_within(self, allowed_ns);
        let waking = self.chain.waking.unwrap_or(u64::MAX);
        let mut all = Vec::with_capacity(self.slices.len());
        for slice in std::mem::take(&mut self.slices) {
            let slept_until = slice.end.min(waking).max(slice.begin);
            let short = (slept_until - slice.begin).max(slice.end.saturating_sub(slept_until)) <= allowed_ns;
            if slice.cause != Cause::IdleExit || short {
                all.push(slice);
                continue;
            }
            for (begin, end, longer) in
                [(slice.begin, slept_until, Cause::NoInterruptIdle), (slept_until, slice.end, Cause::Unexplained)]
            {
                let cause = if end - begin > allowed_ns { longer } else { Cause::IdleExit };
                all.extend((end > begin).then_some(Slice { begin, end, cause }));
            }
        }
        self.slices = all;
    }

    /// Of a thread that waited for its timer alone: an ordinary task that woke it was not that. Interrupts, their threads and the
    /// kernel's threads of timers are no such tasks. What the CPUs did until then kept nobody.
    pub fn woken_by_timer(&mut self) {
        let Some((by, waking)) = self.chain.by.clone().zip(self.chain.waking) else { return };
        let kernels = ["ksoftirqd/", "ktimers/", "irq/"].iter().any(|name| by.name.starts_with(name));
        if by.class != Class::Fair || kernels || !self.chain.merely_slept {
            return;
        }
        let asleep = Slice { begin: self.window.begin, end: waking, cause: Cause::NotByTimer(by.name) };
        // What woke that task is no timer of the thread's.
        (self.chain.interrupt, self.chain.timer) = (None, None);
        let rest = self.slices.iter().filter(|slice| slice.end > waking);
        let rest = rest.map(|slice| Slice { begin: slice.begin.max(waking), ..slice.clone() });
        self.slices = [asleep].into_iter().chain(rest).filter(|slice| slice.end > slice.begin).collect();
    }

    /// Names a standstill of the whole machine: slices of so many ns at least in which nothing explains what a CPU did, no CPU
    /// wrote an event, and `stolen` (given a begin and an end on the trace's clock) tells that as much time was stolen. Of a handler
    /// that had begun before nobody knows which of the two took so long.
    pub fn standstills(&mut self, least_ns: u64, stolen: impl Fn(u64, u64) -> bool) {
        if self.omitted > 0 {
            return;
        }
        let Self { slices, excerpt, .. } = self;
        for slice in slices {
            let then = match &slice.cause {
                Cause::NoInterrupt(_)
                | Cause::NoInterruptIdle
                | Cause::IdleExit
                | Cause::Elsewhere
                | Cause::Unexplained => Cause::Standstill,
                handler @ (Cause::Nmi | Cause::Interrupt(_) | Cause::Soft(_)) => {
                    Cause::HandlerOrStandstill(Box::new(handler.clone()))
                }
                _ => continue,
            };
            let silent = !excerpt.iter().any(|line| slice.begin < line.time && line.time < slice.end);
            if silent && slice.ns() >= least_ns && stolen(slice.begin, slice.end) {
                slice.cause = then;
            }
        }
    }

    /// How long each cause took, ns, the longest first.
    pub fn causes(&self) -> Vec<(&Cause, u64)> {
        let mut sums = BTreeMap::<&Cause, u64>::new();
        for slice in &self.slices {
            *sums.entry(&slice.cause).or_default() += slice.ns();
        }
        let mut all: Vec<_> = sums.into_iter().collect();
        all.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        all
    }
}

/// Explains windows of a buffer; what is at its edges, or where events are missing, is unexplained or lost.
///
/// Where a task woke the thread, the time until then is explained by what became of that task: it is walked twice then.
pub fn explain(trace: &Trace<'_>, buffer: &Buffer<'_>, windows: &[Window]) -> (Vec<Explained>, Met) {
    let (mut all, met) = explain_once(trace, buffer, windows);
    let before: Vec<Window> =
        all.iter().flat_map(|one| wakers::before(one).into_iter().chain(wakers::awaited(one))).collect();
    if !before.is_empty() {
        let (of_wakers, _) = explain_once(trace, buffer, &before);
        let of_wakers: BTreeMap<Window, Explained> = of_wakers.into_iter().map(|one| (one.window, one)).collect();
        all.iter_mut().for_each(|one| wakers::follow(one, &of_wakers));
    }
    all.iter_mut().for_each(|one| one.idle_exits_within(IDLE_EXIT_NS));
    (all, met)
}

fn explain_once(trace: &Trace<'_>, buffer: &Buffer<'_>, windows: &[Window]) -> (Vec<Explained>, Met) {
    let mut collect = Collect::of(trace, windows);
    let mut pairing = Pairing::of(Definition::Waking);
    let met = pair(trace, buffer, &mut pairing, &mut collect);
    let names = Names { devices: &met.devices, vectors: collect.vectors(), pairing: &mut pairing };
    (collect.explained(names), met)
}

/// The same of the text of a tracer.
pub fn explain_text(input: Input<'_>, windows: &[Window]) -> Vec<Explained> {
    let mut collect = Collect::of_text(windows);
    let mut pairing = Pairing::of(Definition::Waking);
    let (met, names) = crate::text::pair(input, &mut pairing, &mut collect);
    let mut all = collect.explained(Names { devices: &met.devices, vectors: names.vectors, pairing: &mut pairing });
    all.iter_mut().for_each(|one| one.idle_exits_within(IDLE_EXIT_NS));
    all
}

/// What numbers are called.
struct Names<'a> {
    devices: &'a BTreeMap<u32, String>,
    vectors: Vec<String>,
    pairing: &'a mut Pairing,
}

impl Names<'_> {
    fn interrupt(&self, above: Above) -> String {
        interrupt(above, &self.vectors, self.devices)
    }

    /// An interrupt's cause.
    fn above(&self, above: Above) -> Cause {
        let name = self.interrupt(above);
        match above {
            Above::Soft(_) => Cause::Soft(name),
            Above::Vector(_) | Above::Line(_) => Cause::Interrupt(name),
        }
    }

    /// `name-number` of a task that an event named.
    fn name(&self, pid: i32) -> Option<String> {
        self.pairing.name(pid).map(|comm| named(&comm, pid))
    }

    fn task(&mut self, pid: i32) -> (String, Priority) {
        match self.pairing.task(pid) {
            Some((comm, priority)) => (named(&comm, pid), priority),
            None => (pid.to_string(), Priority::default()),
        }
    }
}

/// What an interrupt is called: `net_rx`, `local_timer`, `36:virtio1-req.0`.
pub fn interrupt(above: Above, vectors: &[String], devices: &BTreeMap<u32, String>) -> String {
    match above {
        Above::Soft(vec) => {
            crate::events::SOFT.get(usize::from(vec)).map_or_else(|| vec.to_string(), |name| (*name).into())
        }
        Above::Vector(at) => vectors.get(usize::from(at)).cloned().unwrap_or_default(),
        Above::Line(line) => match devices.get(&line) {
            Some(name) if !name.is_empty() => format!("{line}:{name}"),
            _ => line.to_string(),
        },
    }
}

/// `name-number`, as the kernel writes tasks.
pub fn named(comm: &Comm, pid: i32) -> String {
    format!("{}-{pid}", comm.text())
}

#[cfg(test)]
mod tests;
