//! Kernels of Debian's packages: downloaded and unpacked into the cache; nothing is installed.

use super::{
    apt::{Apt, Package, output},
    build,
    cache::Cache,
    kernel::{Kernel, Source},
};
use anyhow::{Context, Result};
use latido_model::protocol::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// A kernel that can be booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The package's name; a file's path; of a kernel that was built its source's name, and what of.
    pub package: String,
    /// Its version; empty of a file.
    pub version: String,
    /// The SHA-256 of the package or the file; of a kernel that was built that of the kernel.
    pub sha256: String,
    /// The kernel's own file.
    #[serde(skip)]
    pub vmlinuz: PathBuf,
    /// The package's tree; absent of a file.
    #[serde(skip)]
    pub tree: Option<PathBuf>,
}

/// What a package says of itself in its tree.
const ABOUT: &str = "package.json";

/// The kernel as it is in the cache, fetched where it is not; `again` looks for a newer one.
///
/// # Errors
/// It cannot be had, with the remedy.
pub fn kernel(kernel: &Kernel, again: bool, mut say: impl FnMut(&str)) -> Result<Fetched> {
    match kernel.source()? {
        Source::Image(path) => Ok(Fetched {
            package: path.display().to_string(),
            sha256: hash(path)?,
            vmlinuz: path.into(),
            ..Fetched::default()
        }),
        Source::Debian(pattern) => {
            let cache = Cache::open()?;
            let link = cache.newest(&pattern.replace('*', "N"));
            if again || !link.is_dir() {
                let apt = Apt::of(kernel.arch, cache.dir(), again)?;
                let tree = debian(&cache, &apt, &apt.newest(pattern)?, &mut say)?;
                renew(&link, &tree)?;
            }
            unpacked(&link)
        }
        // To build one takes its time: that is asked for by a command of its own.
        Source::Build(recipe) => build::found(recipe, &kernel.name),
    }
}

/// What lies in a tree.
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

/// Puts a link in place, over the one that is there.
pub(super) fn renew(link: &Path, to: &Path) -> Result<()> {
    let dir = link.parent().context("a link lies somewhere")?;
    fs::create_dir_all(dir)?;
    let new = dir.join("new");
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink(to, &new)?;
    fs::rename(&new, link).with_context(|| format!("{}", link.display()))
}

/// Writes what a tree is, and puts it whole into its place.
pub(super) fn keep(new: &Path, about: &Fetched, tree: &Path) -> Result<()> {
    fs::write(new.join(ABOUT), serde_json::to_vec(about)?).with_context(|| format!("{}", new.display()))?;
    fs::create_dir_all(tree.parent().context("a tree lies somewhere")?)?;
    fs::rename(new, tree).with_context(|| format!("{}", tree.display()))
}

/// Downloads and unpacks a package; its tree.
fn debian(cache: &Cache, apt: &Apt, package: &Package, say: &mut impl FnMut(&str)) -> Result<PathBuf> {
    let tree = cache.dir().join("kernels").join(package.file_name());
    if tree.is_dir() {
        return Ok(tree);
    }
    say(&format!("fetching {} {}", package.name, package.version));
    let new = cache.empty("new")?;
    let deb = apt.download(package, &new)?;
    fs::create_dir(new.join("tree"))?;
    output(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(new.join("tree")))?;
    let (package, version, sha256) = (package.name.clone(), package.version.clone(), hash(&deb)?);
    keep(&new.join("tree"), &Fetched { package, version, sha256, ..Fetched::default() }, &tree)?;
    fs::remove_dir_all(&new)?;
    Ok(tree)
}

/// The SHA-256 of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("{}", path.display()))?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash).with_context(|| format!("{}", path.display()))?;
    Ok(hex(&hash.finalize()))
}
