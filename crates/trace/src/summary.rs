//! All latencies that a trace permits, as distributions. The worst samples of each are kept with their time and place.

mod series;

use crate::{
    events::{Above, Call, Class, Comm, Off},
    file::{Buffer, Trace},
    pairing::{Called, Handled, Met, OffCpu, Owner, Pairing, Segment, Sink, Span, Wait, Why, pair},
    tasks::{Known, Tasks},
};
pub use series::{Series, WORST, Worst};
use std::collections::BTreeMap;

/// A task's waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfTask {
    /// Its name when it was last seen.
    pub comm: Comm,
    /// How often it came to a CPU after a waking.
    pub woken: u64,
    /// How long it waited for that in total, ns.
    pub waited: u64,
    /// The longest of these waits, ns.
    pub longest: u64,
    /// How often it came back after a preemption.
    pub preempted: u64,
    /// How long it waited for that in total, ns.
    pub held_up: u64,
    /// How long it had a CPU itself, ns.
    pub ran: u64,
}

/// The counts of a task are never dropped. A task for which there is no room is not counted.
impl Known for OfTask {
    fn needed(&self) -> bool {
        true
    }
}

/// A system call, as a whole and in parts. In the time in which it neither slept nor waited, the thread had a CPU.
#[derive(Clone, Debug, Default)]
pub struct OfCall {
    /// The time from enter to exit.
    pub whole: Series,
    /// How many of the calls left their CPU meanwhile.
    pub interrupted: u64,
    /// How long these calls slept, ns.
    pub blocked: u64,
    /// How long these calls could have run but had no CPU, ns.
    pub waited: u64,
}

/// The most lines, calls and owners that latido distinguishes; it ignores later ones.
const MOST: usize = 1 << 16;
/// Numbers below this need no search.
const DENSE: usize = 1024;

/// Values by number. Most numbers are small: a search for each event would cost more than everything else.
#[derive(Debug)]
struct Numbered<V> {
    dense: Vec<Option<Box<V>>>,
    others: BTreeMap<u32, V>,
}

impl<V> Default for Numbered<V> {
    fn default() -> Self {
        Self { dense: Vec::new(), others: BTreeMap::new() }
    }
}

impl<V: Default> Numbered<V> {
    #[inline]
    fn of(&mut self, number: u32) -> Option<&mut V> {
        let at = number as usize;
        if at >= DENSE {
            return entry(&mut self.others, number);
        }
        if at >= self.dense.len() {
            self.dense.resize_with(at + 1, || None);
        }
        self.dense.get_mut(at).map(|slot| &mut **slot.get_or_insert_default())
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        let dense = (0u32..).zip(&self.dense).filter_map(|(number, slot)| Some((number, slot.as_deref()?)));
        dense.chain(self.others.iter().map(|(number, value)| (*number, value)))
    }
}

/// Which tasks' waits and system calls count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Of {
    /// Those of all tasks.
    #[default]
    All,
    /// Those of one thread, by its number.
    Thread(i32),
    /// Those of all threads with that name at that time.
    Named(Comm),
}

impl Of {
    #[inline]
    fn holds(&self, pid: i32, comm: Comm) -> bool {
        match self {
            Self::All => true,
            Self::Thread(number) => *number == pid,
            Self::Named(name) => *name == comm,
        }
    }
}

/// Everything that was paired.
#[derive(Debug, Default)]
pub struct Summary {
    of: Of,
    waits: [[Series; 3]; 2],
    /// System calls by number, and by the index of a name.
    calls: [Numbered<OfCall>; 2],
    /// Soft interrupts, vectors, lines.
    handled: [Numbered<Series>; 3],
    raised: Numbered<Series>,
    off: [Series; 2],
    tasks: Tasks<OfTask>,
    cpus: Numbered<OfCpu>,
}

/// The number of recent tasks that need no search.
const RECENT: usize = 32;

/// The owners of a CPU.
#[derive(Debug, Default)]
struct OfCpu {
    above: [Numbered<Had>; 3],
    /// Non-maskable interrupts, the idle task, lost events, and the time before the first switch.
    others: [Had; 4],
    tasks: BTreeMap<i32, Had>,
    /// Recent tasks of the CPU, each at the place that follows from its number: they will probably have the CPU again.
    recent: [(i32, Had); RECENT],
}

/// One owner's time on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Had {
    /// How long in total, ns.
    pub ns: u64,
    /// In how many pieces.
    pub pieces: u64,
    /// The longest piece, ns.
    pub longest: u64,
}

