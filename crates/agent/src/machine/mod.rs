//! Reads this machine, for its description in every record and for the checks.

mod config;
mod core;
mod cpu;
pub mod cpusets;
pub mod form;
pub mod groups;
pub mod heat;
pub mod isolated;
pub mod kernel;
pub mod limits;
mod power;
mod preemption;
mod reach;
mod realtime;
mod root;
mod surroundings;
pub mod task;
pub mod tracefs;
pub mod tracing;

pub use cpu::{field, online_cpus, own_cpus};
pub use limits::group_limits;
pub use preemption::{BOOT_PARAMETER, parameter};
pub use reach::{Reach, housekeeping, kept_free};
pub use root::{LOCKDOWN, Root};

pub use self::core::{core, gravity_ns};
pub use config::{config, config_text};
use cpu::{cpu, isolation};
use latido_model::{
    cell::Scheduling,
    machine::{ClockSource, Emulated, Machine, Memory},
};
use latido_sys::sched::Policy;
use power::{frequency, idle};
use preemption::preemption;
pub use realtime::{group_budget_v1, realtime};

/// The file in which a guest's image describes its laboratory: an [`Emulated`].
pub const LABORATORY: &str = "lab/about";

/// Reads the machine from about a hundred small files. It never fails: what it cannot read is absent.
pub fn read(root: &Root) -> Machine {
    let kernel = root.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel_version = root.read("proc/sys/kernel/version");
    let command_line = root.read("proc/cmdline");
    let (line, release) = (command_line.as_deref(), kernel.as_str());
    let config = config(root, release);
    let cpuinfo = root.beginning("proc/cpuinfo");
    let board = surroundings::board(root);
    Machine {
        hostname: root.read("proc/sys/kernel/hostname").unwrap_or_default(),
        architecture: architecture(root),
        distribution: distribution(root),
        core: self::core::core(root),
        preemption: preemption(root, kernel_version.as_deref(), line, config.as_ref()),
        cpu: cpu(root, cpuinfo.as_deref()),
        isolation: isolation(root, line),
        frequency: frequency(root),
        idle: idle(root),
        memory: memory(root),
        clock: clock(root),
        realtime: realtime(root, release, line, config.as_ref()),
        hypervisor: surroundings::hypervisor(root, cpuinfo.as_deref(), board.as_deref()),
        emulated: laboratory(root),
        container: surroundings::container(root),
        limits: limits::limits(root),
        libc: libc(),
        kernel_version,
        board,
        config,
        command_line,
        kernel,
    }
}

/// Returns the laboratory, if this is a guest in it.
pub fn laboratory(root: &Root) -> Option<Emulated> {
    serde_json::from_str(&root.read(LABORATORY)?).ok()
}

fn memory(root: &Root) -> Memory {
    let meminfo = root.read("proc/meminfo").unwrap_or_default();
    let kib = |key: &str| field(&meminfo, key)?.trim_end_matches("kB").trim().parse().ok();
    Memory {
        total_kib: kib("MemTotal"),
        swap_kib: kib("SwapTotal"),
        transparent_hugepages: root.choice("sys/kernel/mm/transparent_hugepage/enabled"),
        moves_locked: root.value::<u8>("proc/sys/vm/compact_unevictable_allowed").map(|value| value != 0),
    }
}

fn clock(root: &Root) -> ClockSource {
    let directory = "sys/devices/system/clocksource/clocksource0";
    let available = root.read(&format!("{directory}/available_clocksource")).unwrap_or_default();
    ClockSource {
        current: root.read(&format!("{directory}/current_clocksource")),
        available: available.split_whitespace().map(str::to_owned).collect(),
    }
}

fn architecture(root: &Root) -> Option<String> {
    // The file exists since Linux 6.1.
    root.read("proc/sys/kernel/arch").or_else(|| root.asked(|kernel| kernel.architecture()))
}

fn distribution(root: &Root) -> Option<String> {
    let text = root.read("etc/os-release").or_else(|| root.read("usr/lib/os-release"))?;
    let pretty = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(pretty.trim_matches(['"', '\'']).to_owned())
}

