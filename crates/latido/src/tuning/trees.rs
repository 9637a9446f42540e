//! Recorded machines for tests: the texts that scripts/capture-tree printed, as directories again.

use super::{
    Tuning, Wanted, group,
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

/// Two CPUs, cpusets of cgroup v1, a container's set in use.
pub fn cgroup_v1() -> Tree {
    Tree::plant(include_str!("../../tests/trees/cgroup-v1.txt"))
}

/// Four CPUs, cgroup v2, other controllers in use.
pub fn cgroup_v2() -> Tree {
    Tree::plant(include_str!("../../tests/trees/cgroup-v2.txt"))
}

/// A board of four Cortex-A53.
pub fn arm() -> Tree {
    Tree::plant(include_str!("../../tests/trees/arm-4-cpus.txt"))
}

/// Two sockets of four cores, a memory node each.
pub fn server() -> Tree {
    Tree::plant(include_str!("../../tests/trees/server-2-sockets.txt"))
}

impl Tree {
    fn plant(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Self { root: Root::new(dir.path()), dir };
        let mut open: Option<(&str, String)> = None;
        for line in text.lines().chain(["[end]"]) {
            if let Some(text) = line.strip_prefix('|') {
                if let Some((_, body)) = &mut open {
                    body.push_str(text);
                    body.push('\n');
                }
                continue;
            }
            if let Some((path, body)) = open.take() {
                tree.write(path, &body);
            }
            if let Some(path) = line.strip_prefix("[file] ") {
                open = Some((path, String::new()));
            } else if let Some(path) = line.strip_prefix("[dir] ") {
                fs::create_dir_all(tree.dir.path().join(path)).unwrap();
            }
        }
        tree
    }

    /// Writes a file, for what a test changes of a recorded machine.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every file's text. Lists of threads have no order; a thread's affinity counts however it is kept.
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
                "affinity" => continue,
                "status" => {
                    let tid = name.split('/').nth(1).unwrap().parse().unwrap();
                    format!("{:?}", group::affinity(&self.root, tid))
                }
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
