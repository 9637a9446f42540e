//! Kernels as data: `kernels/*.toml`, one file per kernel and one line each in [`SHIPPED`]. A user's own kernels are files of the same
//! form ([`super::own`]).

use super::{arch::Arch, board::Board, recipe::Recipe, sealed};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    machine::{CoreKind, Model},
    plan::source::{Place, Problem, Source as Text},
};
use serde::Deserialize;
use std::{
    io::Read,
    path::{Path, PathBuf},
};
use toml::de::DeTable;

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
    /// The real-time core that it must have; `None` for any or none.
    #[serde(default)]
    pub core: Option<CoreKind>,
    /// What its guest has besides the ports: machine, devices, modules.
    #[serde(default)]
    pub board: Board,
    /// The file that describes it.
    #[serde(skip)]
    pub origin: Origin,
}

/// The file that describes a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// None: the user named a package or a kernel's file.
    #[default]
    Typed,
    /// One that comes with latido, by its path in latido's source.
    Shipped(String),
    /// One of the user.
    Own {
        /// Its path.
        file: PathBuf,
        /// The place of its key `image`, if it has one.
        image: Option<Place>,
    },
}

impl Origin {
    /// Returns the path of the file as errors and lists show it; empty if there is none.
    pub fn shown(&self) -> String {
        match self {
            Self::Typed => String::new(),
            Self::Shipped(file) => file.clone(),
            Self::Own { file, .. } => file.display().to_string(),
        }
    }
}

/// Where a kernel comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The newest Debian package of this pattern.
    Debian(&'a str),
    /// A file.
    Image(&'a Path),
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
    let read = |(name, text): &(&str, &str)| {
        let file = format!("kernels/{name}.toml");
        Ok(Kernel { origin: Origin::Shipped(file.clone()), ..read(name, &file, text)?.0 })
    };
    SHIPPED.iter().map(read).collect()
}

/// Reads a kernel from the text of a file. Also returns the places of its keys, for later complaints.
///
/// # Errors
/// What is wrong in the file, and its line.
pub(super) fn read(name: &str, file: &str, text: &str) -> Result<(Kernel, impl Fn(&str) -> Place + use<>), Problem> {
    let source = Text::file(file, text);
    let remedy = "docs/lab.md has the keys of a kernel's file";
    let wrong = |error: toml::de::Error| {
        let message = format!("{}; {remedy}", error.message().replace('\n', " "));
        match error.span() {
            Some(span) => source.problem(span, message),
            None => Place::whole(file).problem(message),
        }
    };
    let keys = DeTable::parse(text).map_err(wrong)?;
    let mut kernel: Kernel = toml::from_str(text).map_err(wrong)?;
    let spans = keys.get_ref().iter().map(|(key, _)| (key.get_ref().to_string(), source.place(key.span())));
    let spans: Vec<(String, Place)> = spans.collect();
    let whole = Place::whole(file);
    let place = move |key: &str| spans.iter().find(|(known, _)| known == key).map_or(&whole, |(_, at)| at).clone();
    kernel.name = name.into();
    if let Err(error) = kernel.source() {
        let named = [("debian", kernel.debian.is_some()), ("image", kernel.image.is_some()), ("build", true)];
        let second = named.into_iter().filter(|(_, is_there)| *is_there).nth(1).map_or("", |(key, _)| key);
        return Err(place(second).problem(error.to_string()));
    }
    Ok((kernel, place))
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
///
/// # Errors
/// The file cannot be a kernel.
pub(super) fn vmlinuz(name: &str) -> Result<Kernel> {
    let (path, append) = name.split_once(':').unwrap_or((name, ""));
    image(Arch::X86_64, path.as_ref()).context("the kernel")?;
    Ok(Kernel { image: Some(path.into()), ..Kernel::of_ones_own(name, append) })
}

/// Refuses a file that cannot be a kernel of this architecture.
fn image(arch: Arch, path: &Path) -> Result<()> {
    let mut head = Vec::new();
    let file = sealed::file(path)?;
    file.take(4096).read_to_end(&mut head).with_context(|| format!("{}", path.display()))?;
    // The header of Documentation/arch/x86/boot.rst. The images of other architectures have several forms.
    let is_one = arch != Arch::X86_64 || head.get(0x202..0x206) == Some(b"HdrS");
    ensure!(is_one, "{} is not a kernel for a PC (bzImage)", path.display());
    Ok(())
}

impl Kernel {
    /// Returns a kernel without a source yet.
    pub(super) fn of_ones_own(name: &str, append: &str) -> Self {
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
            core: None,
            board: Board::default(),
            origin: Origin::Typed,
        }
    }

    /// Returns its names: its own, and those of the systems for which it stands.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.name].into_iter().chain(&self.stands_for).map(String::as_str)
    }

    /// Returns the kernel, unless it is a user's own and the image that its file names cannot be one.
    ///
    /// # Errors
    /// The image cannot be read, or is no kernel: a [`Problem`].
    pub(super) fn bootable(self) -> Result<Self> {
        if let (Some(path), Origin::Own { file, image: place }) = (&self.image, &self.origin)
            && let Err(error) = image(self.arch, path)
        {
            let place = place.clone().unwrap_or_else(|| Place::whole(&file.display().to_string()));
            return Err(place.problem(format!("the image: {error:#}; write the path of a kernel")).into());
        }
        Ok(self)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

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
}
