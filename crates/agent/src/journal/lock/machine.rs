//! The machine's own lock, in a fixed place wherever the state lies: many may measure, one alone may change settings.

use super::{ROOT_DIR, holder, make, open, patience::Patience, sign};
use anyhow::{Context, Result};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};
use std::{
    fs::File,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

const NAME: &str = "machine";

/// The directory of a user's own, before the user's number.
const OWN: &str = "latido-machine-";

/// The locks of other users in a directory; what somebody else could have put there in a user's name is not taken.
fn of_others(place: &Path, uid: u32) -> Vec<(File, PathBuf)> {
    let theirs = |entry: std::fs::DirEntry| {
        let owner: u32 = entry.file_name().to_str()?.strip_prefix(OWN)?.parse().ok()?;
        let dir = entry.metadata().ok()?;
        let sound = owner != uid && dir.is_dir() && dir.uid() == owner && dir.mode() & 0o022 == 0;
        let path = entry.path().join(NAME);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = sound.then(|| File::options().read(true).custom_flags(flags).open(&path).ok())??;
        file.metadata().ok().filter(|file| file.is_file() && file.uid() == owner).map(|_| (file, path))
    };
    std::fs::read_dir(place).into_iter().flatten().flatten().filter_map(theirs).collect()
}

/// What the machine is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// To measure on it as it is: others may as well.
    Measure,
    /// To change its settings: nobody else may measure or change any meanwhile.
    Change,
}

/// One hold of the machine's lock. Two of one process exclude each other as those of two processes do.
#[derive(Debug)]
pub struct Claim {
    files: Vec<(File, PathBuf)>,
}

impl Claim {
    /// Opens the lock: root's, and where that is not ours to make, one of our own besides.
    ///
    /// # Errors
    /// None of them can be opened.
    pub fn open() -> Result<Self> {
        // Not by $TMPDIR or $XDG_RUNTIME_DIR: everybody must mean the same files.
        Self::open_in(Path::new(ROOT_DIR), Path::new("/tmp"), rustix::process::geteuid().as_raw())
    }

    /// The same for this user, with root's file in one place and those of others in another.
    pub(super) fn open_in(root_dir: &Path, others: &Path, uid: u32) -> Result<Self> {
        let roots = root_dir.join(NAME);
        let made = |dir: &Path| make(dir).and_then(|()| open(&dir.join(NAME)));
        let mut files = Vec::new();
        let first = if uid == 0 { made(root_dir) } else { File::open(&roots).context("not there") };
        let failed = first.map(|file| files.push((file, roots))).is_err();
        // Somebody without rights may still be allowed to change a setting, and a root's /run may be read-only.
        if uid != 0 || failed {
            let dir = others.join(format!("{OWN}{uid}"));
            match made(&dir) {
                Ok(file) => files.push((file, dir.join(NAME))),
                Err(error) if files.is_empty() => return Err(error.context("the machine's lock")),
                Err(_) => {}
            }
        }
        // Those of users who came when root's was not there yet. Ours is made by now: of two who look at the same time
        // at least one sees the other's.
        files.extend(of_others(others, uid));
        Ok(Self { files })
    }

    /// A lock in another place, for tests.
    #[cfg(test)]
    pub fn at(path: &Path) -> Self {
        Self { files: vec![(open(path).unwrap(), path.into())] }
    }

    /// Takes it, or changes what it is held for; on an error it is held no more.
    ///
    /// # Errors
    /// [`super::Busy`]: somebody else measures, or changes settings, until patience ends.
    pub fn hold(&mut self, wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<()> {
        let how = match wanted {
            Use::Measure => FlockOperation::NonBlockingLockShared,
            Use::Change => FlockOperation::NonBlockingLockExclusive,
        };
        for (file, path) in &self.files {
            let lent = || holder::lockers(file).iter().any(|other| other.alone && holder::is_ancestor(other.pid));
            let had = patience.hold_unless(file, path, "is at work on", || match flock(file, how) {
                Ok(()) => Ok(true),
                // Who holds the machine alone has started us to work on it.
                Err(Errno::WOULDBLOCK) => Ok(lent()),
                Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
            });
            if let Err(error) = had {
                self.release();
                return Err(error);
            }
        }
        for (file, _) in &self.files {
            // Root's file is not everybody's to write; the kernel knows the holder all the same.
            let _ = sign(file, purpose);
        }
        Ok(())
    }

    /// Lets go of it.
    pub fn release(&mut self) {
        for (file, _) in &self.files {
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

/// How this process as a whole holds the machine.
struct Held {
    claim: Option<Claim>,
    /// How many hold it to measure.
    measuring: usize,
    /// How many hold it to change settings.
    changing: usize,
}

impl Held {
    /// For what it must be held, if for anything.
    fn needed(&self) -> Option<Use> {
        match (self.measuring, self.changing) {
            (0, 0) => None,
            (_, 0) => Some(Use::Measure),
            _ => Some(Use::Change),
        }
    }

    fn users(&mut self, of: Use) -> &mut usize {
        match of {
            Use::Measure => &mut self.measuring,
            Use::Change => &mut self.changing,
        }
    }
}

static HELD: Mutex<Held> = Mutex::new(Held { claim: None, measuring: 0, changing: 0 });

/// The machine, held by this process until the last of these is dropped.
#[derive(Debug)]
pub struct MachineTurn(Use);

/// Takes the machine's lock for this process. One that measures on it already may go on to change settings, where
/// nobody else measures.
///
/// # Errors
/// [`super::Busy`]: somebody else measures, or changes settings, until patience ends. The lock cannot be opened.
pub fn machine(wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<MachineTurn> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let before = held.needed();
    if before < Some(wanted) {
        let claim = match &mut held.claim {
            Some(claim) => claim,
            None => held.claim.insert(Claim::open()?),
        };
        if let Err(error) = claim.hold(wanted, purpose, patience) {
            // Whoever measures goes on; nobody but one that changes settings could have taken it meanwhile.
            let again = before.map(|before| claim.hold(before, purpose, &mut Patience::none()));
            if !matches!(again, Some(Ok(()))) {
                held.claim = None;
            }
            return Err(error);
        }
    }
    *held.users(wanted) += 1;
    Ok(MachineTurn(wanted))
}

impl Drop for MachineTurn {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *held.users(self.0) -= 1;
        match (held.needed(), &mut held.claim) {
            (None, _) => held.claim = None,
            // From alone to among others: never refused.
            (Some(Use::Measure), Some(claim)) if self.0 == Use::Change => {
                let _ = claim.hold(Use::Measure, "measuring", &mut Patience::none());
            }
            _ => {}
        }
    }
}
