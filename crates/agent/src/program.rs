//! The programs that latido starts: found once, refused where others may replace them, started by their whole path.

use crate::{
    person::Person,
    rights::{self, Trust, is_root},
};
use anyhow::{Context, Result};
use latido_model::{protocol::hex, record::ProgramRecord};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::File,
    io,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

/// The directories that a program of root's searches where PATH names none that can be trusted.
const PLAIN: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// What was found before. What was missing or refused is looked for again: a person may have mended it.
static FOUND: Mutex<BTreeMap<String, Program>> = Mutex::new(BTreeMap::new());

/// A program that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    name: String,
    /// Whole and without links.
    path: PathBuf,
    sha256: String,
}

impl Program {
    /// It, not yet started. It is called by the name that was asked for, since some do what their name says.
    pub fn command(&self) -> Command {
        // Runs as latido does: the file was looked at, and nobody but root can replace it.
        let mut command = Command::new(&self.path);
        guarded(command.arg0(&self.name));
        command
    }

    /// For the record.
    pub fn record(&self) -> ProgramRecord {
        ProgramRecord {
            name: self.name.clone(),
            path: self.path.to_string_lossy().into_owned(),
            sha256: self.sha256.clone(),
        }
    }
}

/// The command of a program of the person's: with a person behind sudo as that person finds it, whom the caller makes it run as; else
/// found by latido, with what the record keeps of it. `None` where there is none.
///
/// # Errors
/// As [`find`].
pub fn of_person(name: &str, person: Option<&Person>) -> Result<Option<(Command, Option<ProgramRecord>)>> {
    if person.is_some() {
        // Runs as the person: by `identity::start_as` of the callers.
        return Ok(Some((Command::new(name), None)));
    }
    Ok(find(name)?.map(|found| (found.command(), Some(found.record()))))
}

/// Whether programs that this process starts as itself may read what lies there: for root, that nobody else can change what
/// the path leads to. Behind sudo they are started as the person, and it may be the person's.
///
/// # Errors
/// The part of the path that others may change.
pub fn out_of_reach(path: &Path) -> Result<()> {
    if latido_sys::identity::is_taken_on() { Ok(()) } else { rights::ours(path) }
}

/// The program that PATH has for a name, or that a word with a slash names; `None` where there is none.
///
/// # Errors
/// As root: others may replace it, with what and the remedy.
pub fn find(word: &str) -> Result<Option<Program>> {
    if let Some(known) = FOUND.lock().unwrap_or_else(PoisonError::into_inner).get(word) {
        return Ok(Some(known.clone()));
    }
    let named = word.contains('/');
    let found = match named {
        true => Some(PathBuf::from(word)).filter(|path| is_executable(path)),
        false => search().into_iter().map(|dir| dir.join(word)).find(|path| is_executable(path)),
    };
    let Some(found) = found else { return Ok(None) };
    let path = found.canonicalize().with_context(|| format!("cannot find {}", found.display()))?;
    if is_root() {
        // A path that a person writes is that person's choice; PATH may be anybody's.
        let trust = if named { Trust::Named(person()) } else { Trust::Searched };
        let dir = found.parent().unwrap_or(Path::new("/")).canonicalize()?;
        trust
            .whole(&path)
            .and_then(|()| if named { Ok(()) } else { trust.whole(&dir) })
            .with_context(|| format!("as root latido does not start {}, which others may replace", found.display()))?;
    }
    let sha256 = hash_of(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let program = Program { name: word.into(), path, sha256 };
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(word.into(), program.clone());
    Ok(Some(program))
}

/// Whether there is no such program here; one that is refused is there.
pub fn is_missing(word: &str) -> bool {
    matches!(find(word), Ok(None))
}

/// Has a command of root's look for further programs in trusted directories alone: `find` starts `grep`, a compiler its
/// assembler.
pub fn guarded(command: &mut Command) -> &mut Command {
    if is_root() {
        let trusted = search()
            .into_iter()
            .filter(|dir| dir.canonicalize().is_ok_and(|dir| dir.is_absolute() && Trust::Searched.whole(&dir).is_ok()));
        let path = env::join_paths(trusted).ok().filter(|path| !path.is_empty());
        command.env("PATH", path.unwrap_or_else(|| OsString::from(PLAIN)));
    }
    command
}

/// The SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn hash_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

fn search() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whoever called sudo.
fn person() -> Option<u32> {
    env::var("SUDO_UID").ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same file is found again without looking, by its whole path and with the hash of what is started.
    #[test]
    fn a_program_is_found_with_its_path_and_hash() {
        let sh = find("sh").unwrap().unwrap();
        assert_eq!(sh.record().path, Path::new("/bin/sh").canonicalize().unwrap().to_string_lossy());
        assert_eq!(sh.record().sha256, hash_of(Path::new("/bin/sh")).unwrap());
        assert_eq!(find("sh").unwrap(), Some(sh));
        assert!(is_missing("sh-that-is-nowhere") && is_missing("/sh-that-is-nowhere"));
    }
}
