//! Writing that survives a power cut: latido writes a temporary file, syncs it, renames it and syncs the directory.

use anyhow::{Result, bail};
use rustix::fs::OFlags;
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Writes a file so that a reader sees the old bytes or the new ones, never a part. An existing file must be a regular file.
///
/// # Errors
/// The path and the remedy; the old file is untouched and no temporary file is left.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).or_else(|error| failed(error, "writing", path))
}

/// The same for a file that the user named.
///
/// # Errors
/// The path and the remedy, which is another name.
pub(crate) fn write_named(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| {
        let remedy = another_name(error.kind());
        Failed { what: format!("writing {}", path.display()), error, remedy }.into()
    })
}

/// Returns the remedy where a file or a directory that the user named cannot be written.
fn another_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free some space, or name another place",
        ErrorKind::ReadOnlyFilesystem
        | ErrorKind::PermissionDenied
        | ErrorKind::NotADirectory
        | ErrorKind::AlreadyExists => "; name another place",
        ErrorKind::FileTooLarge => SIZES,
        _ => "",
    }
}

/// The same, for callers that word the error themselves.
///
/// # Errors
/// As [`write`].
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replaceable(path)?;
    let temporary = beside(path);
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    });
    written.and_then(|()| sync_dir(parent(path)))
}

/// The same, for a caller that fills the new file piece by piece.
///
/// # Errors
/// As [`write`], or the error of `fill`.
pub(crate) fn replace_by<T>(path: &Path, fill: impl FnOnce(File) -> Result<T>) -> Result<T> {
    replaceable(path)?;
    let temporary = beside(path);
    let filled = || -> Result<T> {
        let file = new_file(&temporary)?;
        let done = fill(file.try_clone()?)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        Ok(done)
    }();
    let done = filled.inspect_err(|_| _ = fs::remove_file(&temporary))?;
    sync_dir(parent(path))?;
    Ok(done)
}

/// Returns an unforeseeable name in the directory of a file. A kill may leave such a file; it does no harm.
fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{TEMPORARY}{:016x}{TEMPORARY_END}", unforeseeable()))
}

/// Checks whether a file can be written there: the path does not exist, or it is a regular file. A program that opens a link would follow
/// it, and one that opens a pipe would wait for ever.
///
/// # Errors
/// What the path is.
pub(crate) fn replaceable(path: &Path) -> io::Result<()> {
    let what = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let dir = parent(path);
            if dir.exists() {
                return Ok(());
            }
            let words = format!("there is no directory {}: make it first, or name another one", dir.display());
            return Err(io::Error::new(ErrorKind::NotFound, words));
        }
        other => other?.file_type(),
    };
    let (kind, words) = match what {
        what if what.is_file() => return Ok(()),
        what if what.is_dir() => (ErrorKind::IsADirectory, "a directory"),
        what if what.is_symlink() => (ErrorKind::InvalidInput, "a link"),
        what if what.is_fifo() => (ErrorKind::InvalidInput, "a pipe"),
        _ => (ErrorKind::InvalidInput, "a device or a socket"),
    };
    Err(io::Error::new(kind, format!("the path is {words}, which latido does not replace: name another file")))
}

const TEMPORARY: &str = ".latido-";
const TEMPORARY_END: &str = ".tmp";

/// Returns bits that no other process can foresee: the standard library seeds its hash tables from the kernel.
pub(crate) fn unforeseeable() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the directory of a file; for a bare name the working directory.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a new file. Because it must be new, no link is followed.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Creates a new file that the caller fills piece by piece and syncs.
pub(crate) fn create(path: &Path) -> Result<File> {
    new_file(path).or_else(|error| failed(error, "writing", path))
}

/// Appends to a file in one piece, and creates the file if it is missing. Follows no link.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let added = replaceable(path).and_then(|()| {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o666).custom_flags(flags).open(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    });
    added.or_else(|error| failed(error, "writing", path))
}

/// Removes the temporary files of killed writers from a directory that no process writes any longer.
pub(crate) fn sweep(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).or_else(|error| failed(error, "reading", dir))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TEMPORARY) && name.ends_with(TEMPORARY_END) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// A kind of file that latido may replace.
#[derive(Clone, Copy)]
pub(crate) struct What<'a> {
    /// The name of the kind.
    pub name: &'a str,
    /// How many of the first bytes show the kind.
    pub within: u64,
    /// Whether a file that starts with these bytes is of the kind.
    pub ours: fn(&[u8]) -> bool,
    /// What to do where it is not.
    pub instead: &'a str,
}

/// The remedy where latido replaces no file of another kind, whatever its name.
pub(crate) const OTHER: &str = "name another file, or remove it first";

/// Refuses to replace a file that is not empty and, by its first bytes, not of this kind. The refusal contains the remedy. A path that
/// cannot be written at all passes here: the writer reports it.
///
/// # Errors
/// What the file is not.
pub(crate) fn unless_foreign(path: &Path, what: What<'_>) -> Result<()> {
    let What { name, within, ours, instead } = what;
    match beginning(path, within) {
        Ok(begins) if !begins.is_empty() && !ours(&begins) => {
            bail!("{} is not a {name}, so latido leaves it as it is: {instead}", path.display())
        }
        _ => Ok(()),
    }
}

/// Reads the first bytes of the file at a path that is to be written.
fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    replaceable(path)?;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).custom_flags(flags).open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether the path is a directory, and not a link to one.
pub(crate) fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|what| what.is_dir())
}

