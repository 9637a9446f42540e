//! The machine's own lock, in a fixed place wherever the state lies: many may measure, one alone may change settings.

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

/// Beside it: everybody is at the gate until the machine is theirs, so that nobody overtakes one that waits to change
/// settings, and measurers cannot hold that one up by coming one before the other goes.
const GATE: &str = "gate";

/// The directory of root's lock that nobody else can open, within that of the lock for everybody.
const ROOTS: &str = "root";

/// The directory of a user's own, before the user's number.
const OWN: &str = "latido-machine-";

/// latido looks at the locks of so many others: each takes two descriptors, and a person with many numbers may make many of them.
const MOST_OTHERS: usize = 64;

/// A lock with its gate, which an older latido has not made.
#[derive(Debug)]
struct Place {
    file: File,
    path: PathBuf,
    gate: Option<(File, PathBuf)>,
    binds: Binds,
}

impl Place {
    /// In a directory of our own, which is made where there is none.
    fn made(dir: &Path, mode: u32) -> Result<Self> {
        make(dir)?;
        let (path, gate) = (dir.join(NAME), dir.join(GATE));
        let file = open(&path, mode)?;
        Ok(Self { file, path, gate: open(&gate, mode).ok().map(|file| (file, gate)), binds: Binds::Always })
    }

    /// Root's two: one among root's latidos, that nobody else can take, and one for everybody.
    fn of_root(dir: &Path) -> Result<Vec<Self>> {
        let everybodys = Self { binds: Binds::Latidos, ..Self::made(dir, EVERYBODYS)? };
        Ok(vec![Self::made(&dir.join(ROOTS), OURS)?, everybodys])
    }

    /// In the directory of somebody else, where it is there and that one's.
    fn of(dir: &Path, owner: u32, binds: Binds) -> Option<Self> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let open = |name: &str| {
            let file = File::options().read(true).custom_flags(flags).open(dir.join(name)).ok()?;
            file.metadata().ok().filter(|file| file.is_file() && file.uid() == owner).map(|_| (file, dir.join(name)))
        };
        let (file, path) = open(NAME)?;
        Some(Self { file, path, gate: open(GATE), binds })
    }

    /// Whether an ancestor of this process holds it, alone or among others: it waits for what it has started.
    fn lent(&self, alone: bool) -> bool {
        holder::lockers(&self.file).iter().any(|other| (other.alone || !alone) && holder::is_ancestor(other.pid))
    }
}

/// The locks of other users in a directory; what somebody else could have put there in a user's name is not taken.
fn of_others(dir: &Path, own: Account) -> Vec<Place> {
    let binds = if own.is_root { Binds::Latidos } else { Binds::Always };
    let theirs = |entry: std::fs::DirEntry| {
        // One name for each user: `007` and `+7` are numbers, too.
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(OWN)?;
        let owner = number.parse::<u32>().ok().filter(|owner| owner.to_string() == number)?;
        let dir = entry.metadata().ok()?;
        let sound = owner != own.uid && dir.is_dir() && dir.uid() == owner && dir.mode() & 0o022 == 0;
        sound.then(|| Place::of(&entry.path(), owner, binds))?
    };
    std::fs::read_dir(dir).into_iter().flatten().flatten().filter_map(theirs).take(MOST_OTHERS).collect()
}

/// What the machine is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// To measure on it as it is: others may as well.
    Measure,
    /// To change its settings: nobody else may measure or change any meanwhile.
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

/// One hold of the machine's lock. Two of one process exclude each other as those of two processes do.
#[derive(Debug)]
pub struct Claim {
    places: Vec<Place>,
    held: bool,
}

impl Claim {
    /// Opens the lock: root's, and where that is not ours to make, one of our own besides.
    ///
    /// # Errors
    /// None of them can be opened.
    pub fn open() -> Result<Self> {
        // Not by $TMPDIR or $XDG_RUNTIME_DIR: everybody must mean the same files.
        let root_dir = Path::new(ROOT_DIR);
        Self::open_in(root_dir, Path::new("/tmp"), Account::own(root_dir))
    }

