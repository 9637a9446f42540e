//! Turns: one latido at a time in a state directory, and settings of the machine only while nobody else measures.

mod holder;
mod machine;
mod patience;

pub use holder::Holder;
pub use machine::{Claim, MachineTurn, Use, machine};
pub use patience::{Busy, Patience};

use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, OFlags};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Where root's locks are.
const ROOT_DIR: &str = "/run/latido";

/// Where locks and journal are: `$LATIDO_STATE`, `/run/latido` for root, else the user's runtime directory.
pub fn state_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("LATIDO_STATE") {
        return dir.into();
    }
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return ROOT_DIR.into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_dir()) {
        Some(dir) => Path::new(&dir).join("latido"),
        None => std::env::temp_dir().join(format!("latido-{}", uid.as_raw())),
    }
}

/// Whether lock and journal are where they usually are.
pub fn is_default() -> bool {
    std::env::var_os("LATIDO_STATE").is_none()
}

/// A held lock; released when dropped or when the process ends, however it ends.
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

/// The same with all that can be said of the waiting.
///
/// # Errors
/// As [`take`], when patience ends.
pub fn take_patiently(name: &str, purpose: &str, patience: &mut Patience<'_>) -> Result<Lock> {
    let dir = state_dir();
    make(&dir)?;
    // An unprivileged run also respects root's lock: two runs disturb each other whoever started them.
    let mut files = Vec::new();
    let own = dir.join(name);
    let roots = Path::new(ROOT_DIR).join(name);
    if own != roots
        && is_default()
        && let Ok(file) = File::open(&roots)
    {
        patience.hold(&file, &roots, FlockOperation::NonBlockingLockExclusive)?;
        files.push(file);
    }
    let file = open(&own)?;
    patience.hold(&file, &own, FlockOperation::NonBlockingLockExclusive)?;
    sign(&file, purpose)?;
    files.push(file);
    Ok(Lock { _files: files })
}

/// Who holds a lock now; `None` where nobody does. Found without touching the lock.
pub fn holder(name: &str) -> Option<String> {
    let file = File::open(state_dir().join(name)).ok()?;
    let locker = holder::lockers(&file).into_iter().next()?;
    Some(holder::of(&file, locker.pid).words)
}

/// Makes the directory of locks; one that somebody else could have prepared is refused.
fn make(dir: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(dir)
        .with_context(|| format!("cannot make {} for the lock", dir.display()))?;
    trusted(dir)
}

/// Refuses a directory that somebody else could have prepared: a link in it would make us write elsewhere.
fn trusted(dir: &Path) -> Result<()> {
    let found = fs::symlink_metadata(dir).with_context(|| format!("cannot look at {}", dir.display()))?;
    ensure!(found.is_dir(), "{} is not a directory: remove it", dir.display());
    let own = rustix::process::geteuid().as_raw();
    ensure!(
        found.uid() == own && found.mode() & 0o022 == 0,
        "{} belongs to user {} with mode {:o}, so what lies in it cannot be trusted: remove it, or set XDG_RUNTIME_DIR",
        dir.display(),
        found.uid(),
        found.mode() & 0o7777
    );
    Ok(())
}

/// Opens a lock file of our own, made where there is none.
fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o644)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))
}

/// Writes who holds it into a lock's file, below the others who hold it as well.
fn sign(file: &File, purpose: &str) -> Result<()> {
    let own = std::process::id();
    let others = holder::lockers(file).into_iter().filter(|locker| locker.pid != own);
    let mut text: String =
        others.filter_map(|locker| holder::signature(file, locker.pid)).map(|line| line + "\n").collect();
    text.push_str(&format!("pid {own}, {purpose}"));
    file.set_len(0)?;
    file.write_all_at(text.as_bytes(), 0)?;
    Ok(())
}

#[cfg(test)]
mod tests;
