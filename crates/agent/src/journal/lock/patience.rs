//! Waiting for a lock: how long, and what latido reports and asks meanwhile.

use super::holder::{self, Holder};
use anyhow::{Context, Result};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use std::{
    fmt,
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The interval at which latido tries again to take a lock.
const LOOK: Duration = Duration::from_millis(50);

/// How long a latido that restores settings waits for holders that cannot forbid it.
const COURTESY: Duration = Duration::from_secs(1);

/// The same for all locks together: others may have made many.
const COURTESY_IN_ALL: Duration = Duration::from_secs(4);

/// Whom a lock that another process holds keeps away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binds {
    /// Every process.
    Always,
    /// Root, if any user can take the lock: it binds root only while root or a latido holds it. When root restores settings, it binds for
    /// the courtesy time at most.
    Latidos,
}

/// How long a process waits for locks.
pub struct Patience<'a> {
    begun: Instant,
    limit: Duration,
    stop: &'a dyn Fn() -> bool,
    tell: Option<&'a mut dyn FnMut(&Holder)>,
    /// The holders that were reported. A process waits at the gate and at the lock for the same holder, and several holders may follow each
    /// other.
    told: Vec<Holder>,
    undoes: bool,
    /// The rest of the courtesy time for all locks.
    courtesy: Duration,
    passed: Vec<String>,
}

/// A lock that another process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The holder, where it is visible from here.
    pub holder: Option<Holder>,
    /// The lock's file.
    pub path: PathBuf,
    /// What the holder does, in the words of a refusal: `is using`.
    pub doing: &'static str,
    /// Whether latido waited for it in vain.
    pub waited: bool,
}

impl std::error::Error for Busy {}

impl fmt::Display for Busy {
    /// Any user who may read the file may lock it: the text does not call such a holder a latido if it is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, doing) = (self.path.display(), self.doing);
        // A user who has already waited knows the option.
        let wait = if self.waited {
            "it did not end while latido waited; wait longer"
        } else {
            "wait until it has ended (--wait)"
        };
        let who = match &self.holder {
            Some(holder) if !holder.is_latido => {
                return write!(
                    f,
                    "the lock {path} is held by {}, which is not latido; {wait}, or end it: latido cannot start before",
                    holder.words
                );
            }
            Some(holder) => &holder.words,
            // The holder is in another PID namespace: /proc/locks does not show it here.
            None => "its name is not known: look outside this container",
        };
        write!(
            f,
            "another latido {doing} this machine ({who}); {wait}, or end it: two at once \
             would measure each other (lock {path})"
        )
    }
}

impl<'a> Patience<'a> {
    /// Waits for `limit` from now on, for all the locks together; zero means to try each once. latido calls `stop` at each failed try: if
    /// it returns true, the wait ends. `tell` receives each holder for which latido waits, once.
    pub fn of(limit: Duration, stop: &'a dyn Fn() -> bool, tell: Option<&'a mut dyn FnMut(&Holder)>) -> Self {
        Self {
            begun: Instant::now(),
            limit,
            stop,
            tell,
            told: Vec::new(),
            undoes: false,
            courtesy: COURTESY_IN_ALL,
            passed: Vec::new(),
        }
    }

    /// Waits not at all: a lock that is held is an error at once.
    pub fn none() -> Self {
        Self::of(Duration::ZERO, &|| false, None)
    }

    /// Marks that settings will be restored: then only root can keep root from it.
    pub fn undoing(&mut self) -> &mut Self {
        self.undoes = true;
        self
    }

    /// Returns messages about holders for which latido did not wait, each once.
    pub fn passed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.passed)
    }

    /// Whether it waits at all.
    pub fn waits(&self) -> bool {
        !self.limit.is_zero()
    }

    /// Takes a lock, or passes over holders that cannot forbid it.
    pub(super) fn hold(&mut self, file: &File, path: &Path, binds: Binds, how: FlockOperation) -> Result<()> {
        self.hold_unless(file, path, binds, "is using", || match flock(file, how) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        })
    }

    /// Tries until `had` returns true.
    pub(super) fn hold_unless(
        &mut self,
        file: &File,
        path: &Path,
        binds: Binds,
        doing: &'static str,
        mut had: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let courteous = binds == Binds::Latidos;
        let begun = Instant::now();
        while !had()? {
            let holders: Vec<Holder> =
                holder::lockers(file).iter().map(|locker| holder::of(file, locker.pid)).collect();
            // If no holder is visible, it may be a latido in another PID namespace.
            if courteous
                && !holders.is_empty()
                && holders.iter().all(|holder| !holder.is_latido && holder.uid != Some(0))
            {
                self.pass(path, &holders, ", which is not latido");
                return Ok(());
            }
            let holder = holders.iter().find(|holder| holder.is_latido).or(holders.first()).cloned();
            if (self.stop)() || self.begun.elapsed() >= self.limit {
                if !(courteous && self.undoes) {
                    return Err(Busy { holder, path: path.into(), doing, waited: self.waits() }.into());
                }
                if begun.elapsed() >= COURTESY.min(self.courtesy) {
                    self.pass(path, &holders, "");
                    break;
                }
            }
            if let Some(holder) = holder.filter(|holder| !self.told.contains(holder)) {
                if let Some(tell) = &mut self.tell {
                    tell(&holder);
                }
                self.told.push(holder);
            }
            thread::sleep(LOOK);
        }
        if courteous && self.undoes {
            self.courtesy = self.courtesy.saturating_sub(begun.elapsed());
        }
        Ok(())
    }

    /// Continues in spite of the holders, and keeps a message.
    fn pass(&mut self, path: &Path, holders: &[Holder], what: &str) {
        let unknown = "a process outside this container";
        let who = holders.first().map_or(unknown, |holder| &holder.words);
        let told = format!("the lock {} is held by {who}{what}: latido ignored this", path.display());
        if !self.passed.contains(&told) {
            self.passed.push(told);
        }
    }
}
