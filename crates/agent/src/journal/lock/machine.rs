//! The lock of the machine, in a fixed place wherever the state directory is: many may measure, but only one process may change settings.

use super::{
    Account, EVERYBODYS, OURS, ROOT_DIR, holder, make, open,
    patience::{Binds, Patience},
    sign,
};
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

/// The gate next to the lock: every process waits here until it has the machine. So no process overtakes one that waits to change settings,
/// and measuring processes cannot block that one by overlapping each other.
const GATE: &str = "gate";

/// The directory of root's private lock, within that of the lock for everybody.
const ROOTS: &str = "root";

/// The prefix of a user's directory; the user's number follows.
const OWN: &str = "latido-machine-";

/// The most locks of other users that latido opens: each takes two descriptors, and a person with many numbers may make many.
const MOST_OTHERS: usize = 64;

/// A lock with its gate. An older latido makes no gate.
#[derive(Debug)]
struct Place {
    file: File,
    path: PathBuf,
    gate: Option<(File, PathBuf)>,
    binds: Binds,
}

impl Place {
    /// Opens the lock in a directory of this user, and makes the directory if necessary.
    fn made(dir: &Path, mode: u32) -> Result<Self> {
        make(dir)?;
        let (path, gate) = (dir.join(NAME), dir.join(GATE));
        let file = open(&path, mode)?;
        Ok(Self { file, path, gate: open(&gate, mode).ok().map(|file| (file, gate)), binds: Binds::Always })
    }

    /// Opens root's two locks: one for root's latidos only, that no other user can open, and one for everybody.
    fn of_root(dir: &Path) -> Result<Vec<Self>> {
        let everybodys = Self { binds: Binds::Latidos, ..Self::made(dir, EVERYBODYS)? };
        Ok(vec![Self::made(&dir.join(ROOTS), OURS)?, everybodys])
    }

    /// Opens the lock in another user's directory, if it exists and belongs to that user.
    fn of(dir: &Path, owner: u32, binds: Binds) -> Option<Self> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let open = |name: &str| {
            let file = File::options().read(true).custom_flags(flags).open(dir.join(name)).ok()?;
            file.metadata().ok().filter(|file| file.is_file() && file.uid() == owner).map(|_| (file, dir.join(name)))
        };
        let (file, path) = open(NAME)?;
        Some(Self { file, path, gate: open(GATE), binds })
    }

    /// Whether an ancestor of this process holds it, exclusively or shared: the ancestor waits for what it has started.
    fn lent(&self, alone: bool) -> bool {
        holder::lockers(&self.file).iter().any(|other| (other.alone || !alone) && holder::is_ancestor(other.pid))
    }
}

/// Opens the locks of other users in a directory. It skips what a third user could have put there in a user's name.
fn of_others(dir: &Path, own: Account) -> Vec<Place> {
    let binds = if own.is_root { Binds::Latidos } else { Binds::Always };
    let theirs = |entry: std::fs::DirEntry| {
        // Each user has one name: `007` and `+7` are numbers too.
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(OWN)?;
        let owner = number.parse::<u32>().ok().filter(|owner| owner.to_string() == number)?;
        let dir = entry.metadata().ok()?;
        let sound = owner != own.uid && dir.is_dir() && dir.uid() == owner && dir.mode() & 0o022 == 0;
        sound.then(|| Place::of(&entry.path(), owner, binds))?
    };
    std::fs::read_dir(dir).into_iter().flatten().flatten().filter_map(theirs).take(MOST_OTHERS).collect()
}

/// What a process wants the machine for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// To measure on it as it is: others may as well.
    Measure,
    /// To change its settings. No other process may measure or change settings meanwhile.
    Change,
}

impl Use {
    fn lock(self) -> FlockOperation {
        match self {
            Self::Measure => FlockOperation::NonBlockingLockShared,
            Self::Change => FlockOperation::NonBlockingLockExclusive,
        }
    }
}

/// One use of the machine's lock. Two claims of one process exclude each other like those of two processes.
#[derive(Debug)]
pub struct Claim {
    places: Vec<Place>,
    held: bool,
}

impl Claim {
    /// Opens root's lock, and where latido cannot make that, also a lock of this user.
    ///
    /// # Errors
    /// None of them can be opened.
    pub fn open() -> Result<Self> {
        // The paths do not depend on $TMPDIR or $XDG_RUNTIME_DIR: all processes must use the same files.
        let root_dir = Path::new(ROOT_DIR);
        Self::open_in(root_dir, Path::new("/tmp"), Account::own(root_dir))
    }

