//! The directories in which root works must be out of reach of others. In a directory below one of theirs, others could exchange them, and
//! make root believe a journal or write through their link.

#[allow(dead_code, reason = "others use the rest of it")]
use crate::common::attacker;
use crate::common::{self, Need};

use common::{World, skip, stderr};
use std::{fs, os::unix::fs::chown, path::PathBuf};

/// Makes a directory of root's below one of the attacker's.
fn below_theirs(world: &World, name: &str) -> PathBuf {
    let theirs = world.path("theirs");
    fs::create_dir_all(theirs.join(name)).unwrap();
    chown(&theirs, Some(attacker::UID), Some(attacker::UID)).unwrap();
    theirs.join(name)
}

/// Every command that would believe the journal refuses a state directory that others could exchange for their own.
#[test]
fn a_state_directory_within_reach_of_others_is_refused() {
    if let Some(why) = attacker::missing() {
        return skip("a state directory below one of others", Need::AnotherUser, &why);
    }
    let world = World::new();
    let state = below_theirs(&world, "state");
    for words in [&["tune", "undo"][..], &["tune", "apply", "printk:2"], &["run", "null", "samples=10", "--no-report"]]
    {
        let output = world.latido(words.iter().copied()).env("LATIDO_STATE", &state).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.contains("theirs belongs to user") && said.contains("a directory that belongs to root"),
            "{words:?}: {said}"
        );
    }
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "something was written there");
}

/// The same holds for the directory for temporary files: latido puts neither a load nor the spool of a measurement there.
#[test]
fn a_temporary_directory_within_reach_of_others_is_refused() {
    if let Some(why) = attacker::missing() {
        return skip("a temporary directory below one of others", Need::AnotherUser, &why);
    }
    let world = World::new();
    let temporary = below_theirs(&world, "tmp");
    for words in [&["load", "tree:files=5", "-d1s"][..], &["run", "null", "samples=10", "--no-report"]] {
        let output = world.latido(words.iter().copied()).env("TMPDIR", &temporary).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("TMPDIR") && said.contains("theirs belongs to user"), "{words:?}: {said}");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "something was written there");
}

/// An empty LATIDO_STATE counts as not set.
#[test]
fn an_empty_word_names_no_state_directory() {
    let world = World::new();
    let output = world.latido(["tune", "status"]).env("LATIDO_STATE", "").output().unwrap();
    assert!(!stderr(&output).contains("cannot look at"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
