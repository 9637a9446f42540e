//! Locks: only one latido at a time uses a state directory, and it changes settings of the machine only while no other process measures.
//!
//! Any user who may open a file may lock it for ever (flock(2) requires no right to write). Root's latidos therefore agree among themselves
//! by files that only root can open. In addition there are files for everybody, by which root and users avoid each other. These files bind
//! a user in any case. They bind root only if the holder is a latido, and not at all when root restores settings.

mod account;
mod holder;
mod machine;
mod patience;

use account::Account;
pub use holder::Holder;
pub use machine::{Claim, MachineTurn, Use, machine};
use patience::Binds;
pub use patience::{Busy, Patience};

use crate::rights;
use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, OFlags};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The directory of root's locks.
const ROOT_DIR: &str = "/run/latido";

/// The lock next to root's `run`, which only root can open: here users and root see each other's runs.
const TURN: &str = "turn";

/// The mode of a lock that only its user may take.
const OURS: u32 = 0o600;

/// The mode of a lock that others may take too.
const EVERYBODYS: u32 = 0o644;

/// Returns the directory of locks and journal: `$LATIDO_STATE`, `/run/latido` for root, else the user's runtime directory. Root of a user
/// namespace that cannot have `/run/latido` counts as a user.
pub fn state_dir() -> PathBuf {
    if let Some(dir) = named() {
        return dir;
    }
    let account = Account::own(Path::new(ROOT_DIR));
    if account.is_root {
        return ROOT_DIR.into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_dir()) {
        Some(dir) => Path::new(&dir).join("latido"),
        None => std::env::temp_dir().join(format!("latido-{}", account.uid)),
    }
}

/// Returns the directory with the second copy of what users applied, which outlives the state directory: `$LATIDO_STATE-kept`,
/// `/var/lib/latido` for root, else the user's state directory. `None` for a user without a home.
pub fn second_dir() -> Option<PathBuf> {
    if let Some(dir) = named() {
        let mut name = dir.file_name()?.to_os_string();
        name.push("-kept");
        return Some(dir.with_file_name(name));
    }
    if Account::own(Path::new(ROOT_DIR)).is_root {
        return Some("/var/lib/latido".into());
    }
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(base.join("latido"))
}

/// Whether locks and journal are in their default place.
pub fn is_default() -> bool {
    named().is_none()
}

/// Returns the directory that the user names. An empty text names none.
fn named() -> Option<PathBuf> {
    std::env::var_os("LATIDO_STATE").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// A held lock. It is released when dropped or when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<File>,
}

/// Takes a lock of the state directory: `run` for a host's whole run, `lock` for an agent's cell.
///
/// # Errors
/// [`Busy`]: another latido holds it (named with pid and purpose). Or the state directory cannot be made.
pub fn take(name: &str, purpose: &str) -> Result<Lock> {
    take_patiently(name, purpose, &mut Patience::none())
}

/// Takes a lock as [`take`] does, but waits with `patience`.
///
/// # Errors
/// As [`take`], when patience ends.
pub fn take_patiently(name: &str, purpose: &str, patience: &mut Patience<'_>) -> Result<Lock> {
    let dir = state_dir();
    let mut files = vec![of_directory(&dir, name, purpose, patience)?];
    // Two runs disturb each other, whichever user started them.
    if name == "run"
        && is_default()
        && let Some((file, path, binds)) = turn(&dir)?
    {
        patience.hold(&file, &path, binds, FlockOperation::NonBlockingLockExclusive)?;
        // Not every user may write to root's file, but the kernel knows the holder all the same.
        let _ = sign(&file, purpose);
        files.push(file);
    }
    Ok(Lock { _files: files })
}

/// Takes the lock of a directory, which no other user can open.
fn of_directory(dir: &Path, name: &str, purpose: &str, patience: &mut Patience<'_>) -> Result<File> {
    make(dir)?;
    let path = dir.join(name);
    let file = open(&path, OURS)?;
    patience.hold(&file, &path, Binds::Always, FlockOperation::NonBlockingLockExclusive)?;
    sign(&file, purpose)?;
    Ok(file)
}

/// Takes the locks of a state directory again, where the locked files were deleted and another latido could start.
pub(super) fn again(dir: &Path, purpose: &str) -> Vec<Lock> {
    let take = |name| of_directory(dir, name, purpose, &mut Patience::none());
    // The kernel refuses the locks that this process still holds.
    ["run", "lock"].into_iter().filter_map(|name| take(name).ok()).map(|file| Lock { _files: vec![file] }).collect()
}

/// Opens the lock for the runs of all users. Root makes it, so it exists where root has run latido.
fn turn(dir: &Path) -> Result<Option<(File, PathBuf, Binds)>> {
    let path = Path::new(ROOT_DIR).join(TURN);
    if dir == Path::new(ROOT_DIR) {
        return Ok(Some((open(&path, EVERYBODYS)?, path, Binds::Latidos)));
    }
    Ok(File::open(&path).ok().map(|file| (file, path, Binds::Always)))
}

/// Returns who holds a lock now; `None` if it is free. It does not touch the lock.
pub fn holder(name: &str) -> Option<String> {
    let file = File::open(state_dir().join(name)).ok()?;
    let locker = holder::lockers(&file).into_iter().next()?;
    Some(holder::of(&file, locker.pid).words)
}

/// Makes the directory of locks. It refuses a directory that another user could have prepared.
pub(super) fn make(dir: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(dir).with_context(|| {
        format!("cannot make {} for the lock; name another directory with LATIDO_STATE", dir.display())
    })?;
    trusted(dir)
}

/// Refuses a directory that another user could have prepared: a link in it would make latido write elsewhere.
pub(super) fn trusted(dir: &Path) -> Result<()> {
    let found = fs::symlink_metadata(dir).with_context(|| format!("cannot look at {}", dir.display()))?;
    ensure!(found.is_dir(), "{} is not a directory: remove it", dir.display());
    let own = rustix::process::geteuid().as_raw();
    ensure!(
        found.uid() == own && found.mode() & 0o022 == 0,
        "{} belongs to user {} with mode {:o}, so its content cannot be trusted: remove it, or set XDG_RUNTIME_DIR",
        dir.display(),
        found.uid(),
        found.mode() & 0o7777
    );
    rights::ours(dir).with_context(|| format!("the content of {} cannot be trusted", dir.display()))
}

/// Opens a lock file, and makes it if necessary: for this user only, or for all.
fn open(path: &Path, mode: u32) -> Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(mode)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    // Earlier versions made all lock files for everybody.
    if mode == OURS && file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(OURS))?;
    }
    Ok(file)
}

/// Writes this process into a lock's file, below the other processes that hold it.
fn sign(file: &File, purpose: &str) -> Result<()> {
    let own = std::process::id();
    let others = holder::lockers(file).into_iter().filter(|locker| locker.pid != own);
    let mut text: String =
        others.filter_map(|locker| holder::signature(file, locker.pid)).map(|line| line + "\n").collect();
    text.push_str(&format!("pid {own}, {purpose}"));
    let signed = file.set_len(0).and_then(|()| file.write_all_at(text.as_bytes(), 0));
    signed.with_context(|| format!("cannot write a lock in {}", state_dir().display()))
}

#[cfg(test)]
mod tests;
