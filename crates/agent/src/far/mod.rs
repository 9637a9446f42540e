//! latido on another machine over ssh: it uses the system's ssh with its configuration, and copies its executable there once.

mod copied;
pub mod file;
mod way;

pub use copied::{Copied, there};
pub use way::Way;

use anyhow::{Result, ensure};

/// Returns whether latido should give up waiting for the answer.
pub type Stopped<'a> = &'a dyn Fn() -> bool;

/// Returns a host in the form that ssh takes. It contains nothing that ssh could take for an option, or a shell for a command.
///
/// # Errors
/// The text is not a host.
pub fn host(place: &str) -> Result<String> {
    ensure!(!place.is_empty(), "name the machine: ssh:[USER@]HOST");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@%".contains(c);
    // The user may write an IPv6 address in brackets, but ssh would take them for a part of the name.
    let (user, name) = place.rsplit_once('@').map_or((None, place), |(user, name)| (Some(user), name));
    let name = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let sound = |word: &str| !word.is_empty() && !word.starts_with('-') && word.chars().all(plain);
    ensure!(
        sound(name) && user.is_none_or(sound),
        "`{place}` is not [USER@]HOST: a name of your ssh configuration, a host name or an address"
    );
    Ok(user.map_or_else(|| name.into(), |user| format!("{user}@{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name from a plan or a command line must reach ssh as a host or not at all.
    #[test]
    fn nothing_but_a_host_is_one() {
        for (place, expected) in [
            ("board", "board"),
            ("root@board-3.lan", "root@board-3.lan"),
            ("[::1]", "::1"),
            ("a@[fe80::1%lo]", "a@fe80::1%lo"),
        ] {
            assert_eq!(host(place).unwrap(), expected);
        }
        for place in ["", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a@", "@b", "-a@b", "a@-b", "`x`", "a\nb", "[]"] {
            assert!(host(place).is_err(), "{place}");
        }
    }
}
