//! A control group for a load. A process of the load stays a member, whatever session, environment or parent it takes.
//!
//! latido uses one only where it changes nothing between load and measurement: a freezer of version 1, which schedules nothing, or a group
//! of version 2 below one that distributes no controllers, so that no controller treats the load separately.

use crate::machine::groups::Hierarchy;
use anyhow::{Context, Result, bail, ensure};
use rustix::{
    fs::{Access, access, statfs},
    process::{Pid, Signal, getpid, kill_process},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Component, Path, PathBuf},
    thread,
    time::Duration,
};

/// The prefix of every such group's name; the load's mark follows.
const PREFIX: &str = "latido-load-";

/// The file systems of control groups (statfs(2)): others have no groups.
const MAGIC: [u64; 2] = [0x0027_e0eb, 0x6367_7270];

/// How often latido tries to kill the group's processes, every 5 ms. A process that is stuck in the kernel must not block latido for ever.
const ROUNDS: u32 = 200;

/// A group that exists or will be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    dir: PathBuf,
    by: By,
}

/// How latido kills all members, so that none can fork meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    /// `freezer.state`: latido freezes the members, kills them one by one, and thaws them.
    Freezer,
    /// `cgroup.kill`.
    Kill,
}

impl Group {
    /// Returns the group for a load with this mark, below the group of this process, where one is available. Nothing is made yet. It works
    /// for root only: other users have no groups.
    pub fn planned(mark: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        candidates(mark).into_iter().next()
    }

    /// Makes the group. Returns the file through which processes join it.
    ///
    /// # Errors
    /// The kernel refuses it, or cannot kill its members at once. No group is left then.
    pub fn make(&self) -> io::Result<File> {
        fs::create_dir(&self.dir)?;
        let opened = match self.by {
            By::Kill if !self.dir.join("cgroup.kill").exists() => Err(io::ErrorKind::Unsupported.into()),
            _ => OpenOptions::new().write(true).open(self.dir.join("cgroup.procs")),
        };
        if opened.is_err() {
            let _ = fs::remove_dir(&self.dir);
        }
        opened
    }

    /// Kills every member until none is left, and removes the group. Returns how many there were: 0 if the group is gone.
    ///
    /// # Errors
    /// It is not the group of a load with this mark, this process is in it, or some members would not go.
    pub fn end(&self, mark: &str) -> Result<usize> {
        if !self.dir.exists() {
            return Ok(0);
        }
        ensure!(self.is_of(mark), "{} is not the control group of the load {mark}", self.dir.display());
        let own = getpid().as_raw_nonzero().get();
        ensure!(!self.members().contains(&own), "this latido itself belongs to the load in {}", self.dir.display());
        let mut ended = 0;
        for _ in 0..ROUNDS {
            let members = self.members();
            if members.is_empty() && remove(&self.dir).is_ok() {
                return Ok(ended);
            }
            ended = ended.max(members.len());
            if !members.is_empty() {
                self.kill();
            }
            thread::sleep(Duration::from_millis(5));
        }
        let left = processes(self.members().len());
        bail!("{left} of a load did not end; look into {}", self.dir.display())
    }

