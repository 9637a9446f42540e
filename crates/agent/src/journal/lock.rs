//! One latido at a time on a machine: a lock file that names its holder.

mod holder;

use anyhow::{Context, Result, bail, ensure};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Where lock and journal are: `$LATIDO_STATE` (for tests), `/run/latido` for root, else the user's runtime directory.
pub fn state_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("LATIDO_STATE") {
        return dir.into();
    }
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return "/run/latido".into();
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

/// The held lock; released when dropped or when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<File>,
}

/// Takes a lock of the machine: `run` for a host's whole run, `lock` for an agent's cell.
///
/// # Errors
/// Another latido holds it (named with pid and purpose), or the state directory cannot be made.
pub fn take(name: &str, purpose: &str) -> Result<Lock> {
    let dir = state_dir();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&dir)
        .with_context(|| format!("cannot make {} for the lock", dir.display()))?;
    trusted(&dir)?;
    // An unprivileged run also respects root's lock: two runs disturb each other whoever started them.
    let mut files = Vec::new();
    let own = dir.join(name);
    let machine = Path::new("/run/latido").join(name);
    if own != machine
        && std::env::var_os("LATIDO_STATE").is_none()
        && let Ok(file) = File::open(&machine)
    {
        files.push(hold(file, &machine)?);
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o644)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&own)
        .with_context(|| format!("cannot open {}", own.display()))?;
    let mut file = hold(file, &own)?;
    file.set_len(0)?;
    write!(file, "pid {}, {purpose}", std::process::id())?;
    files.push(file);
    Ok(Lock { _files: files })
}

/// Takes a lock after the turn of whoever holds it, at most so long; `tell` hears of the holder while it waits.
///
/// # Errors
/// As [`take`] when the time is over, or what `tell` says.
pub fn wait(
    name: &str,
    purpose: &str,
    patience: std::time::Duration,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Lock> {
    let until = std::time::Instant::now() + patience;
    loop {
        let refused = match take(name, purpose) {
            Ok(lock) => return Ok(lock),
            Err(error) => error,
        };
        let Some(holder) = holder(name) else { return Err(refused) };
        if std::time::Instant::now() >= until {
            return Err(refused);
        }
        tell(&holder)?;
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Who holds a lock now; `None` where nobody does. Found without touching the lock.
pub fn holder(name: &str) -> Option<String> {
    let file = File::open(state_dir().join(name)).ok()?;
    let pid = holder::pid(&file)?;
    Some(holder::of(&file, pid).words)
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

fn hold(file: File, path: &Path) -> Result<File> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => bail!(refusal(holder::pid(&file).map(|pid| holder::of(&file, pid)), path)),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// Anybody who may read the file may lock it: who does so without being a latido is not called one.
fn refusal(holder: Option<holder::Holder>, path: &Path) -> String {
    let path = path.display();
    match holder {
        Some(holder) if !holder.is_latido => format!(
            "the lock {path} is held by {}, which is no latido; wait until it has ended, or end it: nothing of latido's \
             can begin before",
            holder.words
        ),
        Some(holder) => at_work(&holder.words, &path),
        // In another PID namespace: /proc/locks does not show it here.
        None => at_work("its name is not known: look outside this container", &path),
    }
}

fn at_work(who: &str, path: &dyn std::fmt::Display) -> String {
    format!(
        "another latido is at work on this machine ({who}); wait until it has ended, or end it: two at once would measure \
         each other (lock {path})"
    )
}
