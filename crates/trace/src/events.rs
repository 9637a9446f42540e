//! Turns the kernel's records into what happened, with the formats of the trace resolved once.
//!
//! Names and fields are those of include/trace/events/*.h and arch/x86/include/asm/trace/irq_vectors.h. latido reads a field's place in a
//! record from the format, because it differs between kernels.

mod resolve;
mod task;

use crate::format::Int;
pub use resolve::Events;
pub(crate) use resolve::state_of;
pub use task::{Class, Comm, Priority};

/// Something that happened and matters for latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A CPU changed from one task to another (`sched_switch`).
    Switch {
        /// The task that leaves the CPU.
        from: Switched,
        /// Why it leaves.
        state: State,
        /// The task that starts to run.
        to: Switched,
    },
    /// A task is about to be woken (`sched_waking`), in the waker's context.
    Waking(Woken),
    /// The scheduler put a task on a run queue (`sched_wakeup`). The CPU of that run queue may be the one that writes the event.
    Wakeup(Woken),
    /// The same for a new task (`sched_wakeup_new`).
    New(Woken),
    /// The CPU starts something above what it did before.
    Enter(Above),
    /// The CPU ends it.
    Exit(Above),
    /// A soft interrupt was requested (`softirq_raise`).
    Raise(u8),
    /// A non-maskable interrupt's handler has run for this many ns (`nmi_handler`).
    Nmi(u64),
    /// A thread enters a system call.
    Call {
        /// The thread.
        pid: i32,
        /// Which call.
        call: Call,
    },
    /// A thread leaves a system call.
    Return {
        /// The thread.
        pid: i32,
        /// Which call; `None` if the kernel no longer knows it (the return from a signal has the number -1).
        call: Option<Call>,
    },
    /// The CPU switched interrupts or preemption off (`preemptirq`).
    Off(Off),
    /// The CPU switched them on again.
    On(Off),
    /// A high-resolution timer's function starts (`hrtimer_expire_entry`).
    Expired {
        /// The timer.
        timer: u64,
        /// The reading of the timer's clock, in ns.
        now: i64,
    },
    /// A task has a new name (`task_rename`).
    Renamed {
        /// The task.
        pid: i32,
        /// Its new name.
        comm: Comm,
    },
    /// A task is gone (`sched_process_free`): another task may get its number.
    Freed(i32),
    /// A task starts to exit (`sched_process_exit`): from here on it runs the kernel's clean-up.
    Exits(i32),
    /// A runnable task moves to another CPU (`sched_migrate_task`).
    Migrated {
        /// The task.
        pid: i32,
        /// The CPU that it leaves.
        from: u32,
        /// The CPU that it moves to.
        to: u32,
    },
}

/// One side of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The task's number; 0 for a CPU's idle task.
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
    /// It could continue: it was preempted, or yielded.
    Runnable,
    /// It waits for something.
    Sleeping,
    /// It was stopped by a signal or a tracer.
    Stopped,
    /// It exits.
    Dead,
}

/// What runs above a task on a CPU, innermost last: soft interrupts, hard interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Above {
    /// A soft interrupt (`softirq_entry`) by its number.
    Soft(u8),
    /// A vector of the processor itself (`local_timer_entry`): index into [`Events::vectors`].
    Vector(u8),
    /// A device's handler (`irq_handler_entry`) by the line's number.
    Line(u32),
}

/// A system call, by its number or as an index into [`Events::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// From a separate event: the index of its name.
    Named(u16),
    /// From `raw_syscalls`: the architecture's number.
    Number(u16),
}

/// What is switched off.
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

/// The fields of one side of a switch, or of a wake-up.
#[derive(Clone, Copy, Debug)]
struct TaskFields {
    pid: Int,
    prio: Int,
    comm: u16,
}

/// The meaning of a record, from its first two bytes.
#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    /// Nothing that latido pairs.
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

/// Start or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Enter,
    Exit,
}
