//! A person behind sudo with a home of their own, in which root works: where the two could be played against each other.

use crate::common::{Need, World, attacker, skip};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A world in which the attacker is the person behind sudo.
pub struct Behind {
    pub world: World,
}

impl Behind {
    /// None where nobody can act as another; that is noted.
    pub fn new(what: &str) -> Option<Self> {
        if let Some(why) = attacker::missing() {
            skip(what, Need::AnotherUser, &why);
            return None;
        }
        let behind = Self { world: World::new() };
        mode(behind.world.dir.path(), 0o755);
        fs::create_dir(behind.home()).unwrap();
        chown(behind.home(), Some(attacker::UID), Some(attacker::UID)).unwrap();
        Some(behind)
    }

    /// What the person owns.
    pub fn home(&self) -> PathBuf {
        self.world.path("home")
    }

    /// The person's store.
    pub fn store(&self) -> PathBuf {
        self.home().join("store")
    }

    /// What the person called through sudo, in the home, not yet started.
    pub fn latido<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.world.latido(arguments);
        command.current_dir(self.home()).env("LATIDO_STORE", self.store());
        attacker::behind_sudo(&mut command);
        command
    }

    /// Runs it to its end.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.latido(arguments).output().unwrap()
    }

    /// A shell script of the person without sudo, with `$HOME` and `$STORE`, to its end.
    pub fn script(&self, text: &str) {
        let mut command = attacker::script(text);
        let told = command.env("HOME", self.home()).env("STORE", self.store()).output().unwrap();
        assert!(told.status.success(), "{text}: {}", String::from_utf8_lossy(&told.stderr));
    }

    /// A directory of root's outside of the home, with a file in `001`.
    pub fn roots(&self, mode_bits: u32) -> PathBuf {
        let dir = self.world.path(&format!("roots-{mode_bits:o}"));
        fs::create_dir_all(dir.join("001")).unwrap();
        fs::write(dir.join("001/precious"), "root's").unwrap();
        mode(&dir, mode_bits);
        dir
    }
}

/// Sets the rights of a file or a directory.
pub fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
}

/// Everything below a directory, as paths from it, no link followed.
pub fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            found.push(entry.path().strip_prefix(dir).unwrap().to_path_buf());
        }
    }
    found.sort();
    found
}

/// User and group of a file, of a link itself.
pub fn owner(path: &Path) -> (u32, u32) {
    let what = fs::symlink_metadata(path).unwrap();
    (what.uid(), what.gid())
}
