//! A machine over ssh: the system's own ssh with its own configuration; nothing listens there, and no word of a plan
//! reaches a shell.

mod agent;
mod way;

use super::{Def, Target, Unavailable, only_running, session::Session};
use crate::stop::Stopped;
use anyhow::{Result, ensure};
use std::sync::{Mutex, PoisonError};
use way::Way;

/// The list entry.
pub const DEF: Def = Def {
    name: "ssh",
    about: "a machine over ssh, with the agent copied there once; $LATIDO_SSH_CONFIG names another configuration file",
    for_tests: false,
    place: "[USER@]HOST",
    new: |place| Ok(Box::new(Ssh { host: host(place)?, left: Mutex::default() })),
};

struct Ssh {
    host: String,
    /// Directories on the machine that a lost link kept us from removing.
    left: Mutex<Vec<String>>,
}

/// A host as ssh takes it: nothing in it that ssh could take for an option, or a shell for a command.
fn host(place: &str) -> Result<String> {
    ensure!(!place.is_empty(), "name the machine: ssh:[USER@]HOST");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@%".contains(c);
    // An IPv6 address may stand in brackets, which ssh would take for a part of the name.
    let (user, name) = place.rsplit_once('@').map_or((None, place), |(user, name)| (Some(user), name));
    let name = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let sound = |word: &str| !word.is_empty() && !word.starts_with('-') && word.chars().all(plain);
    ensure!(
        sound(name) && user.is_none_or(sound),
        "`{place}` is not [USER@]HOST: a name of your ssh configuration, a host name or an address"
    );
    Ok(user.map_or_else(|| name.into(), |user| format!("{user}@{name}")))
}

impl Target for Ssh {
    fn open(&self, kernel: &str, boot: u32, stopped: Stopped<'_>) -> Result<Session, Unavailable> {
        only_running(&format!("ssh:{}", self.host), kernel, boot)?;
        let way = Way::open(&self.host, stopped)?;
        let agent = agent::there(&way, &mut self.left.lock().unwrap_or_else(PoisonError::into_inner), stopped)?;
        let mut command = way.command(&agent.command);
        command.stderr(std::process::Stdio::piped());
        let session = Session::over(command, &format!("ssh {}", self.host), stopped)?;
        Ok(session.holding(Box::new((agent, way))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan or a command line names must reach ssh as a host or not at all.
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
