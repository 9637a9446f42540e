//! What /proc says of a task: the line of its `stat`, split (proc_pid_stat(5)), and its users (proc_pid_status(5)).

use latido_model::clean;

/// A task's name, cleaned, and the fields behind it from the third on. Any task may call itself what it likes, a closing
/// parenthesis and what moves a cursor included: the last parenthesis ends the name.
pub fn named(stat: &str) -> Option<(String, &str)> {
    let (before, fields) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((clean::line(name).into_owned(), fields))
}

/// Who a task is, by the line `Uid` of its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// Who began it: a program that runs with root's rights for anybody keeps that user.
    pub real: u32,
    /// Whose rights it has.
    pub effective: u32,
}

/// The users of a task; none where the text does not show them.
pub fn users(status: &str) -> Option<Users> {
    let mut ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace();
    let mut next = || ids.next()?.parse().ok();
    Some(Users { real: next()?, effective: next()? })
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
