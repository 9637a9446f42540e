//! The person behind sudo. latido reads and writes files and runs their programs in their name, while root measures.

use latido_sys::identity::Identity;
use std::path::PathBuf;

/// The person who called latido through sudo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl Person {
    /// Returns the person from `$SUDO_UID` and `$SUDO_GID`, which count only if this process is root.
    pub fn behind_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        let root = rustix::process::geteuid().is_root();
        let person = Self { uid: number("SUDO_UID")?, gid: number("SUDO_GID")? };
        (root && person.uid != 0).then_some(person)
    }

    /// Returns their home directory, if `/etc/passwd` contains one.
    pub fn home(self) -> Option<PathBuf> {
        home_of(self.uid, &std::fs::read_to_string("/etc/passwd").ok()?)
    }

    /// Returns their identity, including their groups.
    pub fn identity(self) -> Identity {
        let Self { uid, gid } = self;
        let groups = match std::env::var("SUDO_USER") {
            Ok(name) => groups(&name, gid, &std::fs::read_to_string("/etc/group").unwrap_or_default()),
            Err(_) => vec![gid],
        };
        Identity { uid, gid, groups }
    }
}

/// Returns the home directory of a user id, see passwd(5).
fn home_of(uid: u32, passwd: &str) -> Option<PathBuf> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(uid)).then(|| fields.get(5).map(PathBuf::from)).flatten()
    })
}

/// Returns the groups of a user, see group(5). latido does not know the groups of a directory service, so it does not use them.
fn groups(user: &str, own: u32, file: &str) -> Vec<u32> {
    let named = file.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let group = fields.next()?.parse().ok()?;
        fields.next()?.split(',').any(|member| member == user).then_some(group)
    });
    let mut all: Vec<u32> = [own].into_iter().chain(named).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_behind_sudo_comes_from_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nana:x:1000:1000:Ana:/home/ana:/bin/bash\nbroken\n";
        assert_eq!(home_of(1000, passwd), Some(PathBuf::from("/home/ana")));
        assert_eq!(home_of(1001, passwd), None);
    }

    #[test]
    fn groups_are_those_that_name_the_user() {
        let file = "root:x:0:\naudio:x:29:ana,bo\nanas:x:1000:\nvideo:x:44:bo\nlab:x:2000:bo,ana\nbroken\n";
        assert_eq!(groups("ana", 1000, file), [29, 1000, 2000]);
        assert_eq!(groups("nobody", 7, file), [7]);
    }
}
