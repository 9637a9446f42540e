//! One fully resolved combination of a plan's axes: the wire type that a target receives.

use crate::{cpus::CpuSet, machine::CoreKind, units::Ns};
use serde::{Deserialize, Serialize};

/// The version of the cell's JSON; raised when a key changes its meaning.
pub const SCHEMA: u32 = 2;

/// The machine that latido runs on.
pub const LOCAL: &str = "local";

/// The target that boots the kernels of a plan in emulation.
pub const LAB: &str = "lab";

/// The target of an imported file: another tool measured there.
pub const IMPORTED: &str = "imported";

/// The plan's name of every import.
pub const IMPORT: &str = "import";

/// The option that distinguishes the files of one import.
pub const FILE: &str = "file";

/// The kernel that runs on the target.
pub const RUNNING: &str = "running";

/// Returns why a target cannot have a kernel, as far as their names show: the laboratory boots named kernels, other targets use their
/// running kernel.
pub fn lacks_kernel(target: &str, kernel: &str) -> Option<String> {
    match (target == LAB, kernel == RUNNING) {
        (true, true) => Some(
            "the laboratory cannot use the running kernel; name kernels to boot (kernel = [...], --kernel NAME)".into(),
        ),
        (false, false) => Some(format!(
            "kernel `{kernel}`: the target `{target}` has only its running kernel; the laboratory boots others (--on lab)"
        )),
        _ => None,
    }
}

/// One measurement: everything that the target needs to know, nothing about the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// The plan's name, for the user.
    pub plan: String,
    /// The target: `local`, `ssh:board`.
    pub target: String,
    /// The kernel to run on; [`RUNNING`] is the one that runs there.
    pub kernel: String,
    /// The number of the boot of that kernel, from 1. Repeats within one boot are not independent.
    pub boot: u32,
    /// The settings changed for this cell.
    pub tuning: Level,
    /// What disturbs the machine meanwhile.
    pub load: Level,
    /// The policy of the measuring threads.
    pub scheduling: Scheduling,
    /// What is measured.
    pub probe: Item,
    /// The conditions of the measurement, the same at every level.
    pub conditions: Conditions,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// Seed of everything random in the cell (loads, disturbances).
    pub seed: u64,
}

/// The conditions of a measurement, the same at every level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The CPUs to measure; `None` for the probe's default. A record's cell always has them.
    pub cpus: Option<CpuSet>,
    /// How long to measure, without the warm-up.
    pub duration: Ns,
    /// How long the loop runs before its samples count.
    pub warmup: Ns,
    /// The deadline of the user: a sample above it fails the cell.
    pub limit: Option<Ns>,
    /// End the cell at the first sample above this.
    pub stop_on: Option<Ns>,
    /// End the loads and the cell above this temperature, in degrees Celsius; `None` for the target's own limit.
    pub max_temp: Option<i32>,
    /// Record a trace of these events meanwhile: an empty list for the usual events, `None` for no trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<String>>,
    /// Explain this many of the largest samples, and all above the limit, by a trace recorded for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<u32>,
}

impl Conditions {
    /// Returns what the cell records meanwhile, if anything: the named events (empty for the usual ones), and whether the events that
    /// explain samples are among them. Recording costs time in each sample.
    pub fn recorded(&self) -> Option<(&[String], bool)> {
        let explained = self.explain.is_some();
        (explained || self.trace.is_some()).then(|| (self.trace.as_deref().unwrap_or_default(), explained))
    }
}

/// The properties in which the cells of a plan differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// The machine measured.
    Target,
    /// Its kernel.
    Kernel,
    /// The number of the kernel's boot.
    Boot,
    /// The settings.
    Tuning,
    /// The load.
    Load,
    /// The policy of the measuring threads.
    Scheduling,
    /// What is measured.
    Probe,
}

impl Axis {
    /// Every axis, the slowest to change first.
    pub const ALL: [Self; 7] =
        [Self::Target, Self::Kernel, Self::Boot, Self::Tuning, Self::Load, Self::Scheduling, Self::Probe];

    /// Returns its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Kernel => "kernel",
            Self::Boot => "boot",
            Self::Tuning => "tuning",
            Self::Load => "load",
            Self::Scheduling => "scheduling",
            Self::Probe => "probe",
        }
    }

    /// Returns the axis with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.name() == name)
    }
}

impl Cell {
    /// Returns the name of its level on an axis: `busy`, `fifo 80`, `wakeup`.
    pub fn level(&self, axis: Axis) -> String {
        match axis {
            Axis::Target => self.target.clone(),
            Axis::Kernel => self.kernel.clone(),
            Axis::Boot => self.boot.to_string(),
            Axis::Tuning => self.tuning.id.clone(),
            Axis::Load => self.load.id.clone(),
            Axis::Scheduling => self.scheduling.to_string(),
            Axis::Probe => self.probe.name.clone(),
        }
    }

    /// The same for the user: a machine without a load is idle.
    pub fn shown(&self, axis: Axis) -> String {
        if axis == Axis::Load { self.load.shown_load().to_owned() } else { self.level(axis) }
    }

    /// Returns whether both have the same level on an axis, by its contents and not only its name.
    pub fn agrees(&self, other: &Self, axis: Axis) -> bool {
        match axis {
            Axis::Target => self.target == other.target,
            Axis::Kernel => self.kernel == other.kernel,
            Axis::Boot => self.boot == other.boot,
            Axis::Tuning => self.tuning == other.tuning,
            Axis::Load => self.load == other.load,
            Axis::Scheduling => self.scheduling == other.scheduling,
            Axis::Probe => self.probe == other.probe,
        }
    }
}

