//! What /proc shows of a task: the line of its `stat`, split (proc_pid_stat(5)), and its users (proc_pid_status(5)).

use latido_model::clean;

/// Returns a task's name, cleaned, and the fields from the third on. A task may give itself any name, even one with a closing parenthesis
/// or with text that moves a cursor. So the last parenthesis ends the name.
pub fn named(stat: &str) -> Option<(String, &str)> {
    let (before, fields) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((clean::line(name).into_owned(), fields))
}

/// Returns the value of a line `NAME: VALUE` of a status file.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The users of a task, from the line `Uid` of its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// The user who started it. A program that runs with root's rights for any user keeps that user here.
    pub real: u32,
    /// The user whose rights it has.
    pub effective: u32,
}

/// Returns the users of a task; `None` if the text does not show them.
pub fn users(status: &str) -> Option<Users> {
    let mut ids = field(status, "Uid")?.split_whitespace();
    let mut next = || ids.next()?.parse().ok();
    Some(Users { real: next()?, effective: next()? })
}

/// Tells whether a process acts as root, by its status file. A process that does not show its user counts as root's.
pub fn acts_as_root(status: &str) -> bool {
    users(status).is_none_or(|users| users.effective == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_moves_a_cursor() {
        let named = |stat| named(stat).unwrap();
        assert_eq!(named("7 (\x1b]0;owned\x07) S 1"), ("\\u001b]0;owned\\u0007".into(), " S 1"));
        assert_eq!(named("7 (a b) c) S 1"), ("a b) c".into(), " S 1"));
    }
}
