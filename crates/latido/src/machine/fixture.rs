//! Fake machines for tests: directories with the files that real ones show.

use super::Root;
use std::{fs, path::Path};

/// A fake machine; its directory goes when it is dropped.
pub struct Tree {
    pub root: Root,
    directory: tempfile::TempDir,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tree = Self { root: Root::new(directory.path()), directory };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(path, text).unwrap();
    }
}

pub fn empty() -> Tree {
    Tree::new(&[])
}

/// A user without any privilege.
const USER: &[(&str, &str)] = &[
    ("proc/self/uid_map", "         0          0 4294967295\n"),
    ("proc/self/status", "Name:\tlatido\nCapEff:\t0000000000000000\nSeccomp:\t0\n"),
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max locked memory         8388608              8388608              bytes     \n\
         Max realtime priority     0                    0                              \n",
    ),
];

/// A Debian laptop as it is installed, used by an ordinary user who happens to read debugfs.
pub fn desktop() -> Tree {
    let tree = Tree::new(USER);
    for (path, text) in [
        ("proc/sys/kernel/hostname", "desk\n"),
        ("proc/sys/kernel/osrelease", "6.12.9-amd64\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10)\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
        ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i7\nflags\t\t: fpu tsc constant_tsc\n"),
        ("proc/meminfo", "MemTotal:       16252928 kB\nSwapTotal:       1048576 kB\n"),
        ("proc/loadavg", "0.40 0.30 0.20 1/900 4711\n"),
        ("proc/stat", "cpu  9000 10 3000 90000 20 0 50 0 0 0\n"),
        ("proc/irq/1/i8042/x", ""),
        ("proc/irq/1/smp_affinity_list", "0-3\n"),
        ("proc/irq/1/effective_affinity_list", "1\n"),
        ("sys/class/thermal/thermal_zone0/temp", "48000\n"),
        ("sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n"),
        ("sys/class/thermal/thermal_zone0/trip_point_0_temp", "105000\n"),
        ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n"),
        ("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n"),
        ("proc/self/timerslack_ns", "50000\n"),
        ("etc/os-release", "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n"),
        (
            "boot/config-6.12.9-amd64",
            "CONFIG_HZ=250\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n\
             CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_IRQ_FORCED_THREADING=y\nCONFIG_PREEMPT_RCU=y\nCONFIG_FUTEX_PI=y\nCONFIG_RT_MUTEXES=y\n# CONFIG_RT_GROUP_SCHED is not set\n",
        ),
        ("sys/class/dmi/id/sys_vendor", "LENOVO\n"),
        ("sys/class/dmi/id/product_name", "20XW\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/possible", "0-3\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
        ("sys/devices/system/cpu/cpu0/cache/index2/level", "2\n"),
        ("sys/devices/system/cpu/cpu0/cache/index2/size", "1280K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
        ("sys/devices/system/cpu/cpu0/cache/index3/size", "12288K\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("dev/cpu_dma_latency", ""),
    ] {
        tree.write(path, text);
    }
    for (index, (name, latency)) in [("POLL", "0"), ("C1", "1"), ("C10", "230")].into_iter().enumerate() {
        let state = format!("sys/devices/system/cpu/cpu0/cpuidle/state{index}");
        tree.write(&format!("{state}/name"), name);
        tree.write(&format!("{state}/latency"), latency);
        tree.write(&format!("{state}/disable"), "0");
    }
    for cpu in 0..4 {
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        tree.write(&format!("{policy}/affected_cpus"), &cpu.to_string());
        tree.write(&format!("{policy}/scaling_driver"), "intel_pstate");
        tree.write(&format!("{policy}/scaling_governor"), "powersave");
        tree.write(&format!("{policy}/scaling_min_freq"), "400000");
        tree.write(&format!("{policy}/scaling_max_freq"), "4700000");
        let server = format!("sys/kernel/debug/sched/fair_server/cpu{cpu}");
        tree.write(&format!("{server}/runtime"), "50000000");
        tree.write(&format!("{server}/period"), "1000000000");
    }
    tree
}

/// A tuned Raspberry Pi 3 with PREEMPT_RT, used by root.
pub fn board() -> Tree {
    let tree = Tree::new(&[
        ("proc/sys/kernel/hostname", "pi\n"),
        ("proc/sys/kernel/osrelease", "6.6.31-rt31-v8\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian\n"),
        ("proc/sys/kernel/arch", "aarch64\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("proc/cmdline", "console=serial0 isolcpus=3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2\n"),
        ("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n"),
        ("proc/device-tree/model", "Raspberry Pi 3 Model B Rev 1.2\0"),
        ("proc/device-tree/compatible", "raspberrypi,3-model-b\0brcm,bcm2837\0"),
        ("proc/meminfo", "MemTotal:         927000 kB\nSwapTotal:             0 kB\n"),
        ("proc/loadavg", "0.00 0.00 0.00 1/90 411\n"),
        ("proc/stat", "cpu  90 0 30 9000 2 0 5 0 0 0\n"),
        ("proc/irq/17/mmc0/x", ""),
        ("proc/irq/17/smp_affinity_list", "0-2\n"),
        ("proc/irq/17/effective_affinity_list", "0\n"),
        ("proc/self/timerslack_ns", "50000\n"),
        ("sys/class/thermal/thermal_zone0/temp", "45000\n"),
        ("sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n"),
        ("sys/class/thermal/thermal_zone0/trip_point_0_temp", "110000\n"),
        ("proc/self/cgroup", "0::/init.scope\n"),
        ("proc/self/uid_map", "0 0 4294967295\n"),
        ("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n"),
        ("sys/kernel/realtime", "1\n"),
        ("sys/kernel/mm/ksm/run", "0\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/possible", "0-3\n"),
        ("sys/devices/system/cpu/isolated", "3\n"),
        ("sys/devices/system/cpu/smt/active", "0\n"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "none\n"),
        ("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1 2 3\n"),
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n"),
        (
            "boot/config-6.6.31-rt31-v8",
            "CONFIG_HZ=1000\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_RCU=y\nCONFIG_FUTEX_PI=y\n",
        ),
    ]);
    for core in 0..4 {
        tree.write(&format!("proc/device-tree/cpus/cpu@{core}/compatible"), "arm,cortex-a53\0");
    }
    tree
}

/// Root of a container whose control group can have no real-time budget.
pub fn container() -> Tree {
    Tree::new(&[
        (".dockerenv", ""),
        ("proc/sys/kernel/hostname", "3f1c\n"),
        ("proc/sys/kernel/osrelease", "6.8.0-generic\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Ubuntu\n"),
        ("proc/cmdline", "quiet preempt=full\n"),
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/uid_map", "0 0 4294967295\n"),
        ("proc/self/status", "CapEff:\t00000000a88425fb\nSeccomp:\t2\n"),
        ("boot/config-6.8.0-generic", "CONFIG_RT_GROUP_SCHED=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_DYNAMIC=y\n"),
        ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ])
}
