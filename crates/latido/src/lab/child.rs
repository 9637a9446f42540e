//! The laboratory's children: compilers, packers, emulators. Each of them reads files of the person's, and so is the person.
//!
//! Behind sudo this process reaches files as the person, but what it starts would be root again. A child of the laboratory is
//! handed over: user, groups and rights of the person. Nothing that the laboratory starts needs more.

use crate::person::Person;
use latido_sys::{
    identity,
    process::{self, Child},
};
use std::{ffi::OsStr, process::Command};

/// A program that works for the person, not yet started.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = theirs(program);
    identity::hand_over(&mut command);
    command
}

/// As [`command`], which prepares itself so besides.
pub(super) fn prepared(program: impl AsRef<OsStr>, manners: Child) -> Command {
    let mut command = theirs(program);
    process::prepare_theirs(&mut command, manners);
    command
}

/// A program with the person's home in its environment: what it keeps in root's it could not read.
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
