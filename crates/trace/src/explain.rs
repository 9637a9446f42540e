//! Explains why a sample was late: cuts its time into slices that each have one cause, the innermost.
//!
//! The time is a window of one thread: from when the thread should have continued to when it did. Segments ([`crate::pairing::Segment`])
//! show what the CPU did in it. The thread's switches and wake-ups show what the thread did. Time that no event explains is a separate
//! slice, *unexplained*. The slices add up to the window exactly.

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

/// A time of a thread that latido explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// When the thread should have continued: a timer was due, or the thread took a reading. In ns of the trace's clock.
    pub begin: u64,
    /// When the thread did continue, ns.
    pub end: u64,
    /// The thread.
    pub pid: i32,
    /// The thread's home CPU: latido looks at this CPU until an event shows another one.
    pub cpu: u32,
    /// What the thread was doing at the start.
    pub begins: Begins,
}

/// What a thread was doing when its window started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Begins {
    /// It slept until a timer that was due then.
    Asleep,
    /// It ran, and read the clock repeatedly.
    Reading,
    /// A job of a program was due, and the thread slept or was still doing the previous job.
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
    /// The timer was due and no interrupt came while this task ran: interrupts were off, or the machine was elsewhere (system management, a
    /// hypervisor). Generic events cannot distinguish these.
    NoInterrupt(String),
    /// The timer was due and this task had switched interrupts off, as events of `preemptirq` show.
    InterruptsOff(String),
    /// The timer was due and no interrupt came although these events show that interrupts were on: the machine was elsewhere (system
    /// management, a hypervisor), or its timer was late.
    Elsewhere,
    /// Another task of higher or equal priority had the CPU.
    Task(String, Class),
    /// A task of lower priority had the CPU and kept it, and events on its CPU show that it had to give way: it could not be preempted.
    NotPreemptible(String),
    /// A task that came with lower priority had the CPU and kept it. No event shows that it had to give way, or it no longer had to: it may
    /// have raised its priority meanwhile.
    Kept(String),
    /// The CPU was idle and left the idle state late.
    IdleExit,
    /// The timer was due and no interrupt came to the idle CPU, for longer than leaving idle takes. Possible reasons: a hypervisor,
    /// firmware, or an idle state whose exit is slower than it reports.
    NoInterruptIdle,
    /// The hypervisor had stopped the machine: the kernel counted stolen time, and no CPU of the machine wrote an event.
    Standstill,
    /// This handler had started, and as much time was stolen while no CPU wrote an event: the handler took that long, or the hypervisor
    /// stopped the machine during it.
    HandlerOrStandstill(Box<Cause>),
    /// The thread slept until this ordinary task woke it, and its own timer did not: a freezer let it continue, or something else took its
    /// timer.
    NotByTimer(String),
    /// Another CPU woke it: the message took this long.
    InterProcessor,
    /// It was moved to another CPU.
    Migration,
    /// It was awake and waited for a lock of the kernel, spinning or asleep, as events of `lock` show.
    Lock,
    /// It was awake, ran, and then waited for something in the kernel.
    Blocked,
    /// In a job, or before it: the thread waited until this task or interrupt woke it.
    Awaits(String),
    /// It waited for the first task, while the second task had the first task's CPU.
    Inverted(String, String),
    /// It slept until a timer that it had set for that time.
    OwnTimer,
    /// It slept, and no event shows why.
    Asleep,
    /// It did its job.
    Own,
    /// It did its job for longer than usual. The fields show whether page faults may be the reason.
    Beyond {
        /// The usual time, in ns.
        usual_ns: u64,
        /// Whether there were enough page faults to account for a quarter of the time beyond the usual.
        faults: bool,
    },
    /// It was stopped by a signal or a tracer.
    Stopped,
    /// It could run, and the scheduler gave the CPU to a lower task, or to none: real-time throttling.
    Throttled,
    /// It could run, and no task had the CPU: its control group had used up its CPU quota.
    Quota,
    /// An ordinary task had the CPU while the thread's control group may have used up its CPU quota. No event shows which of the two kept
    /// it off.
    TaskOrQuota(String),
    /// The thread itself ran: its return to its own code.
    Itself,
    /// Events of that time were lost.
    Lost,
    /// latido has no record of its CPU for that time: before the first or after the last event.
    Untraced,
    /// More happened than latido follows: after that many changes of its CPUs it does not distinguish causes.
    TooMany,
    /// No event explains it.
    Unexplained,
}

/// A slice of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Start, ns.
    pub begin: u64,
    /// End, ns.
    pub end: u64,
    /// What the slice was lost to.
    pub cause: Cause,
}

impl Slice {
    /// Returns the length of the slice, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// An explained window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The window.
    pub window: Window,
    /// `name-number` of its thread, if an event names it.
    pub name: Option<String>,
    /// Its slices in order of time; they add up to the window.
    pub slices: Vec<Slice>,
    /// What each CPU did around it.
    pub segments: Vec<Segment>,
    /// The events around it as text, with their CPU and time.
    pub excerpt: Vec<Line>,
    /// How many events in its middle the excerpt leaves out.
    pub omitted: u64,
    /// How it was woken, if it slept.
    pub chain: Chain,
    /// The tasks that it waited for in a job, each with the time of the wait.
    pub awaited: Vec<Awaited>,
    /// The thread's last CPU before the window, as far as events show it.
    pub cpu: u32,
    /// Its page faults; `None` if the trace has no events for them.
    pub faults: Option<u64>,
}

