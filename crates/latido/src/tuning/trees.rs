//! Fake machines for tests: recorded ones, and the few that no recording can give.

#[path = "../../tests/trees/plant.rs"]
mod plant;

use super::{
    Tuning, Wanted,
    step::{Step, Undone},
};
use crate::machine::Root;
use anyhow::Result;
use std::{collections::BTreeMap, fs, path::Path};

/// One machine.
pub struct Tree {
    pub root: Root,
    dir: tempfile::TempDir,
}

/// Two CPUs, cpusets of cgroup v1, a container's set in use; no frequencies, idle states or network device.
pub fn cgroup_v1() -> Tree {
    Tree::recorded(plant::CGROUP_V1)
}

/// Four CPUs, cgroup v2, other controllers in use; PREEMPT_RT, callback threads for CPUs 2 and 3.
pub fn cgroup_v2() -> Tree {
    Tree::recorded(plant::CGROUP_V2)
}

/// A board of four Cortex-A53.
pub fn arm() -> Tree {
    Tree::recorded(plant::ARM)
}

/// Two sockets of two cores of two threads, a memory node each; handlers in threads.
pub fn server() -> Tree {
    Tree::recorded(plant::SERVER)
}

/// A machine of these files alone, for what no recorded machine has.
pub fn by_hand(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::empty();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n"),
        ("proc/sys/kernel/osrelease", "6.12.9-amd64\n"),
    ]
    .iter()
    .chain(files)
    {
        tree.write(path, text);
    }
    tree
}

impl Tree {
    fn empty() -> Self {
        let dir = plant::directory();
        Self { root: Root::new(dir.path()), dir }
    }

    fn recorded(text: &str) -> Self {
        let tree = Self::empty();
        plant::plant(text, tree.dir.path());
        tree
    }

    /// Writes a file, for what a test changes of a recorded machine.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The thread of this name, by its number.
    pub fn thread(&self, comm: &str) -> String {
        let threads = self.root.list("proc");
        let found =
            threads.into_iter().find(|tid| self.root.read(&format!("proc/{tid}/comm")).as_deref() == Some(comm));
        found.unwrap_or_else(|| panic!("no thread {comm}"))
    }

    /// Every file's text. Lists of threads have no order.
    pub fn contents(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        self.gather(self.dir.path(), &mut all);
        all
    }

    fn gather(&self, dir: &Path, all: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.gather(&path, all);
                continue;
            }
            let name = path.strip_prefix(self.dir.path()).unwrap().display().to_string();
            let text = fs::read_to_string(&path).unwrap();
            let text = match name.rsplit('/').next().unwrap() {
                "tasks" | "cgroup.threads" => {
                    let mut words: Vec<&str> = text.split_whitespace().collect();
                    words.sort_unstable();
                    words.join(" ")
                }
                _ => text.trim().to_owned(),
            };
            all.insert(name, text);
        }
    }
}

/// Does what the engine does, without a journal: what was done, and what is told of it.
pub fn apply(tuning: &dyn Tuning, root: &Root) -> Result<(Vec<Step>, Option<String>)> {
    let Wanted { steps, pursuit, note, .. } = tuning.wanted(root)?;
    let mut done = Vec::new();
    for step in steps {
        step.apply(root)?;
        step.verify(root)?;
        done.push(step);
    }
    let Some(mut pursuit) = pursuit else { return Ok((done, note)) };
    for _ in 0..5 {
        let left = pursuit.left(root)?;
        if left.is_empty() {
            let told = pursuit.told(root);
            return Ok((done, told));
        }
        for step in left {
            if let Err(error) = step.apply(root).and_then(|()| step.verify(root)) {
                pursuit.refused(root, &step, error)?;
            }
            done.push(step);
        }
    }
    panic!("never done");
}

/// Undoes it all.
pub fn undo(done: &[Step], root: &Root) {
    for step in done.iter().rev() {
        assert_eq!(step.undo(root).unwrap(), Undone::Back, "{step:?}");
    }
}
