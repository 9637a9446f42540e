//! An event that latido defines at the entry of a kernel function (Documentation/trace/{kprobetrace,fprobetrace}.rst). It is defined for
//! the whole machine, whichever program records it.

use super::Instance;
use crate::machine::{Root, tracefs::Tracefs};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The prefix of every such event's group: like the name of its instance, in letters that a group may have.
const PREFIX: &str = "latido_";

/// The name of the event in its group.
const NAME: &str = "handler";

/// How often latido tries to remove it, every 10 ms: a trace that was just removed still keeps it in use.
const ROUNDS: u32 = 100;

/// The mechanism by which the kernel defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A breakpoint, or the hook of the function tracer if there is one at the entry.
    Kprobe,
    /// The hook of the function tracer (Linux 6.5 and later).
    Fprobe,
}

impl By {
    /// Returns the file of tracefs, and the letter of its definitions.
    fn file(self) -> (&'static str, char) {
        match self {
            Self::Kprobe => ("kprobe_events", 'p'),
            Self::Fprobe => ("dynamic_events", 'f'),
        }
    }

    /// Returns its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kprobe => "kprobe",
            Self::Fprobe => "fprobe",
        }
    }
}

/// An event that is defined or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    group: String,
    by: By,
}

impl Hook {
    /// Returns a new event for an instance. Nothing is defined yet.
    pub fn planned(instance: &Instance, by: By) -> Self {
        Self { group: instance.name().replace('-', "_"), by }
    }

    /// Returns the mechanism that defines it.
    pub fn by(&self) -> By {
        self.by
    }

    /// Returns the event's system and name.
    pub fn event(&self) -> (&str, &str) {
        (&self.group, NAME)
    }

    /// Checks that this kernel can define events in this way.
    ///
    /// # Errors
    /// It cannot. The error says what it needs.
    pub fn possible(tracefs: &Tracefs, by: By) -> Result<()> {
        let (file, _) = by.file();
        ensure!(
            tracefs.dir().join(file).exists(),
            "{} needs {file} (CONFIG_{}_EVENTS)",
            by.name(),
            by.name().to_uppercase()
        );
        // The file is there for other kinds of events too.
        let knows = || fs::read_to_string(tracefs.dir().join("README")).is_ok_and(|text| text.contains("f[:["));
        ensure!(by == By::Kprobe || knows(), "fprobe needs Linux 6.5 and CONFIG_FPROBE_EVENTS");
        Ok(())
    }

    /// Defines it at the entry of a function, and reads it back.
    ///
    /// # Errors
    /// The kernel refuses it, or does not have it afterwards.
    pub fn define(&self, tracefs: &Tracefs, symbol: &str) -> Result<()> {
        let (file, letter) = self.by.file();
        let path = tracefs.dir().join(file);
        let (group, name) = self.event();
        append(&path, &format!("{letter}:{group}/{name} {symbol}"))
            .map_err(|error| anyhow!("a {} at {symbol} was refused: {error}", self.by.name()))?;
        let found =
            self.line(&path)?.with_context(|| format!("{file} accepted {group}/{name} but does not list it"))?;
        let at = found.split_whitespace().nth(1).unwrap_or_default();
        let at = at.split(['+', '%']).next().unwrap_or_default();
        ensure!(at == symbol, "{group}/{name} was defined at {symbol} but is at `{at}`");
        Ok(())
    }

    /// Removes the event. Does nothing if it is gone.
    ///
    /// # Errors
    /// It is not an event of latido's, or another program records it.
    pub fn remove(&self) -> Result<()> {
        let own = self.group.strip_prefix(PREFIX);
        let named = own.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'_'));
        ensure!(named, "`{self}` is not an event of latido");
        let tracefs = Tracefs::find(&Root::default())?;
        let path = tracefs.dir().join(self.by.file().0);
        for round in 1.. {
            if !path.exists() || self.line(&path)?.is_none() {
                break;
            }
            match append(&path, &format!("-:{self}")) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if round >= ROUNDS => {
                    bail!("cannot remove {self} from {}: {error}: end the program that records it", path.display())
                }
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(())
    }

    /// Returns the event's line in the list of events.
    fn line(&self, path: &Path) -> Result<Option<String>> {
        let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        let own = format!(":{self} ");
        Ok(text.lines().find(|line| line.contains(&own)).map(str::to_owned))
    }

    /// Returns the directory of its files in an instance.
    pub fn dir(&self, instance: &Path) -> PathBuf {
        let (group, name) = self.event();
        instance.join("events").join(group).join(name)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{NAME}", self.group)
    }
}

/// Appends a line. Opening the file in any other way would remove the events of all programs.
fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(format!("{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal that names something else removes nothing, wherever it came from.
    #[test]
    fn what_is_no_event_of_ours_is_left_alone() {
        for group in ["", "latido_", "mine", "latido_1/../mine", "latido_mine", "kprobes"] {
            let hook = Hook { group: group.into(), by: By::Kprobe };
            let error = hook.remove().unwrap_err().to_string();
            assert!(error.contains("not an event of latido"), "{group}: {error}");
        }
        let own = Hook::planned(&Instance::planned(), By::Fprobe);
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<Hook>(&text).unwrap(), own);
        assert!(own.to_string().starts_with("latido_") && !own.to_string().contains('-'), "{own}");
    }

    /// Events of other programs are in the same list: latido finds its event by the whole name.
    #[test]
    fn its_line_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kprobe_events");
        fs::write(&path, "p:latido_1_23/handler other\np:latido_1_2/handler hpet_interrupt\n").unwrap();
        let hook = Hook { group: "latido_1_2".into(), by: By::Kprobe };
        assert_eq!(hook.line(&path).unwrap().as_deref(), Some("p:latido_1_2/handler hpet_interrupt"));
        let none = Hook { group: "latido_1".into(), by: By::Kprobe };
        assert_eq!(none.line(&path).unwrap(), None);
    }
}
