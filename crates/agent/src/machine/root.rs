//! The file tree that is read, `/` or a copy of another machine's, and the kernel behind it.

use super::kernel::{Kernel, Running};
use anyhow::{Context, Result};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// Where a kernel shows its lockdown.
pub const LOCKDOWN: &str = "sys/kernel/security/lockdown";

/// No file of interest is longer; a hostile one must not fill the memory.
const LONGEST: u64 = 1 << 20;

/// The directory under which `proc`, `sys`, `dev`, `etc` and `boot` are looked for, and the kernel that answers there. All
/// paths are relative to the directory.
#[derive(Clone, Debug)]
pub struct Root {
    directory: PathBuf,
    kernel: Option<Arc<dyn Kernel>>,
}

impl Default for Root {
    /// This machine.
    fn default() -> Self {
        Self { directory: PathBuf::from("/"), kernel: Some(Arc::new(Running)) }
    }
}

impl Root {
    /// The tree under a directory, to be read: no kernel answers there, unless it is this machine's.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), kernel: None }.or_this_machine()
    }

    fn or_this_machine(self) -> Self {
        if self.directory == Path::new("/") { Self::default() } else { self }
    }

    /// The tree under a directory with a simulated kernel, for tests that change it.
    #[cfg(any(test, debug_assertions))]
    pub fn simulated(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let kernel = super::kernel::Simulated::of(&directory);
        Self { directory, kernel: Some(Arc::new(kernel)) }.or_this_machine()
    }

    /// The kernel of the machine.
    ///
    /// # Errors
    /// It is a copy of another machine's files.
    pub fn kernel(&self) -> Result<&dyn Kernel> {
        let kernel = self.kernel.as_deref();
        kernel
            .with_context(|| format!("{} is a copy of a machine's files: no kernel is there", self.directory.display()))
    }

    /// What the kernel answers, where there is one and it knows.
    pub fn asked<T>(&self, question: impl FnOnce(&dyn Kernel) -> Option<T>) -> Option<T> {
        question(self.kernel.as_deref()?)
    }

    /// The directory of a machine that is not the running one.
    pub fn elsewhere(&self) -> Option<PathBuf> {
        (self.directory != Path::new("/")).then(|| self.path(""))
    }

    /// The full path of a file of the tree.
    pub fn path(&self, path: &str) -> PathBuf {
        // `join` with an absolute path would leave the tree.
        self.directory.join(path.trim_start_matches('/'))
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
        assert_eq!((root.elsewhere(), Root::default().elsewhere()), (Some(dir.path().join("")), None));
        assert!(root.kernel().is_err() && Root::default().kernel().is_ok());
        for this in [Root::new("/"), Root::simulated("/")] {
            assert_eq!(this.asked(|kernel| kernel.own_process()), Some(std::process::id()), "{this:?}");
        }
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
