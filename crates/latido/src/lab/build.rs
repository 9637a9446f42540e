//! Builds kernels from Debian's source, in the cache, once per source and configuration. Nothing is installed.

use super::{
    apt::{Apt, output},
    arch::{Arch, Kbuild},
    cache::Cache,
    child,
    kernel::Kernel,
    recipe::{Recipe, refused},
    tree::{self, Fetched, hash},
};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::program;
use latido_sys::process::Child;
use signal_hook::consts::SIGTERM;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// The programs of a build, each with its Debian package.
const PROGRAMS: &[(&str, &str)] = &[
    ("make", "build-essential"),
    ("gcc", "build-essential"),
    ("ld", "build-essential"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("dpkg-deb", "dpkg"),
];

/// A message about the progress, for the user.
pub enum Said<'a> {
    /// A step that starts or is done.
    Step(&'a str),
    /// The number of files made so far.
    Files(usize),
}

/// Returns the kernel built from a recipe.
///
/// # Errors
/// It is not built yet; the error contains the command for it.
pub fn found(kernel: &Kernel, recipe: &Recipe) -> Result<Fetched> {
    let link = Cache::open()?.newest(&link(kernel.arch, recipe)?);
    let name = &kernel.name;
    ensure!(link.is_dir(), "the kernel `{name}` has to be built first: latido lab build {name} (some 11 CPU minutes)");
    tree::unpacked(&link)
}

fn link(arch: Arch, recipe: &Recipe) -> Result<String> {
    Ok(format!("built-{}", recipe.key(arch)?))
}

/// Builds a kernel from the newest version of its source, unless it is already built.
///
/// # Errors
/// Something needed is missing, with the remedy; the source does not grant the configuration; the compiler fails.
pub fn build(kernel: &Kernel, recipe: &Recipe, mut say: impl FnMut(Said<'_>)) -> Result<Fetched> {
    let (asked, key) = (recipe.asked(kernel.arch)?, recipe.key(kernel.arch)?);
    let cache = Cache::open()?;
    // A source is the same for every architecture, so this machine's lists contain it.
    let apt =
        Apt::of(Arch::own().context("latido builds no kernels on this machine's architecture")?, cache.dir(), false)?;
    let package = apt.newest(&recipe.source)?;
    let tree = cache.dir().join("kernels").join(format!("{}_{key}", package.file_name()));
    if !tree.is_dir() {
        needed(kernel.arch)?;
        let source = source(&cache, &apt, &package, &mut say)?;
        // Meanwhile other processes may fetch kernels and build other ones.
        drop(cache);
        let place = Cache::building(&key)?;
        if !tree.is_dir() {
            let (out, log) = (place.dir().join(&key), place.dir().join(format!("{key}.log")));
            let made = Making { source: &source, out, log, arch: kernel.arch.kbuild()? };
            made.configure(&asked)?;
            say(Said::Step(&format!(
                "building {} of {}, log in {}",
                kernel.name,
                package.file_name(),
                made.log.display()
            )));
            made.make(&mut say)?;
            made.keep(&format!("{}, {}", package.version, compiler(made.arch)?), recipe, &tree)?;
        }
        drop(place);
        tree::renew(&Cache::open()?.newest(&link(kernel.arch, recipe)?), &tree)?;
    } else {
        tree::renew(&cache.newest(&link(kernel.arch, recipe)?), &tree)?;
    }
    tree::unpacked(&tree)
}

/// Refuses a build if anything is missing, and names everything that is.
fn needed(arch: Arch) -> Result<()> {
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(name, _)| program::is_missing(name)).map(|(_, package)| *package).collect();
    let kbuild = arch.kbuild()?;
    if !kbuild.prefix.is_empty() && program::is_missing(&format!("{}gcc", kbuild.prefix)) {
        packages.push(kbuild.package);
    }
    // A PC's kernel builds objtool, which needs this header to read object files.
    let headers = child::command("gcc").args(["-E", "-include", "libelf.h", "-x", "c", "/dev/null"]).output();
    if arch == Arch::X86_64 && headers.is_ok_and(|output| !output.status.success()) {
        packages.push("libelf-dev");
    }
    packages.dedup();
    let all = packages.join(" ");
    ensure!(
        packages.is_empty(),
        "programs to build a kernel are missing; on Debian and its derivatives: apt-get install {all}"
    );
    Ok(())
}

/// Returns the compiler's version: another compiler makes another kernel.
fn compiler(arch: Kbuild) -> Result<String> {
    let program = format!("{}gcc", arch.prefix);
    let text = output(child::command(&program).arg("--version"))?;
    Ok(text.lines().next().unwrap_or(&program).to_owned())
}

/// Returns the tree of the source; fetches and unpacks it if it is missing.
fn source(cache: &Cache, apt: &Apt, package: &super::apt::Package, say: &mut impl FnMut(Said<'_>)) -> Result<PathBuf> {
    let tree = cache.dir().join("sources").join(package.file_name());
    if tree.is_dir() {
        return Ok(tree);
    }
    say(Said::Step(&format!("fetching {} {} (1.7 GB unpacked)", package.name, package.version)));
    let new = cache.empty("new")?;
    let deb = apt.download(package, &new)?;
    output(child::command("dpkg-deb").arg("-x").arg(&deb).arg(new.join("package")))?;
    let archive = new.join("package/usr/src").join(format!("{}.tar.xz", package.name));
    fs::create_dir(new.join("tree"))?;
    let tar = ["-xJf".as_ref(), archive.as_os_str(), "--strip-components=1".as_ref(), "-C".as_ref()];
    output(child::command("tar").args(tar).arg(new.join("tree")))?;
    fs::create_dir_all(tree.parent().context("a source lies somewhere")?)?;
    fs::rename(new.join("tree"), &tree).with_context(|| format!("{}", tree.display()))?;
    fs::remove_dir_all(&new)?;
    Ok(tree)
}

/// A build. The files of an interrupted build stay, and the next build continues from them.
struct Making<'a> {
    source: &'a Path,
    out: PathBuf,
    log: PathBuf,
    arch: Kbuild,
}

impl Making<'_> {
    /// Returns `make`, set up so that no user, host or time enters the result.
    fn command(&self) -> Command {
        // On SIGTERM, make ends the compilers that it started.
        let manners = Child { own_group: false, death_signal: Some(SIGTERM), reset_scheduling: false, nice: None };
        let mut make = child::prepared("make", manners);
        make.arg("-C").arg(self.source).arg(format!("O={}", self.out.display()));
        for name in ["ARCH", "CROSS_COMPILE", "MAKEFLAGS", "MAKEOVERRIDES", "KCFLAGS", "KBUILD_BUILD_VERSION"] {
            make.env_remove(name);
        }
        if !self.arch.prefix.is_empty() {
            make.arg(format!("ARCH={}", self.arch.arch)).arg(format!("CROSS_COMPILE={}", self.arch.prefix));
        }
        make.env("KBUILD_BUILD_TIMESTAMP", "2020-01-01").env("KBUILD_BUILD_USER", "latido");
        make.env("KBUILD_BUILD_HOST", "lab").env("LC_ALL", "C").stdin(Stdio::null());
        make
    }

    /// Makes the smallest configuration, appends the requested options, and resolves what follows from them.
    fn configure(&self, asked: &str) -> Result<()> {
        let config = self.out.join(".config");
        fs::create_dir_all(&self.out)?;
        output(self.command().args(["-s", "tinyconfig"]))?;
        let mut file =
            OpenOptions::new().append(true).open(&config).with_context(|| format!("{}", config.display()))?;
        file.write_all(asked.as_bytes())?;
        output(self.command().args(["-s", "olddefconfig"]))?;
        let granted = fs::read_to_string(&config).with_context(|| format!("{}", config.display()))?;
        let refused = refused(asked, &granted);
        ensure!(
            refused.is_empty(),
            "the source's configuration does not accept {}: a dependency is missing, or there is no such option",
            refused.join(" ")
        );
        Ok(())
    }

    /// Returns whether the kernel has modules besides its own file.
    fn has_modules(&self) -> Result<bool> {
        let config = self.out.join(".config");
        let text = fs::read_to_string(&config).with_context(|| format!("{}", config.display()))?;
        Ok(text.lines().any(|line| line == "CONFIG_MODULES=y"))
    }

    /// Installs its modules, as a package contains them.
    fn install_modules(&self, tree: &Path) -> Result<()> {
        let mut path = OsString::from("INSTALL_MOD_PATH=");
        path.push(tree);
        // latido does not need depmod's files. It removes the links to the directories of build and source, which will not exist.
        output(self.command().arg("-s").arg(path).args(["DEPMOD=true", "modules_install"]))?;
        for release in fs::read_dir(tree.join("lib/modules"))?.flatten() {
            let links = ["build", "source"].map(|name| release.path().join(name));
            for link in links.iter().filter(|link| link.is_symlink()) {
                fs::remove_file(link).with_context(|| format!("{}", link.display()))?;
            }
        }
        Ok(())
    }

    fn make(&self, say: &mut impl FnMut(Said<'_>)) -> Result<()> {
        let mut log = File::create(&self.log).with_context(|| format!("{}", self.log.display()))?;
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let mut make = self.command();
        make.arg(format!("-j{workers}")).arg(self.arch.target).stdout(Stdio::piped()).stderr(log.try_clone()?);
        if self.has_modules()? {
            make.arg("modules");
        }
        let mut child = make.spawn().context("starting make")?;
        let lines = BufReader::new(child.stdout.take().context("make has no output")?);
        let mut files = 0;
        for line in lines.split(b'\n') {
            let line = line?;
            log.write_all(&line)?;
            log.write_all(b"\n")?;
            // "  CC      kernel/fork.o"
            if line.starts_with(b"  ") {
                files += 1;
                say(Said::Files(files));
            }
        }
        let status = child.wait()?;
        if !status.success() {
            let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
            let first = text.lines().find(|line| line.contains("rror:") || line.contains("Error ")).unwrap_or_default();
            bail!("the build failed: {first}\nthe whole output is in {}", self.log.display());
        }
        Ok(())
    }

    /// Moves the kernel into the cache and removes the build's files.
    fn keep(&self, version: &str, recipe: &Recipe, tree: &Path) -> Result<()> {
        let new = self.out.with_extension("new");
        if new.exists() {
            fs::remove_dir_all(&new)?;
        }
        fs::create_dir_all(new.join("boot"))?;
        let release = fs::read_to_string(self.out.join("include/config/kernel.release"))?;
        let vmlinuz = new.join("boot").join(format!("vmlinuz-{}", release.trim()));
        fs::copy(self.out.join(self.arch.image), &vmlinuz).context("the build left no kernel")?;
        fs::copy(self.out.join(".config"), new.join("boot").join(format!("config-{}", release.trim())))?;
        if self.has_modules()? {
            self.install_modules(&new)?;
        }
        let (package, version, sha256) = (recipe.told(), version.to_owned(), hash(&vmlinuz)?);
        tree::keep(&new, &Fetched { package, version, sha256, ..Fetched::default() }, tree)?;
        fs::remove_dir_all(&self.out).with_context(|| format!("{}", self.out.display()))
    }
}
