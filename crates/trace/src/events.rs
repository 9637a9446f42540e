//! What events mean: records as the kernel wrote them become what happened, resolved once from the formats of the trace.
//!
//! Names and fields are those of include/trace/events/*.h and arch/x86/include/asm/trace/irq_vectors.h; where one lies in a
//! record is read from its format, as it differs between kernels.

mod resolve;
mod task;

use crate::format::Int;
pub use resolve::Events;
pub(crate) use resolve::state_of;
pub use task::{Class, Comm, Priority};

/// Something that happened, as far as latencies go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A CPU changed from one task to another (`sched_switch`).
    Switch {
        /// The task that leaves.
        from: Switched,
        /// Why it leaves.
        state: State,
        /// The task that comes.
        to: Switched,
    },
    /// A task is about to be woken (`sched_waking`), in the waker's context.
    Waking(Woken),
    /// A task was put among those that may run (`sched_wakeup`), perhaps by the CPU that it goes to.
    Wakeup(Woken),
    /// The same of a new task (`sched_wakeup_new`).
    New(Woken),
    /// The CPU begins something that lies above what it did.
    Enter(Above),
    /// It ends that.
    Exit(Above),
    /// A soft interrupt was asked for (`softirq_raise`).
    Raise(u8),
    /// A non-maskable interrupt's handler has run for so many ns (`nmi_handler`).
    Nmi(u64),
    /// A thread enters a system call.
    Call {
        /// The thread.
        pid: i32,
        /// Which call.
        call: Call,
    },
    /// A thread leaves it.
    Return {
        /// The thread.
        pid: i32,
        /// Which call; none where the kernel no longer knows it (the way back from a signal has the number -1).
        call: Option<Call>,
    },
    /// Interrupts or preemption were turned off here, or on again (`preemptirq`).
    Off(Off),
    /// The end of that.
    On(Off),
    /// A high-resolution timer's function begins (`hrtimer_expire_entry`).
    Expired {
        /// The timer.
        timer: u64,
        /// When the clock was read, by the timer's clock, ns.
        now: i64,
    },
    /// A task has a new name (`task_rename`).
    Renamed {
        /// The task.
        pid: i32,
        /// Its name from now on.
        comm: Comm,
    },
    /// A task is gone (`sched_process_free`): its number may come back as another.
    Freed(i32),
    /// A task begins to end (`sched_process_exit`): what it does from here on is the kernel's clearing up.
    Exits(i32),
    /// A task that may run goes to another CPU (`sched_migrate_task`).
    Migrated {
        /// The task.
        pid: i32,
        /// From there.
        from: u32,
        /// To there.
        to: u32,
    },
}

/// One side of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The task's number; 0 of a CPU's idle task.
    pub pid: i32,
    /// Its effective priority.
    pub priority: Priority,
    /// Its name.
    pub comm: Comm,
}

/// A task that is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The task's number.
    pub pid: i32,
    /// Its effective priority.
    pub priority: Priority,
    /// Its name.
    pub comm: Comm,
}

/// Why a task leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It would have gone on: it was preempted, or gave way.
    Runnable,
    /// It waits for something.
    Sleeping,
    /// It was stopped by a signal or a tracer.
    Stopped,
    /// It ends.
    Dead,
}

/// What lies above a task on a CPU, innermost last: soft interrupts, hard interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Above {
    /// A soft interrupt (`softirq_entry`) by its number.
    Soft(u8),
    /// A vector of the processor itself (`local_timer_entry`): index into [`Events::vectors`].
    Vector(u8),
    /// A device's handler (`irq_handler_entry`) by the line's number.
    Line(u32),
}

/// A system call: by its number, or as an index into [`Events::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// From an event of its own: index of its name.
    Named(u16),
    /// From `raw_syscalls`: the architecture's number.
    Number(u16),
}

/// What is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Off {
    /// Interrupts.
    Interrupts,
    /// Preemption.
    Preemption,
}

/// The names of soft interrupts in the order of their numbers (include/linux/interrupt.h).
pub const SOFT: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// The fields of a side of a switch, or of a wake-up.
#[derive(Clone, Copy, Debug)]
struct TaskFields {
    pid: Int,
    prio: Int,
    comm: u16,
}

/// What a record's first two bytes lead to.
#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    /// Nothing that is paired.
    #[default]
    Other,
    Switch,
    Waking,
    Wakeup,
    New,
    Soft(Edge),
    Vector(u8, Edge),
    Line(Edge),
    Raise,
    Nmi,
    Call(u16, Edge),
    RawCall(Edge),
    Off(Off, Edge),
    Expired,
    Renamed,
    Freed,
    Exits,
    Migrated,
}

/// Begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Enter,
    Exit,
}