impl Had {
    #[inline]
    fn add(&mut self, ns: u64) {
        self.ns = self.ns.saturating_add(ns);
        self.pieces += 1;
        self.longest = self.longest.max(ns);
    }

    /// Adds the times of another value.
    pub fn join(&mut self, other: &Self) {
        self.ns = self.ns.saturating_add(other.ns);
        self.pieces += other.pieces;
        self.longest = self.longest.max(other.longest);
    }
}

/// Returns which of three lists an interrupt is in, and its number there.
#[inline]
fn place(above: Above) -> (usize, u32) {
    match above {
        Above::Soft(vec) => (0, u32::from(vec)),
        Above::Vector(at) => (1, u32::from(at)),
        Above::Line(line) => (2, line),
    }
}

fn interrupt(list: usize, number: u32) -> Option<Above> {
    Some(match list {
        0 => Above::Soft(u8::try_from(number).ok()?),
        1 => Above::Vector(u8::try_from(number).ok()?),
        _ => Above::Line(number),
    })
}

impl OfCpu {
    #[inline]
    fn had(&mut self, owner: Owner, ns: u64) {
        let [nmi, idle, lost, unknown] = &mut self.others;
        match owner {
            Owner::Above(above) => {
                let (list, number) = place(above);
                if let Some(had) = self.above.get_mut(list).and_then(|all| all.of(number)) {
                    had.add(ns);
                }
            }
            Owner::Task(pid) => {
                let Some(recent) = self.recent.get_mut(pid as usize % RECENT) else { return };
                if recent.0 != pid {
                    let (before, had) = std::mem::replace(recent, (pid, Had::default()));
                    if had.pieces > 0
                        && let Some(all) = entry(&mut self.tasks, before)
                    {
                        all.join(&had);
                    }
                }
                recent.1.add(ns);
            }
            Owner::Nmi => nmi.add(ns),
            Owner::Idle => idle.add(ns),
            Owner::Lost => lost.add(ns),
            Owner::Unknown => unknown.add(ns),
        }
    }

    /// Returns each task's time on the CPU; some tasks appear in two parts.
    fn tasks(&self) -> impl Iterator<Item = (i32, Had)> {
        self.tasks.iter().map(|(pid, had)| (*pid, *had)).chain(self.recent)
    }

    fn owners(&self) -> BTreeMap<Owner, Had> {
        let mut all = BTreeMap::<Owner, Had>::new();
        let others = [Owner::Nmi, Owner::Idle, Owner::Lost, Owner::Unknown].into_iter().zip(self.others);
        let tasks = self.tasks();
        let above = self.above.iter().enumerate().flat_map(|(list, all)| {
            all.iter().filter_map(move |(number, had)| Some((Owner::Above(interrupt(list, number)?), *had)))
        });
        for (owner, had) in others.chain(tasks.map(|(pid, had)| (Owner::Task(pid), had))).chain(above) {
            if had.pieces > 0 {
                all.entry(owner).or_default().join(&had);
            }
        }
        all
    }
}

impl Summary {
    /// Reads everything that a buffer of a trace permits, and does nothing else: the fastest way from a file to its latencies. The function
    /// is compiled here, with everything that it calls.
    pub fn take(&mut self, trace: &Trace<'_>, buffer: &Buffer<'_>, pairing: &mut Pairing) -> Met {
        pair(trace, buffer, pairing, self)
    }

    /// Creates a summary of the waits and system calls of some tasks only.
    pub fn of(of: Of) -> Self {
        Self { of, ..Self::default() }
    }

    /// Returns the waits by reason and class.
    pub fn waits(&self, why: Why, class: Class) -> Option<&Series> {
        self.waits.get(why as usize)?.get(class as usize)
    }

    /// Returns the system calls.
    pub fn calls(&self) -> BTreeMap<Call, &OfCall> {
        let [numbers, names] = &self.calls;
        let number = |(number, of)| Some((Call::Number(u16::try_from(number).ok()?), of));
        let name = |(name, of)| Some((Call::Named(u16::try_from(name).ok()?), of));
        numbers.iter().filter_map(number).chain(names.iter().filter_map(name)).collect()
    }

    /// Returns the interrupts, with how long each ran itself.
    pub fn handled(&self) -> BTreeMap<Above, &Series> {
        let lists = self.handled.iter().enumerate();
        lists
            .flat_map(|(list, all)| all.iter().filter_map(move |(number, of)| Some((interrupt(list, number)?, of))))
            .collect()
    }

