//! The running kernel's configuration: the options that affect latency.

use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Debugging options that lengthen the kernel's critical sections, with their cost.
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
    /// Latencies show the debugging code, not the kernel that will be used.
    Heavy,
}

/// The options that latido looked for, with their values in the running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelConfig {
    /// The file it was read from.
    pub source: String,
    /// SHA-256 of the whole text, in hexadecimal. The run keeps the text in a file named after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Option without `CONFIG_` to its value: `y`, `m`, `n` or a number. latido did not look for an option that is missing here.
    pub options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Returns the hash that names the text of a configuration: SHA-256 in hexadecimal.
    pub fn hash(text: &[u8]) -> String {
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the name of the run's file that contains the compressed text with this hash.
    pub fn file(sha256: &str) -> String {
        format!("config-{sha256}.gz")
    }

    /// Compresses the text for gunzip.
    ///
    /// # Errors
    /// None: the function writes to memory.
    pub fn packed(text: &str) -> io::Result<Vec<u8>> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text.as_bytes())?;
        packed.finish()
    }

    /// Whether an option is built in or a module; `None` if latido did not look for it.
    pub fn is_on(&self, option: &str) -> Option<bool> {
        self.options.get(option).map(|value| matches!(value.as_str(), "y" | "m"))
    }

    /// The debugging options that are on.
    pub fn debugging(&self) -> impl Iterator<Item = (&'static str, Cost)> + '_ {
        DEBUGGING.iter().copied().filter(|(option, _)| self.is_on(option) == Some(true))
    }
}
