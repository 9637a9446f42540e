//! Whose state lies elsewhere is not met, but on the machine itself: its settings change only while nobody measures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::{World, json, root, stderr};
use std::fs;

const KNOB: &str = "/proc/sys/vm/stat_interval";

fn knob() -> String {
    fs::read_to_string(KNOB).unwrap()
}

#[test]
fn settings_stay_while_somebody_measures_wherever_the_state_lies() {
    if !root("settings beside a measurement") || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip("settings beside a measurement", "the knob may not be written here");
    }
    let before = knob();
    {
        // The world itself stands for somebody who measures: it has the machine among others.
        let world = World::new();
        let name = format!("pid {}, the test `settings_stay", std::process::id());
        let apply = world.run(["tune", "apply", "vm-stat:77s"]);
        assert_eq!(apply.status.code(), Some(1), "{}", stderr(&apply));
        let said = stderr(&apply);
        assert!(said.contains("another latido is at work on this machine") && said.contains(&name), "{said}");
        assert!(said.contains("nothing was changed"), "{said}");
        let tuned = world.run(["run", "null", "samples=10", "--tune", "vm-stat:77s", "--no-report", "--json"]);
        assert_eq!(tuned.status.code(), Some(1), "{}", stderr(&tuned));
        assert!(stderr(&tuned).contains(&name), "{}", stderr(&tuned));
        assert_eq!(knob(), before);
        // Who only measures goes on beside.
        json(&world.run(["run", "null", "samples=10", "--no-report", "--json"]), 0);
    }
    // Who has the machine alone lends it.
    let _machine = common::machine();
    let world = World::new();
    let apply = world.run(["tune", "apply", "vm-stat:77s"]);
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert_eq!(knob(), "77\n");
    let undo = world.run(["tune", "undo"]);
    assert_eq!((undo.status.code(), knob()), (Some(0), before), "{}", stderr(&undo));
}
