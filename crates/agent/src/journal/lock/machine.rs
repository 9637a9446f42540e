//! The machine's own lock, in a fixed place wherever the state lies: many may measure, one alone may change settings.

use super::{ROOT_DIR, holder, make, open, patience::Patience, sign};
use anyhow::{Context, Result};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

const NAME: &str = "machine";

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
        let (uid, roots) = (rustix::process::geteuid(), Path::new(ROOT_DIR).join(NAME));
        let made = |dir: &Path| make(dir).and_then(|()| open(&dir.join(NAME)));
        let mut files = Vec::new();
        let first = if uid.is_root() { made(Path::new(ROOT_DIR)) } else { File::open(&roots).context("not there") };
        let failed = first.map(|file| files.push((file, roots))).is_err();
        // Somebody without rights may still be allowed to change a setting, and a root's /run may be read-only.
        if !uid.is_root() || failed {
            // Not by $TMPDIR or $XDG_RUNTIME_DIR: everybody must mean the same file.
            let dir = PathBuf::from(format!("/tmp/latido-machine-{}", uid.as_raw()));
            match made(&dir) {
                Ok(file) => files.push((file, dir.join(NAME))),
                Err(error) if files.is_empty() => return Err(error.context("the machine's lock")),
                Err(_) => {}
            }
        }
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
pub struct Machine(Use);

/// Takes the machine's lock for this process. One that measures on it already may go on to change settings, where
/// nobody else measures.
///
/// # Errors
/// [`super::Busy`]: somebody else measures, or changes settings, until patience ends. The lock cannot be opened.
pub fn machine(wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<Machine> {
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
    Ok(Machine(wanted))
}

/// Who has the machine now, in words; `None` where nobody does.
pub fn machine_holder() -> Option<String> {
    let claim = Claim::open().ok()?;
    let first = |(file, _): &(File, PathBuf)| holder::lockers(file).first().map(|it| holder::of(file, it.pid).words);
    claim.files.iter().find_map(first)
}

impl Drop for Machine {
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
