//! Kernels as data: `kernels/*.toml`, one file per kernel and one line each in [`SHIPPED`].

use super::{
    arch::Arch,
    board::{self, Board},
    recipe::Recipe,
    sealed,
};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::machine::BOOT_PARAMETER;
use latido_model::{
    machine::{Model, Preemption},
    suggest::nearest,
};
use serde::Deserialize;
use std::{io::Read, path::PathBuf};

/// A kernel that the laboratory can boot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name in plans: the name of its file.
    #[serde(skip)]
    pub name: String,
    /// A description in one line.
    pub about: String,
    /// The names of systems in studies for which it stands in.
    #[serde(default)]
    pub stands_for: Vec<String>,
    /// Its architecture.
    pub arch: Arch,
    /// The Debian package that contains it; `*` stands for a version.
    #[serde(default)]
    pub debian: Option<String>,
    /// A kernel's file, instead of a package.
    #[serde(default)]
    pub image: Option<PathBuf>,
    /// The recipe from which latido builds it, instead of a package.
    #[serde(default)]
    pub build: Option<Recipe>,
    /// Boot parameters besides those of every guest.
    #[serde(default)]
    pub append: String,
    /// The preemption model that it must have; `None` for any.
    #[serde(default)]
    pub preemption: Option<Model>,
    /// What its guest has besides the ports: machine, devices, modules.
    #[serde(default)]
    pub board: Board,
}

