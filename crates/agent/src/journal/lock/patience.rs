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

/// How long somebody waits for a turn.
pub struct Patience<'a> {
    begun: Instant,
    limit: Duration,
    stop: &'a dyn Fn() -> bool,
    tell: Option<&'a mut dyn FnMut(&Holder)>,
    /// Who was told last: at the gate and behind it one waits for the same.
    told: Option<Holder>,
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
}

impl std::error::Error for Busy {}

impl fmt::Display for Busy {
    /// Anybody who may read the file may lock it: who does so without being a latido is not called one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, doing) = (self.path.display(), self.doing);
        let who = match &self.holder {
            Some(holder) if !holder.is_latido => {
                return write!(
                    f,
                    "the lock {path} is held by {}, which is no latido; wait until it has ended, or end it: nothing of \
                     latido's can begin before",
                    holder.words
                );
            }
            Some(holder) => &holder.words,
            // In another PID namespace: /proc/locks does not show it here.
            None => "its name is not known: look outside this container",
        };
        write!(
            f,
            "another latido {doing} this machine ({who}); wait until it has ended, or end it: two at once would measure \
             each other (lock {path})"
        )
    }
}

impl<'a> Patience<'a> {
    /// So long from now on, for all the locks that it is used for together; nothing means to try each once. `stop` is
    /// asked at each try whether to give up, `tell` hears for whom it waits, each of them once.
    pub fn of(limit: Duration, stop: &'a dyn Fn() -> bool, tell: Option<&'a mut dyn FnMut(&Holder)>) -> Self {
        Self { begun: Instant::now(), limit, stop, tell, told: None }
    }

    /// None at all: who finds the lock held gives up at once.
    pub fn none() -> Self {
        Self::of(Duration::ZERO, &|| false, None)
    }

    /// Whether it waits at all.
    pub(super) fn waits(&self) -> bool {
        !self.limit.is_zero()
    }

    /// Takes a lock.
    pub(super) fn hold(&mut self, file: &File, path: &Path, how: FlockOperation) -> Result<()> {
        self.hold_unless(file, path, "is at work on", || match flock(file, how) {
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
        doing: &'static str,
        mut had: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        while !had()? {
            let holder = holder::lockers(file).first().map(|locker| holder::of(file, locker.pid));
            if self.begun.elapsed() >= self.limit || (self.stop)() {
                return Err(Busy { holder, path: path.into(), doing }.into());
            }
            if let Some(holder) = holder.filter(|holder| self.told.as_ref() != Some(holder)) {
                if let Some(tell) = &mut self.tell {
                    tell(&holder);
                }
                self.told = Some(holder);
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
