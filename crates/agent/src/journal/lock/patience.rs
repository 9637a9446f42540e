//! Waiting for a lock: how long, and what is said and asked meanwhile.

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

/// How often a lock that is held is tried again.
const LOOK: Duration = Duration::from_millis(50);

/// How long whoever puts settings back waits for those who cannot forbid it.
const COURTESY: Duration = Duration::from_secs(1);

/// The same for all locks together: others may have made many.
const COURTESY_IN_ALL: Duration = Duration::from_secs(4);

/// Whom a lock that somebody else holds keeps away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binds {
    /// Whoever comes.
    Always,
    /// Root, where anybody can take the lock: only while root or a latido holds it, and never for longer than courtesy
    /// from putting settings back.
    Latidos,
}

/// How long somebody waits for a turn.
pub struct Patience<'a> {
    begun: Instant,
    limit: Duration,
    stop: &'a dyn Fn() -> bool,
    tell: Option<&'a mut dyn FnMut(&Holder)>,
    /// Who was told: at the gate and behind it one waits for the same, and several may take turns.
    told: Vec<Holder>,
    undoes: bool,
    /// What is left of the courtesy for all locks.
    courtesy: Duration,
    passed: Vec<String>,
}

/// A lock that somebody else holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Who, where that can be seen from here.
    pub holder: Option<Holder>,
    /// The lock's file.
    pub path: PathBuf,
    /// What goes on, in the words of a refusal: `is at work on`.
    pub doing: &'static str,
    /// Whether it was waited for, in vain.
    pub waited: bool,
}

impl std::error::Error for Busy {}

impl fmt::Display for Busy {
    /// Anybody who may read the file may lock it: who does so without being a latido is not called one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, doing) = (self.path.display(), self.doing);
        // Whoever has waited knows how to wait.
        let wait = if self.waited {
            "it did not end while it was waited for; wait longer"
        } else {
            "wait until it has ended (--wait)"
        };
        let who = match &self.holder {
            Some(holder) if !holder.is_latido => {
                return write!(
                    f,
                    "the lock {path} is held by {}, which is no latido; {wait}, or end it: \
                     nothing of latido's can begin before",
                    holder.words
                );
            }
            Some(holder) => &holder.words,
            // In another PID namespace: /proc/locks does not show it here.
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
    /// So long from now on, for all the locks that it is used for together; nothing means to try each once. `stop` is
    /// asked at each try whether to give up, `tell` hears for whom it waits, each of them once.
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

    /// None at all: who finds the lock held gives up at once.
    pub fn none() -> Self {
        Self::of(Duration::ZERO, &|| false, None)
    }

    /// From now on it is to put settings back: nobody but root keeps root from that.
    pub fn undoing(&mut self) -> &mut Self {
        self.undoes = true;
        self
    }

    /// Who held a lock and was not waited for, for people; each is told once.
    pub fn passed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.passed)
    }

    /// Whether it waits at all.
    pub fn waits(&self) -> bool {
        !self.limit.is_zero()
    }

    /// Takes a lock, or passes by who cannot keep us from it.
    pub(super) fn hold(&mut self, file: &File, path: &Path, binds: Binds, how: FlockOperation) -> Result<()> {
        self.hold_unless(file, path, binds, "is at work on", || match flock(file, how) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        })
    }

    /// Tries until it is had.
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
            // Where none can be seen it may be a latido of another PID namespace.
            if courteous
                && !holders.is_empty()
                && holders.iter().all(|holder| !holder.is_latido && holder.uid != Some(0))
            {
                self.pass(path, &holders, ", which is no latido");
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

    /// Goes on in spite of them.
    fn pass(&mut self, path: &Path, holders: &[Holder], what: &str) {
        let unknown = "somebody outside this container";
        let who = holders.first().map_or(unknown, |holder| &holder.words);
        let told = format!("the lock {} is held by {who}{what}: that was passed over", path.display());
        if !self.passed.contains(&told) {
            self.passed.push(told);
        }
    }
}
