//! Activations of tasks: from being woken to waiting again, with what happened to them in between.
//!
//! Two kinds of wait end without a waking. A thread that requests a time that has passed (`clock_nanosleep` with an absolute time)
//! continues at once: what it does from there is its next job. A deadline thread that gives up its budget (`sched_yield`) stays runnable,
//! and comes back when the kernel has replenished the budget. The events of these calls show both, if the trace has them.

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

/// How an activation started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// The task was woken.
    #[default]
    Woken,
    /// The time that it waited for had passed, so its call returned at once.
    AtOnce,
    /// A deadline thread came back after it had given up its budget.
    Replenished,
}

/// A task was woken, ran, and waits again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// The task.
    pub pid: i32,
    /// Its name when it came to a CPU, or was woken.
    pub comm: Comm,
    /// Its effective priority at that time.
    pub priority: Priority,
    /// How it started.
    pub begun: Begun,
    /// When it was woken, or started otherwise, ns.
    pub woken: u64,
    /// When it came to a CPU, ns; `None` if the trace does not show it. Some machines leave the switches of their own tasks out of the
    /// trace.
    pub came: Option<u64>,
    /// How long it waited after preemptions in total, ns.
    pub preempted: u64,
    /// When it left its CPU to wait for something, ns.
    pub end: u64,
    /// When it requested a future time without having slept since, ns; 0 if it did not.
    asked: u64,
    /// Whether that was a time of a clock, not a duration.
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
    /// Returns the time from its waking to its first moment on a CPU, ns; `None` if the trace does not show it.
    pub fn wakeup(&self) -> Option<u64> {
        Some(self.came?.saturating_sub(self.woken)).filter(|_| self.begun == Begun::Woken)
    }

    /// Returns the time from its waking until it waits again, ns.
    pub fn response(&self) -> u64 {
        self.end.saturating_sub(self.woken)
    }

    /// Returns whether it ended with a request for a future time, in a call that the trace shows: then it started no job that the trace
    /// does not show.
    pub fn asked_for_a_time(&self) -> bool {
        self.asked > 0
    }

    /// Returns whether it ended with a request for a time of a clock (`TIMER_ABSTIME`), as a periodic thread requests its next slot.
    pub fn asked_for_a_clock_time(&self) -> bool {
        self.asked > 0 && self.absolute
    }

    /// Returns whether it ended by giving up the budget of a deadline thread, in a call that the trace shows.
    pub fn gave_up_its_budget(&self) -> bool {
        self.gave_up
    }

    /// Returns how long it had a CPU, interrupts included, ns.
    pub fn running(&self) -> Option<u64> {
        Some(self.end.saturating_sub(self.came?).saturating_sub(self.preempted))
    }
}

/// How an activation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The task waits for something.
    Blocked,
    /// A signal or a tracer stopped the task: no response.
    Stopped,
    /// The task exits: no response.
    Dead,
    /// The trace ends first.
    Open,
}

/// The calls in which threads wait without being woken, as the trace numbers them ([`crate::events::Events::calls`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCalls {
    /// `clock_nanosleep`.
    pub sleep: Option<Call>,
    /// `sched_yield`.
    pub give_up: Option<Call>,
    /// The flags of `clock_nanosleep`.
    flags: Option<Number>,
}

/// A flag of `clock_nanosleep(2)`: the time is a time of the clock.
const TIMER_ABSTIME: i64 = 1;

impl WaitCalls {
    /// Returns the calls that have events in a trace, by the names of the trace's calls.
    pub fn among(calls: &[String]) -> Self {
        let named = |name: &str| Some(Call::Named(u16::try_from(calls.iter().position(|call| call == name)?).ok()?));
        Self { sleep: named("clock_nanosleep"), give_up: named("sched_yield"), flags: None }
    }

    /// Returns these calls with what a trace shows of their arguments.
    #[must_use]
    pub fn with_arguments(self, trace: &Trace<'_>) -> Self {
        let format = trace.format("sys_enter_clock_nanosleep");
        Self { flags: format.and_then(|format| format.number("flags", trace.endian)), ..self }
    }

