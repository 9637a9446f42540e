//! A trace of latido's in addition to the kernel's: an instance of tracefs, which is made and removed as a directory
//! (Documentation/trace/ftrace.rst, Instances). Everything that was enabled in it ends with it.

use crate::machine::{Root, tracefs::Tracefs};
use anyhow::{Context, Result, ensure};
use latido_sys::clock::Clock::Monotonic;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The prefix of every such instance's name.
const PREFIX: &str = "latido-";

/// How often latido tries to remove it, every 10 ms: a reader that was just killed still keeps it open.
const ROUNDS: u32 = 100;

/// An instance that exists or will be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instance {
    name: String,
}

impl Instance {
    /// Returns a new instance with a unique name. Nothing is made yet.
    pub fn planned() -> Self {
        Self { name: format!("{PREFIX}{}-{}", std::process::id(), Monotonic.now()) }
    }

    /// Whether a name in the directory of instances belongs to a trace that a latido process other than `own` made.
    pub fn of_another(name: &str, own: u32) -> bool {
        let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        let numbers = parts.and_then(|(pid, at)| Some((pid.parse::<u32>().ok()?, at.parse::<u64>().ok()?)));
        numbers.is_some_and(|(pid, _)| pid != own)
    }

    /// Its name in the directory of instances.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the instance, and returns its directory.
    ///
    /// # Errors
    /// The kernel refuses it. The error gives the remedy.
    pub fn make(&self, tracefs: &Tracefs) -> Result<PathBuf> {
        let dir = self.place(tracefs.dir());
        fs::create_dir(&dir).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::OutOfMemory => "free some memory",
                io::ErrorKind::NotFound => "trace instances need Linux 3.10 or later with CONFIG_TRACING",
                _ => "run as root (sudo latido ...)",
            };
            anyhow::anyhow!("cannot make a trace instance, {}: {error}; {remedy}", dir.display())
        })?;
        Ok(dir)
    }

    /// Removes the instance with all its content. Does nothing if it is gone.
    ///
    /// # Errors
    /// It is not an instance of latido's, or another program has its files open.
    pub fn remove(&self) -> Result<()> {
        let own = self.name.strip_prefix(PREFIX);
        let named = own.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
        ensure!(named, "`{}` is not a trace of latido", self.name);
        let tracefs = Tracefs::find(&Root::default())?;
        remove(&self.place(tracefs.dir()))
    }

    /// Returns tracefs and the instance's directory.
    ///
    /// # Errors
    /// Tracefs is not available.
    pub fn dir(&self) -> Result<(Tracefs, PathBuf)> {
        let tracefs = Tracefs::find(&Root::default())?;
        let dir = self.place(tracefs.dir());
        Ok((tracefs, dir))
    }

    fn place(&self, tracefs: &Path) -> PathBuf {
        tracefs.join("instances").join(&self.name)
    }
}

fn remove(dir: &Path) -> Result<()> {
    for round in 1.. {
        match fs::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && round < ROUNDS => {
                thread::sleep(Duration::from_millis(10));
            }
            removed => {
                return removed.with_context(|| {
                    format!("cannot remove {}: end the program that has its files open (fuser -v)", dir.display())
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal that names something else removes nothing, wherever it came from.
    #[test]
    fn what_is_no_instance_of_ours_is_left_alone() {
        for name in ["", "latido-", "mine", "latido-1/../mine", "latido-mine", ".."] {
            let error = Instance { name: name.into() }.remove().unwrap_err().to_string();
            assert!(error.contains("not a trace of latido"), "{name}: {error}");
        }
        let own = Instance::planned();
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(text, format!("\"{}\"", own.name()));
        assert_eq!(serde_json::from_str::<Instance>(&text).unwrap(), own);
    }
}
