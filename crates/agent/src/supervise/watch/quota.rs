//! How the kernel limits the measuring process's control groups to their CPU quotas.

use crate::machine::{Root, limits::held_back};
use latido_model::record::HeldBack;

/// The quotas of a process, and the kernel's counts at the start.
#[derive(Debug)]
pub struct Quota {
    /// The process's control groups, as proc_pid_cgroup(5) lists them.
    groups: String,
    start: Option<HeldBack>,
}

impl Quota {
    /// Reads the counts of a process's control groups.
    pub fn of(root: &Root, pid: u32) -> Self {
        let groups = root.read(&format!("proc/{pid}/cgroup")).unwrap_or_default();
        let start = held_back(root, &groups);
        Self { groups, start }
    }

    /// Returns how often and how long the kernel held back the groups since the start; `None` without a quota.
    pub fn held_back(&self, root: &Root) -> Option<HeldBack> {
        held_back(root, &self.groups).zip(self.start).map(|(now, start)| now.since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    #[test]
    fn only_what_the_kernel_held_back_since_the_start_counts() {
        let tree = fixture::empty();
        tree.write("proc/7/cgroup", "0::/a\n");
        tree.write("sys/fs/cgroup/a/cpu.max", "20000 100000\n");
        tree.write("sys/fs/cgroup/a/cpu.stat", "nr_throttled 80\nthrottled_usec 4000000\n");
        let quota = Quota::of(&tree.root, 7);
        tree.write("sys/fs/cgroup/a/cpu.stat", "nr_throttled 83\nthrottled_usec 4200000\n");
        assert_eq!(quota.held_back(&tree.root), Some(HeldBack { times: 3, ns: 200_000_000 }));
        assert_eq!(Quota::of(&tree.root, 8).held_back(&tree.root), None);
    }
}
