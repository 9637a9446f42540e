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
}

impl WaitCalls {
    /// Those that have events in a trace, by the names of its calls.
    pub fn among(calls: &[String]) -> Self {
        let named = |name: &str| Some(Call::Named(u16::try_from(calls.iter().position(|call| call == name)?).ok()?));
        Self { sleep: named("clock_nanosleep"), give_up: named("sched_yield") }
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
    fn calls(&mut self, pid: i32, time: u64, call: Call) {
        if Some(call) == self.calls.sleep {
            self.open.of(pid).into_iter().for_each(|open| open.asked = time);
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
                open.comm = from.comm;
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

    fn event(&mut self, _cpu: u32, time: u64, _record: &[u8], happened: Option<&Happened>) {
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
            Some(Happened::Call { pid, call }) => self.calls(*pid, time, *call),
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
mod tests {
    use super::*;
    use crate::{
        events::Switched,
        page::Missed,
        pairing::{Definition, Pairing},
    };

    fn side(pid: i32) -> Switched {
        Switched { pid, priority: Priority(19), comm: Comm::of("loop") }
    }

    /// Takes what happens on a CPU in turn, as a walk through a trace does; what was found, and how much was broken.
    fn found(all: &[(u64, Happened)], lost: Option<(u64, u64)>) -> (Vec<(Activation, Ended)>, u64) {
        let (mut found, mut pairing) = (Vec::new(), Pairing::of(Definition::Waking));
        let mut sink = Activations::to(|one: &Activation, how| found.push((*one, how)));
        for (time, happened) in all {
            if let Some((since, until)) = lost.filter(|(_, until)| until == time) {
                pairing.lost(&Lost { cpu: 0, since, until: Some(until), missed: Missed::Some }, &mut sink);
            }
            sink.event(0, *time, &[], Some(happened));
            pairing.take(0, *time, happened, &mut sink);
        }
        let voided = sink.finish(1_000);
        (found, voided)
    }

    fn switch(from: i32, state: State, to: i32) -> Happened {
        Happened::Switch { from: side(from), state, to: side(to) }
    }

    fn waking(pid: i32) -> Happened {
        Happened::Waking(Woken { pid, priority: Priority(19), comm: Comm::of("loop") })
    }

    /// Woken at 10, there at 15, preempted from 20 to 50, asleep at 60; then once more, still at work at the end.
    fn story() -> Vec<(u64, Happened)> {
        vec![
            (1, switch(3, State::Sleeping, 0)),
            (10, waking(7)),
            (15, switch(0, State::Runnable, 7)),
            (20, switch(7, State::Runnable, 8)),
            (50, switch(8, State::Sleeping, 7)),
            (60, switch(7, State::Sleeping, 0)),
            (70, waking(7)),
            (71, switch(0, State::Runnable, 7)),
        ]
    }

    /// Its parts add up to the response, and one that is open at the end is handed over as such.
    #[test]
    fn an_activation_is_taken_apart() {
        let (found, voided) = found(&story(), None);
        let [(first, Ended::Blocked), (second, Ended::Open)] = &found[..] else { panic!("{found:?}") };
        let parts = (first.wakeup(), first.preempted, first.running(), first.response());
        assert_eq!((first.pid, parts), (7, (Some(5), 30, Some(15), 50)));
        assert_eq!((second.woken, second.end, voided), (70, 1_000, 0));
    }

    const SLEEP: Call = Call::Named(0);
    const YIELD: Call = Call::Named(1);

    /// What is found where the calls have events.
    fn heard(all: &[(u64, Happened)]) -> Vec<(Activation, Ended)> {
        let (mut found, mut pairing) = (Vec::new(), Pairing::of(Definition::Waking));
        let calls = WaitCalls::among(&["clock_nanosleep", "sched_yield"].map(String::from));
        assert_eq!(calls, WaitCalls { sleep: Some(SLEEP), give_up: Some(YIELD) });
        let mut sink = Activations::to(|one: &Activation, how| found.push((*one, how))).heeding(calls);
        for (time, happened) in all {
            sink.event(0, *time, &[], Some(happened));
            pairing.take(0, *time, happened, &mut sink);
        }
        sink.finish(1_000);
        found
    }

    fn call(pid: i32, call: Call) -> Happened {
        Happened::Call { pid, call }
    }

    fn back(pid: i32, call: Call) -> Happened {
        Happened::Return { pid, call: Some(call) }
    }

    /// A job that overran asks for times that have passed: each call that returns at once begins a job. One that sleeps ends
    /// the activation where the thread leaves its CPU, as ever.
    #[test]
    fn a_time_that_has_passed_begins_a_job() {
        let found = heard(&[
            (10, waking(7)),
            (12, switch(0, State::Runnable, 7)),
            (13, back(7, SLEEP)),
            (45, call(7, SLEEP)),
            (46, back(7, SLEEP)),
            (50, switch(7, State::Runnable, 8)),
            (53, switch(8, State::Sleeping, 7)),
            (60, call(7, SLEEP)),
            (61, switch(7, State::Sleeping, 0)),
            (70, waking(7)),
            (71, switch(0, State::Runnable, 7)),
            (72, back(7, SLEEP)),
            (75, call(7, SLEEP)),
            (76, switch(7, State::Sleeping, 0)),
        ]);
        let parts: Vec<_> =
            found.iter().map(|(one, _)| (one.begun, one.woken, one.wakeup(), one.running(), one.end)).collect();
        assert_eq!(
            parts,
            [
                (Begun::Woken, 10, Some(2), Some(33), 45),
                (Begun::AtOnce, 46, None, Some(12), 61),
                (Begun::Woken, 70, Some(1), Some(5), 76),
            ]
        );
    }

    /// A deadline thread gives up its budget and stays runnable; the time until it comes back is none of its next job. A thread
    /// that used up its budget, and one of another class that yields, go on with the same job.
    #[test]
    fn a_budget_given_up_ends_a_job() {
        let deadline = |pid| Switched { priority: Priority(-1), ..side(pid) };
        let off = |state| Happened::Switch { from: deadline(7), state, to: side(0) };
        let on = Happened::Switch { from: side(0), state: State::Runnable, to: deadline(7) };
        let found = heard(&[
            (10, waking(7)),
            (12, on),
            (20, call(7, YIELD)),
            (21, off(State::Runnable)),
            (110, on),
            (111, back(7, YIELD)),
            (130, off(State::Runnable)),
            (210, on),
            (215, call(7, YIELD)),
            (216, off(State::Runnable)),
        ]);
        let parts: Vec<_> =
            found.iter().map(|(one, _)| (one.begun, one.woken, one.running(), one.preempted, one.end)).collect();
        assert_eq!(parts, [(Begun::Woken, 10, Some(9), 0, 21), (Begun::Replenished, 110, Some(26), 80, 216)]);
        let fair = heard(&[
            (10, waking(7)),
            (12, switch(0, State::Runnable, 7)),
            (20, call(7, YIELD)),
            (21, switch(7, State::Runnable, 8)),
        ]);
        assert_eq!(fair.iter().map(|(_, how)| *how).collect::<Vec<_>>(), [Ended::Open]);
    }

    /// A task that ends has no response from then on, however often it waits on its way.
    #[test]
    fn what_a_task_does_while_it_ends_is_no_activation() {
        let mut all = story();
        all.extend([
            (80, Happened::Exits(7)),
            (85, switch(7, State::Sleeping, 0)),
            (90, waking(7)),
            (91, switch(0, State::Runnable, 7)),
            (95, switch(7, State::Sleeping, 0)),
            (96, waking(7)),
            (97, switch(0, State::Runnable, 7)),
            (99, switch(7, State::Dead, 0)),
        ]);
        let (found, _) = found(&all, None);
        let ends: Vec<_> = found.iter().map(|(one, how)| (one.woken, one.end, *how)).collect();
        assert_eq!(ends, [(10, 60, Ended::Blocked), (70, 80, Ended::Dead)]);
    }

    /// What was open while events were lost is broken; what begins later stands.
    #[test]
    fn lost_events_break_what_was_open() {
        let (found, voided) = found(&story(), Some((20, 60)));
        assert_eq!(found.iter().map(|(one, _)| one.woken).collect::<Vec<_>>(), [70]);
        assert_eq!(voided, 1);
    }

    /// Where the switch to it is not in the trace, its response stands all the same.
    #[test]
    fn a_switch_that_is_hidden_hides_no_activation() {
        let (found, _) = found(&[(10, waking(7)), (30, switch(7, State::Sleeping, 0)), (40, waking(7))], None);
        let [(first, Ended::Blocked), (_, Ended::Open)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((first.wakeup(), first.running(), first.response()), (None, None, 20));
    }

    /// A thread that dies has no response.
    #[test]
    fn who_dies_does_not_respond() {
        let mut story = story();
        story.truncate(5);
        story.push((55, switch(7, State::Dead, 0)));
        let (found, _) = found(&story, None);
        assert_eq!(found.iter().map(|(_, how)| *how).collect::<Vec<_>>(), [Ended::Dead]);
    }
}
