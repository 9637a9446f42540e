//! The processors: their model, their number, what they share, and which ones are kept free.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// As /proc/cpuinfo or the device tree names it.
    pub model: Option<String>,
    /// The CPUs that run now.
    pub online: Option<CpuSet>,
    /// The online CPUs on which a thread of latido may run, without those that latido itself isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable: Option<CpuSet>,
    /// The CPUs the kernel could ever bring up.
    pub possible: Option<CpuSet>,
    /// Whether simultaneous multithreading is on: two threads share a core.
    pub smt: Option<bool>,
    /// Revision of the microcode, as the kernel prints it.
    pub microcode: Option<String>,
    /// Level 2 cache that CPU 0 uses, in KiB.
    pub l2_kib: Option<u64>,
    /// Level 3 cache that CPU 0 uses, in KiB.
    pub l3_kib: Option<u64>,
    /// Memory nodes.
    pub numa_nodes: Option<usize>,
    /// The kernel's report on each processor vulnerability that it knows, by name: `Not affected`, `Mitigation: PTI`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vulnerabilities: Option<BTreeMap<String, String>>,
}

/// The CPUs that the kernel keeps free of some work. Empty means none; absent means not readable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Isolation {
    /// Out of the scheduler's load balancing (`isolcpus=`), from /sys/devices/system/cpu/isolated.
    #[serde(with = "none_or_list")]
    pub isolated: Option<CpuSet>,
    /// Isolated by control-group partitions, from /sys/fs/cgroup/cpuset.cpus.isolated.
    #[serde(with = "none_or_list")]
    pub partitions: Option<CpuSet>,
    /// Without a tick while one task runs (`nohz_full=`).
    #[serde(with = "none_or_list")]
    pub nohz_full: Option<CpuSet>,
    /// The CPUs whose RCU callbacks run elsewhere (`rcu_nocbs=`), as written at boot: it may be `all`.
    pub rcu_nocbs: Option<String>,
    /// Where interrupts go by default (`irqaffinity=`), as written at boot.
    pub irqaffinity: Option<String>,
}

impl Isolation {
    /// Every CPU that is isolated, at boot or by a partition.
    pub fn cpus(&self) -> CpuSet {
        self.isolated.iter().chain(&self.partitions).flat_map(CpuSet::iter).collect()
    }
}

/// CPU lists in which "no CPU" is a valid answer: sysfs prints an empty line or `(null)` for it.
pub mod none_or_list {
    use crate::cpus::CpuSet;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    /// Parses what sysfs prints; `None` if it is not a list.
    pub fn parse(text: &str) -> Option<CpuSet> {
        match text {
            "" | "(null)" => Some(CpuSet::default()),
            list => list.parse().ok(),
        }
    }

    /// Writes the list as a string, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(list: &Option<CpuSet>, s: S) -> Result<S::Ok, S::Error> {
        list.as_ref().map(CpuSet::to_string).serialize(s)
    }

    /// Reads the list from a string, or null.
    ///
    /// # Errors
    /// The string is not a list of CPUs.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<CpuSet>, D::Error> {
        let Some(text) = Option::<String>::deserialize(d)? else { return Ok(None) };
        parse(&text).map(Some).ok_or_else(|| D::Error::custom(format!("`{text}` is not a list of CPUs")))
    }
}
