//! Activations of tasks: from being woken to waiting again, with what happened to them between.

use super::{Sink, Wait, Why};
use crate::{
    bytes::Endian,
    events::{Comm, Happened, Priority, State, Woken},
    file::Trace,
    format::Number,
    merge::Lost,
    tasks::{Known, Tasks},
};
use std::collections::BTreeSet;

/// A task was woken, ran, and waits again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activation {
    /// The task.
    pub pid: i32,
    /// Its name when it came, or was woken.
    pub comm: Comm,
    /// Its effective priority then.
    pub priority: Priority,
    /// When it was woken, ns.
    pub woken: u64,
    /// When it came to a CPU, ns; absent where the trace does not tell: some machines keep the switches of tasks of their own
    /// out of it.
    pub came: Option<u64>,
    /// How long it waited after it was preempted, all times together, ns.
    pub preempted: u64,
    /// When it left to wait for something, ns.
    pub end: u64,
}

impl Known for Activation {
    fn needed(&self) -> bool {
        self.woken > 0
    }
}

impl Activation {
    /// From its waking to its first moment on a CPU, ns.
    pub fn wakeup(&self) -> Option<u64> {
        Some(self.came?.saturating_sub(self.woken))
    }

    /// From its waking until it waits again, ns.
    pub fn response(&self) -> u64 {
        self.end.saturating_sub(self.woken)
    }

    /// How long it had a CPU, interrupts included, ns.
    pub fn running(&self) -> Option<u64> {
        Some(self.response().saturating_sub(self.wakeup()?).saturating_sub(self.preempted))
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

/// Finds activations in what is paired, and hands each over.
#[derive(Debug)]
pub struct Activations<F> {
    open: Tasks<Activation>,
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
        Self { open: Tasks::default(), gone: BTreeSet::new(), doubt: 0, voided: 0, take }
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
                *open = Activation { pid, comm, priority, woken: wait.begin, came, preempted: 0, end: 0 };
            }
            Why::Preempted => open.preempted = open.preempted.saturating_add(wait.ns()),
        }
    }

    fn lost(&mut self, lost: &Lost) {
        self.doubt = self.doubt.max(lost.until.unwrap_or(u64::MAX));
    }

    fn event(&mut self, _cpu: u32, time: u64, _record: &[u8], happened: Option<&Happened>) {
        match happened {
            Some(Happened::Switch { from, state, .. }) if from.pid != 0 => match state {
                State::Runnable => {}
                State::Sleeping => self.ends(from.pid, time, Ended::Blocked),
                State::Stopped => self.ends(from.pid, time, Ended::Stopped),
                State::Dead => self.ends(from.pid, time, Ended::Dead),
            },
            Some(Happened::New(task)) => {
                self.gone.remove(&task.pid);
                self.begins(time, task);
            }
            Some(Happened::Waking(task) | Happened::Wakeup(task)) => self.begins(time, task),
            Some(Happened::Exits(pid)) => {
                self.ends(*pid, time, Ended::Dead);
                self.gone.insert(*pid);
            }
            Some(Happened::Freed(pid)) => _ = self.gone.remove(pid),
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