    fn kill(&self) {
        match self.by {
            By::Kill => _ = fs::write(self.dir.join("cgroup.kill"), "1"),
            By::Freezer => {
                let state = self.dir.join("freezer.state");
                let _ = fs::write(&state, "FROZEN");
                // latido waits only for a while: a member that is stuck in the kernel cannot fork either.
                for _ in 0..20 {
                    if fs::read_to_string(&state).is_ok_and(|state| state.trim() == "FROZEN") {
                        break;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                for pid in self.members().into_iter().filter_map(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                // A signal does not end a process while it is frozen.
                let _ = fs::write(&state, "THAWED");
            }
        }
    }

    /// Lists the processes in it and in all groups that a load made below it.
    fn members(&self) -> Vec<i32> {
        let lists =
            with_all_below(&self.dir).into_iter().filter_map(|dir| fs::read_to_string(dir.join("cgroup.procs")).ok());
        lists.flat_map(|list| list.lines().filter_map(|line| line.parse().ok()).collect::<Vec<_>>()).collect()
    }

    /// Whether it can only be the group of the load with this mark: by its name, in a file system of groups.
    fn is_of(&self, mark: &str) -> bool {
        let plain = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let straight = self.dir.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let named = self.dir.file_name().is_some_and(|name| *name == *format!("{PREFIX}{mark}"));
        let of_groups = statfs(&self.dir).is_ok_and(|found| MAGIC.contains(&(found.f_type as u64)));
        plain && straight && named && of_groups
    }
}

/// Writes a number of processes: `1 process`, `3 processes`.
pub(super) fn processes(n: usize) -> String {
    if n == 1 { "1 process".into() } else { format!("{n} processes") }
}

/// Lists the groups that are available here, the best first.
fn candidates(mark: &str) -> Vec<Group> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let below = |(parent, by): (PathBuf, By)| Group { dir: parent.join(format!("{PREFIX}{mark}")), by };
    let usable = |(parent, by): &(PathBuf, By)| {
        access(parent, Access::WRITE_OK).is_ok()
            && (*by == By::Freezer
                || fs::read_to_string(parent.join("cgroup.subtree_control")).is_ok_and(|text| text.trim().is_empty()))
    };
    own(&groups, &mounts).into_iter().filter(usable).map(below).collect()
}

/// Returns the directories of this process's groups of both kinds.
fn own(groups: &str, mounts: &str) -> Vec<(PathBuf, By)> {
    let both = [(Hierarchy::Freezer, By::Freezer), (Hierarchy::Unified, By::Kill)];
    both.into_iter().filter_map(|(hierarchy, by)| Some((hierarchy.directory(groups, mounts)?, by))).collect()
}

/// Lists a directory and all directories below it, the deepest last.
fn with_all_below(dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![dir.to_path_buf()];
    let mut next = 0;
    while let Some(dir) = all.get(next).cloned() {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        all.extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
        next += 1;
    }
    all
}

fn remove(dir: &Path) -> Result<()> {
    for dir in with_all_below(dir).iter().rev() {
        fs::remove_dir(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};
    use latido_sys::process;
    use std::process::{Command, Stdio};

    #[test]
    fn the_own_group_is_found_below_its_mount() {
        let hybrid = "6:freezer:/job\n5:cpu,cpuacct:/\n0::/user.slice/session-1.scope\n";
        let mounts = "30 25 0:26 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
                      31 25 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found = |path: &str, by: By| (PathBuf::from(path), by);
        assert_eq!(
            own(hybrid, mounts),
            [
                found("/sys/fs/cgroup/freezer/job", By::Freezer),
                found("/sys/fs/cgroup/unified/user.slice/session-1.scope", By::Kill)
            ]
        );
        // In a container the mount shows only a part of the tree, which may not contain the process's group.
        let part = "31 25 0:27 /box /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(own("0::/box/in\n", part), [found("/sys/fs/cgroup/in", By::Kill)]);
        assert_eq!(own("0::/\n", part), []);
    }

    /// Each kind that this machine has kills a process that took a new session and environment and ignores SIGTERM, and removes the groups
    /// that it made below. Nothing is left behind.
    #[test]
    fn no_member_outlives_its_group() {
        if !rustix::process::geteuid().is_root() {
            return skip("the end of a load's group", Need::Root, "other users have no groups");
        }
        let mark = format!("{}-1", std::process::id());
        let mut tried = 0;
        for group in candidates(&mark) {
            let Ok(procs) = group.make() else { continue };
            tried += 1;
            let script = "mkdir \"$0\"/below; trap '' TERM; echo; exec setsid env -i sleep 60";
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&group.dir).stdout(Stdio::piped());
            let mut child = process::join(&mut command, procs).spawn().unwrap();
            io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
            assert_eq!(group.members(), [child.id().cast_signed()]);
            assert!(group.end("1-1").is_err(), "it is of another load");
            assert_eq!(group.end(&mark).unwrap(), 1, "{group:?}");
            assert!(!group.dir.exists() && !child.wait().unwrap().success());
        }
        if tried == 0 {
            skip("the end of a load's group", Need::ControlGroups, "no group can be made");
        }
    }

    /// A journal that names something else ends nothing, wherever it came from.
    #[test]
    fn what_is_no_group_of_a_load_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("latido-load-4-44");
        fs::create_dir(&named).unwrap();
        for dir in [named, "/sys/fs/cgroup".into(), "/".into()] {
            let group = Group { dir: dir.clone(), by: By::Kill };
            assert!(group.end("4-44").is_err() && dir.exists(), "{group:?}");
        }
    }
}
