//! The file tree that is read: `/`, or a fake one in tests.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    str::FromStr,
};

/// Where a kernel shows its lockdown.
pub const LOCKDOWN: &str = "sys/kernel/security/lockdown";

/// No file of interest is longer; a hostile one must not fill the memory.
const LONGEST: u64 = 1 << 20;

/// The directory under which `proc`, `sys`, `dev`, `etc` and `boot` are looked for. All paths are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    /// This machine.
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// The tree under a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Whether this is the running machine, so that system calls may be asked as well.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The full path of a file of the tree.
    pub fn path(&self, path: &str) -> PathBuf {
        // `join` with an absolute path would leave the tree.
        self.0.join(path.trim_start_matches('/'))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As `open(2)`.
    pub fn open(&self, path: &str) -> io::Result<File> {
        File::open(self.path(path))
    }

    /// The text of a file without surrounding white space and NUL bytes (which end device-tree strings).
    ///
    /// # Errors
    /// As `open(2)` and `read(2)`: the kind tells a missing file from a refused one.
    pub fn try_read(&self, path: &str) -> io::Result<String> {
        // Some files of the kernel refuse a read into less room than what they have to say takes (osnoise/cpus).
        let mut bytes = Vec::with_capacity(4096);
        self.open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(text(&bytes))
    }

    /// As [`Root::try_read`] where the reason does not matter.
    pub fn read(&self, path: &str) -> Option<String> {
        self.try_read(path).ok()
    }

    /// The beginning of a file whose whole is dear to produce: `/proc/cpuinfo` has a paragraph for each CPU.
    pub fn beginning(&self, path: &str) -> Option<String> {
        let mut bytes = [0; 4096];
        let length = self.open(path).ok()?.read(&mut bytes).ok()?;
        bytes.get(..length).map(text)
    }

    /// A file that holds one value.
    pub fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// A file that holds 0 or 1 (or N or Y, as module parameters do).
    pub fn flag(&self, path: &str) -> Option<bool> {
        match self.read(path)?.as_str() {
            "1" | "Y" => Some(true),
            "0" | "N" => Some(false),
            _ => None,
        }
    }

    /// The choice in force in a file that lists them all, as in `always [madvise] never` or `none (full)`.
    pub fn choice(&self, path: &str) -> Option<String> {
        chosen(&self.read(path)?)
    }

    /// The lockdown mode in force, where the kernel tells and it is not `none` (kernel_lockdown(7)).
    pub fn lockdown(&self) -> Option<String> {
        self.choice(LOCKDOWN).filter(|mode| mode != "none")
    }

    /// The names in a directory, `cpu2` before `cpu10`; empty where there is none.
    pub fn list(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        names
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Whether this process may write the file; `None` where it does not exist.
    pub fn writable(&self, path: &str) -> Option<bool> {
        let path = self.path(path);
        path.exists().then(|| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned()
}

fn chosen(text: &str) -> Option<String> {
    let marked = text.split_whitespace().find_map(|word| {
        word.strip_prefix('[')
            .and_then(|w| w.strip_suffix(']'))
            .or(word.strip_prefix('(').and_then(|w| w.strip_suffix(')')))
    })?;
    Some(marked.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_inside_its_tree_and_trims() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        std::fs::write(dir.path().join("proc/version"), " Linux\n\0").unwrap();
        let root = Root::new(dir.path());
        assert_eq!(root.read("proc/version").as_deref(), Some("Linux"));
        assert_eq!(root.read("/proc/version").as_deref(), Some("Linux"));
        assert_eq!(root.read("/proc/self/status"), None);
        assert!(!root.is_live() && Root::default().is_live());
    }

    #[test]
    fn finds_the_choice_in_force() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none voluntary (full) lazy").as_deref(), Some("full"));
        assert_eq!(chosen("performance"), None);
    }

    #[test]
    fn lists_in_numeric_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "cpu0"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(Root::new(dir.path()).list(""), ["cpu0", "cpu2", "cpu10"]);
    }
}
