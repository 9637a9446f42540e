//! The control groups of a process as directories: cgroups(7), proc_pid_cgroup(5), proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};

/// A hierarchy that latido uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// The freezer of version 1.
    Freezer,
    /// Version 2.
    Unified,
}

impl Hierarchy {
    /// Returns the directory of a process's group; `None` where the process has none, or where the hierarchy is not mounted. `groups` is
    /// the text of `/proc/PID/cgroup`, `mounts` that of `/proc/self/mountinfo`.
    pub fn directory(self, groups: &str, mounts: &str) -> Option<PathBuf> {
        let (controller, kind, option) = match self {
            Self::Freezer => ("freezer", "cgroup", "freezer"),
            Self::Unified => ("", "cgroup2", ""),
        };
        let path = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|one| one == controller).then_some(path)
        })?;
        mounts.lines().find_map(|line| {
            let (mount, system) = line.split_once(" - ")?;
            let mut system = system.split(' ');
            let of_kind = system.next() == Some(kind);
            let options = system.nth(1)?;
            let mut mount = mount.split(' ').skip(3);
            let (root, point) = (mount.next()?, mount.next()?);
            let rest = Path::new(path).strip_prefix(root).ok()?;
            (of_kind && (option.is_empty() || options.split(',').any(|one| one == option)))
                .then(|| Path::new(point).join(rest))
        })
    }
}
