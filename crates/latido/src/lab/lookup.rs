//! Looks a name up among kernels: a kernel's own name or that of a system for which it stands, with boards after it.

use super::{arch::Arch, board, kernel::Kernel};
use anyhow::Result;

/// Returns the kernel of a name with its boards, if it is one of these.
///
/// # Errors
/// There is no such board, or two boards do not go together.
pub(super) fn among(all: &[Kernel], name: &str) -> Result<Option<Kernel>> {
    // A kernel's name may contain the sign itself (`rt+rcu`). The longest part that is a kernel's name counts, and boards follow it.
    let words: Vec<&str> = name.split('+').collect();
    let parts = (1..=words.len()).rev().filter_map(|count| words.split_at_checked(count));
    let mut found = parts.filter_map(|(base, boards)| Some((plain(all, &base.join("+"))?, boards)));
    found.next().map(|(kernel, boards)| with_boards(kernel, name, boards)).transpose()
}

/// Returns a kernel with these boards in addition to its own.
///
/// # Errors
/// There is no such board, or two boards do not go together.
pub(super) fn with_boards(kernel: Kernel, name: &str, boards: &[&str]) -> Result<Kernel> {
    let board = boards.iter().try_fold(kernel.board.clone(), |all, word| all.and(board::named(word)?))?;
    Ok(Kernel { name: name.into(), board, ..kernel })
}

/// The ending of a kernel's name that latido builds for 64-bit ARM.
const ARM64: &str = "-arm64";

fn plain(all: &[Kernel], name: &str) -> Option<Kernel> {
    let find = |name: &str| all.iter().find(|one| one.names().any(|known| known == name));
    let twin = || find(name.strip_suffix(ARM64)?).filter(|one| one.build.is_some());
    find(name).cloned().or_else(|| {
        let kernel = twin()?.clone();
        let about = format!("{}, for 64-bit ARM", kernel.about);
        Some(Kernel { name: name.into(), about, arch: Arch::Aarch64, ..kernel })
    })
}
