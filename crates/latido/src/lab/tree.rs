//! A kernel's tree in the cache: its description, the kernel in it, and how latido puts it there as a whole.

use super::sealed;
use anyhow::{Context, Result};
use latido_model::protocol::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A kernel that the laboratory can boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The package's name; for a file its name without the directory; for a built kernel the source's name and the recipe.
    pub package: String,
    /// Its version; empty for a file.
    pub version: String,
    /// The SHA-256 of the package or the file; for a built kernel that of the kernel.
    pub sha256: String,
    /// The kernel's own file.
    #[serde(skip)]
    pub vmlinuz: PathBuf,
    /// The package's tree; `None` for a file.
    #[serde(skip)]
    pub tree: Option<PathBuf>,
}

/// The file in a tree that describes it.
const ABOUT: &str = "package.json";

/// Reads the description of a tree and finds its kernel.
pub(super) fn unpacked(link: &Path) -> Result<Fetched> {
    let tree = fs::canonicalize(link).with_context(|| format!("{}", link.display()))?;
    let text = fs::read(tree.join(ABOUT)).with_context(|| format!("{}", tree.join(ABOUT).display()))?;
    let about: Fetched = serde_json::from_slice(&text).with_context(|| format!("{}", tree.display()))?;
    let boot = tree.join("boot");
    let files = fs::read_dir(&boot).with_context(|| format!("{}", boot.display()))?.flatten();
    let vmlinuz = files.map(|file| file.path()).find(|path| name(path).starts_with("vmlinuz-"));
    let vmlinuz = vmlinuz.with_context(|| format!("the package in {} has no kernel", tree.display()))?;
    Ok(Fetched { vmlinuz, tree: Some(tree), ..about })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Replaces a link in one step.
pub(super) fn renew(link: &Path, to: &Path) -> Result<()> {
    let dir = link.parent().context("a link lies somewhere")?;
    fs::create_dir_all(dir)?;
    let new = dir.join("new");
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink(to, &new)?;
    fs::rename(&new, link).with_context(|| format!("{}", link.display()))
}

/// Writes the description of a tree, and moves the tree to its place in one step.
pub(super) fn keep(new: &Path, about: &Fetched, tree: &Path) -> Result<()> {
    fs::write(new.join(ABOUT), serde_json::to_vec(about)?).with_context(|| format!("{}", new.display()))?;
    fs::create_dir_all(tree.parent().context("a tree lies somewhere")?)?;
    fs::rename(new, tree).with_context(|| format!("{}", tree.display()))
}

/// Returns the SHA-256 of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash(path: &Path) -> Result<String> {
    let mut file = sealed::file(path)?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash).with_context(|| format!("{}", path.display()))?;
    Ok(hex(&hash.finalize()))
}
