//! One fully resolved combination of a plan's axes: the wire type that a target receives.

use crate::{cpus::CpuSet, units::Ns};
use serde::{Deserialize, Serialize};

/// The version of the cell's JSON; raised when a key changes its meaning.
pub const SCHEMA: u32 = 2;

/// The machine that latido runs on.
pub const LOCAL: &str = "local";

/// The target that boots the kernels of a plan in emulation.
pub const LAB: &str = "lab";

/// Where another tool has measured whose file was imported.
pub const IMPORTED: &str = "imported";

/// The plan's name of every import.
pub const IMPORT: &str = "import";

/// The option that tells the files of one import apart.
pub const FILE: &str = "file";

/// The kernel that is there.
pub const RUNNING: &str = "running";

/// Why a target cannot have a kernel, as far as their names tell: the laboratory boots what is named, others run what runs there.
pub fn lacks_kernel(target: &str, kernel: &str) -> Option<String> {
    match (target == LAB, kernel == RUNNING) {
        (true, true) => Some(
            "the laboratory boots kernels, and this one runs already: name others (kernel = [...], --kernel NAME)"
                .into(),
        ),
        (false, false) => Some(format!(
            "kernel `{kernel}`: the target `{target}` has the running kernel alone; the laboratory boots others (--on lab)"
        )),
        _ => None,
    }
}

/// What one measurement is: everything the target needs to know, nothing about the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// The plan's name, for people.
    pub plan: String,
    /// Where: `local`, `ssh:board`.
    pub target: String,
    /// The kernel to run on; [`RUNNING`] is the one that is there.
    pub kernel: String,
    /// Which boot of that kernel, from 1: repeats within one boot are not independent of it.
    pub boot: u32,
    /// The settings changed for this cell.
    pub tuning: Level,
    /// What disturbs the machine meanwhile.
    pub load: Level,
    /// The policy of the measuring threads.
    pub scheduling: Scheduling,
    /// What is measured.
    pub probe: Item,
    /// What holds for the measurement whatever its levels.
    pub conditions: Conditions,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// Seed of everything random in the cell (loads, disturbances).
    pub seed: u64,
}

/// What holds for a measurement whatever its levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The CPUs to measure; absent, the probe's own default. A record's cell always has them.
    pub cpus: Option<CpuSet>,
    /// How long to measure, warm-up not counted.
    pub duration: Ns,
    /// How long the loop runs before its samples count.
    pub warmup: Ns,
    /// The deadline of the user: a sample above it fails the cell.
    pub limit: Option<Ns>,
    /// End the cell at the first sample above this.
    pub stop_on: Option<Ns>,
    /// End the loads and the cell above this temperature, in degrees Celsius; absent, the target's own limit.
    pub max_temp: Option<i32>,
    /// Record a trace of these events meanwhile; none names the usual ones, absent records nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<String>>,
    /// Explain so many of the largest samples, and all above the limit, by a trace that is recorded for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<u32>,
}

impl Conditions {
    /// What is recorded meanwhile, where anything is: the events that were named, none for the usual ones, and whether
    /// those that explain samples are among them. It costs each sample.
    pub fn recorded(&self) -> Option<(&[String], bool)> {
        let explained = self.explain.is_some();
        (explained || self.trace.is_some()).then(|| (self.trace.as_deref().unwrap_or_default(), explained))
    }
}

/// What the cells of a plan differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// The machine measured.
    Target,
    /// Its kernel.
    Kernel,
    /// Which boot of it.
    Boot,
    /// The settings.
    Tuning,
    /// What disturbs.
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

    /// As plans write it.
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

    /// The axis of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.name() == name)
    }
}

impl Cell {
    /// The name of its level on an axis: `busy`, `fifo 80`, `wakeup`.
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

    /// The same for people: a machine without a load is idle.
    pub fn shown(&self, axis: Axis) -> String {
        if axis == Axis::Load { self.load.shown_load().to_owned() } else { self.level(axis) }
    }

    /// Whether both stand for the same thing on an axis: not its name alone, but what it is.
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
    /// The items in force together; none is a valid level.
    #[serde(rename = "use")]
    pub items: Vec<Item>,
}

/// The load that is nothing, as files name it.
pub const NO_LOAD: &str = "none";

/// The same for people, on the command line and in plans.
pub const IDLE: &str = "idle";

impl Level {
    /// The name of a level of loads for people.
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
        /// Who sets it.
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
    /// Nobody knows: of what another tool measured. No plan can ask for it.
    Unknown,
    /// Not latido's to set: the probe only looks on, and what it looks at keeps its own. No plan can ask for it.
    Own,
}

/// The two ways of the execution-times study to make a time-sharing task nice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NiceBy {
    /// From outside: the whole process is started nice, as by nice(1).
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

    /// Whether it shares a CPU with every task, so that any may delay it; of what keeps its own policy that is not known.
    pub fn shares_time(self) -> bool {
        !self.is_realtime() && self != Self::Own
    }

    /// Whether the kernel runs it before every time-sharing task.
    pub fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::Rr { .. } | Self::Deadline { .. })
    }
}

impl std::fmt::Display for Scheduling {
    /// As tables name it: `fifo 80`, `other`, `other nice -5`, `other setpriority -5`, `deadline 200us/1ms/1ms`.
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
    }
}
