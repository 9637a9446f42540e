//! The basis of interrupt and activation latencies: the source of the events, the accuracy of their first instant, the stamp that was the
//! handler's, and the events that lack a stamp.

use serde::{Deserialize, Serialize};

/// Three stamps per event: t1 when it happened, t2 in the handler, t3 in the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampsRecord {
    /// The source, as the probe's option names it.
    pub source: String,
    /// How latido knows t1.
    pub t1: String,
    /// Whether events come regardless of what the measured CPU does.
    pub asynchronous: bool,
    /// What this source does not measure, or measures in addition; absent if there is nothing to note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beware: Option<String>,
    /// The step of t1, in ns, rounded up.
    pub resolution_ns: u64,
    /// The largest possible error of t1, in ns; absent if no event came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
    /// What was stamped as t2.
    pub handler: HandlerStamp,
    /// The thread that the handler runs in, with its policy after the last event; empty for a handler that is not a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub irq_threads: Vec<IrqThread>,
    /// The policy of the program that raised the events from this machine's user space; absent if no program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Events to which the task responded.
    pub events: u64,
    /// Of these, the events without a stamp of the handler; meaningless as 0 if no such stamp was recorded.
    pub lost: u64,
    /// Of these, the events with several such stamps.
    pub doubled: u64,
    /// Events that passed while the task was not waiting, or that never came.
    pub passed: u64,
    /// Events that were lost because there was no room.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropped: u64,
    /// Packets that senders other than the station sent to the same port. They do not count as events.
    #[serde(default, skip_serializing_if = "is_none")]
    pub strangers: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What was stamped as t2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HandlerStamp {
    /// An event of the kernel.
    Event {
        /// System and name.
        name: String,
    },
    /// The entry of this function.
    Function {
        /// Its symbol in this kernel.
        symbol: String,
        /// How it was traced: `kprobe`, `fprobe`, `function`.
        by: String,
    },
    /// A stamp that each event carries.
    Carried {
        /// What it is.
        what: String,
    },
    /// No stamp: only t3 - t1 was measured.
    None {
        /// Why.
        why: String,
    },
}

impl Default for HandlerStamp {
    fn default() -> Self {
        Self::None { why: String::new() }
    }
}

/// A thread that runs the interrupt's handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrqThread {
    /// Its name.
    pub comm: String,
    /// Its policy and priority, read back.
    pub policy: String,
}