/// Where a kernel comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The newest Debian package of this pattern.
    Debian(&'a str),
    /// A file.
    Image(&'a std::path::Path),
    /// Built from a source.
    Build(&'a Recipe),
}

/// The kernels that come with latido.
pub(crate) const SHIPPED: &[(&str, &str)] = &[
    ("6.12-none", include_str!("../../../../kernels/6.12-none.toml")),
    ("6.12-voluntary", include_str!("../../../../kernels/6.12-voluntary.toml")),
    ("6.12-lazy", include_str!("../../../../kernels/6.12-lazy.toml")),
    ("6.12-full", include_str!("../../../../kernels/6.12-full.toml")),
    ("6.12-full-threadirqs", include_str!("../../../../kernels/6.12-full-threadirqs.toml")),
    ("6.12-rt", include_str!("../../../../kernels/6.12-rt.toml")),
    ("6.1-rt", include_str!("../../../../kernels/6.1-rt.toml")),
    ("6.12-rt-arm64", include_str!("../../../../kernels/6.12-rt-arm64.toml")),
    ("6.1-rt-arm64", include_str!("../../../../kernels/6.1-rt-arm64.toml")),
    ("6.1-rt-armhf", include_str!("../../../../kernels/6.1-rt-armhf.toml")),
    ("built-none", include_str!("../../../../kernels/built-none.toml")),
    ("built-none-trace", include_str!("../../../../kernels/built-none-trace.toml")),
    ("built-full", include_str!("../../../../kernels/built-full.toml")),
    ("built-full-trace", include_str!("../../../../kernels/built-full-trace.toml")),
    ("built-full-trace-delay", include_str!("../../../../kernels/built-full-trace-delay.toml")),
    ("built-full-boost", include_str!("../../../../kernels/built-full-boost.toml")),
    ("built-full-boost-trace", include_str!("../../../../kernels/built-full-boost-trace.toml")),
    ("built-rt", include_str!("../../../../kernels/built-rt.toml")),
    ("built-rt-trace", include_str!("../../../../kernels/built-rt-trace.toml")),
    ("built-rt-noboost", include_str!("../../../../kernels/built-rt-noboost.toml")),
    ("built-rt-noboost-trace", include_str!("../../../../kernels/built-rt-noboost-trace.toml")),
];

/// Reads all shipped kernels.
///
/// # Errors
/// None in practice: a test reads them.
pub fn shipped() -> Result<Vec<Kernel>> {
    SHIPPED.iter().map(|(name, text)| read(name, text)).collect()
}

fn read(name: &str, text: &str) -> Result<Kernel> {
    let mut kernel: Kernel = toml::from_str(text).with_context(|| format!("the kernel `{name}`"))?;
    kernel.name = name.into();
    kernel.source()?;
    Ok(kernel)
}

/// Returns the kernel with this name, one that stands in for it, a package (`linux-image-...[:BOOT PARAMETERS]`), or a file, with the
/// boards after its name: `6.12-rt+net`.
///
/// # Errors
/// There is no such kernel; the error names the nearest.
pub fn named(name: &str) -> Result<Kernel> {
    // The one board that any kernel can have, even a user's own.
    if let Some(plain) = name.strip_suffix(board::MULTI_CPU) {
        let kernel = named(plain)?;
        let board = kernel.board.clone().and(board::named(board::MULTI_CPU.trim_start_matches('+'))?)?;
        return Ok(Kernel { name: name.into(), board, ..kernel });
    }
    if name.contains('/') {
        return own(name);
    }
    if name.starts_with("linux-image-") {
        let (package, append) = name.split_once(':').unwrap_or((name, ""));
        return Ok(Kernel { debian: Some(package.into()), ..Kernel::of_ones_own(name, append) });
    }
    // A kernel's name may contain the sign itself (`rt+rcu`). The longest part that is a kernel's name counts, and boards follow it.
    let words: Vec<&str> = name.split('+').collect();
    let parts = (1..=words.len()).rev().filter_map(|count| words.split_at_checked(count));
    let mut found = parts.filter_map(|(base, boards)| Some((plain(&base.join("+")).ok()?, boards)));
    let Some((mut kernel, boards)) = found.next() else { return plain(words.first().copied().unwrap_or_default()) };
    kernel.board = boards.iter().try_fold(kernel.board, |all, word| all.and(board::named(word)?))?;
    kernel.name = name.into();
    Ok(kernel)
}

/// The ending of a kernel's name that latido builds for 64-bit ARM.
const ARM64: &str = "-arm64";

fn plain(name: &str) -> Result<Kernel> {
    let all = shipped()?;
    let find = |name: &str| all.iter().find(|one| one.name == name || one.stands_for.iter().any(|other| other == name));
    let built = |name: &str| find(name).filter(|one| one.build.is_some());
    match (find(name), name.strip_suffix(ARM64).and_then(built)) {
        (Some(kernel), _) => Ok(kernel.clone()),
        (None, Some(kernel)) => Ok(Kernel {
            name: name.into(),
            about: format!("{}, for 64-bit ARM", kernel.about),
            arch: Arch::Aarch64,
            ..kernel.clone()
        }),
        (None, None) => {
            let names = all.iter().flat_map(|one| [&one.name].into_iter().chain(&one.stands_for)).map(String::as_str);
            let studies: Vec<&str> = all.iter().flat_map(|one| &one.stands_for).map(String::as_str).collect();
            bail!(
                "the laboratory has no kernel `{name}`{}; `latido lab kernels` lists them, and of the studies' systems it has {}",
                nearest(name, names),
                studies.join(", ")
            )
        }
    }
}

/// Returns the preemption model that the boot parameters request. If there are several, the last counts, as in the kernel
/// (kernel/sched/core.c).
fn preempt(append: &str) -> Option<Model> {
    let word = append.split_whitespace().filter_map(|word| word.strip_prefix("preempt=")).next_back()?;
    match word {
        "none" => Some(Model::None),
        "voluntary" => Some(Model::Voluntary),
        "lazy" => Some(Model::Lazy),
        "full" => Some(Model::Full),
        _ => None,
    }
}

/// Returns a user's own kernel: a file, with boot parameters after a colon.
fn own(name: &str) -> Result<Kernel> {
    let (path, append) = name.split_once(':').unwrap_or((name, ""));
    let mut head = Vec::new();
    let file = sealed::file(path.as_ref()).context("the kernel")?;
    file.take(4096).read_to_end(&mut head).with_context(|| format!("the kernel {path}"))?;
    // The header of Documentation/arch/x86/boot.rst.
    ensure!(head.get(0x202..0x206) == Some(b"HdrS"), "{path} is not a kernel for a PC (bzImage)");
    Ok(Kernel { image: Some(path.into()), ..Kernel::of_ones_own(name, append) })
}

impl Kernel {
    /// Returns a kernel without a source yet.
    fn of_ones_own(name: &str, append: &str) -> Self {
        Self {
            name: name.into(),
            about: "a kernel of your own".into(),
            stands_for: Vec::new(),
            arch: Arch::X86_64,
            debian: None,
            image: None,
            build: None,
            append: append.into(),
            preemption: preempt(append),
            board: Board::default(),
        }
    }

    /// Returns where the kernel comes from.
    ///
    /// # Errors
    /// No place is named, or more than one.
    pub fn source(&self) -> Result<Source<'_>> {
        match (&self.debian, &self.image, &self.build) {
            (Some(pattern), None, None) => Ok(Source::Debian(pattern)),
            (None, Some(path), None) => Ok(Source::Image(path)),
            (None, None, Some(recipe)) => Ok(Source::Build(recipe)),
            _ => bail!("the kernel `{}` must name one of `debian`, `image` and `build`", self.name),
        }
    }

    /// Refuses a guest with another preemption model than the requested one: a kernel that lacks a mode silently boots with another. The
    /// boot parameters do not count as evidence, since they are the request.
    ///
    /// # Errors
    /// Both models; or the kernel does not report its model.
    pub fn granted(&self, found: Option<&Preemption>) -> Result<()> {
        let Some(wanted) = self.preemption else { return Ok(()) };
        let found = found.filter(|found| found.source != BOOT_PARAMETER);
        let Some(found) = found else {
            bail!(
                "latido requested preemption `{wanted}` of the kernel `{}`, which does not report what it has",
                self.name
            )
        };
        // A PREEMPT_RT kernel with a lazy mode counts as PREEMPT_RT in either mode.
        let rt = found.model == Model::Rt && found.dynamic && matches!(wanted, Model::Full | Model::Lazy);
        ensure!(
            rt || wanted == found.model,
            "latido requested preemption `{wanted}` of the kernel `{}`, which has `{}` (by {})",
            self.name,
            found.model,
            found.source
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// latido can read every shipped kernel and board, and no two kernels share a name.
    #[test]
    fn shipped_kernels_are_read_and_told_apart() {
        assert!(board::shipped().unwrap().iter().all(|board| !board.about.is_empty() && !board.name.is_empty()));
        let all = shipped().unwrap();
        let mut names: Vec<&String> =
            all.iter().flat_map(|one| [&one.name].into_iter().chain(&one.stands_for)).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(named("preempt-rt").unwrap().debian, named("6.12-rt").unwrap().debian);
        assert_eq!(named("rt+rcu+net").unwrap().build, named("built-rt").unwrap().build);
        let arm = named("built-rt-arm64+net").unwrap();
        assert_eq!((arm.arch, &arm.build), (Arch::Aarch64, &named("built-rt").unwrap().build));
        assert_eq!(named("rt+rcu-arm64").unwrap().arch, Arch::Aarch64);
        assert!(named("6.12-none-arm64").is_err(), "Debian's kernels have names of their own");
        assert!(named("6.12-nine").unwrap_err().to_string().contains("did you mean `6.12-none`"));
    }

    /// Boards after a kernel's name add up. Two machines are an error.
    #[test]
    fn boards_are_put_in_by_their_names() {
        let kernel = named("preempt-rt+net+hpet").unwrap();
        assert_eq!(kernel.name, "preempt-rt+net+hpet");
        assert_eq!((kernel.board.devices.len(), kernel.board.machine.as_deref()), (2, Some("q35,hpet=on")));
        assert_eq!((kernel.board.cpus(), named("preempt-rt+net+multi-cpu").unwrap().board.cpus()), (1, 2));
        assert!(named("6.12-rt+multi-cpu+multi-cpu").unwrap_err().to_string().contains("the number of CPUs"));
        assert!(named("6.12-rt+nut").unwrap_err().to_string().contains("did you mean `net`"));
        assert!(named("6.12-rt+hpet+hpet").unwrap_err().to_string().contains("a machine each"));
    }

    /// Each recipe is complete and has its own key. No part of a recipe takes back an option that another part of it requests, except the
    /// fragment `delay`, which turns on two options that the others turn off.
    #[test]
    fn recipes_are_whole_and_told_apart() {
        let all = shipped().unwrap();
        let recipes: Vec<_> = all.iter().filter_map(|one| Some((one.arch, one.build.as_ref()?))).collect();
        let mut keys: Vec<_> = recipes.iter().map(|(arch, recipe)| recipe.key(*arch).unwrap()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!((recipes.len(), keys.len()), (11, 11));
        for (arch, recipe) in recipes {
            let asked = recipe.asked(arch).unwrap();
            let lines = asked.lines().filter(|line| line.starts_with("CONFIG_"));
            let mut values = BTreeMap::new();
            let options = lines.filter_map(|line| line.split_once('='));
            let again = options.filter(|(name, value)| values.insert(*name, *value).is_some_and(|old| old != *value));
            let expected = if recipe.fragments.iter().any(|one| one == "delay") { 2 } else { 0 };
            assert_eq!(again.count(), expected, "{}", recipe.told());
        }
    }

    #[test]
    fn a_mode_that_was_not_granted_is_refused() {
        let lazy = named("6.12-lazy").unwrap();
        let found = |model, source: &str| Preemption { model, dynamic: true, source: source.into() };
        let granted =
            |model, source: &str| lazy.granted(Some(&found(model, source))).map_err(|error| error.to_string());
        assert_eq!(granted(Model::Lazy, "/sys/kernel/debug/sched/preempt"), Ok(()));
        assert!(granted(Model::Voluntary, "the version string").unwrap_err().contains("has `voluntary`"));
        assert!(granted(Model::Lazy, BOOT_PARAMETER).unwrap_err().contains("does not report"));
        assert!(lazy.granted(None).unwrap_err().to_string().contains("does not report"));
        let own = named("linux-image-6.12.1-amd64:quiet preempt=full preempt=none").unwrap();
        let own = |model, dynamic| {
            let found = Preemption { model, dynamic, source: "debugfs".into() };
            own.granted(Some(&found)).is_ok()
        };
        assert!(
            own(Model::None, true) && !own(Model::Full, true) && !own(Model::Rt, true),
            "asked for by the last word"
        );
        let lazy_rt = Preemption { model: Model::Rt, dynamic: true, source: "debugfs".into() };
        assert!(lazy.granted(Some(&lazy_rt)).is_ok());
        assert!(named("6.12-rt-arm64").is_ok_and(|any| Kernel { preemption: None, ..any }.granted(None).is_ok()));
    }
}
