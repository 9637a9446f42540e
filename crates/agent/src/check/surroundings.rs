//! What the machine shares: with a host, with sibling threads, with its disk.

use super::{Answer, MachineView, Question};
use crate::machine::Root;
use latido_model::{check::Severity, cpus::CpuSet, machine::Layer};

pub const HYPERVISOR: Question = Question {
    name: "hypervisor",
    why: "The host can stop a virtual machine at any time; nothing inside prevents it.",
    decides: false,
    look: hypervisor,
};

fn hypervisor(view: &MachineView) -> Answer {
    match &view.machine.hypervisor {
        None => Answer::unknown("/proc/cpuinfo and the board's name do not tell"),
        Some(Layer::Absent) => Answer::ok("none"),
        Some(Layer::Present(name)) => Answer::new(Severity::Warning, format!("a virtual machine ({name})"))
            .advise("compare configurations here; take absolute figures from bare hardware"),
    }
}

pub const CONTAINER: Question = Question {
    name: "container",
    why: "Its limits come before those of the system, and the kernel's settings are the host's.",
    decides: false,
    look: container,
};

fn container(view: &MachineView) -> Answer {
    match &view.machine.container {
        None => Answer::unknown("/proc/self/cgroup is not readable"),
        Some(Layer::Absent) => Answer::ok("none"),
        Some(Layer::Present(name)) => Answer::new(Severity::Advice, format!("inside {name}"))
            .advise("set the kernel's parameters on the host; run latido there where it can be"),
    }
}

pub const SMT: Question = Question {
    name: "SMT",
    why: "A sibling thread shares the core's caches and execution units with the measured one.",
    decides: false,
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
    why: "Locked memory stays, but a machine that swaps delays whoever waits for its disk.",
    decides: false,
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
    why: "The kernel moves memory around to make them, and stops its users meanwhile.",
    decides: false,
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

pub const STEAL: Question = Question {
    name: "stolen time",
    why: "While the host runs others, this machine stands still; it shows as latency.",
    decides: false,
    look: steal,
};

/// A thousandth of all time is a millisecond in each second.
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
    Answer::new(severity, state).advise("on the host, give each virtual CPU a physical one of its own")
}

pub const LIMITS: Question = Question {
    name: "group limits",
    why: "A control group out of its quota stops, and its cpuset decides where a thread may run.",
    decides: false,
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
        state.push(quota.text.clone());
        answer.severity = Severity::Warning;
        answer = answer.run(format!("echo {} | sudo tee {}", quota.off, quota.file));
    }
    let online = view.machine.cpu.online.clone().unwrap_or_default();
    if let Some(cpus) = found.cpus.filter(|cpus| !cpus.is_empty() && !online.without(cpus).is_empty()) {
        state.push(format!("only CPUs {cpus} of {online}"));
        answer.severity = answer.severity.max(Severity::Advice);
        answer = answer.advise("a wider cpuset lets a run choose its CPUs (a container's: --cpuset-cpus)");
    }
    answer.state = if state.is_empty() { "none on processor time or CPUs".into() } else { state.join("; ") };
    answer
}

/// A limit of processor time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quota {
    /// In words.
    pub text: String,
    /// Its file.
    pub file: String,
    /// What takes it away.
    pub off: &'static str,
}

/// The limits of a process's control groups.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GroupLimits {
    /// Of its group and those above.
    pub quotas: Vec<Quota>,
    /// The CPUs it may use.
    pub cpus: Option<CpuSet>,
}

/// Reads them; `groups` is the text of a process's /proc/PID/cgroup.
pub(super) fn group_limits(root: &Root, groups: &str) -> GroupLimits {
    let mut limits = GroupLimits::default();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        let mounts: &[&str] = match controllers {
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            _ if has("cpu") => &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"],
            _ if has("cpuset") => &["sys/fs/cgroup/cpuset"],
            _ => continue,
        };
        for mount in mounts {
            // Inside a container the path may be the host's while the mount shows the own group at its top.
            let own = format!("{mount}{}", path.trim_end_matches('/'));
            let mut dir = if root.exists(&own) { own } else { (*mount).to_string() };
            for file in ["cpuset.cpus.effective", "cpuset.effective_cpus"] {
                limits.cpus = limits.cpus.or_else(|| root.value(&format!("{dir}/{file}")));
            }
            loop {
                limits.quotas.extend(quota(root, &dir));
                match dir.rsplit_once('/') {
                    Some((above, _)) if dir != *mount => dir = above.to_string(),
                    _ => break,
                }
            }
        }
    }
    limits
}

fn quota(root: &Root, dir: &str) -> Option<Quota> {
    let read = |name: &str| Some((root.read(&format!("{dir}/{name}"))?, format!("/{dir}/{name}")));
    if let Some((text, file)) = read("cpu.max") {
        let (quota, period) = text.split_once(' ')?;
        let words = format!("{file}: {quota} of {period} µs");
        return (quota != "max").then_some(Quota { text: words, file, off: "max" });
    }
    let (quota, file) = read("cpu.cfs_quota_us")?;
    let words = format!("{file}: {quota} µs of each period");
    quota.parse::<i64>().is_ok_and(|quota| quota > 0).then_some(Quota { text: words, file, off: "-1" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    #[test]
    fn quotas_of_all_groups_above_count_in_both_versions() {
        let tree = fixture::empty();
        for (path, text) in [
            ("sys/fs/cgroup/a/cpu.max", "200000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-1\n"),
            ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ] {
            tree.write(path, text);
        }
        let found = group_limits(&tree.root, "0::/a/b\n");
        assert_eq!(found.quotas[0].text, "/sys/fs/cgroup/a/cpu.max: 200000 of 100000 µs");
        assert_eq!((found.quotas.len(), found.cpus), (1, Some("0-1".parse().unwrap())));
        let old = group_limits(&tree.root, "4:cpu,cpuacct:/x\n1:name=systemd:/y\n");
        assert_eq!((old.quotas.len(), old.quotas[0].off), (1, "-1"));
        assert_eq!(group_limits(&tree.root, "junk\n"), GroupLimits::default());
    }
}
