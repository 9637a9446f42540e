//! The running kernel's configuration: the options that decide about latency.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Debugging options that change how long the kernel's critical sections take, and how much.
pub const DEBUGGING: &[(&str, Cost)] = &[
    ("DEBUG_ATOMIC_SLEEP", Cost::Some),
    ("DEBUG_LOCK_ALLOC", Cost::Heavy),
    ("DEBUG_MUTEXES", Cost::Some),
    ("DEBUG_OBJECTS", Cost::Some),
    ("DEBUG_PAGEALLOC_ENABLE_DEFAULT", Cost::Some),
    ("DEBUG_PREEMPT", Cost::Some),
    ("DEBUG_RT_MUTEXES", Cost::Some),
    ("DEBUG_RWSEMS", Cost::Some),
    ("DEBUG_SPINLOCK", Cost::Some),
    ("DEBUG_VM", Cost::Some),
    ("GCOV_KERNEL", Cost::Some),
    ("IRQSOFF_TRACER", Cost::Some),
    ("KASAN_GENERIC", Cost::Heavy),
    ("KASAN_SW_TAGS", Cost::Heavy),
    ("KCOV", Cost::Some),
    ("KCSAN", Cost::Heavy),
    ("KMSAN", Cost::Heavy),
    ("LOCKDEP", Cost::Heavy),
    ("LOCK_STAT", Cost::Heavy),
    ("PREEMPT_TRACER", Cost::Some),
    ("PROVE_LOCKING", Cost::Heavy),
    ("PROVE_RCU", Cost::Heavy),
    ("SLUB_DEBUG_ON", Cost::Some),
];

/// What a debugging option costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Latencies grow noticeably.
    Some,
    /// Latencies are those of the debugging, not of the kernel that will be used.
    Heavy,
}

/// The options that were looked for, as the running kernel was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelConfig {
    /// The file it was read from.
    pub source: String,
    /// Option without `CONFIG_` to its value: `y`, `m`, `n` or a number. An option missing here was not looked for.
    pub options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Whether an option is built in or a module; `None` when it was not looked for.
    pub fn is_on(&self, option: &str) -> Option<bool> {
        self.options.get(option).map(|value| matches!(value.as_str(), "y" | "m"))
    }

    /// The debugging options that are on.
    pub fn debugging(&self) -> impl Iterator<Item = (&'static str, Cost)> + '_ {
        DEBUGGING.iter().copied().filter(|(option, _)| self.is_on(option) == Some(true))
    }
}
