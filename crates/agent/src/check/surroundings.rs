//! What the machine shares: with a host, with sibling threads, with its disk.

use super::{Answer, MachineView, Question};
use crate::machine::group_limits;
use latido_model::{
    check::{Purpose, Severity},
    machine::Layer,
};

pub const HYPERVISOR: Question = Question {
    name: "hypervisor",
    why: "The host can stop a virtual machine at any time; nothing inside prevents it.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: hypervisor,
};

fn hypervisor(view: &MachineView) -> Answer {
    match &view.machine.hypervisor {
        None => Answer::unknown("neither /proc/cpuinfo nor the board's name shows it"),
        Some(Layer::Absent) => Answer::ok("none"),
        Some(Layer::Present(name)) => Answer::new(Severity::Warning, format!("a virtual machine ({name})"))
            .advise("compare configurations here; take absolute figures from bare hardware"),
    }
}

pub const CONTAINER: Question = Question {
    name: "container",
    why: "It adds limits to those of the system, and only the host can change the kernel's settings.",
    decides: false,
    rules_out: None,
    look: container,
};

fn container(view: &MachineView) -> Answer {
    match &view.machine.container {
        None => Answer::unknown("/proc/self/cgroup is not readable"),
        Some(Layer::Absent) => Answer::ok("none"),
        Some(Layer::Present(name)) => Answer::new(Severity::Advice, format!("inside {name}"))
            .advise("set the kernel's parameters on the host; if possible, run latido there"),
    }
}

pub const SMT: Question = Question {
    name: "SMT",
    why: "A sibling thread shares the core's caches and execution units with the measured one.",
    decides: false,
    rules_out: None,
    look: smt,
};

fn smt(view: &MachineView) -> Answer {
    match view.machine.cpu.smt {
        None => Answer::unknown("/sys/devices/system/cpu/smt is not readable"),
        Some(false) => Answer::ok("off"),
        Some(true) => Answer::new(Severity::Advice, "on").tune("smt:all").boot("nosmt"),
    }
}

pub const SWAP: Question = Question {
    name: "swap",
    why: "Locked memory stays present, but a machine that swaps delays all tasks that wait for its disk.",
    decides: false,
    rules_out: None,
    look: swap,
};

fn swap(view: &MachineView) -> Answer {
    match view.machine.memory.swap_kib {
        None => Answer::unknown("/proc/meminfo is not readable"),
        Some(0) => Answer::ok("none"),
        Some(kib) => Answer::new(Severity::Advice, format!("{} MiB", kib >> 10)).run("sudo swapoff -a"),
    }
}

pub const HUGE_PAGES: Question = Question {
    name: "transparent huge pages",
    why: "The kernel moves memory to make them, and stops the tasks that use this memory meanwhile.",
    decides: false,
    rules_out: None,
    look: huge_pages,
};

fn huge_pages(view: &MachineView) -> Answer {
    match view.machine.memory.transparent_hugepages.as_deref() {
        None if view.root.exists("sys/kernel/mm") && !view.root.exists("sys/kernel/mm/transparent_hugepage") => {
            Answer::ok("none in this kernel")
        }
        None => Answer::unknown("/sys/kernel/mm/transparent_hugepage is not readable"),
        Some("always") => Answer::new(Severity::Advice, "always").tune("thp:madvise"),
        Some(other) => Answer::ok(other),
    }
}

pub const COMPACTION: Question = Question {
    name: "memory compaction",
    why: "If the kernel moves a locked page, the next access is a page fault, even after mlockall.",
    decides: false,
    rules_out: None,
    look: compaction,
};

fn compaction(view: &MachineView) -> Answer {
    match view.machine.memory.moves_locked {
        Some(true) => Answer::new(Severity::Advice, "moves locked pages too").tune("compaction:off"),
        Some(false) => Answer::ok("leaves locked pages alone"),
        None if view.root.exists("proc/sys/vm/swappiness") => Answer::ok("none in this kernel"),
        None => Answer::unknown("/proc/sys/vm is not readable"),
    }
}

pub const STEAL: Question = Question {
    name: "stolen time",
    why: "This machine stands still while the host runs others, which appears as latency.",
    decides: false,
    rules_out: Some(Purpose::SoftDeadlines),
    look: steal,
};

/// The share of stolen time that is much: a thousandth is a millisecond per second.
const MUCH: f64 = 0.001;

fn steal(view: &MachineView) -> Answer {
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    let text = view.root.read("proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().take(8).filter_map(|tick| tick.parse().ok()).collect();
    let (Some(stolen), total) = (ticks.get(7), ticks.iter().sum::<f64>()) else {
        return Answer::unknown("/proc/stat is not readable");
    };
    let share = if total > 0.0 { stolen / total } else { 0.0 };
    let state = format!("{:.2} % of all time since the start", share * 100.0);
    let severity = match share {
        0.0 => return Answer::ok("none since the start"),
        ..MUCH => Severity::Advice,
        _ => Severity::Warning,
    };
    Answer::new(severity, state).advise("on the host, pin each virtual CPU to its own physical CPU")
}

pub const LIMITS: Question = Question {
    name: "group limits",
    why: "The kernel stops a group that has used up its quota; its cpuset restricts the CPUs.",
    decides: false,
    rules_out: None,
    look: limits,
};

fn limits(view: &MachineView) -> Answer {
    let Some(groups) = view.root.read("proc/self/cgroup") else {
        return Answer::unknown("/proc/self/cgroup is not readable");
    };
    let found = group_limits(view.root, &groups);
    let mut state = Vec::new();
    let mut answer = Answer::new(Severity::Ok, "");
    for quota in &found.quotas {
        state.push(quota.to_string());
        answer.severity = Severity::Warning;
        answer = answer.run(format!("echo {} | sudo tee {}", quota.off(), quota.file));
    }
    let online = view.machine.cpu.online.clone().unwrap_or_default();
    if let Some(cpus) = found.cpus.filter(|cpus| !cpus.is_empty() && !online.without(cpus).is_empty()) {
        state.push(format!("only CPUs {cpus} of {online}"));
        answer.severity = answer.severity.max(Severity::Advice);
        answer = answer.advise("a wider cpuset lets a run use more CPUs (container: --cpuset-cpus)");
    }
    answer.state = if state.is_empty() { "no limit on processor time or CPUs".into() } else { state.join("; ") };
    answer
}
