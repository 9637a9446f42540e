//! What stands behind interrupt and activation latencies: where the events came from, what their first instant is worth,
//! which stamp was the handler's, and what did not come together.

use serde::{Deserialize, Serialize};

/// Three stamps of each event: t1 when it happened, t2 in the handler, t3 in the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampsRecord {
    /// The source, as the probe's option names it.
    pub source: String,
    /// How t1 is known.
    pub t1: String,
    /// Whether events come regardless of what the measured CPU does.
    pub asynchronous: bool,
    /// What this source does not measure, or measures besides; absent where there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beware: Option<String>,
    /// The step of t1, ns, upwards to the next whole one.
    pub resolution_ns: u64,
    /// By how much t1 may be wrong at most, ns; absent where no event came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
    /// What was stamped as t2.
    pub handler: HandlerStamp,
    /// The thread that the handler runs in, with its policy after the last event; none of a handler that is no thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub irq_threads: Vec<IrqThread>,
    /// The policy of whatever raised the events from this machine's user space; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Events that were answered.
    pub events: u64,
    /// Of these, without a stamp of the handler; 0 says nothing where none was recorded.
    pub lost: u64,
    /// Of these, with several.
    pub doubled: u64,
    /// Events that passed while the task was away, or that never came.
    pub passed: u64,
    /// Events that found no room.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropped: u64,
    /// Packets that others than the station sent to the same port: they are no events.
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
    /// An event that the kernel has.
    Event {
        /// System and name.
        name: String,
    },
    /// The entry of this function.
    Function {
        /// Its symbol in this kernel.
        symbol: String,
        /// By what: `kprobe`, `fprobe`, `function`.
        by: String,
    },
    /// A stamp that each event brings along.
    Carried {
        /// What it is.
        what: String,
    },
    /// None: t3 - t1 is all that was measured.
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

/// A thread of the interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrqThread {
    /// Its name.
    pub comm: String,
    /// Its policy and priority, read back.
    pub policy: String,
}
