//! The lines of the journal: latido reads them, writes them, and changes their owner. It never loses a line that it cannot read.

use super::{Borrowed, Custody};
use anyhow::{Context, Result};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The boot it belongs to; after a reboot it is void.
    pub boot: String,
    /// Who wrote it. Recovery undoes all entries but `manual` ones.
    pub owner: Custody,
    /// What was applied.
    pub what: Borrowed,
}

/// A line as it was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// An entry.
    Entry(Entry),
    /// The bytes of a line that another version of latido, or a person, wrote.
    Unreadable(Vec<u8>),
}

impl Line {
    /// Returns the boot to which it belongs, where that is readable.
    pub fn boot(&self) -> Option<String> {
        match self {
            Self::Entry(entry) => Some(entry.boot.clone()),
            Self::Unreadable(bytes) => {
                let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
                Some(value.get("boot")?.as_str()?.to_string())
            }
        }
    }
}

/// Returns the lines of the journal, oldest first, and warnings about it.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read(path: &Path) -> Result<(Vec<Line>, Vec<String>)> {
    let text = match bytes(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the journal {}", path.display())),
    };
    let (mut lines, mut told) = (Vec::new(), Vec::new());
    for bytes in text.split_inclusive(|byte| *byte == b'\n').filter(|bytes| !bytes.trim_ascii().is_empty()) {
        match serde_json::from_slice(bytes) {
            Ok(entry) => lines.push(Line::Entry(entry)),
            Err(_) if bytes.ends_with(b"\n") => lines.push(Line::Unreadable(bytes.trim_ascii_end().to_vec())),
            // Only the last line can be incomplete. latido did not act on it: it applies something only after the line is whole.
            Err(_) => told.push(format!("latido dropped an incomplete line of the journal {}", path.display())),
        }
    }
    Ok((lines, told))
}

/// Reads a plain file's bytes. A pipe or a device in its place would block latido for ever.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a plain file: remove it"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Gives the picked entries another owner, all at once. The first line has the index 0.
///
/// # Errors
/// The file cannot be read or written. No entry's owner has changed.
pub(super) fn hand_over(path: &Path, picked: &dyn Fn(usize, &Entry) -> bool, owner: Custody) -> Result<()> {
    let (mut lines, _) = read(path)?;
    if lines.is_empty() {
        // The journal was opened, but nothing was changed.
        return rewrite(path, &lines);
    }
    let mut changed = false;
    for (index, line) in lines.iter_mut().enumerate() {
        if let Line::Entry(entry) = line
            && picked(index, entry)
        {
            entry.owner = owner;
            changed = true;
        }
    }
    if changed {
        rewrite(path, &lines)?;
        crate::fault::point("agent");
    }
    Ok(())
}

/// Replaces the journal by these lines atomically: a crash leaves the old one or the new one.
///
/// # Errors
/// The file cannot be written.
pub(super) fn rewrite(path: &Path, lines: &[Line]) -> Result<()> {
    if lines.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove the journal {}", path.display()))
            }
            _ => Ok(()),
        };
    }
    let mut text = Vec::new();
    for line in lines {
        match line {
            Line::Entry(entry) => serde_json::to_writer(&mut text, entry)?,
            Line::Unreadable(bytes) => text.extend_from_slice(bytes),
        }
        text.push(b'\n');
    }
    let next = path.with_extension("next");
    let write = || -> std::io::Result<()> {
        // The file must be new, and no link.
        match fs::remove_file(&next) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&next)?;
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(&next, path)
    };
    write().with_context(|| format!("cannot write the journal {}", path.display()))
}