    /// The same for this user, with root's files in one place and those of others in another.
    pub(super) fn open_in(root_dir: &Path, others: &Path, own: Account) -> Result<Self> {
        let beside = others.join(format!("{OWN}{}", own.uid));
        let mut places: Vec<Place> = if own.is_root {
            // A root's /run may be read-only.
            Place::of_root(root_dir).or_else(|_| Place::of_root(&beside)).context("the machine's lock")?
        } else {
            // Somebody without rights may still be allowed to change a setting.
            match (existing(root_dir), Place::made(&beside, EVERYBODYS)) {
                (None, Err(error)) => return Err(error.context("the machine's lock")),
                (roots, own) => roots.into_iter().chain(own.ok()).collect(),
            }
        };
        // Those of users who came when root's was not there yet. Ours is made by now: of two who look at the same time
        // at least one sees the other's.
        places.extend(of_others(others, own));
        Ok(Self { places, held: false })
    }

    /// How many locks it has, for tests.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// A lock in a directory of its own, for tests.
    #[cfg(test)]
    pub fn at(path: &Path) -> Self {
        Self { places: vec![Place::made(path.parent().unwrap(), OURS).unwrap()], held: false }
    }

    /// Takes it, or changes what it is held for; on an error it is held no more.
    ///
    /// # Errors
    /// [`super::Busy`]: somebody else measures, changes settings or waits to change them, until patience ends.
    pub fn hold(&mut self, wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<()> {
        // Who has it is past the gate. Where the kernel refuses another hold the former is lost, and we come anew.
        if !(self.held && self.take(wanted, &mut Patience::none()).is_ok()) {
            let had = self.queue(wanted, purpose, patience).and_then(|()| self.take(wanted, patience));
            for (gate, _) in self.places.iter().filter_map(|place| place.gate.as_ref()) {
                let _ = flock(gate, FlockOperation::Unlock);
            }
            had?;
        }
        for place in &self.places {
            // Root's file is not everybody's to write; the kernel knows the holder all the same.
            let _ = sign(&place.file, purpose);
        }
        Ok(())
    }

    /// Waits at the gates.
    fn queue(&self, wanted: Use, purpose: &str, patience: &mut Patience<'_>) -> Result<()> {
        // Who will not wait holds nobody up.
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

    /// Takes it past the gates; on an error it is held no more.
    fn take(&mut self, wanted: Use, patience: &mut Patience<'_>) -> Result<()> {
        let took = self.places.iter().try_for_each(|place| {
            let Place { file, path, binds, .. } = place;
            // Who holds the machine alone has started us to work on it.
            patience
                .hold_unless(file, path, *binds, "is at work on", || locked(file, path, wanted, || place.lent(true)))
        });
        self.held = true;
        if took.is_err() {
            self.release();
        }
        took
    }

    /// Lets go of it.
    pub fn release(&mut self) {
        for place in &self.places {
            let _ = flock(&place.file, FlockOperation::Unlock);
        }
        self.held = false;
    }
}

/// Root's lock as a user finds it; whoever may write to its directory is root.
fn existing(root_dir: &Path) -> Option<Place> {
    let open = |name: &str| File::open(root_dir.join(name)).ok().map(|file| (file, root_dir.join(name)));
    let (file, path) = open(NAME)?;
    Some(Place { file, path, gate: open(GATE), binds: Binds::Always })
}

/// Whether a lock is had, or lent to us by who has it.
fn locked(file: &File, path: &Path, how: Use, lent: impl Fn() -> bool) -> Result<bool> {
    match flock(file, how.lock()) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(lent()),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
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
            // From alone to among others: never refused.
            (Some(Use::Measure), Some(claim)) if self.0 == Use::Change => {
                let _ = claim.hold(Use::Measure, "measuring", &mut Patience::none());
            }
            _ => {}
        }
    }
}
