//! The directory in which a load puts its files. Its size is bounded, and it is removed however the load ended.
//!
//! Its name is `latido-scratch-...`, in the directory for temporary files. The process that uses it holds its lock, which the kernel
//! releases when that process ends, even by SIGKILL. A directory without a locked owner is a leftover. Every latido that starts or ends a
//! load, or settles the journal of a crashed run, removes the leftovers of its user.

use crate::{person::Person, rights};
use anyhow::{Context, Result, ensure};
use latido_sys::{clock::Clock::Monotonic, identity};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// The beginning of the names.
const PREFIX: &str = "latido-scratch-";

/// The directory of one load. Dropping it removes it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Open only for its lock.
    _held: File,
}

impl Scratch {
    /// Makes one in the directory for temporary files, with room for that many bytes, after removing leftovers.
    ///
    /// # Errors
    /// There is no room, or the directory cannot be written.
    pub fn new(bytes: u64) -> Result<Self> {
        Self::within(&std::env::temp_dir(), bytes)
    }

    /// Makes one in another directory, after removing leftovers there.
    ///
    /// # Errors
    /// Others may move files there, or it cannot be written.
    pub fn at(base: &Path) -> Result<Self> {
        Self::within(base, 0)
    }

    fn within(base: &Path, bytes: u64) -> Result<Self> {
        rights::ours(base).with_context(|| {
            format!(
                "as root, latido writes nothing into {}, where other users could move it: name another directory with \
                 TMPDIR",
                base.display()
            )
        })?;
        sweep_in(base);
        room(base, bytes)?;
        let mut error = None;
        for attempt in 0..100 {
            match Self::make(base, attempt) {
                Ok(scratch) => return Ok(scratch),
                Err(why) => error = Some(why),
            }
        }
        Err(error.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
            .with_context(|| format!("cannot make a directory in {}", base.display()))
    }

    fn make(base: &Path, attempt: u32) -> io::Result<Self> {
        let name = format!("{PREFIX}{}-{}-{attempt}", std::process::id(), Monotonic.now());
        let path = base.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        // Before this takes the lock, another latido may take the directory for a leftover. Then the lock is refused or the directory is
        // gone, and the caller tries another name.
        let held = hold(&path)?;
        let (there, ours) = (fs::symlink_metadata(&path)?, held.metadata()?);
        if there.ino() != ours.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { path, _held: held })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Opens a directory and takes its lock without waiting.
fn hold(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Removes a directory into which a dying program may still write.
fn remove(path: &Path) {
    for _ in 0..20 {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            // The next latido removes what remains.
            _ => return,
        }
    }
}

/// Removes what dead processes of this user left in the directory for temporary files and in the directory for sockets.
pub fn sweep() {
    let mut bases = vec![std::env::temp_dir(), sockets()];
    bases.dedup();
    bases.iter().for_each(|base| sweep_in(base));
}

/// Returns the directory for the sockets of connections. Names there are short enough for them (unix(7): 108 bytes).
pub fn sockets() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // Behind sudo, root connects: its socket must not be in a directory that the person can rename.
    let runtime = runtime.filter(|dir| !identity::is_taken_on() && dir.is_dir());
    runtime.unwrap_or_else(|| "/tmp".into())
}

fn sweep_in(base: &Path) {
    if rights::ours(base).is_err() {
        return;
    }
    // Behind sudo, the files of this process belong to the person, unless it makes them as root.
    let person = Person::behind_sudo().filter(|_| identity::is_taken_on());
    let own = [Some(rustix::process::geteuid().as_raw()), person.map(|person| person.uid)];
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        // This keeps the lock until the directory is gone.
        let Ok(held) = hold(&path) else { continue };
        if held.metadata().is_ok_and(|found| own.contains(&Some(found.uid()))) {
            remove(&path);
        }
    }
}

/// Refuses to fill a file system: the data must leave half of the free space.
///
/// # Errors
/// There is less room.
pub fn room(dir: &Path, bytes: u64) -> Result<()> {
    let system =
        rustix::fs::statvfs(dir).with_context(|| format!("the free space of {} cannot be read", dir.display()))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    ensure!(
        free / 2 >= bytes,
        "{} has {} MiB free, but the load needs {} MiB and uses at most half of the free space: make it smaller, or \
         name another directory with TMPDIR",
        dir.display(),
        free >> 20,
        bytes.div_ceil(1 << 20)
    );
    Ok(())
}

/// Returns the type of the file system that contains a path (proc_pid_mountinfo(5)), for people.
pub fn filesystem(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let text = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let of_line = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = PathBuf::from(mount.split_whitespace().nth(4)?.replace("\\040", " "));
        path.starts_with(&point).then(|| (point, kind.split_whitespace().next().unwrap_or_default().to_string()))
    };
    // Of several mounts at one point, the last one is visible.
    let mounts = text.lines().filter_map(of_line);
    mounts.max_by_key(|(point, _)| point.components().count()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(base: &Path) -> Vec<String> {
        fs::read_dir(base).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn it_goes_with_its_owner_and_leftovers_go_with_the_next() {
        let base = tempfile::tempdir().unwrap();
        let leftover = base.path().join(format!("{PREFIX}1-2-3"));
        fs::create_dir_all(leftover.join("deep/er")).unwrap();
        fs::write(leftover.join("deep/er/file"), "x").unwrap();
        let other = base.path().join("somebody-elses");
        fs::create_dir(&other).unwrap();
        let first = Scratch::within(base.path(), 1).unwrap();
        let second = Scratch::within(base.path(), 1).unwrap();
        assert!(!leftover.exists(), "a leftover is removed");
        assert!(first.path().exists() && second.path().exists() && other.exists(), "what is in use stays");
        fs::write(first.path().join("file"), "x").unwrap();
        drop(first);
        assert_eq!(names(base.path()).len(), 2);
        drop(second);
        assert_eq!(names(base.path()), ["somebody-elses"]);
    }

    #[test]
    fn a_link_is_never_followed() {
        let (base, precious) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(precious.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink(precious.path(), base.path().join(format!("{PREFIX}9-9-9"))).unwrap();
        sweep_in(base.path());
        assert_eq!(names(precious.path()), ["file"]);
        assert_eq!(names(base.path()), [format!("{PREFIX}9-9-9")], "it was taken for a leftover");
    }

    #[test]
    fn a_file_system_is_not_filled() {
        let base = tempfile::tempdir().unwrap();
        let error = Scratch::within(base.path(), u64::MAX / 4).unwrap_err().to_string();
        assert!(error.contains("free") && error.contains("TMPDIR"), "{error}");
        assert!(names(base.path()).is_empty());
    }

    #[test]
    fn proc_is_proc() {
        assert_eq!(filesystem(Path::new("/proc/self")).as_deref(), Some("proc"));
    }
}
