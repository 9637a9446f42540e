//! Starts the laboratory's child processes: compilers, packers, emulators. Each reads files of the user, and so runs as the user.
//!
//! Behind sudo this process accesses files as the user, but a program that it starts would be root again. So latido gives a child of the
//! laboratory the identity of the user: user, groups and rights. No program of the laboratory needs more.

use crate::person::Person;
use latido_sys::{
    identity,
    process::{self, Child},
};
use std::{ffi::OsStr, process::Command};

/// Returns a program that will run as the user, not yet started.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = theirs(program);
    identity::hand_over(&mut command);
    command
}

/// As [`command`], for a child that also gets these settings.
pub(super) fn prepared(program: impl AsRef<OsStr>, manners: Child) -> Command {
    let mut command = theirs(program);
    process::prepare_theirs(&mut command, manners);
    command
}

/// Returns a program with the user's home in its environment: the user cannot read files in root's home.
fn theirs(program: impl AsRef<OsStr>) -> Command {
    // Runs as the person: both callers hand it over.
    let mut command = Command::new(program);
    if let Some(person) = Person::behind_sudo() {
        match person.home() {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
    }
    command
}
