//! The cache of fetched and built kernels: a directory that the user may remove at any time.

use crate::person::Person;
use anyhow::{Context, Result};
use latido_agent::program;
use rustix::fs::{FlockOperation, flock};
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// The cache, or a part of it, locked by this process. Another process uses what this one has made.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    _lock: File,
}

impl Cache {
    /// Opens the cache: `$LATIDO_LAB`, else `latido/lab` in the user's cache (behind sudo the cache of the user who called it). Waits for
    /// another process that fills it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open() -> Result<Self> {
        Self::held(place()?, "lock")
    }

    /// Opens the place where the kernel of this key is built. Other processes can fetch and build meanwhile.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn building(key: &str) -> Result<Self> {
        Self::held(place()?.join("builds"), &format!("{key}.lock"))
    }

    fn held(dir: PathBuf, lock: &str) -> Result<Self> {
        fs::create_dir_all(&dir)
            .with_context(|| format!("making the laboratory's cache {}{}", dir.display(), remedy()))?;
        program::out_of_reach(&dir)
            .with_context(|| format!("latido as root builds and boots nothing in {}{}", dir.display(), remedy()))?;
        let path = dir.join(lock);
        let lock = File::create(&path).with_context(|| format!("{}", path.display()))?;
        flock(&lock, FlockOperation::LockExclusive).with_context(|| format!("waiting for {}", path.display()))?;
        Ok(Self { dir, _lock: lock })
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the link to the newest tree of a name.
    pub fn newest(&self, name: &str) -> PathBuf {
        self.dir.join("newest").join(name)
    }

    /// Returns an empty directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn empty(&self, name: &str) -> Result<PathBuf> {
        let new = self.dir.join(name);
        if new.exists() {
            fs::remove_dir_all(&new).with_context(|| format!("{}", new.display()))?;
        }
        fs::create_dir_all(&new).with_context(|| format!("{}", new.display()))?;
        Ok(new)
    }
}

/// Returns the path of the cache.
///
/// # Errors
/// No environment variable and no home directory name a place.
fn place() -> Result<PathBuf> {
    place_from(|name| env::var_os(name), Person::behind_sudo().map(Person::home))
}

/// Returns the path of the cache. `behind_sudo` is the home of the user who called sudo, if there is one: `$HOME` is then root's.
fn place_from(env: impl Fn(&str) -> Option<OsString>, behind_sudo: Option<Option<PathBuf>>) -> Result<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = set("LATIDO_LAB") {
        return Ok(dir);
    }
    let home = || match behind_sudo {
        Some(home) => home,
        None => set("HOME"),
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(home()?.join(".cache")));
    Ok(cache
        .context(
            "neither LATIDO_LAB, XDG_CACHE_HOME nor a home directory says where to keep kernels: name a directory \
             with LATIDO_LAB",
        )?
        .join("latido/lab"))
}

/// Returns the remedy where the cache cannot be made or locked.
fn remedy() -> String {
    match Person::behind_sudo() {
        Some(person) => format!(
            "; latido works there as user {}, who called sudo: name a directory of theirs, sudo env LATIDO_LAB=DIR latido ...",
            person.uid
        ),
        None => "; name another directory with LATIDO_LAB".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind sudo the cache belongs to the user who called it: `$HOME` is root's, and that user can reach nothing there.
    #[test]
    fn the_cache_is_the_persons() {
        let place = |env: &[(&str, &str)], behind: Option<Option<&str>>| {
            let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            place_from(env, behind.map(|home| home.map(PathBuf::from))).map(|path| path.display().to_string())
        };
        let all = [("LATIDO_LAB", "/l"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/root")];
        assert_eq!(place(&all, Some(Some("/home/ana"))).unwrap(), "/l");
        assert_eq!(place(&all[1..], Some(Some("/home/ana"))).unwrap(), "/x/latido/lab");
        assert_eq!(place(&all[2..], Some(Some("/home/ana"))).unwrap(), "/home/ana/.cache/latido/lab");
        assert_eq!(place(&all[2..], None).unwrap(), "/root/.cache/latido/lab");
        let nowhere = place(&all[2..], Some(None)).unwrap_err().to_string();
        assert!(nowhere.contains("LATIDO_LAB"), "{nowhere}");
    }
}
