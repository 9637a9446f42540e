//! Kernels of Debian's packages: downloaded and unpacked into the cache; nothing is installed.

use super::{
    cache::Cache,
    kernel::{Kernel, Source},
};
use anyhow::{Context, Result, bail, ensure};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The package's name; a file's path.
    pub package: String,
    /// Its version; empty of a file.
    pub version: String,
    /// The SHA-256 of the package or the file.
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
            version: String::new(),
            sha256: hash(path)?,
            vmlinuz: path.into(),
            tree: None,
        }),
        Source::Debian(pattern) => {
            let cache = Cache::open()?;
            let link = cache.dir().join("newest").join(pattern.replace('*', "N"));
            if again || !link.is_dir() {
                let tree = debian(&cache, pattern, &mut say)?;
                renew(&link, &tree)?;
            }
            unpacked(&fs::canonicalize(&link).with_context(|| format!("{}", link.display()))?)
        }
    }
}

/// What lies in a tree.
fn unpacked(tree: &Path) -> Result<Fetched> {
    let text = fs::read(tree.join(ABOUT)).with_context(|| format!("{}", tree.join(ABOUT).display()))?;
    let about: Fetched = serde_json::from_slice(&text).with_context(|| format!("{}", tree.display()))?;
    let boot = tree.join("boot");
    let files = fs::read_dir(&boot).with_context(|| format!("{}", boot.display()))?.flatten();
    let vmlinuz = files.map(|file| file.path()).find(|path| name(path).starts_with("vmlinuz-"));
    let vmlinuz = vmlinuz.with_context(|| format!("the package in {} has no kernel", tree.display()))?;
    Ok(Fetched { vmlinuz, tree: Some(tree.into()), ..about })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Puts a link in place, over the one that is there.
fn renew(link: &Path, to: &Path) -> Result<()> {
    let dir = link.parent().context("a link lies somewhere")?;
    fs::create_dir_all(dir)?;
    let new = dir.join("new");
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink(to, &new)?;
    fs::rename(&new, link).with_context(|| format!("{}", link.display()))
}

/// Downloads and unpacks the newest package of a pattern; its tree.
fn debian(cache: &Cache, pattern: &str, say: &mut impl FnMut(&str)) -> Result<PathBuf> {
    let all = output(Command::new("apt-cache").args(["pkgnames", pattern.split('*').next().unwrap_or_default()]))?;
    let newest = all.lines().filter(|package| fits(pattern, package)).max_by_key(|package| order(package));
    let package = newest.with_context(|| {
        format!("apt knows no package {pattern}: run `apt-get update`, or name a kernel of your own (path/to/vmlinuz)")
    })?;
    let policy = output(Command::new("apt-cache").args(["policy", package]))?;
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
    let version = version.with_context(|| format!("apt has no version of {package}: run `apt-get update`"))?;
    let tree = cache.dir().join("kernels").join(format!("{package}_{version}"));
    if tree.is_dir() {
        return Ok(tree);
    }
    say(&format!("fetching {package} {version}"));
    let new = cache.dir().join("new");
    if new.exists() {
        fs::remove_dir_all(&new).with_context(|| format!("{}", new.display()))?;
    }
    fs::create_dir_all(new.join("tree"))?;
    // As the user who asks: apt's own user may not write here, and apt says so at length.
    let user = output(Command::new("id").arg("-un"))?;
    let sandbox = format!("APT::Sandbox::User={}", user.trim());
    let wanted = format!("{package}={version}");
    output(Command::new("apt-get").args(["-q", "-o", &sandbox, "download", &wanted]).current_dir(&new))?;
    let deb = fs::read_dir(&new)?.flatten().map(|file| file.path());
    let deb = deb.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).next();
    let deb = deb.with_context(|| format!("apt downloaded nothing for {wanted}"))?;
    output(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(new.join("tree")))?;
    let (package, version, sha256) = (package.to_owned(), version.to_owned(), hash(&deb)?);
    let about = Fetched { package, version, sha256, vmlinuz: PathBuf::new(), tree: None };
    fs::write(new.join("tree").join(ABOUT), serde_json::to_vec(&about)?)?;
    fs::create_dir_all(cache.dir().join("kernels"))?;
    fs::rename(new.join("tree"), &tree).with_context(|| format!("{}", tree.display()))?;
    fs::remove_dir_all(&new)?;
    Ok(tree)
}

/// Whether a package's name is of a pattern: `*` stands for what a version is made of, and for no further word such as `-rt`.
fn fits(pattern: &str, package: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return pattern == package };
    let Some(middle) = package.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)) else { return false };
    let piece = |piece: &str| piece.is_empty() || piece.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    middle.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')) && middle.split('-').all(piece)
}

/// What a version is ordered by: its numbers.
fn order(package: &str) -> Vec<u64> {
    package.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String> {
    let words = format!("{command:?}");
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "there is no program `{program}`: kernels are fetched on Debian and its like; elsewhere name one of your own \
             (path/to/vmlinuz)"
        ),
        _ => error.into(),
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words}: {}", said.trim().lines().last().unwrap_or("failed"));
    match String::from_utf8(output.stdout) {
        Ok(text) => Ok(text),
        Err(_) => bail!("{words}: no text"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_versions_alone() {
        let pattern = "linux-image-6.12*-amd64-unsigned";
        assert!(fits(pattern, "linux-image-6.12.117+deb12-amd64-unsigned"));
        assert!(fits("linux-image-6.1.0*-rt-amd64-unsigned", "linux-image-6.1.0-56-rt-amd64-unsigned"));
        for other in ["rt-amd64-unsigned", "cloud-amd64-unsigned", "amd64"] {
            assert!(!fits(pattern, &format!("linux-image-6.12.117+deb12-{other}")), "{other}");
        }
        assert!(order("linux-image-6.12.117+deb12") > order("linux-image-6.12.99+deb12"));
    }
}