/// One named level of the tuning or load axis: the items that act together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The name that tables and expectations use.
    pub id: String,
    /// The items in force together; an empty list is a valid level.
    #[serde(rename = "use")]
    pub items: Vec<Item>,
}

/// The level without a load, as files name it.
pub const NO_LOAD: &str = "none";

/// The same level for the user, on the command line and in plans.
pub const IDLE: &str = "idle";

impl Level {
    /// Returns the name of a level of loads for the user.
    pub fn shown_load(&self) -> &str {
        if self.id == NO_LOAD && self.items.is_empty() { IDLE } else { &self.id }
    }
}

/// A probe, load or tuning by name with its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The name in its folder's list.
    pub name: String,
    /// The options as its file reads them.
    pub options: toml::Table,
}

/// A scheduling policy with exactly the parameters that it has, see sched(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduling {
    /// SCHED_OTHER, the time-sharing default.
    Other {
        /// Nice value, -20 to 19.
        #[serde(default)]
        nice: i8,
        /// How the nice value is set.
        #[serde(default, skip_serializing_if = "NiceBy::is_default")]
        by: NiceBy,
    },
    /// SCHED_BATCH: time-sharing that never preempts on waking.
    Batch {
        /// Nice value, -20 to 19.
        #[serde(default)]
        nice: i8,
    },
    /// SCHED_IDLE: runs when nothing else wants to.
    Idle,
    /// SCHED_FIFO.
    Fifo {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// SCHED_RR.
    Rr {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// SCHED_DEADLINE.
    Deadline {
        /// Budget in each period.
        runtime: Ns,
        /// Relative deadline.
        deadline: Ns,
        /// Period of replenishment.
        period: Ns,
    },
    /// Out of band on the EVL core, by the core's FIFO policy. The kernel neither schedules nor delays the thread.
    Evl {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// In primary mode on the Cobalt core, by the core's FIFO policy. The kernel neither schedules nor delays the thread.
    Cobalt {
        /// Priority, 1 to 99.
        prio: u8,
    },
    /// Not known: another tool measured. No plan can request it.
    Unknown,
    /// Not set by latido: the probe watches a program passively, and the program keeps its own policy. No plan can request it.
    Own,
}

/// The two ways in which the execution-times study sets the nice value of a time-sharing task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NiceBy {
    /// From outside: the whole process starts with the nice value, as by nice(1).
    #[default]
    Nice,
    /// From inside: the measuring thread calls setpriority(2) itself.
    Setpriority,
}

impl NiceBy {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Scheduling {
    /// SCHED_OTHER with nice 0.
    pub const OTHER: Self = Self::Other { nice: 0, by: NiceBy::Nice };

    /// Returns whether the thread shares a CPU with every task, so that any task may delay it. Returns false for a program's own policy,
    /// which latido does not know.
    pub fn shares_time(self) -> bool {
        !self.is_realtime() && self != Self::Own
    }

    /// Returns whether the kernel, or a core beside it, runs the thread before every time-sharing task.
    pub fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::Rr { .. } | Self::Deadline { .. }) || self.core().is_some()
    }

    /// Returns the real-time core that schedules the thread; `None` if the kernel does.
    pub fn core(self) -> Option<CoreKind> {
        match self {
            Self::Evl { .. } => Some(CoreKind::Evl),
            Self::Cobalt { .. } => Some(CoreKind::Cobalt),
            _ => None,
        }
    }
}

impl std::fmt::Display for Scheduling {
    /// Writes the policy as in tables: `fifo 80`, `other`, `other nice -5`, `other setpriority -5`, `deadline 200us/1ms/1ms`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other { nice: 0, .. } => f.write_str("other"),
            Self::Other { nice, by: NiceBy::Nice } => write!(f, "other nice {nice}"),
            Self::Other { nice, by: NiceBy::Setpriority } => write!(f, "other setpriority {nice}"),
            Self::Batch { nice: 0 } => f.write_str("batch"),
            Self::Batch { nice } => write!(f, "batch nice {nice}"),
            Self::Idle => f.write_str("idle"),
            Self::Unknown => f.write_str("unknown policy"),
            Self::Own => f.write_str("its own policy"),
            Self::Fifo { prio } => write!(f, "fifo {prio}"),
            Self::Rr { prio } => write!(f, "rr {prio}"),
            Self::Evl { prio } => write!(f, "evl {prio}"),
            Self::Cobalt { prio } => write!(f, "cobalt {prio}"),
            Self::Deadline { runtime, deadline, period } => write!(f, "deadline {runtime}/{deadline}/{period}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_reads_like_a_plan() {
        let fifo: Scheduling = serde_json::from_str(r#"{"policy":"fifo","prio":80}"#).unwrap();
        assert_eq!(fifo, Scheduling::Fifo { prio: 80 });
        assert!(serde_json::from_str::<Scheduling>(r#"{"policy":"fifo","prio":80,"nice":3}"#).is_err());
        assert_eq!(fifo.to_string(), "fifo 80");
        let evl: Scheduling = serde_json::from_str(r#"{"policy":"evl","prio":90}"#).unwrap();
        assert_eq!((evl, evl.to_string().as_str()), (Scheduling::Evl { prio: 90 }, "evl 90"));
        assert!(evl.is_realtime() && !evl.shares_time() && fifo.core().is_none());
        assert_eq!(evl.core(), Some(CoreKind::Evl));
    }
}
