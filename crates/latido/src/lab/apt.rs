//! Finds and downloads Debian's packages through apt, and never installs them.

use super::{arch::Arch, child};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// apt for one architecture.
#[derive(Debug)]
pub(super) struct Apt {
    /// The options of every call.
    options: Vec<String>,
    /// Why some of the lists could not be renewed. latido uses the others.
    stale: Option<String>,
}

/// A package, in the version that apt would install.
#[derive(Debug)]
pub(super) struct Package {
    pub name: String,
    pub version: String,
}

impl Package {
    /// Returns a name for files made from it: one component of a path, without a colon, which make does not accept there.
    pub fn file_name(&self) -> String {
        format!("{}_{}", self.name, self.version).replace(['/', ':'], "_")
    }
}

impl Apt {
    /// Returns apt for an architecture. For this machine's it uses the machine's lists; for another one, separate lists below `dir`,
    /// because adding an architecture would change the machine. `again` renews the separate lists.
    ///
    /// # Errors
    /// There is no place for the lists.
    pub fn of(arch: Arch, dir: &Path, again: bool) -> Result<Self> {
        if arch.is_own() {
            return Ok(Self { options: Vec::new(), stale: None });
        }
        let dir = dir.join(format!("apt-{}", arch.debian()));
        let known = dir.join("known");
        let path = |name: &str| dir.join(name).display().to_string();
        let mut apt = Self {
            stale: None,
            options: [
                format!("APT::Architecture={}", arch.debian()),
                format!("APT::Architectures={}", arch.debian()),
                format!("Dir::State::lists={}", path("lists")),
                format!("Dir::State::status={}", path("status")),
                format!("Dir::Cache={}", path("cache")),
            ]
            .into(),
        };
        if again || !known.exists() {
            for name in ["lists/partial", "cache/archives/partial"] {
                fs::create_dir_all(dir.join(name)).with_context(|| format!("{}", dir.display()))?;
            }
            fs::write(dir.join("status"), "").with_context(|| format!("{}", dir.display()))?;
            // A server that is renewing its lists may deliver only some of them; latido then requests them again next time. For a server
            // that does not answer, apt only warns, unless this option makes it an error (apt-get(8), --error-on).
            match output(apt.command("apt-get").args(["-o", "APT::Update::Error-Mode=any", "-q", "update"])) {
                Ok(_) => fs::write(known, "").with_context(|| format!("{}", dir.display()))?,
                Err(error) => apt.stale = Some(format!("{error:#}")),
            }
        }
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = child::command(program);
        // apt runs as the calling user. Otherwise root would become apt's own user, which may not write here, and apt would print long
        // warnings.
        command.args(["-o", "APT::Sandbox::User=root"]);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }

    /// Returns the newest package of a pattern; `*` stands for a version.
    ///
    /// # Errors
    /// There is no such package, with the remedy.
    pub fn newest(&self, pattern: &str) -> Result<Package> {
        let all = output(self.command("apt-cache").args(["pkgnames", pattern.split('*').next().unwrap_or_default()]))?;
        let newest = all.lines().filter(|package| fits(pattern, package)).max_by_key(|package| order(package));
        let name = newest.with_context(|| {
            format!(
                "apt knows no package {pattern}: run `apt-get update`, or name a kernel of your own (path/to/vmlinuz){}",
                self.stale.as_ref().map_or(String::new(), |why| format!("; apt could not fetch all lists: {why}"))
            )
        })?;
        let policy = output(self.command("apt-cache").args(["policy", name]))?;
        let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        let version = version.filter(|version| *version != "(none)");
        let version = version.with_context(|| format!("apt has no version of {name}: run `apt-get update`"))?;
        Ok(Package { name: name.into(), version: version.into() })
    }

    /// Downloads the package into an empty directory. Returns its file.
    ///
    /// # Errors
    /// apt cannot download it.
    pub fn download(&self, package: &Package, dir: &Path) -> Result<PathBuf> {
        let wanted = format!("{}={}", package.name, package.version);
        output(self.command("apt-get").args(["-q", "download", &wanted]).current_dir(dir))?;
        let mut files = fs::read_dir(dir)?.flatten().map(|file| file.path());
        let deb = files.find(|path| path.extension().is_some_and(|ending| ending == "deb"));
        deb.with_context(|| format!("apt downloaded nothing for {wanted}"))
    }
}

/// Returns whether a package's name matches a pattern: `*` stands for the characters of a version, and not for a further word such as
/// `-rt`.
fn fits(pattern: &str, package: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return pattern == package };
    let Some(middle) = package.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)) else { return false };
    let piece = |piece: &str| piece.is_empty() || piece.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    middle.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')) && middle.split('-').all(piece)
}

/// Returns the sort key of a version: its numbers.
fn order(package: &str) -> Vec<u64> {
    package.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Runs a program and returns its output.
///
/// # Errors
/// The program does not exist, or it fails: the last line of its messages.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let words = format!("{command:?}");
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "there is no program `{program}`: latido fetches kernels only on Debian and its derivatives; elsewhere \
             name your own kernel (path/to/vmlinuz)"
        ),
        _ => anyhow::Error::from(error).context(words.clone()),
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words}: {}", said.trim().lines().last().unwrap_or("failed"));
    match String::from_utf8(output.stdout) {
        Ok(text) => Ok(text),
        Err(_) => bail!("{words}: not text"),
    }
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
