//! Fetches kernels of Debian's packages: downloads and unpacks them into the cache. Nothing is installed.

pub use super::tree::{Fetched, hash};

use super::{
    apt::{Apt, Package, output},
    build,
    cache::Cache,
    child,
    kernel::{Kernel, Source},
    tree::{keep, renew, unpacked},
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the kernel in the cache; fetches it if it is missing. `again` looks for a newer one.
///
/// # Errors
/// It is not available, with the remedy.
pub fn kernel(kernel: &Kernel, again: bool, mut say: impl FnMut(&str)) -> Result<Fetched> {
    match kernel.source()? {
        Source::Image(path) => own(&Cache::open()?, path),
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
        // A build takes long, so the user starts it with a separate command.
        Source::Build(recipe) => build::found(kernel, recipe),
    }
}

/// Copies the user's kernel, so that latido boots exactly what it hashed, even if the file changes.
fn own(cache: &Cache, path: &Path) -> Result<Fetched> {
    let new = cache.empty("new")?.join("vmlinuz");
    fs::copy(path, &new).with_context(|| format!("the kernel {}", path.display()))?;
    let sha256 = hash(&new)?;
    let vmlinuz = cache.dir().join("own").join(&sha256);
    fs::create_dir_all(cache.dir().join("own"))?;
    fs::rename(&new, &vmlinuz).with_context(|| format!("{}", vmlinuz.display()))?;
    let package = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Fetched { package, sha256, vmlinuz, ..Fetched::default() })
}

/// Downloads and unpacks a package. Returns its tree.
fn debian(cache: &Cache, apt: &Apt, package: &Package, say: &mut impl FnMut(&str)) -> Result<PathBuf> {
    let tree = cache.dir().join("kernels").join(package.file_name());
    if tree.is_dir() {
        return Ok(tree);
    }
    say(&format!("fetching {} {}", package.name, package.version));
    let new = cache.empty("new")?;
    let deb = apt.download(package, &new)?;
    fs::create_dir(new.join("tree"))?;
    output(child::command("dpkg-deb").arg("-x").arg(&deb).arg(new.join("tree")))?;
    let (package, version, sha256) = (package.name.clone(), package.version.clone(), hash(&deb)?);
    keep(&new.join("tree"), &Fetched { package, version, sha256, ..Fetched::default() }, &tree)?;
    fs::remove_dir_all(&new)?;
    Ok(tree)
}
