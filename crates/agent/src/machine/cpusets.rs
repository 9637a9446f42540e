//! Which version of control groups has the cpuset controller here, and where.

use super::Root;
use anyhow::{Result, bail};

/// Where cpusets are made.
#[derive(Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// A hierarchy of version 1.
    V1 {
        /// Where it is mounted.
        dir: String,
    },
    /// The unified hierarchy.
    V2 {
        /// Where it is mounted.
        dir: String,
    },
}

/// Finds the hierarchy. A controller is in one hierarchy only, so the answer is unique even on a machine with both versions.
///
/// # Errors
/// There is no such hierarchy. The error says what to do.
pub fn find(root: &Root) -> Result<Hierarchy> {
    let mounts = root.read("proc/mounts").unwrap_or_default();
    let mut unified = None;
    for line in mounts.lines() {
        // proc_pid_mounts(5): device, directory, type, options.
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, dir, kind, options, ..] = fields[..] else { continue };
        let dir = dir.to_owned();
        if kind == "cgroup" && options.split(',').any(|option| option == "cpuset") {
            if !root.exists(&format!("{dir}/cpuset.cpus")) {
                bail!(
                    "{dir} is mounted with `noprefix`, whose file names latido does not know: mount it without that \
                     option"
                );
            }
            return Ok(Hierarchy::V1 { dir });
        }
        let controllers = root.read(&format!("{dir}/cgroup.controllers")).unwrap_or_default();
        if kind == "cgroup2" && controllers.split_whitespace().any(|name| name == "cpuset") {
            unified.get_or_insert(Hierarchy::V2 { dir });
        }
    }
    match unified {
        Some(place) => Ok(place),
        None => bail!(
            "no control-group hierarchy here has the cpuset controller: mount one (mount -t cgroup2 none \
             /sys/fs/cgroup), or boot a kernel with CONFIG_CPUSETS and without cgroup_disable=cpuset"
        ),
    }
}
