//! An unprivileged attacker: a shell script that setpriv(1) runs as a user who owns nothing.

use std::process::{Command, Stdio};

/// The attacker's user and group id. The person behind sudo has the same ids in tests where the attacker is that person.
pub const UID: u32 = 61_234;

/// Why this machine allows no attacker; `None` if it does.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can act as another user".into());
    }
    let there = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_ok_and(|how| how.success());
    (!there).then(|| "setpriv is missing (util-linux)".into())
}

/// A shell script as the attacker, not yet started.
pub fn script(text: &str) -> Command {
    let id = UID.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs", "sh", "-c", text]);
    command.stdin(Stdio::null());
    command
}

/// Makes a latido command one behind sudo: root works for the attacker's account.
pub fn behind_sudo(command: &mut Command) -> &mut Command {
    let id = UID.to_string();
    command.env("SUDO_UID", &id).env("SUDO_GID", &id).env("SUDO_USER", "mallory")
}