/// Returns the C library, known from the build. A static binary measures its own library's mutexes, not the system's.
fn libc() -> String {
    let name = match () {
        () if cfg!(target_env = "gnu") => "glibc",
        () if cfg!(target_env = "musl") => "musl",
        () if cfg!(target_os = "android") => "bionic",
        () => "unknown libc",
    };
    let linkage = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    format!("{name}, {linkage}")
}

/// Converts a scheduling policy to the kernel's form.
pub fn policy(scheduling: Scheduling) -> Policy {
    match scheduling {
        Scheduling::Other { nice, .. } => Policy::Other { nice },
        Scheduling::Batch { nice } => Policy::Batch { nice },
        Scheduling::Idle => Policy::Idle,
        // No plan can request it.
        Scheduling::Unknown | Scheduling::Own => Policy::Other { nice: 0 },
        // A thread of a core has this policy whenever the kernel runs it.
        Scheduling::Fifo { prio } | Scheduling::Evl { prio } | Scheduling::Cobalt { prio } => Policy::Fifo { prio },
        Scheduling::Rr { prio } => Policy::Rr { prio },
        Scheduling::Deadline { runtime, deadline, period } => {
            Policy::Deadline { runtime_ns: runtime.0, deadline_ns: deadline.0, period_ns: period.0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;
    use latido_model::machine::{Cpu, Layer, Model};

    #[test]
    fn reads_a_desktop() {
        let machine = read(&fixture::desktop().root);
        assert_eq!((machine.hostname.as_str(), machine.kernel.as_str()), ("desk", "6.12.9-amd64"));
        assert_eq!(machine.preemption.as_ref().unwrap().model, Model::Voluntary);
        assert_eq!(machine.hypervisor, Some(Layer::Absent));
        assert_eq!(machine.container, Some(Layer::Absent));
        let rows: std::collections::BTreeMap<_, _> = machine.rows().into_iter().collect();
        for (name, value) in [
            ("board", "LENOVO 20XW"),
            ("distribution", "Debian GNU/Linux 13 (trixie)"),
            ("CPUs online", "4 (0-3)"),
            ("L3 cache", "12288 KiB"),
            ("frequency", "powersave, 400-4700 MHz (intel_pstate)"),
            ("idle states", "intel_idle: POLL 0 µs, C1 1 µs, C10 230 µs"),
            ("fair server", "50ms of 1s on CPUs 0-3"),
            ("memory", "15.5 GiB"),
            ("swap", "1.0 GiB"),
            ("real-time throttle", "950 of 1000 ms"),
            ("isolated CPUs", "none"),
            ("tick", "250 Hz"),
            ("kernel debugging", "none"),
        ] {
            assert_eq!(rows[name], value, "{name}");
        }
    }

    #[test]
    fn reads_a_board() {
        let machine = read(&fixture::board().root);
        let rows: std::collections::BTreeMap<_, _> = machine.rows().into_iter().collect();
        for (name, value) in [
            ("board", "Raspberry Pi 3 Model B Rev 1.2"),
            ("CPU", "arm,cortex-a53"),
            ("preemption", "PREEMPT_RT (the version string)"),
            ("isolated CPUs", "3"),
            ("rcu_nocbs CPUs", "3"),
            ("fair server", "none in this kernel"),
            ("hypervisor", "none"),
            ("L3 cache", "unknown"),
        ] {
            assert_eq!(rows[name], value, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        let machine = read(&fixture::empty().root);
        for (name, value) in machine.rows() {
            assert!(value.starts_with("unknown") || name == "C library of latido", "{name}: {value}");
        }
    }

    #[test]
    fn survives_storing_and_older_records() {
        for tree in [fixture::desktop(), fixture::board(), fixture::container(), fixture::empty()] {
            let machine = read(&tree.root);
            let json = serde_json::to_string(&machine).unwrap();
            assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
        }
        let older: Machine = serde_json::from_str(r#"{"hostname":"a","kernel":"6.1"}"#).unwrap();
        assert_eq!(older.cpu, Cpu::default());
    }

    #[test]
    fn reads_this_machine() {
        let machine = read(&Root::default());
        assert!(!machine.kernel.is_empty());
        assert!(machine.cpu.online.is_some());
    }
}
