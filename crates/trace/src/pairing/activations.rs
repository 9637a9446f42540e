//! Activations of tasks: from being woken to waiting again, with what happened to them between.
//!
//! Two waits show no waking. A thread that asks for a time that has passed (`clock_nanosleep` with an absolute time) goes on at
//! once: what it does from there is its next job. A deadline thread that gives up its budget (`sched_yield`) stays runnable, and
//! comes back when the kernel has replenished the budget. The calls' own events tell both, where they were recorded.

use super::{Sink, Wait, Why};
use crate::{
    bytes::Endian,
    events::{Call, Class, Comm, Happened, Priority, State, Switched, Woken},
    file::Trace,
    format::Number,
    merge::Lost,
    tasks::{Known, Tasks},
};
use std::collections::BTreeSet;

/// How an activation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// It was woken.
    #[default]
    Woken,
    /// The time that it waited for had passed: its call returned at once.
    AtOnce,
    /// A deadline thread that had given up its budget came back.
    Replenished,
}

/// A task was woken, ran, and waits again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// The task.
    pub pid: i32,
    /// Its name when it came, or was woken.
    pub comm: Comm,
    /// Its effective priority then.
    pub priority: Priority,
    /// How it began.
    pub begun: Begun,
    /// When it was woken, or began otherwise, ns.
    pub woken: u64,
    /// When it came to a CPU, ns; absent where the trace does not tell: some machines keep the switches of tasks of their own
    /// out of it.
    pub came: Option<u64>,
    /// How long it waited after it was preempted, all times together, ns.
    pub preempted: u64,
    /// When it left to wait for something, ns.
    pub end: u64,
    /// When it asked for a time to come and has not slept since, ns; 0 for not.
    asked: u64,
    /// Whether that was a time of a clock, and no span.
    absolute: bool,
    /// Whether it ended by giving up its budget.
    gave_up: bool,
}

impl Known for Activation {
    fn needed(&self) -> bool {
        self.woken > 0
    }
}

impl Activation {
    /// From its waking to its first moment on a CPU, ns; absent where no waking was seen.
    pub fn wakeup(&self) -> Option<u64> {
        Some(self.came?.saturating_sub(self.woken)).filter(|_| self.begun == Begun::Woken)
    }

    /// From its waking until it waits again, ns.
    pub fn response(&self) -> u64 {
        self.end.saturating_sub(self.woken)
    }

    /// Whether it ended by asking for a time to come, in a call that the trace shows: then it began no job untold.
    pub fn asked_for_a_time(&self) -> bool {
        self.asked > 0
    }

    /// Whether it ended by asking for a time of a clock (`TIMER_ABSTIME`), as a periodic thread asks for its next slot.
    pub fn asked_for_a_clock_time(&self) -> bool {
        self.asked > 0 && self.absolute
    }

    /// Whether it ended by giving up the budget of a deadline thread, in a call that the trace shows.
    pub fn gave_up_its_budget(&self) -> bool {
        self.gave_up
    }

    /// How long it had a CPU, interrupts included, ns.
    pub fn running(&self) -> Option<u64> {
        Some(self.end.saturating_sub(self.came?).saturating_sub(self.preempted))
    }
}

/// How an activation came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The task waits for something.
    Blocked,
    /// A signal or a tracer stopped the task: no response.
    Stopped,
    /// The task ends: no response.
    Dead,
    /// The trace ends before.
    Open,
}

/// The calls in which threads wait without being woken, as the trace counts them ([`crate::events::Events::calls`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCalls {
    /// `clock_nanosleep`.
    pub sleep: Option<Call>,
    /// `sched_yield`.
    pub give_up: Option<Call>,
    /// The flags of `clock_nanosleep`.
    flags: Option<Number>,
}

/// Of the flags of `clock_nanosleep(2)`: the time is one of the clock.
const TIMER_ABSTIME: i64 = 1;

impl WaitCalls {
    /// Those that have events in a trace, by the names of its calls.
    pub fn among(calls: &[String]) -> Self {
        let named = |name: &str| Some(Call::Named(u16::try_from(calls.iter().position(|call| call == name)?).ok()?));
        Self { sleep: named("clock_nanosleep"), give_up: named("sched_yield"), flags: None }
    }