    /// Opens the locks for this user, with root's files in one place and those of others in another.
    pub(super) fn open_in(root_dir: &Path, others: &Path, own: Account) -> Result<Self> {
        let beside = others.join(format!("{OWN}{}", own.uid));
        let mut places: Vec<Place> = if own.is_root {
            // Root's /run may be read-only.
            Place::of_root(root_dir).or_else(|_| Place::of_root(&beside)).context("the machine's lock")?
        } else {
            // A user without rights may still be allowed to change a setting.
            match (existing(root_dir), Place::made(&beside, EVERYBODYS)) {
                (None, Err(error)) => return Err(error.context("the machine's lock")),
                (roots, own) => roots.into_iter().chain(own.ok()).collect(),
            }
        };
        // These are the locks of users who came before root's lock existed. This process has already made its own: if two look at the same
        // time, at least one sees the lock of the other.
        places.extend(of_others(others, own));
        Ok(Self { places, held: false })
    }

    /// Counts its locks, for tests.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns a lock in a separate directory, for tests.
    #[cfg(test)]
    pub fn at(path: &Path) -> Self {
        Self { places: vec![Place::made(path.parent().unwrap(), OURS).unwrap()], held: false }
    }

    /// Takes the lock, or changes its use. After an error the claim no longer holds it.
    ///
    /// # Errors
    /// [`super::Busy`]: another process measures, changes settings or waits to change them, until patience ends.
    pub fn hold(&mut self, wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<()> {
        // A claim that holds the lock is past the gate. Where the kernel refuses to change the lock, it is lost, and the claim queues
        // again.
        if !(self.held && self.take(wanted, &mut Patience::none()).is_ok()) {
            let had = self.queue(wanted, purpose, patience).and_then(|()| self.take(wanted, patience));
            for (gate, _) in self.places.iter().filter_map(|place| place.gate.as_ref()) {
                let _ = flock(gate, FlockOperation::Unlock);
            }
            had?;
        }
        for place in &self.places {
            // Not every user may write to root's file, but the kernel knows the holder all the same.
            let _ = sign(&place.file, purpose);
        }
        Ok(())
    }

    /// Waits at the gates.
    fn queue(&self, wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<()> {
        // A process that will not wait must block no other.
        let how = if patience.waits() { wanted } else { Use::Measure };
        for place in &self.places {
            let Some((gate, path)) = &place.gate else { continue };
            patience
                .hold_unless(gate, path, place.binds, "waits for", || locked(gate, path, how, || place.lent(false)))?;
            if how == Use::Change {
                let _ = sign(gate, purpose);
            }
        }
        Ok(())
    }

    /// Takes the lock after the gates. After an error the claim no longer holds it.
    fn take(&mut self, wanted: Use, patience: &mut Patience<'_>) -> Result<()> {
        let took = self.places.iter().try_for_each(|place| {
            let Place { file, path, binds, .. } = place;
            // An ancestor that holds the machine exclusively has started this process to work on it.
            patience.hold_unless(file, path, *binds, "is using", || locked(file, path, wanted, || place.lent(true)))
        });
        self.held = true;
        if took.is_err() {
            self.release();
        }
        took
    }

    /// Releases the lock.
    pub fn release(&mut self) {
        for place in &self.places {
            let _ = flock(&place.file, FlockOperation::Unlock);
        }
        self.held = false;
    }
}

/// Opens root's lock as a user. Only root can write to its directory.
fn existing(root_dir: &Path) -> Option<Place> {
    let open = |name: &str| File::open(root_dir.join(name)).ok().map(|file| (file, root_dir.join(name)));
    let (file, path) = open(NAME)?;
    Some(Place { file, path, gate: open(GATE), binds: Binds::Always })
}

/// Whether this process has a lock, or an ancestor that holds it lends it.
fn locked(file: &File, path: &Path, how: Use, lent: impl Fn() -> bool) -> Result<bool> {
    match flock(file, how.lock()) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(lent()),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// How this process as a whole uses the machine.
struct Held {
    claim: Option<Claim>,
    /// How many of its parts measure.
    measuring: usize,
    /// How many of its parts change settings.
    changing: usize,
}

impl Held {
    /// Returns the use for which the lock is needed, if any.
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

/// The lock of the machine. This process holds it until the last of these is dropped.
#[derive(Debug)]
pub struct MachineTurn(Use);

/// Takes the machine's lock for this process. A process that already measures may go on to change settings, if no other process measures.
///
/// # Errors
/// [`super::Busy`]: another process measures, or changes settings, until patience ends. Or the lock cannot be opened.
pub fn machine(wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<MachineTurn> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let before = held.needed();
    if before < Some(wanted) {
        let claim = match &mut held.claim {
            Some(claim) => claim,
            None => held.claim.insert(Claim::open()?),
        };
        if let Err(error) = claim.hold(wanted, purpose, patience) {
            // A process that measures continues to do so. Only a process that changes settings could have taken the lock meanwhile.
            let again = before.map(|before| claim.take(before, &mut Patience::none()));
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
            // The kernel never refuses to turn an exclusive lock into a shared one.
            (Some(Use::Measure), Some(claim)) if self.0 == Use::Change => {
                let _ = claim.hold(Use::Measure, "measuring", &mut Patience::none());
            }
            _ => {}
        }
    }
}