    /// Returns the soft interrupts, from their request to their start.
    pub fn raised(&self) -> BTreeMap<u8, &Series> {
        self.raised.iter().filter_map(|(vec, of)| Some((u8::try_from(vec).ok()?, of))).collect()
    }

    /// Returns how long interrupts or preemption were off.
    pub fn off(&self, off: Off) -> Option<&Series> {
        self.off.get(off as usize)
    }

    /// Returns the tasks that waited, by their number.
    pub fn tasks(&self) -> impl Iterator<Item = (i32, OfTask)> {
        // A task's running time is the sum over the CPUs: it is added up once, not at every event.
        let mut ran = BTreeMap::<i32, u64>::new();
        for (pid, had) in self.cpus.iter().flat_map(|(_, cpu)| cpu.tasks()) {
            let all = ran.entry(pid).or_default();
            *all = all.saturating_add(had.ns);
        }
        let waited = self.tasks.iter().filter(|(_, task)| task.woken > 0 || task.preempted > 0);
        waited.map(move |(pid, task)| (pid, OfTask { ran: ran.get(&pid).copied().unwrap_or(0), ..*task }))
    }

    /// Returns the owners of each CPU, with their times.
    pub fn owners(&self) -> impl Iterator<Item = (u32, BTreeMap<Owner, Had>)> {
        self.cpus.iter().map(|(cpu, of)| (cpu, of.owners()))
    }
}

/// Returns the entry of a key, unless there are too many entries.
fn entry<K: Ord + Copy, V: Default>(all: &mut BTreeMap<K, V>, key: K) -> Option<&mut V> {
    if all.len() >= MOST && !all.contains_key(&key) {
        return None;
    }
    Some(all.entry(key).or_default())
}

impl Sink for Summary {
    #[inline]
    fn waited(&mut self, wait: &Wait) {
        let Wait { pid, comm, priority, why, begin, end, cpu } = *wait;
        if !self.of.holds(pid, comm) {
            return;
        }
        let ns = wait.ns();
        if let Some(series) = self.waits.get_mut(why as usize).and_then(|of| of.get_mut(priority.class() as usize)) {
            series.push(ns, || Worst { ns, begin, end, cpu, pid, comm });
        }
        if let Some(task) = self.tasks.of(pid) {
            task.comm = comm;
            match why {
                Why::Woken => {
                    task.woken += 1;
                    task.waited = task.waited.saturating_add(ns);
                    task.longest = task.longest.max(ns);
                }
                Why::Preempted => {
                    task.preempted += 1;
                    task.held_up = task.held_up.saturating_add(ns);
                }
            }
        }
    }

    #[inline]
    fn called(&mut self, called: &Called) {
        let Called { call, pid, comm, begin, end, cpu, off } = *called;
        if !self.of.holds(pid, comm) {
            return;
        }
        let ns = called.ns();
        let (list, number) = match call {
            Call::Number(number) => (0, number),
            Call::Named(name) => (1, name),
        };
        if let Some(of) = self.calls.get_mut(list).and_then(|all| all.of(u32::from(number))) {
            of.whole.push(ns, || Worst { ns, begin, end, cpu, pid, comm });
            if let Some(OffCpu { blocked, waited }) = off
                && (blocked > 0 || waited > 0)
            {
                of.interrupted += 1;
                of.blocked = of.blocked.saturating_add(blocked);
                of.waited = of.waited.saturating_add(waited);
            }
        }
    }

    #[inline]
    fn handled(&mut self, handled: &Handled) {
        let Handled { above, begin, end, cpu, .. } = *handled;
        let (list, number) = place(above);
        let ns = handled.ns();
        if let Some(series) = self.handled.get_mut(list).and_then(|all| all.of(number)) {
            series.push(ns, || Worst { ns, begin, end, cpu, pid: 0, comm: Comm::default() });
        }
    }

    #[inline]
    fn raised(&mut self, raised: &Span<u8>) {
        span(self.raised.of(u32::from(raised.what)), raised);
    }

    #[inline]
    fn off(&mut self, off: &Span<Off>) {
        span(self.off.get_mut(off.what as usize), off);
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        if let Some(cpu) = self.cpus.of(segment.cpu) {
            cpu.had(segment.owner, segment.end - segment.begin);
        }
    }
}

fn span<T>(series: Option<&mut Series>, span: &Span<T>) {
    let Span { begin, end, cpu, .. } = *span;
    let ns = end.saturating_sub(begin);
    if let Some(series) = series {
        series.push(ns, || Worst { ns, begin, end, cpu, pid: 0, comm: Comm::default() });
    }
}
