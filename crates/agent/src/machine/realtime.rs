//! What the kernel grants to real-time tasks: throttle, fair server, group budgets.

use super::{Root, preemption::parameter};
use latido_model::{
    cpus::CpuSet,
    machine::{FairBudget, FairServer, GroupBudget, KernelConfig, RealTime, at_least},
};
use std::io::ErrorKind;

/// Reads /proc/sys/kernel, debugfs and the control group of this process.
pub fn realtime(root: &Root, release: &str, command_line: Option<&str>, config: Option<&KernelConfig>) -> RealTime {
    let group_scheduling = group_scheduling(root, command_line, config);
    RealTime {
        runtime_us: root.value("proc/sys/kernel/sched_rt_runtime_us"),
        period_us: root.value("proc/sys/kernel/sched_rt_period_us"),
        fair_server: fair_server(root, release),
        group_scheduling,
        group_budget: if group_scheduling == Some(true) { group_budget(root) } else { None },
        autogroup: root.flag("proc/sys/kernel/sched_autogroup_enabled"),
        timer_slack_ns: root.value("proc/self/timerslack_ns"),
    }
}

fn fair_server(root: &Root, release: &str) -> FairServer {
    if at_least(release, 6, 12) == Some(false) {
        return FairServer::Absent;
    }
    let directory = "sys/kernel/debug/sched/fair_server";
    let mut budgets: Vec<FairBudget> = Vec::new();
    for name in root.list(directory) {
        let Some(cpu) = name.strip_prefix("cpu").and_then(|n| n.parse::<u32>().ok()) else { continue };
        let read = |file: &str| root.value::<u64>(&format!("{directory}/{name}/{file}"));
        let (Some(runtime_ns), Some(period_ns)) = (read("runtime"), read("period")) else {
            let why = match root.lockdown() {
                Some(level) => format!(" (kernel lockdown: {level})"),
                None => String::new(),
            };
            return FairServer::Unknown { reason: format!("/{directory}/{name} cannot be read{why}") };
        };
        match budgets.iter_mut().find(|b| (b.runtime_ns, b.period_ns) == (runtime_ns, period_ns)) {
            Some(same) => {
                same.cpus.0.insert(cpu);
            }
            None => budgets.push(FairBudget { cpus: CpuSet::from_iter([cpu]), runtime_ns, period_ns }),
        }
    }
    if !budgets.is_empty() {
        return FairServer::Known { budgets };
    }
    let reason = match std::fs::read_dir(root.path("sys/kernel/debug")).map(|mut entries| entries.next().is_some()) {
        Ok(false) => FairServer::NOT_MOUNTED,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => FairServer::ONLY_ROOT,
        Err(_) => "there is no /sys/kernel/debug",
        Ok(true) => "debugfs does not show /sys/kernel/debug/sched/fair_server",
    };
    FairServer::Unknown { reason: reason.into() }
}

/// Whether groups have real-time budgets. The files of version 1 exist exactly in that case. Without them the configuration decides.
fn group_scheduling(root: &Root, command_line: Option<&str>, config: Option<&KernelConfig>) -> Option<bool> {
    if V1_MOUNTS.iter().any(|mount| root.exists(&format!("{mount}/cpu.rt_runtime_us"))) {
        return Some(true);
    }
    let built = config?.is_on("RT_GROUP_SCHED")?;
    let chosen = command_line.and_then(|line| parameter(line, "rt_group_sched")).and_then(|value| match value {
        "0" | "n" | "off" => Some(false),
        "1" | "y" | "on" => Some(true),
        _ => None,
    });
    let default = config?.is_on("RT_GROUP_SCHED_DEFAULT_DISABLED") != Some(true);
    Some(built && chosen.unwrap_or(default))
}

const V1_MOUNTS: &[&str] = &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"];

/// Returns the path of the group of this process with this controller; that of version 2 has none.
fn own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// Returns the real-time budget of this process's group of version 1, with the file that has it.
pub fn group_budget_v1(root: &Root) -> Option<GroupBudget> {
    let groups = root.read("proc/self/cgroup")?;
    let path = own_group(&groups, "cpu")?;
    // Inside a container the path is the host's, while the mount shows the process's group at its top.
    let candidates = V1_MOUNTS.iter().flat_map(|mount| [format!("{mount}{path}"), (*mount).to_owned()]);
    candidates.into_iter().find_map(|directory| {
        let file = format!("{}/cpu.rt_runtime_us", directory.trim_end_matches('/'));
        Some(GroupBudget { runtime_us: root.value(&file)?, group: format!("/{file}") })
    })
}

fn group_budget(root: &Root) -> Option<GroupBudget> {
    let groups = root.read("proc/self/cgroup")?;
    if own_group(&groups, "cpu").is_some() {
        return group_budget_v1(root);
    }
    let unified = own_group(&groups, "");
    // Version 2 has no budgets: every group that the cpu controller manages (it then has cpu.max) has 0.
    let mut path = unified?.trim_matches('/');
    loop {
        let directory = format!("sys/fs/cgroup/{path}");
        if root.exists(&format!("{directory}/cpu.max")) {
            return Some(GroupBudget { runtime_us: 0, group: format!("/{}", directory.trim_end_matches('/')) });
        }
        match path.rsplit_once('/') {
            Some((parent, _)) => path = parent,
            None if !path.is_empty() => path = "",
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_releases() {
        assert_eq!(at_least("6.12.3-rt", 6, 12), Some(true));
        assert_eq!(at_least("6.6.0", 6, 12), Some(false));
        assert_eq!(at_least("7.0-rc1", 6, 12), Some(true));
        assert_eq!(at_least("next", 6, 12), None);
    }

    #[test]
    fn the_throttle_of_new_kernels_needs_group_budgets() {
        let limits = |runtime, group| RealTime {
            runtime_us: Some(runtime),
            period_us: Some(1_000_000),
            group_scheduling: group,
            ..RealTime::default()
        };
        assert_eq!(limits(950_000, None).throttles("6.1.0"), Some(true));
        assert_eq!(limits(950_000, Some(false)).throttles("6.12.0"), Some(false));
        assert_eq!(limits(950_000, Some(true)).throttles("6.12.0"), Some(true));
        assert_eq!(limits(950_000, None).throttles("6.12.0"), None);
        assert_eq!(limits(-1, None).throttles("6.1.0"), Some(false));
        assert_eq!(RealTime::default().throttles("6.1.0"), None);
    }

    #[test]
    fn a_group_of_version_2_below_the_root_has_no_budget() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "0::/user.slice/app.scope\n");
        assert_eq!(group_budget(&root), None);
        // The controller reaches only the slice: the scope is in the slice's scheduling group.
        write("sys/fs/cgroup/user.slice/cpu.max", "max 100000");
        assert_eq!(group_budget(&root).unwrap().group, "/sys/fs/cgroup/user.slice");
        write("proc/self/cgroup", "4:cpu,cpuacct:/jobs\n0::/\n");
        write("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.rt_runtime_us", "0");
        let budget = group_budget(&root).unwrap();
        assert_eq!(
            (budget.runtime_us, budget.group.as_str()),
            (0, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.rt_runtime_us")
        );
    }
}
