//! What limits this process: control groups of both versions, resource limits, seccomp.

use super::{Root, cpu::field};
use latido_model::{
    machine::{GroupLimit, GroupLimits, Limits},
    record::HeldBack,
};

/// Reads the limits of this process.
pub fn limits(root: &Root) -> Option<Limits> {
    let groups = group_limits(root, &root.read("proc/self/cgroup")?);
    let text = root.read("proc/self/limits").unwrap_or_default();
    // proc_pid_limits(5): the name, the soft limit, the hard limit, the unit.
    let soft = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let status = root.read("proc/self/status").unwrap_or_default();
    Some(Limits {
        groups,
        rtprio: soft("Max realtime priority"),
        memlock: soft("Max locked memory"),
        seccomp: field(&status, "Seccomp").map(|mode| mode != "0"),
    })
}

/// Reads the limits of a process's control groups and of all groups above them. `groups` is the text of its /proc/PID/cgroup.
pub fn group_limits(root: &Root, groups: &str) -> GroupLimits {
    let mut limits = GroupLimits::default();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        let mounts: &[&str] = match controllers {
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            // Often one of the two is a link to the other.
            _ if has("cpu") && root.exists("sys/fs/cgroup/cpu") => &["sys/fs/cgroup/cpu"],
            _ if has("cpu") => &["sys/fs/cgroup/cpu,cpuacct"],
            _ if has("cpuset") => &["sys/fs/cgroup/cpuset"],
            _ if has("memory") => &["sys/fs/cgroup/memory"],
            _ => continue,
        };
        for mount in mounts {
            // Inside a container the path may be the host's, while the mount shows the process's group at its top.
            let own = format!("{mount}{}", path.trim_end_matches('/'));
            let mut dir = if root.exists(&own) { own } else { (*mount).to_string() };
            for file in ["cpuset.cpus.effective", "cpuset.effective_cpus"] {
                limits.cpus = limits.cpus.or_else(|| root.value(&format!("{dir}/{file}")));
            }
            loop {
                limits.quotas.extend(quota(root, &dir));
                limits.memory.extend(memory(root, &dir));
                match dir.rsplit_once('/') {
                    Some((above, _)) if dir != *mount => dir = above.to_string(),
                    _ => break,
                }
            }
        }
    }
    limits
}

fn read(root: &Root, dir: &str, name: &str) -> Option<GroupLimit> {
    Some(GroupLimit { value: root.read(&format!("{dir}/{name}"))?, file: format!("/{dir}/{name}") })
}

fn quota(root: &Root, dir: &str) -> Option<GroupLimit> {
    if let Some(limit) = read(root, dir, "cpu.max") {
        return (!limit.value.starts_with("max")).then_some(limit);
    }
    let limit = read(root, dir, "cpu.cfs_quota_us")?;
    limit.value.parse::<i64>().is_ok_and(|quota| quota > 0).then_some(limit)
}

/// How often and how long the kernel has held back these control groups and those above them for their CPU quotas (cgroup-v2.rst,
/// `cpu.stat`; sched-bwc.rst for version 1). `None` where no group has a quota, or latido cannot read the counts.
pub fn held_back(root: &Root, groups: &str) -> Option<HeldBack> {
    let of = |quota: &GroupLimit| {
        let (dir, _) = quota.file.trim_start_matches('/').rsplit_once('/')?;
        let text = root.read(&format!("{dir}/cpu.stat"))?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()
        };
        let ns = number("throttled_time").or_else(|| Some(number("throttled_usec")?.saturating_mul(1000)))?;
        Some(HeldBack { times: number("nr_throttled")?, ns })
    };
    group_limits(root, groups).quotas.iter().filter_map(of).reduce(HeldBack::and)
}

/// Version 1 prints the largest multiple of a page if there is no limit (cgroup-v1/memory.rst).
const NO_LIMIT: u64 = 1 << 62;

fn memory(root: &Root, dir: &str) -> Option<GroupLimit> {
    let limit = read(root, dir, "memory.max").or_else(|| read(root, dir, "memory.limit_in_bytes"))?;
    limit.value.parse::<u64>().is_ok_and(|bytes| bytes < NO_LIMIT).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    #[test]
    fn limits_of_all_groups_above_count_in_both_versions() {
        let tree = fixture::empty();
        for (path, text) in [
            ("sys/fs/cgroup/a/cpu.max", "200000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-1\n"),
            ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ] {
            tree.write(path, text);
        }
        let found = group_limits(&tree.root, "0::/a/b\n");
        let texts = |limits: &[GroupLimit]| limits.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&found.quotas), ["/sys/fs/cgroup/a/cpu.max: 200000 of 100000 µs"]);
        assert_eq!(texts(&found.memory), ["/sys/fs/cgroup/a/b/memory.max: 1048576 bytes"]);
        assert_eq!(found.cpus, Some("0-1".parse().unwrap()));
        let old = group_limits(&tree.root, "4:cpu,cpuacct:/x\n3:memory:/x\n1:name=systemd:/y\n");
        assert_eq!(texts(&old.quotas), ["/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us: 50000 µs of each period"]);
        assert_eq!(texts(&old.memory), ["/sys/fs/cgroup/memory/x/memory.limit_in_bytes: 4096 bytes"]);
        assert_eq!(old.quotas.first().map(GroupLimit::off), Some("-1"));
        assert_eq!(group_limits(&tree.root, "junk\n"), GroupLimits::default());
    }

    #[test]
    fn groups_out_of_their_quota_are_counted_in_both_versions() {
        let tree = fixture::empty();
        for (path, text) in [
            ("sys/fs/cgroup/a/cpu.max", "20000 100000\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 90\nnr_throttled 83\nthrottled_usec 4200000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
            ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/x/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 150000000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/x/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 150000000\n"),
        ] {
            tree.write(path, text);
        }
        let found = |groups: &str| held_back(&tree.root, groups);
        assert_eq!(found("0::/a/b\n"), Some(HeldBack { times: 83, ns: 4_200_000_000 }));
        assert_eq!(found("4:cpu,cpuacct:/x\n"), Some(HeldBack { times: 3, ns: 150_000_000 }));
        assert_eq!((found("4:cpu,cpuacct:/\n"), found("junk\n")), (None, None));
    }

    #[test]
    fn the_limits_of_a_user_are_read() {
        let found = limits(&fixture::desktop().root).unwrap();
        assert_eq!((found.rtprio.as_deref(), found.memlock.as_deref()), (Some("0"), Some("8388608")));
        assert_eq!((found.seccomp, found.groups.cpus), (Some(false), None));
        assert_eq!(limits(&fixture::empty().root), None);
    }
}
