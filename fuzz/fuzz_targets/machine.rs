//! Any content of files under /proc, /sys and /boot: latido describes and checks the machine, and the description is the same after writing
//! and reading. Pieces end with 0xff; the first byte of each names the file.
#![no_main]

use latido_agent::{
    check,
    machine::{self, Root},
};
use latido_model::machine::Machine;
use latido_report::{check as page, terminal::Style};
use libfuzzer_sys::fuzz_target;
use std::{fs, path::PathBuf, sync::LazyLock};

const CPU: &str = "sys/devices/system/cpu";

const FILES: [&str; 51] = [
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/version",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/arch",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/loadavg",
    "proc/self/cgroup",
    "proc/self/status",
    "proc/self/limits",
    "proc/self/uid_map",
    "proc/self/timerslack_ns",
    "proc/config.gz",
    "boot/config-6.1",
    "etc/os-release",
    "proc/device-tree/model",
    "proc/device-tree/compatible",
    "proc/device-tree/cpus/cpu@0/compatible",
    "proc/device-tree/hypervisor/compatible",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/sched_rt_period_us",
    "proc/sys/kernel/sched_autogroup_enabled",
    "sys/kernel/realtime",
    "sys/kernel/debug/sched/preempt",
    "sys/kernel/debug/sched/fair_server/cpu0/runtime",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/class/dmi/id/product_name",
    "cpu/online",
    "cpu/isolated",
    "cpu/nohz_full",
    "cpu/smt/active",
    "cpu/cpu0/topology/thread_siblings_list",
    "cpu/cpu0/cache/index3/level",
    "cpu/cpu0/cache/index3/size",
    "cpu/cpufreq/policy0/affected_cpus",
    "cpu/cpufreq/policy0/scaling_max_freq",
    "cpu/cpu0/cpuidle/state1/latency",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "proc/stat",
    "proc/uptime",
    "proc/irq/24/smp_affinity_list",
    "proc/irq/24/effective_affinity_list",
    "proc/irq/24/eth0/spurious",
    "proc/77/comm",
    "dev/cpu/0/msr",
    "sys/class/thermal/thermal_zone0/temp",
    "sys/class/thermal/thermal_zone0/trip_point_0_type",
    "sys/class/thermal/thermal_zone0/trip_point_0_temp",
];

static DIR: LazyLock<PathBuf> = LazyLock::new(|| latido_fuzz::scratch("machine"));

fuzz_target!(|bytes: &[u8]| {
    let mut written = Vec::new();
    for piece in bytes.split(|byte| *byte == 0xff).take(8) {
        let Some((which, content)) = piece.split_first() else { continue };
        let name = FILES[usize::from(*which) % FILES.len()];
        let name = name.strip_prefix("cpu/").map_or(name.to_string(), |rest| format!("{CPU}/{rest}"));
        let path = DIR.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("memory");
        fs::write(&path, content).expect("memory");
        written.push(path);
    }
    let root = Root::new(DIR.as_path());
    let machine = machine::read(&root);
    let text = serde_json::to_string(&machine).expect("a machine can be written");
    assert_eq!(serde_json::from_str::<Machine>(&text).expect("and read"), machine, "{text}");
    let _ = machine.rows();
    let style = Style { width: 80, color: true };
    let cpus = "0-1".parse().ok();
    let _ = page::json(page::Examined::Machine(&machine), &check::points(&root, &machine, None));
    let _ = page::table(&machine, &check::points(&root, &machine, cpus.as_ref()), None, style);
    for path in written {
        let _ = fs::remove_file(path);
    }
});