/// Moves the files of a directory into its parent and syncs the parent.
pub(crate) fn move_up(dir: &Path) -> Result<()> {
    let parent = parent(dir);
    // A record without files has no such directory. A link does not count.
    if !is_dir(dir) {
        return Ok(());
    }
    let moved = (|| {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            fs::rename(entry.path(), parent.join(entry.file_name()))?;
        }
        fs::remove_dir(dir)?;
        sync_dir(parent)
    })();
    moved.or_else(|error| failed(error, "writing", parent))
}

/// Syncs the entries of a directory to disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems (FUSE, 9p) cannot sync a directory and offer nothing better.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Makes one directory. An existing one is an error.
pub(crate) fn make_dir(dir: &Path) -> Result<()> {
    let made = fs::create_dir(dir).and_then(|()| sync_dir(parent(dir)));
    made.or_else(|error| failed(error, "making", dir))
}

/// Makes a directory and its missing parents.
pub(crate) fn make_dirs(dir: &Path) -> Result<()> {
    if dir.is_dir() || dir.as_os_str().is_empty() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent)?;
    }
    match make_dir(dir) {
        // Another process made it meanwhile.
        Err(_) if dir.is_dir() => Ok(()),
        other => other,
    }
}

/// The same for a directory that the user named.
///
/// # Errors
/// The path and the remedy, which is another name.
pub(crate) fn make_named_dirs(dir: &Path) -> Result<()> {
    make_dirs(dir).map_err(|error| match error.downcast::<Failed>() {
        Ok(failed) => Failed { remedy: another_name(failed.error.kind()), ..failed }.into(),
        Err(other) => other,
    })
}

/// Removes a file, or a directory with its contents. A missing path is no error.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Err(error) => Err(error),
        Ok(what) if what.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => failed(error, "removing", path),
        _ => Ok(()),
    }
}

/// Renames within a directory and syncs it. Renames a link itself, not its target.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).and_then(|()| sync_dir(parent(to))).or_else(|error| failed(error, "renaming to", to))
}

/// Returns whether the cause of an error is a denied permission.
pub(crate) fn is_denied(error: &anyhow::Error) -> bool {
    let denied = |kind| kind == ErrorKind::PermissionDenied;
    kind(error).is_some_and(denied)
        || error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| denied(error.kind())))
}

/// Returns the kind of the I/O error at the root of an error.
pub(crate) fn kind(error: &anyhow::Error) -> Option<ErrorKind> {
    error.downcast_ref::<Failed>().map(|failed| failed.error.kind())
}

/// The remedy where a size limit refuses a file.
const SIZES: &str = "; a limit on the size of files prevents it: raise the limit (ulimit -f)";

/// What failed, where, why, and the remedy.
#[derive(Debug)]
struct Failed {
    what: String,
    error: io::Error,
    remedy: &'static str,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.what, self.error, self.remedy)
    }
}

impl std::error::Error for Failed {}

pub(crate) fn failed<T>(error: io::Error, doing: &str, path: &Path) -> Result<T> {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or name another place with --store DIR; finished cells are safe"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied | ErrorKind::NotADirectory => {
            "; name another place with --store DIR"
        }
        ErrorKind::AlreadyExists => "; name another place",
        ErrorKind::FileTooLarge => SIZES,
        _ => "",
    };
    Err(Failed { what: format!("{doing} {}", path.display()), error, remedy }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_files_alone_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.json");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::create_dir(dir.path().join("dir")).unwrap();
        for (name, what) in [("link", "a link"), ("dir", "a directory")] {
            let error = write(&dir.path().join(name), b"planted").unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(what), "{error}");
            assert!(append(&dir.path().join(name), b"planted").is_err());
        }
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let error = write(&dir.path().join("none/report.html"), b"new").unwrap_err().to_string();
        assert!(error.contains("there is no directory") && error.contains("make it first"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_a_kill_left_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let left = format!("{TEMPORARY}0123{TEMPORARY_END}");
        for name in [&left, "record.json"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        sweep(dir.path()).unwrap();
        assert!(!dir.path().join(left).exists() && dir.path().join("record.json").exists());
    }

    #[test]
    fn a_full_disk_is_told_with_its_remedy() {
        // /dev/full answers every write like a full disk.
        let full = OpenOptions::new().write(true).open("/dev/full").and_then(|mut file| file.write_all(b"x"));
        let error = failed::<()>(full.unwrap_err(), "writing", Path::new("/store/record.json")).unwrap_err();
        let remedy = "free some space, or name another place with --store DIR; finished cells are safe";
        let text = format!("writing /store/record.json: No space left on device (os error 28); {remedy}");
        assert_eq!(format!("{error:#}"), text);
        assert_eq!(kind(&error), Some(ErrorKind::StorageFull));
        // A file that the user named is in no store, so the remedy for a path through a file is another name.
        let error = write_named(Path::new("/etc/hostname/t.html"), b"x").unwrap_err().to_string();
        assert!(error.ends_with("; name another place"), "{error}");
        assert_eq!(another_name(ErrorKind::StorageFull), "; free some space, or name another place");
    }

    #[test]
    fn missing_directories_are_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make_dirs(&deep).unwrap();
        make_dirs(&deep).unwrap();
        let error = make_named_dirs(Path::new("/etc/hostname/paper")).unwrap_err().to_string();
        assert!(error.ends_with("; name another place"), "{error}");
        assert!(deep.is_dir());
        assert_eq!(kind(&make_dir(&deep).unwrap_err()), Some(ErrorKind::AlreadyExists));
    }
}
