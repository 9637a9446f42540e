//! Writing that survives a power cut: a temporary name, the bytes on the disk, the rename, the directory on the disk.

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

/// Writes a file so that a reader sees the old bytes or the new ones, never a part. What stands there must be a regular file.
///
/// # Errors
/// The path and the remedy; the old file is untouched and nothing is left beside it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).or_else(|error| failed(error, "writing", path))
}

/// The same of a file that the person named.
///
/// # Errors
/// The path and the remedy, which is another name.
pub(crate) fn write_named(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| {
        let remedy = another_name(error.kind());
        Failed { what: format!("writing {}", path.display()), error, remedy }.into()
    })
}

/// What helps where a file or a directory that the person named cannot be written.
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

/// The same for callers with words that they choose.
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

/// The same by whoever fills the new file piece by piece.
///
/// # Errors
/// As [`write`], or what the filling said.
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

/// A name beside a file that cannot be foreseen; where it is left by a kill it is in nobody's way.
fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!("{TEMPORARY}{:016x}{TEMPORARY_END}", unforeseeable()))
}

/// Whether a file could be written there: nothing stands there, or a regular file. A link would be followed by whoever
/// opens it, and a pipe wait for ever.
///
/// # Errors
/// What stands there.
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
    Err(io::Error::new(kind, format!("there is {words}, which is not replaced: name another file")))
}

const TEMPORARY: &str = ".latido-";
const TEMPORARY_END: &str = ".tmp";

/// Bits that nobody else knows beforehand: the standard library seeds its hash tables from the kernel.
pub(crate) fn unforeseeable() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The directory of a file; of a bare name the working directory.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// New, and so without following a link.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new file that is filled piece by piece; whoever fills it puts it on the disk.
pub(crate) fn create(path: &Path) -> Result<File> {
    new_file(path).or_else(|error| failed(error, "writing", path))
}

/// Adds to the end of a file, which is made where it is missing, in one piece; no link is followed.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let added = replaceable(path).and_then(|()| {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o666).custom_flags(flags).open(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    });
    added.or_else(|error| failed(error, "writing", path))
}

/// Removes what killed writers left in a directory that nobody else writes now.
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

/// What a file may be replaced by.
#[derive(Clone, Copy)]
pub(crate) struct What<'a> {
    /// What it is called.
    pub name: &'a str,
    /// So many of its first bytes tell.
    pub within: u64,
    /// Whether a file that begins so is one.
    pub ours: fn(&[u8]) -> bool,
    /// What to do where it is none.
    pub instead: &'a str,
}

/// What to do where a file is not replaced, by whatever name.
pub(crate) const OTHER: &str = "name another file, or remove it first";

/// Refuses to replace what is no such thing by its first bytes, nor empty. What stands where a file is to be written and
/// cannot be is left to whoever writes it; what to do instead is told with the refusal.
///
/// # Errors
/// What the file is not.
pub(crate) fn unless_foreign(path: &Path, what: What<'_>) -> Result<()> {
    let What { name, within, ours, instead } = what;
    match beginning(path, within) {
        Ok(begins) if !begins.is_empty() && !ours(&begins) => {
            bail!("{} is no {name} and is left as it is: {instead}", path.display())
        }
        _ => Ok(()),
    }
}

/// The first bytes of what stands where a file is to be written.
fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    replaceable(path)?;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).custom_flags(flags).open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a directory lies there, and no link to one.
pub(crate) fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|what| what.is_dir())
}

/// Moves the files of a directory into the one above and puts that on the disk.
pub(crate) fn move_up(dir: &Path) -> Result<()> {
    let parent = parent(dir);
    // A record without files has no such directory; a link is none.
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

/// Puts a directory's entries on the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems (FUSE, 9p) cannot sync a directory; they have nothing better to offer.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Makes one directory; that it exists already is an error.
pub(crate) fn make_dir(dir: &Path) -> Result<()> {
    let made = fs::create_dir(dir).and_then(|()| sync_dir(parent(dir)));
    made.or_else(|error| failed(error, "making", dir))
}

/// Makes a directory and what is missing above it.
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

/// The same of a directory that the person named.
///
/// # Errors
/// The path and the remedy, which is another name.
pub(crate) fn make_named_dirs(dir: &Path) -> Result<()> {
    make_dirs(dir).map_err(|error| match error.downcast::<Failed>() {
        Ok(failed) => Failed { remedy: another_name(failed.error.kind()), ..failed }.into(),
        Err(other) => other,
    })
}

/// Removes a file or a directory with everything in it; that there is none is fine.
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

/// Renames within a directory, a link itself and not what it leads to, and puts it on the disk.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).and_then(|()| sync_dir(parent(to))).or_else(|error| failed(error, "renaming to", to))
}

/// Whether somebody had no right to do it.
pub(crate) fn is_denied(error: &anyhow::Error) -> bool {
    let denied = |kind| kind == ErrorKind::PermissionDenied;
    kind(error).is_some_and(denied)
        || error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| denied(error.kind())))
}

/// The kind of input or output error at the root of an error.
pub(crate) fn kind(error: &anyhow::Error) -> Option<ErrorKind> {
    error.downcast_ref::<Failed>().map(|failed| failed.error.kind())
}

/// What helps where a limit on sizes refuses a file.
const SIZES: &str = "; a limit on the size of files stands in the way: raise it (ulimit -f)";

/// What could not be done, where, why, and last what helps.
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
        // /dev/full answers every write as a full disk does.
        let full = OpenOptions::new().write(true).open("/dev/full").and_then(|mut file| file.write_all(b"x"));
        let error = failed::<()>(full.unwrap_err(), "writing", Path::new("/store/record.json")).unwrap_err();
        let remedy = "free some space, or name another place with --store DIR; finished cells are safe";
        let text = format!("writing /store/record.json: No space left on device (os error 28); {remedy}");
        assert_eq!(format!("{error:#}"), text);
        assert_eq!(kind(&error), Some(ErrorKind::StorageFull));
        // A file that the person named lies in no store: a path through a file is no place for it.
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
