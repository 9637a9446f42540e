//! The programs that latido starts: found once, refused where others may replace them, started by their whole path.

use anyhow::{Context, Result, bail};
use latido_model::{protocol::hex, record::ProgramRecord};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
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

/// Whether this process is the machine's root. The root of a user namespace is a person whose files are that person's own.
fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.is_empty() || map.split_whitespace().eq(["0", "0", "4294967295"]);
    rustix::process::geteuid().is_root() && whole
}

/// Whoever called sudo.
fn person() -> Option<u32> {
    env::var("SUDO_UID").ok()?.parse().ok()
}

/// To whom a program may belong.
#[derive(Clone, Copy)]
enum Trust {
    /// Found by a name: to root alone, and nobody else may put a program before it, not even into a directory with the
    /// sticky bit.
    Searched,
    /// Named by its path: to root or to the person behind sudo.
    Named(Option<u32>),
}

impl Trust {
    /// Whether nobody else may change a file, or any directory that leads to it.
    fn whole(self, path: &Path) -> Result<()> {
        path.ancestors().try_for_each(|part| self.part(part))
    }

    fn part(self, path: &Path) -> Result<()> {
        let found = path.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
        let (owner, mode) = (found.uid(), found.mode());
        let sticky = found.is_dir() && mode & 0o1000 != 0;
        let (person, shared) = match self {
            Self::Searched => (None, false),
            Self::Named(person) => (person, sticky),
        };
        let remedy = match self {
            Self::Searched => "take that out of PATH, or make it root's (chown root, chmod go-w)",
            Self::Named(_) => "make it yours alone (chown, chmod go-w)",
        };
        let path = path.display();
        if owner != 0 && person != Some(owner) {
            bail!("{path} belongs to user {owner}: {remedy}");
        }
        if mode & 0o002 != 0 && !shared {
            bail!("{path} may be written by everybody: {remedy}");
        }
        // What root owns in a sticky directory stays what it is: so the stores of Nix and Guix are kept.
        if mode & 0o020 != 0 && !sticky && has_others(found.gid(), person) {
            bail!("{path} may be written by group {}: {remedy}", found.gid());
        }
        Ok(())
    }
}

/// Whether anybody but root and a person is in a group, by group(5) and passwd(5). `/usr/local` is writable by `staff` on
/// older Debian, and nobody is in it; where everybody has a group of their own, what they write is writable by that.
fn has_others(group: u32, person: Option<u32>) -> bool {
    let (groups, accounts) =
        ["/etc/group", "/etc/passwd"].map(|file| fs::read_to_string(file).unwrap_or_default()).into();
    others(group, person, &groups, &accounts)
}

fn others(group: u32, person: Option<u32>, groups: &str, accounts: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(String::from).collect::<Vec<_>>();
    let of_group = |fields: &Vec<String>, at: usize| fields.get(at).is_some_and(|id| *id == group.to_string());
    let known = groups.lines().map(fields).find(|line| of_group(line, 2));
    let trusted = |line: &Vec<String>| {
        let uid = line.get(2).and_then(|uid| uid.parse().ok());
        uid.is_some_and(|uid: u32| uid == 0 || person == Some(uid))
    };
    let is_trusted = |name: &str| {
        name == "root"
            || accounts.lines().map(fields).any(|line| line.first().is_some_and(|n| n == name) && trusted(&line))
    };
    let member = |line: &Vec<String>| {
        line.get(3)
            .is_some_and(|names| names.split(',').map(str::trim).any(|name| !name.is_empty() && !is_trusted(name)))
    };
    let primary = accounts.lines().map(fields).any(|line| of_group(&line, 3) && !trusted(&line));
    group != 0 && (known.as_ref().is_none_or(member) || primary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_nobody_in_it_is_roots() {
        let groups = "root:x:0:mallory\nstaff:x:50:\nusers:x:100:\nwheel:x:10:root,alice\nadm:x:4:root\n";
        let accounts = "root:x:0:0::/root:/bin/sh\nbob:x:1000:100::/home/bob:/bin/sh\n";
        for (group, expected) in [(0, false), (50, false), (100, true), (10, true), (4, false), (61_234, true)] {
            assert_eq!(others(group, None, groups, accounts), expected, "{group}");
        }
        assert!(!others(100, Some(1000), groups, accounts), "the person's own group");
        assert!(
            others(100, Some(1001), groups, accounts) && others(10, Some(1000), groups, accounts),
            "of somebody else"
        );
    }

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
