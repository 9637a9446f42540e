//! What every tuning must prove on a fake machine: in force after applying, all back after undoing, whatever goes wrong.

use super::{TUNINGS, apply::apply, trees::Tree};
use crate::{
    agent::journal::{Journal, Owner},
    cell::Item,
    machine::Root,
    record::TuningRecord,
    registry,
};
use anyhow::Result;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// How to make a machine.
pub type Machine<'a> = &'a (dyn Fn() -> Tree + Sync);

/// One tuning on one machine.
pub struct Proof<'a> {
    /// The tuning.
    pub name: &'a str,
    /// Its options, as TOML.
    pub options: &'a str,
    /// The machine, recorded where one has what it needs.
    pub machine: Machine<'a>,
    /// What its files say while the tuning is in force; all others stay.
    pub after: &'a [(&'a str, &'a str)],
    /// A file that somebody else changes meanwhile, and to what.
    pub other: (&'a str, &'a str),
    /// A file or directory without which the tuning cannot be had, and what is said then.
    pub without: &'a [(&'a str, &'a str)],
}

/// Applies a tuning as a person does.
pub fn applied(name: &str, options: &str, root: &Root, journal: &mut Journal) -> Result<TuningRecord> {
    let item = Item { name: name.into(), options: options.parse()? };
    let tuning = registry::build("tuning", TUNINGS, &item)?;
    Ok(apply(tuning.as_ref(), name, root, Owner::Unsettled, journal)?.record)
}

/// Why a tuning cannot be had on a machine; it must have changed nothing.
pub fn refusal(name: &str, options: &str, tree: &Tree) -> String {
    let before = snapshot(&tree.root);
    let (_dir, mut journal) = Journal::scratch();
    let error = applied(name, options, &tree.root, &mut journal).expect_err("it cannot be had here");
    same(&snapshot(&tree.root), &before, &format!("{name}: half-applied"));
    assert_eq!(journal.settle().unwrap(), Vec::<String>::new());
    same(&snapshot(&tree.root), &before, name);
    format!("{error:#}")
}

/// Every file of a machine with its bytes.
pub fn snapshot(root: &Root) -> BTreeMap<String, Vec<u8>> {
    fn walk(directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            // A link leads to a device: reading that has no end.
            if path.is_symlink() {
                continue;
            }
            found.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
            if path.is_dir() {
                walk(&path, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&root.path(""), &mut found);
    found
}

/// Compares two machines, and names the files that differ.
pub fn same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, when: &str) {
    let differ: Vec<&String> =
        found.keys().chain(expected.keys()).filter(|path| found.get(*path) != expected.get(*path)).collect();
    assert!(differ.is_empty(), "{when}: {differ:?}");
}

/// Runs on a thread that, root or not, may not write what its owner may not.
pub fn unprivileged(work: impl FnOnce() + Send) {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let own = capabilities(None).unwrap();
            let drop = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            set_capabilities(None, CapabilitySets { effective: own.effective - drop, ..own }).unwrap();
            work();
        });
        run.join().unwrap();
    });
}

impl Proof<'_> {
    /// All of it.
    pub fn holds(&self) {
        let machine = self.machine;
        self.is_undone(&machine());
        self.leaves_what_others_changed(&machine());
        self.changes_nothing_when_refused(&machine());
        for (path, said) in self.without {
            let tree = machine();
            let path = tree.root.path(path);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            let error = refusal(self.name, self.options, &tree);
            assert!(error.contains(said), "{}: {error}", self.name);
        }
    }

    fn apply(&self, tree: &Tree, journal: &mut Journal) {
        let record = applied(self.name, self.options, &tree.root, journal).unwrap();
        assert!(record.in_force && !record.changes.is_empty(), "{record:?}");
        for (path, text) in self.after {
            assert_eq!(fs::read_to_string(tree.root.path(path)).unwrap(), *text, "{}: {path}", self.name);
        }
    }

    fn is_undone(&self, tree: &Tree) {
        let before = snapshot(&tree.root);
        let (_dir, mut journal) = Journal::scratch();
        self.apply(tree, &mut journal);
        let changed = snapshot(&tree.root);
        let differ = changed.iter().filter(|(path, text)| before.get(*path) != Some(text) && !Path::new(path).is_dir());
        let differ: BTreeSet<PathBuf> = differ.map(|(path, _)| path.into()).collect();
        let expected: BTreeSet<PathBuf> = self.after.iter().map(|(path, _)| tree.root.path(path)).collect();
        assert_eq!(differ, expected, "{}: other files changed", self.name);
        assert_eq!(journal.settle().unwrap(), Vec::<String>::new(), "{}", self.name);
        same(&snapshot(&tree.root), &before, &format!("{}: not as before", self.name));
        assert_eq!(journal.settle().unwrap(), Vec::<String>::new(), "{}: undone twice", self.name);
        same(&snapshot(&tree.root), &before, &format!("{}: undone twice", self.name));
    }

    fn leaves_what_others_changed(&self, tree: &Tree) {
        let mut expected = snapshot(&tree.root);
        let (_dir, mut journal) = Journal::scratch();
        self.apply(tree, &mut journal);
        let (path, text) = self.other;
        tree.write(path, text);
        expected.insert(tree.root.path(path).display().to_string(), text.into());
        let told = journal.settle().unwrap();
        assert!(told.len() == 1 && told[0].contains("somebody else"), "{}: {told:?}", self.name);
        same(&snapshot(&tree.root), &expected, &format!("{}: somebody's value is overwritten", self.name));
    }

    /// The last file is read-only: what came before it must not stay changed.
    fn changes_nothing_when_refused(&self, tree: &Tree) {
        let (path, _) = self.after.last().unwrap();
        let file = tree.root.path(path);
        // Of a group that is made, nothing is there yet: the directory around it must not take it.
        let file = if file.exists() { file } else { file.parent().unwrap().parent().unwrap().to_path_buf() };
        let writable = fs::metadata(&file).unwrap().permissions();
        fs::set_permissions(&file, fs::Permissions::from_mode(writable.mode() & 0o555)).unwrap();
        unprivileged(|| {
            let error = refusal(self.name, self.options, tree);
            assert!(error.contains("Permission denied") || error.contains("may not"), "{}: {error}", self.name);
        });
        fs::set_permissions(&file, writable).unwrap();
    }
}