    /// Returns whether a call requests a time of the clock.
    fn is_absolute(&self, record: &[u8]) -> bool {
        self.flags.and_then(|flags| flags.of(record)).is_some_and(|flags| flags & TIMER_ABSTIME != 0)
    }
}

/// A sink that finds activations in the paired events, and passes each one on.
#[derive(Debug)]
pub struct Activations<F> {
    open: Tasks<Activation>,
    calls: WaitCalls,
    /// Deadline threads that gave up their budget. `giving_up` has those that have not left their CPU since, `resting` those that have.
    giving_up: BTreeSet<i32>,
    resting: BTreeSet<i32>,
    /// Tasks that exit: what they still do is not an activation.
    gone: BTreeSet<i32>,
    doubt: u64,
    /// Activations that lost events may have broken.
    pub voided: u64,
    take: F,
}

impl<F: FnMut(&Activation, Ended)> Activations<F> {
    /// Passes the activations to `take`.
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

    /// Also takes these calls into account.
    pub fn heeding(self, calls: WaitCalls) -> Self {
        Self { calls, ..self }
    }

    /// Starts an activation if the task has none open: the task was woken, whether or not the switch to it is known.
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

    /// Handles a call: a thread requests a future time, or gives up its budget.
    fn calls(&mut self, pid: i32, time: u64, call: Call, record: &[u8]) {
        if Some(call) == self.calls.sleep {
            let absolute = self.calls.is_absolute(record);
            self.open.of(pid).into_iter().for_each(|open| (open.asked, open.absolute) = (time, absolute));
        } else if Some(call) == self.calls.give_up {
            // A thread of another class does not wait in this call.
            self.giving_up.insert(pid);
        }
    }

    /// Handles a return. If the thread has not slept in its call, its next job starts.
    fn returns(&mut self, pid: i32, time: u64, call: Call) {
        self.giving_up.remove(&pid);
        if Some(call) != self.calls.sleep {
            // The trace has no switch to it.
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

    /// Starts an activation on the CPU.
    fn goes_on(&mut self, pid: i32, time: u64, begun: Begun, (comm, priority): (Comm, Priority)) {
        if let Some(open) = self.open.of(pid) {
            *open = Activation { pid, comm, priority, begun, woken: time, came: Some(time), ..Activation::default() };
        }
    }

    /// Handles a runnable thread that leaves its CPU: if it gave up its budget, its job has ended.
    fn leaves(&mut self, from: &Switched, time: u64) {
        if self.giving_up.remove(&from.pid) && from.priority.class() == Class::Deadline {
            if let Some(open) = self.open.of(from.pid) {
                (open.comm, open.gave_up) = (from.comm, true);
            }
            self.ends(from.pid, time, Ended::Blocked);
            self.resting.insert(from.pid);
        }
    }

    /// Ends the trace: passes on the activations that have not ended, as they are. Returns how many were broken.
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
            // The wait is not part of a job that started later.
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

/// A reader of `sched_process_fork`: which task created which, for threads and for processes.
#[derive(Clone, Copy, Debug)]
pub struct Forks {
    id: u16,
    endian: Endian,
    parent: Number,
    child: Number,
}

impl Forks {
    /// Finds the fields in the formats of a trace; `None` if the event was not recorded.
    pub fn of(trace: &Trace<'_>) -> Option<Self> {
        let format = trace.format("sched_process_fork")?;
        let number = |name| format.number(name, trace.endian);
        Some(Self { id: format.id, endian: trace.endian, parent: number("parent_pid")?, child: number("child_pid")? })
    }

    /// Returns the parent and the child, if the record is such an event.
    pub fn made(&self, record: &[u8]) -> Option<(i32, i32)> {
        (self.endian.u16(record, 0)? == self.id).then_some(())?;
        Some((self.parent.of(record)? as i32, self.child.of(record)? as i32))
    }
}

#[cfg(test)]
mod tests;
