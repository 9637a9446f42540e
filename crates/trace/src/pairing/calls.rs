//! System calls, from enter to exit of one thread. The time off the CPU is separate.

use super::{Pairing, Sink, Task, waits::State};
use crate::events::{Call, Comm};

/// A system call that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// The call.
    pub call: Call,
    /// The thread.
    pub pid: i32,
    /// Its name.
    pub comm: Comm,
    /// When it entered, ns.
    pub begin: u64,
    /// When it left, ns.
    pub end: u64,
    /// The CPU on which it left.
    pub cpu: u32,
    /// How long the thread was off its CPU in the call; `None` if the kernel recorded no switch back to it.
    pub off: Option<OffCpu>,
}

/// How long a thread was off its CPU in a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpu {
    /// How long it slept in the call, ns.
    pub blocked: u64,
    /// How long it could have run but had no CPU, ns.
    pub waited: u64,
}

impl Called {
    /// Returns the time from enter to exit, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// Returns how long it had a CPU in the call, interrupts included, ns; `None` if the trace does not show it.
    pub fn on_cpu(&self) -> Option<u64> {
        self.off.map(|off| self.ns().saturating_sub(off.blocked).saturating_sub(off.waited))
    }
}

impl Task {
    /// Handles that the task has a CPU again: the time of its system call without a CPU is now known.
    #[inline]
    pub(super) fn came(&mut self, time: u64, wait: State, since: u64) {
        if self.call.is_none() || self.left < self.call_begin {
            return;
        }
        match wait {
            State::Woken => {
                self.blocked = self.blocked.saturating_add(since.saturating_sub(self.left));
                self.waited = self.waited.saturating_add(time.saturating_sub(since.max(self.left)));
            }
            State::Preempted => self.waited = self.waited.saturating_add(time.saturating_sub(self.left)),
            State::Idle | State::Runs | State::RunsWoken => {
                self.blocked = self.blocked.saturating_add(time.saturating_sub(self.left));
            }
        }
        self.left = 0;
    }
}

impl Pairing {
    #[inline]
    pub(super) fn called(&mut self, time: u64, pid: i32, call: Call) {
        let Some(task) = self.tasks.of(pid) else { return };
        // Some calls never return: exec, exit, the return from a signal.
        self.unpaired.unended += u64::from(task.call.is_some());
        (task.call, task.call_begin, task.blocked, task.waited, task.left) = (Some(call), time, 0, 0, 0);
    }

    #[inline]
    pub(super) fn returned(&mut self, cpu: u32, time: u64, pid: i32, call: Option<Call>, sink: &mut impl Sink) {
        let Some(task) = self.tasks.of(pid) else { return };
        let Some(open) = task.call.take().filter(|open| call.is_none_or(|call| *open == call)) else {
            self.unpaired.unbegun += 1;
            return;
        };
        let Task { comm, call_begin: begin, blocked, waited, left, .. } = *task;
        // The thread left its CPU in the call, and is here: it came back without an event, at an unknown time.
        let off = (left == 0 || left < begin).then_some(OffCpu { blocked, waited });
        if self.certain(begin) {
            sink.called(&Called { call: open, pid, comm, begin, end: time, cpu, off });
        }
    }
}
