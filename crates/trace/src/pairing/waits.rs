//! Tasks that wait for a CPU, after a waking or after a preemption.

use super::{Pairing, Sink};
use crate::events::{self, Comm, Priority, Switched, Woken};

/// A wait that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The task.
    pub pid: i32,
    /// Its name.
    pub comm: Comm,
    /// Its effective priority when it came to a CPU.
    pub priority: Priority,
    /// Why it waited.
    pub why: Why,
    /// When it could have run, ns.
    pub begin: u64,
    /// When it came to a CPU, ns.
    pub end: u64,
    /// The CPU that it came to.
    pub cpu: u32,
}

impl Wait {
    /// Returns the length of the wait, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// Why a task waited for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It was woken: its scheduling latency.
    Woken,
    /// It was preempted: no wake-up.
    Preempted,
}

/// Where a wake-up starts, and which wake-ups count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Definition {
    /// At the first unanswered `sched_waking`, in the waker's context; at `sched_wakeup` if the trace has no `sched_waking`. A task that is
    /// woken while it runs does not wait.
    #[default]
    Waking,
    /// As `trace-cmd report -w` defines it: from the last `sched_wakeup` or `sched_wakeup_new` of a number to the next switch to it,
    /// whatever happened in between.
    TraceCmd,
}

/// What a task is doing, as far as events show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It does not wait, or no event of it was seen.
    #[default]
    Idle,
    /// It runs.
    Runs,
    /// It runs, and was woken while it was going to sleep. If it leaves its CPU nevertheless, it waits from then on.
    RunsWoken,
    /// It was woken.
    Woken,
    /// It was preempted.
    Preempted,
}

impl State {
    /// Returns whether the task waits.
    pub fn waits(self) -> bool {
        matches!(self, Self::Woken | Self::Preempted)
    }
}

/// The event that shows a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Waking,
    Wakeup,
}

impl Pairing {
    #[inline]
    pub(super) fn woken(&mut self, time: u64, woken: &Woken, by: By) {
        let definition = self.definition;
        let Some(task) = self.tasks.of(woken.pid) else { return };
        task.comm = woken.comm;
        task.priority = woken.priority;
        if definition == Definition::TraceCmd {
            if by == By::Wakeup {
                (task.wait, task.since) = (State::Woken, time);
            }
            return;
        }
        match (task.wait, by) {
            (State::Idle, _) => (task.wait, task.since) = (State::Woken, time),
            (State::Runs, By::Waking) => task.wait = State::RunsWoken,
            // The wake-up came while the task was still running: it continues.
            (State::RunsWoken, By::Wakeup) => {
                task.wait = State::Runs;
                self.unpaired.running += 1;
            }
            (State::Runs | State::RunsWoken | State::Woken | State::Preempted, _) => {}
        }
    }

    #[inline]
    pub(super) fn switched(
        &mut self,
        cpu: u32,
        time: u64,
        (from, state, to): (&Switched, events::State, &Switched),
        sink: &mut impl Sink,
    ) {
        let definition = self.definition;
        // A CPU's idle task waits for nothing; the idle tasks of all CPUs have the same number.
        if from.pid != 0
            && let Some(task) = self.tasks.of(from.pid)
        {
            task.comm = from.comm;
            task.left = time;
            if definition == Definition::Waking {
                self.unpaired.unseen += u64::from(task.wait.waits());
                (task.wait, task.since) = match (state, task.wait) {
                    (events::State::Runnable, _) => (State::Preempted, time),
                    (_, State::RunsWoken) => (State::Woken, time),
                    _ => (State::Idle, time),
                };
            }
        }
        if to.pid == 0 {
            return;
        }
        let Some(task) = self.tasks.of(to.pid) else { return };
        task.comm = to.comm;
        task.priority = to.priority;
        let (wait, begin) = (task.wait, task.since);
        task.wait = if definition == Definition::Waking { State::Runs } else { State::Idle };
        task.came(time, wait, begin);
        let why = match wait {
            State::Woken => Why::Woken,
            State::Preempted => Why::Preempted,
            State::Idle | State::Runs | State::RunsWoken => return,
        };
        if self.certain(begin) {
            sink.waited(&Wait { pid: to.pid, comm: to.comm, priority: to.priority, why, begin, end: time, cpu });
        }
    }
}
