//! The tree of files that latido reads (`/` or a copy of another machine's), and the kernel of that machine.

use super::kernel::{Kernel, Running};
use anyhow::{Context, Result};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// The file in which a kernel shows its lockdown.
pub const LOCKDOWN: &str = "sys/kernel/security/lockdown";

/// The most bytes that latido reads from a file. No useful file is longer, and a hostile one must not fill the memory.
const LONGEST: u64 = 1 << 20;

/// The directory that contains `proc`, `sys`, `dev`, `etc` and `boot`, and the kernel that answers for it. All paths are relative to the
/// directory.
#[derive(Clone, Debug)]
pub struct Root {
    directory: PathBuf,
    kernel: Option<Arc<dyn Kernel>>,
}

impl Default for Root {
    /// Returns this machine.
    fn default() -> Self {
        Self { directory: PathBuf::from("/"), kernel: Some(Arc::new(Running)) }
    }
}

impl Root {
    /// Returns the tree under a directory, for reading. It has no kernel, unless it is this machine.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), kernel: None }.or_this_machine()
    }

    fn or_this_machine(self) -> Self {
        if self.directory == Path::new("/") { Self::default() } else { self }
    }

    /// Returns the tree under a directory with a simulated kernel, for tests that change it.
    #[cfg(any(test, debug_assertions))]
    pub fn simulated(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let kernel = super::kernel::Simulated::of(&directory);
        Self { directory, kernel: Some(Arc::new(kernel)) }.or_this_machine()
    }

    /// Returns the kernel of the machine.
    ///
    /// # Errors
    /// The tree is a copy of another machine's files.
    pub fn kernel(&self) -> Result<&dyn Kernel> {
        let kernel = self.kernel.as_deref();
        kernel
            .with_context(|| format!("{} is a copy of a machine's files: no kernel is there", self.directory.display()))
    }

    /// Returns the kernel's answer, if there is a kernel and it knows.
    pub fn asked<T>(&self, question: impl FnOnce(&dyn Kernel) -> Option<T>) -> Option<T> {
        question(self.kernel.as_deref()?)
    }

    /// Returns the directory, if the machine is not the running one.
    pub fn elsewhere(&self) -> Option<PathBuf> {
        (self.directory != Path::new("/")).then(|| self.path(""))
    }

    /// Returns the full path of a file in the tree.
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

    /// Reads the text of a file without surrounding white space and NUL bytes (which end device-tree strings).
    ///
    /// # Errors
    /// As `open(2)` and `read(2)`: the error's kind distinguishes a missing file from a refused one.
    pub fn try_read(&self, path: &str) -> io::Result<String> {
        // Some kernel files refuse a read into a buffer that is too small for their content (osnoise/cpus).
        let mut bytes = Vec::with_capacity(4096);
        self.open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(text(&bytes))
    }

    /// Reads a file like [`Root::try_read`], for callers that do not need the reason.
    pub fn read(&self, path: &str) -> Option<String> {
        self.try_read(path).ok()
    }

    /// Reads the beginning of a file that is expensive to produce as a whole: `/proc/cpuinfo` has a paragraph per CPU.
    pub fn beginning(&self, path: &str) -> Option<String> {
        let mut bytes = [0; 4096];
        let length = self.open(path).ok()?.read(&mut bytes).ok()?;
        bytes.get(..length).map(text)
    }

    /// Reads a file that contains one value.
    pub fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// Reads a file that contains 0 or 1 (or N or Y, as module parameters do).
    pub fn flag(&self, path: &str) -> Option<bool> {
        match self.read(path)?.as_str() {
            "1" | "Y" => Some(true),
            "0" | "N" => Some(false),
            _ => None,
        }
    }

    /// Reads the choice in force in a file that lists all choices, as in `always [madvise] never` or `none (full)`.
    pub fn choice(&self, path: &str) -> Option<String> {
        chosen(&self.read(path)?)
    }

    /// Returns the lockdown mode in force, unless it is unknown or `none` (kernel_lockdown(7)).
    pub fn lockdown(&self) -> Option<String> {
        self.choice(LOCKDOWN).filter(|mode| mode != "none")
    }

    /// Lists the names in a directory, `cpu2` before `cpu10`. The list is empty if the directory does not exist.
    pub fn list(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        names
    }

    /// Whether a file or directory exists.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Whether this process may write the file; `None` if it does not exist.
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
