//! Where fetched and built kernels are kept: a directory that may be removed at any time.

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// The cache, or a part of it, held by this process: what one makes another uses.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    _lock: File,
}

impl Cache {
    /// `$LATIDO_LAB`, else `latido/lab` of the user's cache; waits for another that fills it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open() -> Result<Self> {
        Self::held(place()?, "lock")
    }

    /// The place where the kernel of this key is built: others go on fetching and building meanwhile.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn building(key: &str) -> Result<Self> {
        Self::held(place()?.join("builds"), &format!("{key}.lock"))
    }

    fn held(dir: PathBuf, lock: &str) -> Result<Self> {
        fs::create_dir_all(&dir).with_context(|| format!("making the laboratory's cache {}", dir.display()))?;
        let path = dir.join(lock);
        let lock = File::create(&path).with_context(|| format!("{}", path.display()))?;
        flock(&lock, FlockOperation::LockExclusive).with_context(|| format!("waiting for {}", path.display()))?;
        Ok(Self { dir, _lock: lock })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the newest of a name is linked.
    pub fn newest(&self, name: &str) -> PathBuf {
        self.dir.join("newest").join(name)
    }

    /// A directory with nothing in it.
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

/// The directory's path.
///
/// # Errors
/// Nobody says where it is to be.
fn place() -> Result<PathBuf> {
    if let Some(dir) = env::var_os("LATIDO_LAB") {
        return Ok(dir.into());
    }
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    Ok(cache
        .context("neither LATIDO_LAB, XDG_CACHE_HOME nor HOME says where kernels are to be kept")?
        .join("latido/lab"))
}