    /// They, with what a trace shows of their arguments.
    #[must_use]
    pub fn with_arguments(self, trace: &Trace<'_>) -> Self {
        let format = trace.format("sys_enter_clock_nanosleep");
        Self { flags: format.and_then(|format| format.number("flags", trace.endian)), ..self }
    }

    /// Whether the time that a call asks for is one of the clock.
    fn is_absolute(&self, record: &[u8]) -> bool {
        self.flags.and_then(|flags| flags.of(record)).is_some_and(|flags| flags & TIMER_ABSTIME != 0)
    }
}

/// Finds activations in what is paired, and hands each over.
#[derive(Debug)]
pub struct Activations<F> {
    open: Tasks<Activation>,
    calls: WaitCalls,
    /// Deadline threads that gave up their budget: those that have not left their CPU since, and those that have.
    giving_up: BTreeSet<i32>,
    resting: BTreeSet<i32>,
    /// Tasks that end: what they still do is no activation.
    gone: BTreeSet<i32>,
    doubt: u64,
    /// Activations that lost events may have broken.
    pub voided: u64,
    take: F,
}

impl<F: FnMut(&Activation, Ended)> Activations<F> {
    /// Hands them to this.
    pub fn to(take: F) -> Self {
        let [giving_up, resting, gone] = [const { BTreeSet::new() }; 3];
        Self {
            open: Tasks::default(),
            calls: WaitCalls::default(),
            giving_up,
            resting,
            gone,
            doubt: 0,
            voided: 0,
            take,
        }
    }

    /// Heeds these calls too.
    pub fn heeding(self, calls: WaitCalls) -> Self {
        Self { calls, ..self }
    }

    /// Begins where nothing is open: whatever is known of the switch to it, it was woken.
    fn begins(&mut self, time: u64, task: &Woken) {
        if self.gone.contains(&task.pid) {
            return;
        }
        if let Some(open) = self.open.of(task.pid).filter(|open| open.woken == 0) {
            let Woken { pid, comm, priority } = *task;
            *open = Activation { pid, comm, priority, woken: time, ..Activation::default() };
        }
    }

    fn ends(&mut self, pid: i32, time: u64, how: Ended) {
        let Some(open) = self.open.of(pid).filter(|open| open.woken > 0) else { return };
        let one = Activation { end: time, ..std::mem::take(open) };
        if one.woken < self.doubt {
            self.voided += 1;
        } else {
            (self.take)(&one, how);
        }
    }

    /// A thread asks for a time to come, or gives up its budget.
    fn calls(&mut self, pid: i32, time: u64, call: Call, record: &[u8]) {
        if Some(call) == self.calls.sleep {
            let absolute = self.calls.is_absolute(record);
            self.open.of(pid).into_iter().for_each(|open| (open.asked, open.absolute) = (time, absolute));
        } else if Some(call) == self.calls.give_up {
            // What a thread of another class does by it is no wait.
            self.giving_up.insert(pid);
        }
    }

    /// A thread has what it asked for; where it has not slept meanwhile, its next job begins.
    fn returns(&mut self, pid: i32, time: u64, call: Call) {
        self.giving_up.remove(&pid);
        if Some(call) != self.calls.sleep {
            // The switch to it was not recorded.
            if self.resting.remove(&pid) {
                self.goes_on(pid, time, Begun::Replenished, (Comm::default(), Priority(-1)));
            }
            return;
        }
        let Some(open) = self.open.of(pid).filter(|open| open.asked > 0 && open.woken > 0) else { return };
        let (asked, comm, priority) = (open.asked, open.comm, open.priority);
        self.ends(pid, asked, Ended::Blocked);
        self.goes_on(pid, time, Begun::AtOnce, (comm, priority));
    }

    /// An activation begins on the CPU.
    fn goes_on(&mut self, pid: i32, time: u64, begun: Begun, (comm, priority): (Comm, Priority)) {
        if let Some(open) = self.open.of(pid) {
            *open = Activation { pid, comm, priority, begun, woken: time, came: Some(time), ..Activation::default() };
        }
    }

