//! What bounds this process: control groups of both versions, resource limits, seccomp.

use super::{Root, cpu::field};
use latido_model::machine::{GroupLimit, GroupLimits, Limits};

/// Those of this process.
pub fn limits(root: &Root) -> Option<Limits> {
    let groups = group_limits(root, &root.read("proc/self/cgroup")?);
    let text = root.read("proc/self/limits").unwrap_or_default();
    // proc_pid_limits(5): the name, the soft limit, the hard one, the unit.
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

/// The limits of control groups and of those above them; `groups` is the text of a process's /proc/PID/cgroup.
pub fn group_limits(root: &Root, groups: &str) -> GroupLimits {
    let mut limits = GroupLimits::default();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        let mounts: &[&str] = match controllers {
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            _ if has("cpu") => &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"],
            _ if has("cpuset") => &["sys/fs/cgroup/cpuset"],
            _ if has("memory") => &["sys/fs/cgroup/memory"],
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

/// What version 1 prints for no limit is the largest multiple of a page (cgroup-v1/memory.rst).
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
    fn the_limits_of_a_user_are_read() {
        let found = limits(&fixture::desktop().root).unwrap();
        assert_eq!((found.rtprio.as_deref(), found.memlock.as_deref()), (Some("0"), Some("8388608")));
        assert_eq!((found.seccomp, found.groups.cpus), (Some(false), None));
        assert_eq!(limits(&fixture::empty().root), None);
    }
}
