//! What the machine shares: with a host, with sibling threads, with its disk.

use super::{Check, Finding, Severity, View};
use crate::machine::Layer;

pub const HYPERVISOR: Check = Check {
    name: "hypervisor",
    why: "The host can stop a virtual machine at any time; nothing inside prevents it.",
    decides: false,
    look: hypervisor,
};

fn hypervisor(view: &View) -> Finding {
    match &view.machine.hypervisor {
        None => Finding::unknown("/proc/cpuinfo and the board's name do not tell"),
        Some(Layer::Absent) => Finding::ok("none"),
        Some(Layer::Present(name)) => Finding::new(Severity::Warning, format!("a virtual machine ({name})"))
            .advise("compare configurations here; take absolute figures from bare hardware"),
    }
}

pub const CONTAINER: Check = Check {
    name: "container",
    why: "Its limits come before those of the system, and the kernel's settings are the host's.",
    decides: false,
    look: container,
};

fn container(view: &View) -> Finding {
    match &view.machine.container {
        None => Finding::unknown("/proc/self/cgroup is not readable"),
        Some(Layer::Absent) => Finding::ok("none"),
        Some(Layer::Present(name)) => Finding::new(Severity::Advice, format!("inside {name}"))
            .advise("set the kernel's parameters on the host; run latido there where it can be"),
    }
}

pub const SMT: Check = Check {
    name: "SMT",
    why: "A sibling thread shares the core's caches and execution units with the measured one.",
    decides: false,
    look: smt,
};

fn smt(view: &View) -> Finding {
    match view.machine.cpu.smt {
        None => Finding::unknown("/sys/devices/system/cpu/smt is not readable"),
        Some(false) => Finding::ok("off"),
        Some(true) => Finding::new(Severity::Advice, "on")
            .run("echo off | sudo tee /sys/devices/system/cpu/smt/control")
            .boot("nosmt"),
    }
}

pub const SWAP: Check = Check {
    name: "swap",
    why: "Locked memory stays, but a machine that swaps delays whoever waits for its disk.",
    decides: false,
    look: swap,
};

fn swap(view: &View) -> Finding {
    match view.machine.memory.swap_kib {
        None => Finding::unknown("/proc/meminfo is not readable"),
        Some(0) => Finding::ok("none"),
        Some(kib) => Finding::new(Severity::Advice, format!("{} MiB", kib >> 10)).run("sudo swapoff -a"),
    }
}

pub const HUGE_PAGES: Check = Check {
    name: "transparent huge pages",
    why: "The kernel moves memory around to make them, and stops its users meanwhile.",
    decides: false,
    look: huge_pages,
};

fn huge_pages(view: &View) -> Finding {
    match view.machine.memory.transparent_hugepages.as_deref() {
        None if view.root.exists("sys/kernel/mm") && !view.root.exists("sys/kernel/mm/transparent_hugepage") => {
            Finding::ok("none in this kernel")
        }
        None => Finding::unknown("/sys/kernel/mm/transparent_hugepage is not readable"),
        Some("always") => Finding::new(Severity::Advice, "always")
            .run("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(other) => Finding::ok(other),
    }
}
