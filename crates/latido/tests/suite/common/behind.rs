//! A person behind sudo with their own home, in which root works: a person could try to use root's rights there.

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
    /// Returns `None` if this machine allows no other user, which the test notes as skipped.
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

    /// The person's home.
    pub fn home(&self) -> PathBuf {
        self.world.path("home")
    }

    /// The person's store.
    pub fn store(&self) -> PathBuf {
        self.home().join("store")
    }

    /// A latido command that the person calls through sudo, in their home, not yet started.
    pub fn latido<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.world.latido(arguments);
        command.current_dir(self.home()).env("LATIDO_STORE", self.store());
        attacker::behind_sudo(&mut command);
        command
    }

    /// Runs latido through sudo to its end.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.latido(arguments).output().unwrap()
    }

    /// Runs a shell script as the person, without sudo and with `$HOME` and `$STORE`, to its end.
    pub fn script(&self, text: &str) {
        let mut command = attacker::script(text);
        let told = command.env("HOME", self.home()).env("STORE", self.store()).output().unwrap();
        assert!(told.status.success(), "{text}: {}", String::from_utf8_lossy(&told.stderr));
    }

    /// Makes a directory of root's outside the home, with a file in `001`.
    pub fn roots(&self, mode_bits: u32) -> PathBuf {
        let dir = self.world.path(&format!("roots-{mode_bits:o}"));
        fs::create_dir_all(dir.join("001")).unwrap();
        fs::write(dir.join("001/precious"), "root's").unwrap();
        mode(&dir, mode_bits);
        dir
    }
}

/// Sets the mode of a file or a directory.
pub fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
}

/// Everything below a directory, as relative paths; links are not followed.
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

/// The user and group of a file, or of a link itself.
pub fn owner(path: &Path) -> (u32, u32) {
    let what = fs::symlink_metadata(path).unwrap();
    (what.uid(), what.gid())
}
