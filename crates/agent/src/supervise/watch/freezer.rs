//! Finds out whether the control groups of a process are frozen, or were so between two looks (Documentation/admin-guide/cgroup-v2.rst,
//! `cgroup.events`; cgroup-v1/freezer-subsystem.rst, `freezer.state`).

use crate::machine::{Root, groups::Hierarchy};
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io,
};
use std::os::fd::OwnedFd;

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// The process runs, and no report of a freeze came.
    No,
    /// The process runs, and the kernel reported a freeze since the last look.
    Between,
    /// It is frozen.
    Now,
}

/// The groups of one process. Another program may move it, so latido reads at each look which they are.
#[derive(Debug, Default)]
pub struct Freezers {
    groups: String,
    /// The files that show whether a group is frozen, with the text that shows it.
    files: Vec<(String, &'static str)>,
    /// Where the kernel reports each change of a file of version 2. It reports none of version 1.
    reports: Option<OwnedFd>,
}

impl Freezers {
    /// Looks at the groups of this process.
    pub fn look(&mut self, root: &Root, pid: u32) -> Frozen {
        let reported = self.reports.as_ref().is_some_and(was_reported);
        let groups = root.read(&format!("proc/{pid}/cgroup")).unwrap_or_default();
        // When the process leaves a group, the group may become empty, which changes its file too.
        let moved = groups != self.groups;
        if moved {
            self.find(root, &groups);
            self.groups = groups;
        }
        let is_frozen = |(file, says): &(String, &str)| {
            root.read(file).is_some_and(|text| text.lines().any(|line| line.trim() == *says))
        };
        match self.files.iter().any(is_frozen) {
            true => Frozen::Now,
            false if reported && !moved => Frozen::Between,
            false => Frozen::No,
        }
    }

    fn find(&mut self, root: &Root, groups: &str) {
        let mounts = root.read("proc/self/mountinfo").unwrap_or_default();
        let says = [(Hierarchy::Unified, "cgroup.events", "frozen 1"), (Hierarchy::Freezer, "freezer.state", "FROZEN")];
        let place = |hierarchy: Hierarchy, file| Some(hierarchy.directory(groups, &mounts)?.join(file));
        let files = says.into_iter().filter_map(|(hierarchy, file, says)| Some((place(hierarchy, file)?, says)));
        self.files = files.filter_map(|(path, says)| Some((path.to_str()?.to_owned(), says))).collect();
        self.reports = place(Hierarchy::Unified, "cgroup.events").and_then(|path| {
            let reports = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            inotify::add_watch(&reports, root.path(path.to_str()?), WatchFlags::MODIFY).ok()?;
            Some(reports)
        });
    }
}

/// Tells whether something changed since the last call. A group that contains the process stays populated, so `frozen` changed.
fn was_reported(reports: &OwnedFd) -> bool {
    let (mut any, mut events) = (false, [0; 1024]);
    while io::read(reports, &mut events).is_ok_and(|read| read > 0) {
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};
    use rustix::event::{PollFd, PollFlags, poll};
    use std::{
        fs::{self, File},
        io::Read,
        path::PathBuf,
        process::Command,
        thread,
        time::Duration,
    };

    /// Waits until the kernel has reported a change that no look has taken yet.
    fn reported(freezers: &Freezers) {
        let reports = freezers.reports.as_ref().unwrap();
        while poll(&mut [PollFd::new(reports, PollFlags::IN)], None) == Err(io::Errno::INTR) {}
    }

    /// Waits until the kernel reports a change of a file, after what `change` does to it.
    fn change_reported(file: PathBuf, change: impl FnOnce()) {
        let reports = inotify::init(CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&reports, file, WatchFlags::MODIFY).unwrap();
        change();
        assert!(File::from(reports).read(&mut [0; 1024]).unwrap() > 0);
    }

    /// A group of version 2 is frozen for a moment between two looks, after the process was moved into it. The kernel reports a change at
    /// most once per 10 ms, and from another thread (kernel/cgroup/cgroup.c). So the test waits for the one report of each change: no
    /// report is left that a later look could take for another freeze.
    #[test]
    fn a_freeze_between_two_looks_is_reported() {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let Some(above) = Hierarchy::Unified.directory("0::/\n", &mounts) else {
            return skip("a freezer of version 2", Need::ControlGroups, "no version 2 is mounted");
        };
        let group: PathBuf = above.join(format!("latido-test-{}", std::process::id()));
        if fs::create_dir(&group).is_err() || !group.join("cgroup.freeze").exists() {
            let _ = fs::remove_dir(&group);
            return skip("a freezer of version 2", Need::ControlGroups, "no group with a freezer can be made");
        }
        let mut child = Command::new("sleep").arg("3600").spawn().unwrap();
        let (pid, root) = (child.id(), Root::default());
        let write = |file: &str, text: &str| fs::write(group.join(file), text).unwrap();
        let freeze = |how: &str| {
            write("cgroup.freeze", how);
            while !fs::read_to_string(group.join("cgroup.events")).unwrap().contains(&format!("frozen {how}")) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let mut freezers = Freezers::default();
        let mut seen = vec![freezers.look(&root, pid)];
        // The group is no longer empty. The kernel reports that before the next look begins to listen.
        change_reported(group.join("cgroup.events"), || write("cgroup.procs", &pid.to_string()));
        seen.push(freezers.look(&root, pid));
        freeze("1");
        reported(&freezers);
        seen.push(freezers.look(&root, pid));
        freeze("0");
        reported(&freezers);
        // This look takes the report of the thaw.
        seen.push(freezers.look(&root, pid));
        seen.push(freezers.look(&root, pid));
        freeze("1");
        freeze("0");
        reported(&freezers);
        seen.push(freezers.look(&root, pid));
        // The group that the process leaves is empty, and the kernel reports that as well.
        fs::write(above.join("cgroup.procs"), pid.to_string()).unwrap();
        reported(&freezers);
        seen.push(freezers.look(&root, pid));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir(&group).unwrap();
        use Frozen::{Between, No, Now};
        assert_eq!(seen, [No, No, Now, Between, No, Between, No]);
    }
}
