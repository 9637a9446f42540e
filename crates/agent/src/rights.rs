//! Checks which other users may change a file, or what its path leads to. Others must not be able to change what root starts, writes and
//! trusts.

use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{self, Path, PathBuf},
};

/// Checks that only root can change what a path leads to, including the links on the way. Always succeeds if latido is not root.
///
/// # Errors
/// The part of it that others may change.
pub(crate) fn ours(path: &Path) -> Result<()> {
    if is_root() { Trust::Ours.whole(path) } else { Ok(()) }
}

/// How many links may lead to a file, as in the kernel (path_resolution(7)).
const LINKS: u32 = 40;

/// Shows each directory, link and file that a path leads through, as the kernel follows it: a link may lead to another user's link.
fn walk(path: &Path, mut see: impl FnMut(&Path) -> Result<()>) -> Result<()> {
    let looking = || format!("cannot look at {}", path.display());
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    // The next part is the last of the list.
    let mut left = parts(&path::absolute(path).with_context(looking)?);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    see(&at)?;
    while let Some(part) = left.pop() {
        if part == "/" {
            at = PathBuf::from("/");
            continue;
        }
        if part == ".." {
            // The walk has seen the parent on the way down, or sees it now if a link led there.
            at.pop();
            see(&at)?;
            continue;
        }
        let next = at.join(&part);
        see(&next)?;
        match next.symlink_metadata().with_context(looking)?.is_symlink() {
            false => at = next,
            true => {
                links += 1;
                ensure!(links <= LINKS, "{}: more than {LINKS} links", path.display());
                left.extend(parts(&next.read_link().with_context(looking)?));
            }
        }
    }
    Ok(())
}

/// Tells whether this process is the machine's root. The root of a user namespace is an ordinary person with that person's files.
pub(crate) fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.is_empty() || map.split_whitespace().eq(["0", "0", "4294967295"]);
    rustix::process::geteuid().is_root() && whole
}

/// Which owners latido accepts for a file and the directories that lead to it.
#[derive(Clone, Copy)]
pub(crate) enum Trust {
    /// Found by a name: it must belong to root. No other user may be able to put a program before it, not even in a directory with the
    /// sticky bit.
    Searched,
    /// Named by its path: it must belong to root or to the person behind sudo.
    Named(Option<u32>),
    /// Root's working directory: it must belong to root. In a directory with the sticky bit, others cannot move root's files.
    Ours,
}

impl Trust {
    /// Checks that no other user may change a file, or any directory or link that leads to it.
    pub(crate) fn whole(self, path: &Path) -> Result<()> {
        walk(path, |part| self.part(part))
    }

    fn part(self, path: &Path) -> Result<()> {
        let found = path.symlink_metadata().with_context(|| format!("cannot look at {}", path.display()))?;
        // A link has no permissions.
        let (owner, mode) = (found.uid(), if found.is_symlink() { 0 } else { found.mode() });
        let sticky = found.is_dir() && mode & 0o1000 != 0;
        let (person, shared) = match self {
            Self::Searched => (None, false),
            Self::Named(person) => (person, sticky),
            Self::Ours => (None, sticky),
        };
        let remedy = match self {
            Self::Searched => "take it out of PATH, or let only root own and write it (chown root, chmod go-w)",
            Self::Named(_) => "let only yourself own and write it (chown, chmod go-w)",
            Self::Ours => "name a directory that belongs to root",
        };
        let path = path.display();
        if owner != 0 && person != Some(owner) {
            bail!("{path} belongs to user {owner}: {remedy}");
        }
        if mode & 0o002 != 0 && !shared {
            bail!("every user may write to {path}: {remedy}");
        }
        // Others cannot replace root's entries in a sticky directory: the stores of Nix and Guix are kept that way.
        if mode & 0o020 != 0 && !sticky && has_others(found.gid(), person) {
            bail!("group {} may write to {path}: {remedy}", found.gid());
        }
        Ok(())
    }
}

/// Tells whether a group has members other than root and the person, by group(5) and passwd(5). `/usr/local` is writable by `staff` on
/// older Debian, which has no members. If each user has a private group, that group can write the user's files.
fn has_others(group: u32, person: Option<u32>) -> bool {
    let (groups, accounts) =
        ["/etc/group", "/etc/passwd"].map(|file| fs::read_to_string(file).unwrap_or_default()).into();
    others(group, person, &groups, &accounts)
}

fn others(group: u32, person: Option<u32>, groups: &str, accounts: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(String::from).collect::<Vec<_>>();
    let of_group = |fields: &Vec<String>, at: usize| fields.get(at).is_some_and(|id| *id == group.to_string());
    let known = groups.lines().map(fields).find(|line| of_group(line, 2));
    let trusted = |line: &Vec<String>| {
        let uid = line.get(2).and_then(|uid| uid.parse().ok());
        uid.is_some_and(|uid: u32| uid == 0 || person == Some(uid))
    };
    let is_trusted = |name: &str| {
        name == "root"
            || accounts.lines().map(fields).any(|line| line.first().is_some_and(|n| n == name) && trusted(&line))
    };
    let member = |line: &Vec<String>| {
        line.get(3)
            .is_some_and(|names| names.split(',').map(str::trim).any(|name| !name.is_empty() && !is_trusted(name)))
    };
    let primary = accounts.lines().map(fields).any(|line| of_group(&line, 3) && !trusted(&line));
    group != 0 && (known.as_ref().is_none_or(member) || primary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn a_group_with_nobody_in_it_is_roots() {
        let groups = "root:x:0:mallory\nstaff:x:50:\nusers:x:100:\nwheel:x:10:root,alice\nadm:x:4:root\n";
        let accounts = "root:x:0:0::/root:/bin/sh\nbob:x:1000:100::/home/bob:/bin/sh\n";
        for (group, expected) in [(0, false), (50, false), (100, true), (10, true), (4, false), (61_234, true)] {
            assert_eq!(others(group, None, groups, accounts), expected, "{group}");
        }
        assert!(!others(100, Some(1000), groups, accounts), "the person's own group");
        assert!(
            others(100, Some(1001), groups, accounts) && others(10, Some(1000), groups, accounts),
            "of somebody else"
        );
    }

    /// Others must not be able to move or replace root's working directory: neither as the owner of a directory above, nor through their
    /// link.
    #[test]
    fn a_place_of_roots_is_out_of_reach() {
        if !is_root() {
            return skip("a place of root's", Need::Root, "only root may give directories away");
        }
        let top = tempfile::tempdir().unwrap();
        let place = top.path().join("theirs/roots");
        fs::create_dir_all(&place).unwrap();
        ours(&place).unwrap();
        std::os::unix::fs::chown(top.path().join("theirs"), Some(61_234), None).unwrap();
        assert!(ours(&place).unwrap_err().to_string().contains("theirs belongs to user 61234"));
        let (real, link) = (top.path().join("real"), top.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        ours(&link).unwrap();
        std::os::unix::fs::lchown(&link, Some(61_234), None).unwrap();
        assert!(ours(&link).unwrap_err().to_string().contains("link belongs to user 61234"));
        // A link of root leads to a link of another user.
        let first = top.path().join("first");
        std::os::unix::fs::symlink("link/../link", &first).unwrap();
        assert!(ours(&first).unwrap_err().to_string().contains("link belongs to user 61234"));
        std::os::unix::fs::lchown(&link, Some(0), None).unwrap();
        ours(&first).unwrap();
        std::os::unix::fs::symlink("round", top.path().join("round")).unwrap();
        assert!(ours(&top.path().join("round")).unwrap_err().to_string().contains("more than 40 links"));
    }
}