    /// A thread leaves its CPU and would go on: one that gave up its budget has ended its job.
    fn leaves(&mut self, from: &Switched, time: u64) {
        if self.giving_up.remove(&from.pid) && from.priority.class() == Class::Deadline {
            if let Some(open) = self.open.of(from.pid) {
                (open.comm, open.gave_up) = (from.comm, true);
            }
            self.ends(from.pid, time, Ended::Blocked);
            self.resting.insert(from.pid);
        }
    }

    /// The trace ends here: those that have not ended are handed over as they are, and how many were broken is told.
    pub fn finish(mut self, time: u64) -> u64 {
        let open: Vec<i32> = self.open.iter().filter(|(_, one)| one.woken > 0).map(|(pid, _)| pid).collect();
        open.into_iter().for_each(|pid| self.ends(pid, time, Ended::Open));
        self.voided
    }
}

impl<F: FnMut(&Activation, Ended)> Sink for Activations<F> {
    fn waited(&mut self, wait: &Wait) {
        let Some(open) = self.open.of(wait.pid) else { return };
        match wait.why {
            Why::Woken if self.gone.contains(&wait.pid) => {}
            Why::Woken => {
                let (pid, comm, priority) = (wait.pid, wait.comm, wait.priority);
                let came = Some(wait.end);
                *open = Activation { pid, comm, priority, woken: wait.begin, came, ..Activation::default() };
            }
            // Of a job that began later it is no part.
            Why::Preempted if wait.begin < open.woken => {}
            Why::Preempted => open.preempted = open.preempted.saturating_add(wait.ns()),
        }
    }

    fn lost(&mut self, lost: &Lost) {
        self.doubt = self.doubt.max(lost.until.unwrap_or(u64::MAX));
    }

    fn event(&mut self, _cpu: u32, time: u64, record: &[u8], happened: Option<&Happened>) {
        match happened {
            Some(Happened::Switch { from, state, to }) => {
                match state {
                    _ if from.pid == 0 => {}
                    State::Runnable => self.leaves(from, time),
                    State::Sleeping => self.ends(from.pid, time, Ended::Blocked),
                    State::Stopped => self.ends(from.pid, time, Ended::Stopped),
                    State::Dead => self.ends(from.pid, time, Ended::Dead),
                }
                if self.resting.remove(&to.pid) {
                    self.goes_on(to.pid, time, Begun::Replenished, (to.comm, to.priority));
                }
            }
            Some(Happened::Call { pid, call }) => self.calls(*pid, time, *call, record),
            Some(Happened::Return { pid, call: Some(call) }) => self.returns(*pid, time, *call),
            Some(Happened::New(task)) => {
                self.gone.remove(&task.pid);
                self.begins(time, task);
            }
            Some(Happened::Waking(task) | Happened::Wakeup(task)) => self.begins(time, task),
            Some(Happened::Exits(pid)) => {
                self.ends(*pid, time, Ended::Dead);
                self.gone.insert(*pid);
            }
            Some(Happened::Freed(pid)) => {
                self.gone.remove(pid);
                self.resting.remove(pid);
            }
            _ => {}
        }
    }
}

/// Reads who made whom (`sched_process_fork`), threads and processes alike.
#[derive(Clone, Copy, Debug)]
pub struct Forks {
    id: u16,
    endian: Endian,
    parent: Number,
    child: Number,
}

impl Forks {
    /// From the formats of a trace; none where the event was not recorded.
    pub fn of(trace: &Trace<'_>) -> Option<Self> {
        let format = trace.format("sched_process_fork")?;
        let number = |name| format.number(name, trace.endian);
        Some(Self { id: format.id, endian: trace.endian, parent: number("parent_pid")?, child: number("child_pid")? })
    }

    /// The maker and the made, where this record is of that.
    pub fn made(&self, record: &[u8]) -> Option<(i32, i32)> {
        (self.endian.u16(record, 0)? == self.id).then_some(())?;
        Some((self.parent.of(record)? as i32, self.child.of(record)? as i32))
    }
}

#[cfg(test)]
mod tests;
