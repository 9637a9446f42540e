//! The programs that latido starts. latido finds each once, refuses it if others may replace it, and starts it by its full path.

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

/// Where a program that root starts searches for others if PATH names no trusted directory.
const PLAIN: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs found so far. latido searches again for missing or refused ones: a person may have fixed that.
static FOUND: Mutex<BTreeMap<String, Program>> = Mutex::new(BTreeMap::new());

/// A program that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    name: String,
    /// The full path, without links.
    path: PathBuf,
    sha256: String,
}

impl Program {
    /// Returns the command, not yet started. Its `argv[0]` is the requested name, since some programs act by their name.
    pub fn command(&self) -> Command {
        // It runs as latido does: latido has checked the file, and only root can replace it.
        let mut command = Command::new(&self.path);
        guarded(command.arg0(&self.name));
        command
    }

    /// Returns its entry in the record.
    pub fn record(&self) -> ProgramRecord {
        ProgramRecord {
            name: self.name.clone(),
            path: self.path.to_string_lossy().into_owned(),
            sha256: self.sha256.clone(),
        }
    }
}

/// Returns the command of a program that the user named, and its entry in the record. With a person behind sudo, the command finds the
/// program as that person does, the caller makes it run as that person, and there is no entry. Otherwise latido finds it. Returns `None` if
/// it does not exist.
///
/// # Errors
/// As [`find`].
pub fn of_person(name: &str, person: Option<&Person>) -> Result<Option<(Command, Option<ProgramRecord>)>> {
    if person.is_some() {
        // Runs as the person: the callers see to it, by `identity::start_as`.
        return Ok(Some((Command::new(name), None)));
    }
    Ok(find(name)?.map(|found| (found.command(), Some(found.record()))))
}

/// Checks that programs that this process starts as itself may read what is there. For root this means that only root can change what the
/// path leads to. If they are started as the person behind sudo, it may belong to that person.
///
/// # Errors
/// The part of the path that others may change.
pub fn out_of_reach(path: &Path) -> Result<()> {
    if latido_sys::identity::is_taken_on() { Ok(()) } else { rights::ours(path) }
}

/// Finds a program on PATH, or at its path if the word contains a slash. Returns `None` if it does not exist.
///
/// # Errors
/// latido runs as root and others may replace the program. The message names the part and the remedy.
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
        // A person who writes a path decides for that program. Any user may have set PATH.
        let trust = if named { Trust::Named(person()) } else { Trust::Searched };
        let dir = found.parent().unwrap_or(Path::new("/")).canonicalize()?;
        trust.whole(&path).and_then(|()| if named { Ok(()) } else { trust.whole(&dir) }).with_context(|| {
            format!("as root, latido does not start {}, which other users may replace", found.display())
        })?;
    }
    let sha256 = hash_of(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let program = Program { name: word.into(), path, sha256 };
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(word.into(), program.clone());
    Ok(Some(program))
}

/// Tells whether no such program exists here. A refused one does exist.
pub fn is_missing(word: &str) -> bool {
    matches!(find(word), Ok(None))
}

/// Makes a command that root starts search further programs only in trusted directories: `find` starts `grep`, a compiler its assembler.
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

/// Returns the SHA-256 of a file, in hexadecimal.
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

/// Returns the user who called sudo.
fn person() -> Option<u32> {
    env::var("SUDO_UID").ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second call must return the same program without a search, with its full path and the hash of the file.
    #[test]
    fn a_program_is_found_with_its_path_and_hash() {
        let sh = find("sh").unwrap().unwrap();
        assert_eq!(sh.record().path, Path::new("/bin/sh").canonicalize().unwrap().to_string_lossy());
        assert_eq!(sh.record().sha256, hash_of(Path::new("/bin/sh")).unwrap());
        assert!(FOUND.lock().unwrap().contains_key("sh"));
        assert_eq!(find("sh").unwrap(), Some(sh));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of(file.path()).unwrap(), abc, "FIPS 180-4's example");
        assert!(is_missing("sh-that-is-nowhere") && is_missing("/sh-that-is-nowhere"));
    }
}
