//! The machine: a snapshot that every record contains.

mod config;
mod core;
mod cpu;
mod emulated;
mod limits;
mod power;
mod preemption;
mod realtime;
mod rows;
mod surroundings;

pub use self::core::{Core, CoreKind};
pub use config::{Cost, DEBUGGING, KernelConfig};
pub use cpu::{Cpu, Isolation, none_or_list};
pub use emulated::Emulated;
pub use limits::{GroupLimit, GroupLimits, Limits};
pub use power::{Frequency, FrequencyPolicy, Idle, IdleState};
pub use preemption::{Model, Preemption};
pub use realtime::{FairBudget, FairServer, GroupBudget, RealTime, at_least};
pub use surroundings::Layer;

use serde::{Deserialize, Serialize};

/// The machine at the start of a cell. `None` means that latido could not read the value here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Host name; empty if latido could not read it.
    pub hostname: String,
    /// `uname -r`; empty if latido could not read it.
    pub kernel: String,
    /// `uname -v`: build number, preemption and date.
    pub kernel_version: Option<String>,
    /// `uname -m` of the kernel.
    pub architecture: Option<String>,
    /// PRETTY_NAME of os-release.
    pub distribution: Option<String>,
    /// Maker and product, from the device tree or DMI.
    pub board: Option<String>,
    /// The preemption model in force.
    pub preemption: Option<Preemption>,
    /// The real-time core beside the kernel; absent if the kernel has none, and in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<Core>,
    /// The kernel's command line.
    pub command_line: Option<String>,
    /// The kernel's configuration.
    pub config: Option<KernelConfig>,
    /// The processors.
    pub cpu: Cpu,
    /// The CPUs that are kept free.
    pub isolation: Isolation,
    /// Frequency scaling.
    pub frequency: Frequency,
    /// Idle states.
    pub idle: Idle,
    /// Memory.
    pub memory: Memory,
    /// The kernel's clock source.
    pub clock: ClockSource,
    /// What real-time tasks are granted.
    pub realtime: RealTime,
    /// The hypervisor below this system.
    pub hypervisor: Option<Layer>,
    /// The laboratory, if the machine is its guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Emulated>,
    /// The container around latido.
    pub container: Option<Layer>,
    /// The limits of latido's own processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The C library of this binary and how it is linked, for example `glibc, static`.
    pub libc: String,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Total, in KiB.
    pub total_kib: Option<u64>,
    /// Swap space, in KiB; 0 if the machine has none.
    pub swap_kib: Option<u64>,
    /// When the kernel makes huge pages by itself: `always`, `madvise`, `never`.
    pub transparent_hugepages: Option<String>,
    /// Whether the kernel may move pages that a task has locked; absent also if the kernel never moves pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_locked: Option<bool>,
}

/// The kernel's clock source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockSource {
    /// The one in use.
    pub current: Option<String>,
    /// The available ones, best first.
    pub available: Vec<String>,
}
