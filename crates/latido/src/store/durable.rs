//! Writing that survives a power cut: a temporary name, the bytes on the disk, the rename, the directory on the disk.

use anyhow::Result;
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{OpenOptionsExt, fchown, lchown},
    path::Path,
};

/// The person behind sudo: everything that is made belongs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOwner {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl FileOwner {
    /// From `$SUDO_UID` and `$SUDO_GID`, which count only for root.
    pub fn behind_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        let root = rustix::process::geteuid().is_root();
        let owner = Self { uid: number("SUDO_UID")?, gid: number("SUDO_GID")? };
        (root && owner.uid != 0).then_some(owner)
    }
}

/// Writes a file so that a reader sees the old bytes or the new ones, never a part.
///
/// # Errors
/// The path and the remedy; the old file is untouched and nothing is left beside it.
pub(super) fn write(path: &Path, bytes: &[u8], owner: Option<FileOwner>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.tmp"));
    let written = write_new(&temporary, bytes, owner)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| path.parent().map_or(Ok(()), sync_dir));
    written.or_else(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error, "writing", path)
    })
}

fn write_new(path: &Path, bytes: &[u8], owner: Option<FileOwner>) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // New and without following a link: behind sudo the directory belongs to someone who is not root.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    if let Some(owner) = owner {
        fchown(&file, Some(owner.uid), Some(owner.gid))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new file that is filled piece by piece; whoever fills it puts it on the disk.
pub(super) fn create(path: &Path, owner: Option<FileOwner>) -> Result<File> {
    // New and without following a link, as in `write_new`.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path).and_then(|file| {
        owner.map_or(Ok(()), |owner| fchown(&file, Some(owner.uid), Some(owner.gid)))?;
        Ok(file)
    });
    made.or_else(|error| failed(error, "writing", path))
}

/// Moves the files of a directory into the one above and puts that on the disk.
pub(super) fn move_up(dir: &Path) -> Result<()> {
    let Some(parent) = dir.parent() else { return Ok(()) };
    let moved = (|| {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            fs::rename(entry.path(), parent.join(entry.file_name()))?;
        }
        fs::remove_dir(dir)?;
        sync_dir(parent)
    })();
    match moved {
        // A record without files has no such directory.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.or_else(|error| failed(error, "writing", parent)),
    }
}

/// Puts a directory's entries on the disk.
pub(super) fn sync_dir(dir: &Path) -> std::io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems (FUSE, 9p) cannot sync a directory; they have nothing better to offer.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Makes one directory; that it exists already is an error.
pub(super) fn make_dir(dir: &Path, owner: Option<FileOwner>) -> Result<()> {
    let made = fs::create_dir(dir)
        .and_then(|()| owner.map_or(Ok(()), |owner| lchown(dir, Some(owner.uid), Some(owner.gid))))
        .and_then(|()| dir.parent().map_or(Ok(()), sync_dir));
    made.or_else(|error| failed(error, "making", dir))
}

/// Makes a directory and what is missing above it; only what is made changes hands.
pub(super) fn make_dirs(dir: &Path, owner: Option<FileOwner>) -> Result<()> {
    if dir.is_dir() || dir.as_os_str().is_empty() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent, owner)?;
    }
    match make_dir(dir, owner) {
        // Another process made it meanwhile.
        Err(_) if dir.is_dir() => Ok(()),
        other => other,
    }
}

/// Removes a file or a directory with everything in it; that there is none is fine.
pub(super) fn remove(path: &Path) -> Result<()> {
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

/// Renames within a directory and puts it on the disk.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to)
        .and_then(|()| to.parent().map_or(Ok(()), sync_dir))
        .or_else(|error| failed(error, "renaming to", to))
}

/// The kind of input or output error at the root of an error.
pub(super) fn kind(error: &anyhow::Error) -> Option<ErrorKind> {
    error.downcast_ref::<Failed>().map(|failed| failed.error.kind())
}

/// What could not be done, where, why, and last what helps.
#[derive(Debug)]
struct Failed {
    what: String,
    error: std::io::Error,
    remedy: &'static str,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.what, self.error, self.remedy)
    }
}

impl std::error::Error for Failed {}

pub(super) fn failed<T>(error: std::io::Error, doing: &str, path: &Path) -> Result<T> {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or name another place with --store DIR; finished cells are safe"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied | ErrorKind::NotADirectory => {
            "; name another place with --store DIR"
        }
        _ => "",
    };
    Err(Failed { what: format!("{doing} {}", path.display()), error, remedy }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.json");
        write(&path, b"old", None).unwrap();
        // A directory in the way of the temporary name makes the next write fail halfway.
        fs::create_dir(dir.path().join(".record.json.tmp")).unwrap();
        let error = write(&path, b"new", None).unwrap_err();
        assert!(error.to_string().contains("record.json"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        fs::remove_dir(dir.path().join(".record.json.tmp")).unwrap();
        write(&path, b"new", None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_stale_temporary_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(".a.tmp")).unwrap();
        write(&dir.path().join("a"), b"new", None).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
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
    }

    #[test]
    fn behind_sudo_everything_belongs_to_the_person() {
        use std::os::unix::fs::MetadataExt;
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root may give files away");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let owner = Some(FileOwner { uid: 12_345, gid: 54_321 });
        let deep = dir.path().join("a/b");
        make_dirs(&deep, owner).unwrap();
        write(&deep.join("file"), b"x", owner).unwrap();
        for path in [dir.path().join("a"), deep.clone(), deep.join("file")] {
            let what = fs::metadata(&path).unwrap();
            assert_eq!((what.uid(), what.gid()), (12_345, 54_321), "{}", path.display());
        }
        assert_eq!(fs::metadata(dir.path()).unwrap().uid(), 0);
    }

    #[test]
    fn missing_directories_are_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make_dirs(&deep, None).unwrap();
        make_dirs(&deep, None).unwrap();
        assert!(deep.is_dir());
        assert_eq!(kind(&make_dir(&deep, None).unwrap_err()), Some(ErrorKind::AlreadyExists));
    }
}
