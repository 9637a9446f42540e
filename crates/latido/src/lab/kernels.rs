//! Kernels by their names: those that come with latido, the user's own, packages and files, each with boards after its name.

use super::{
    board,
    kernel::{Kernel, shipped, vmlinuz},
    lookup::{among, with_boards},
    own,
};
use anyhow::{Result, bail};
use latido_model::suggest::nearest;
use std::path::Path;

/// Reads the shipped kernels and those of the user's directory.
///
/// # Errors
/// A file of the user is no kernel's file, or takes a name that another kernel has.
pub fn all() -> Result<Vec<Kernel>> {
    all_with(own::directory().as_deref())
}

/// As [`all`], with the user's kernels from this directory.
pub(crate) fn all_with(directory: Option<&Path>) -> Result<Vec<Kernel>> {
    let mut all = shipped()?;
    if let Some(directory) = directory {
        own::add(&mut all, directory)?;
    }
    Ok(all)
}

/// Returns the kernel with this name, one that stands in for it, a package (`linux-image-...[:BOOT PARAMETERS]`), a kernel's file
/// (`path/to/vmlinuz[:BOOT PARAMETERS]`), or the kernel that a user's TOML file describes. Boards may follow its name: `6.12-rt+net`.
///
/// # Errors
/// There is no such kernel, and the error names the nearest; or a user's file is wrong, and the error is a
/// [`Problem`](latido_model::plan::source::Problem).
pub fn named(name: &str) -> Result<Kernel> {
    named_with(name, own::directory().as_deref())
}

/// As [`named`], with the user's kernels from this directory.
pub(super) fn named_with(name: &str, directory: Option<&Path>) -> Result<Kernel> {
    // The one board that any kernel can have, even a user's own.
    if let Some(plain) = name.strip_suffix(board::MULTI_CPU) {
        let kernel = named_with(plain, directory)?;
        let board = kernel.board.clone().and(board::named(board::MULTI_CPU.trim_start_matches('+'))?)?;
        return Ok(Kernel { name: name.into(), board, ..kernel });
    }
    if let Some((file, boards)) = own::described(name)? {
        return with_boards(own::at(file.as_ref())?, name, &boards)?.bootable();
    }
    if name.contains('/') {
        return vmlinuz(name);
    }
    if name.starts_with("linux-image-") {
        let (package, append) = name.split_once(':').unwrap_or((name, ""));
        return Ok(Kernel { debian: Some(package.into()), ..Kernel::of_ones_own(name, append) });
    }
    // A wrong file of the user concerns only the user's names.
    if let Some(kernel) = among(&shipped()?, name)? {
        return Ok(kernel);
    }
    let all = all_with(directory)?;
    if let Some(kernel) = among(&all, name)? {
        return kernel.bootable();
    }
    let name = name.split('+').next().unwrap_or_default();
    let names = all.iter().flat_map(Kernel::names);
    let studies: Vec<&str> = all.iter().flat_map(|one| &one.stands_for).map(String::as_str).collect();
    bail!(
        "the laboratory has no kernel `{name}`{}; `latido lab kernels` lists them, and of the studies' systems it has {}",
        nearest(name, names),
        studies.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::arch::Arch;

    /// The kernels that every user has.
    fn named(name: &str) -> Result<Kernel> {
        named_with(name, None)
    }

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
}
