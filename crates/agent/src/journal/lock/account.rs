//! Which user of the machine this process is. Root of a user namespace is an ordinary user of the machine, not root.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// A user of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Its number outside of the user namespace.
    pub uid: u32,
    /// Whether root's directory belongs to it.
    pub is_root: bool,
}

impl Account {
    /// Returns the user of this process.
    pub fn own(root_dir: &Path) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self::of(uid, &map, || may_have(root_dir))
    }

    /// Returns the user, given the map of the user namespace (user_namespaces(7)). A container may have its own /run.
    fn of(uid: u32, map: &str, may_have_root_dir: impl FnOnce() -> bool) -> Self {
        match outside(map) {
            Some(outer) if uid == 0 && !may_have_root_dir() => Self { uid: outer, is_root: false },
            _ => Self { uid, is_root: uid == 0 },
        }
    }
}

/// Returns the number that root of a user namespace has outside of it; `None` in the initial namespace.
fn outside(map: &str) -> Option<u32> {
    let fields = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    let (_, outer, count) = map.lines().filter_map(fields).find(|(inner, ..)| *inner == 0)?;
    ((outer, count) != (0, u32::MAX)).then_some(outer)
}

/// Whether the directory belongs to this user, or the user may make it.
fn may_have(dir: &Path) -> bool {
    match fs::symlink_metadata(dir) {
        Ok(found) => found.uid() == rustix::process::geteuid().as_raw(),
        Err(_) => dir.parent().is_some_and(|above| {
            rustix::fs::access(above, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_a_namespace_is_root_where_the_directory_is_its_own() {
        let is = |uid, map: &str, may_have| Account::of(uid, map, || may_have);
        let machine = "         0          0 4294967295\n";
        let rootless = "         0       1000          1\n";
        assert_eq!(is(0, machine, false), Account { uid: 0, is_root: true }, "refused later, with the reason");
        assert_eq!(is(0, rootless, false), Account { uid: 1000, is_root: false });
        assert_eq!(is(0, rootless, true), Account { uid: 0, is_root: true }, "a container with another /run");
        assert_eq!(is(0, "0 0 1", false), Account { uid: 0, is_root: false }, "unshare -Ur by root");
        assert_eq!(is(1000, machine, true), Account { uid: 1000, is_root: false });
        assert_eq!(is(0, "", false), Account { uid: 0, is_root: true }, "a kernel without user namespaces");
    }
}