/// How a thread came back from a sleep: each step that an event shows, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The start of the interrupt in which it was woken, with the interrupt's name.
    pub interrupt: Option<(u64, String)>,
    /// When a timer's function started in that interrupt.
    pub timer: Option<u64>,
    /// The task that woke it outside of an interrupt: the interrupt's thread, where handlers are threads.
    pub by: Option<Waker>,
    /// When something was about to wake it.
    pub waking: Option<u64>,
    /// Whether it did nothing but sleep until then: it was not stopped, and waited for no lock.
    pub merely_slept: bool,
    /// When it got a CPU.
    pub on_cpu: Option<u64>,
    /// Its CPU when it was woken, if no event shows where it then waited.
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
    /// When it got the CPU on which it did that, if that was after the start, ns.
    pub on_cpu: Option<u64>,
}

/// An event as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its time, ns.
    pub time: u64,
    /// Its CPU.
    pub cpu: u32,
    /// Its text, with its fields.
    pub text: String,
}

/// The longest time that leaving idle takes, in ns, in any state: the deepest states of processors report up to about 1 ms.
const IDLE_EXIT_NS: u64 = 1_000_000;

impl Explained {
    /// Separates idle time that is longer than leaving idle may take from leaving idle; `allowed_ns` is that limit. Before the waking, no
    /// interrupt came. After it, no event shows why the scheduler chose no task. A message between CPUs takes no longer than the limit
    /// either.
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

    /// Handles a thread that waited only for its timer: an ordinary task that woke it was not that timer. Interrupts, their threads and the
    /// kernel's timer threads are not such tasks. Until the waking, nothing on the CPUs kept the thread from running.
    pub fn woken_by_timer(&mut self) {
        let Some((by, waking)) = self.chain.by.clone().zip(self.chain.waking) else { return };
        let kernels = ["ksoftirqd/", "ktimers/", "irq/"].iter().any(|name| by.name.starts_with(name));
        if by.class != Class::Fair || kernels || !self.chain.merely_slept {
            return;
        }
        let asleep = Slice { begin: self.window.begin, end: waking, cause: Cause::NotByTimer(by.name) };
        // What woke that task is not a timer of the thread.
        (self.chain.interrupt, self.chain.timer) = (None, None);
        let rest = self.slices.iter().filter(|slice| slice.end > waking);
        let rest = rest.map(|slice| Slice { begin: slice.begin.max(waking), ..slice.clone() });
        self.slices = [asleep].into_iter().chain(rest).filter(|slice| slice.end > slice.begin).collect();
    }

    /// Names a standstill of the whole machine: slices of at least `least_ns` in which no CPU wrote an event, nothing explains what a CPU
    /// did, and `stolen` reports that as much time was stolen (its arguments are a start and an end on the trace's clock). If a handler had
    /// started before, latido cannot tell which of the two took the time.
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

    /// Returns how long each cause took in ns, the longest first.
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

/// Explains windows of a buffer. Time at its edges, or where events are missing, is unexplained or lost.
///
/// If a task woke the thread, latido explains the time until then by what that task went through. It reads the buffer a second time for
/// that.
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

/// Does the same for the text of a tracer.
pub fn explain_text(input: Input<'_>, windows: &[Window]) -> Vec<Explained> {
    let mut collect = Collect::of_text(windows);
    let mut pairing = Pairing::of(Definition::Waking);
    let (met, names) = crate::text::pair(input, &mut pairing, &mut collect);
    let mut all = collect.explained(Names { devices: &met.devices, vectors: names.vectors, pairing: &mut pairing });
    all.iter_mut().for_each(|one| one.idle_exits_within(IDLE_EXIT_NS));
    all
}

/// The names of numbers.
struct Names<'a> {
    devices: &'a BTreeMap<u32, String>,
    vectors: Vec<String>,
    pairing: &'a mut Pairing,
}

impl Names<'_> {
    fn interrupt(&self, above: Above) -> String {
        interrupt(above, &self.vectors, self.devices)
    }

    /// Returns an interrupt's cause.
    fn above(&self, above: Above) -> Cause {
        let name = self.interrupt(above);
        match above {
            Above::Soft(_) => Cause::Soft(name),
            Above::Vector(_) | Above::Line(_) => Cause::Interrupt(name),
        }
    }

    /// Returns `name-number` of a task that an event named.
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

/// Returns the name of an interrupt: `net_rx`, `local_timer`, `36:virtio1-req.0`.
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

/// Returns `name-number`, as the kernel writes tasks.
pub fn named(comm: &Comm, pid: i32) -> String {
    format!("{}-{pid}", comm.text())
}

#[cfg(test)]
mod tests;
