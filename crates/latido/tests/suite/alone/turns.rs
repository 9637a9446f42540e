//! Whose state lies elsewhere is not met, but on the machine itself: its settings change only while nobody measures.

use crate::common::{self, Need};

use common::{World, json, root, stderr};
use std::{
    fs,
    sync::{Mutex, PoisonError},
};

const KNOB: &str = "/proc/sys/vm/stat_interval";

/// Both tests look at the knob while it is nobody's turn to change it.
static LOOKING: Mutex<()> = Mutex::new(());

fn knob() -> String {
    fs::read_to_string(KNOB).unwrap()
}

#[test]
fn settings_stay_while_somebody_measures_wherever_the_state_lies() {
    if !root("settings beside a measurement") || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip("settings beside a measurement", Need::Kernel, "the knob may not be written here");
    }
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = knob();
    {
        // The world itself stands for somebody who measures: it has the machine among others.
        let world = World::new();
        // Others may measure as well, and one of them be named.
        let name = "another latido is at work on this machine (pid ";
        let apply = world.run(["tune", "apply", "vm-stat:77s"]);
        assert_eq!(apply.status.code(), Some(1), "{}", stderr(&apply));
        let said = stderr(&apply);
        assert!(said.contains(name) && said.contains("nothing was changed"), "{said}");
        let tuned = world.run(["run", "null", "samples=10", "--tune", "vm-stat:77s", "--no-report", "--json"]);
        assert_eq!(tuned.status.code(), Some(1), "{}", stderr(&tuned));
        assert!(stderr(&tuned).contains(name), "{}", stderr(&tuned));
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
    // It stays in force while measured, and the record says so.
    let words = ["run", "null", "samples=10", "--no-report", "--json"];
    let beside = json(&world.run(words), 0);
    let set = serde_json::json!([{ "tuning": "vm-stat", "knob": KNOB, "value": "77", "in_force": true }]);
    assert_eq!(beside["records"][0]["quality"]["by_hand"], set);
    let undo = world.run(["tune", "undo"]);
    assert_eq!((undo.status.code(), knob()), (Some(0), before), "{}", stderr(&undo));
}

/// Nothing is stored of a cell that failed, but what the machine is left with is told all the same.
#[test]
fn what_would_not_go_back_is_told_where_the_cell_failed() {
    if !root("a knob that somebody else changes") || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip("a knob that somebody else changes", Need::Kernel, "the knob may not be written here");
    }
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let _machine = common::machine();
    let (before, world) = (knob(), World::new());
    // A load that is somebody else here: it takes the knob, and is dead before anything is measured.
    let script = world.path("take.sh");
    fs::write(&script, format!("echo 79 > {KNOB}\n")).unwrap();
    let load = format!("command:sh {}", script.display());
    let words = ["run", "null", "samples=10", "--tune", "vm-stat:77s", "--no-report", "--json", "--load", &load];
    let output = world.run(words);
    let left = knob();
    fs::write(KNOB, &before).unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("the load died before the measurement"), "{said}");
    assert_eq!(left, "79\n", "what somebody else set stays");
    let told = format!("was set to `79` by somebody else: left so (it was `{}`)", before.trim());
    assert!(said.contains(&told), "{said}");
}

/// What a person applied stays a person's, whoever's measurement keeps it from being undone just now.
#[test]
fn a_refused_undo_changes_nothing() {
    if !root("an undo that is refused") || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip("an undo that is refused", Need::Kernel, "the knob may not be written here");
    }
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let state = tempfile::tempdir().unwrap();
    let tune = |world: &World, words: &[&str]| {
        world
            .latido(["tune"].into_iter().chain(words.iter().copied()))
            .env("LATIDO_STATE", state.path())
            .output()
            .unwrap()
    };
    let before = {
        let _machine = common::machine();
        let (before, world) = (knob(), World::new());
        let apply = tune(&world, &["apply", "vm-stat:78s"]);
        assert_eq!((apply.status.code(), knob().as_str()), (Some(0), "78\n"), "{}", stderr(&apply));
        before
    };
    let by_hand = || {
        let status = tune(&World::new(), &["status", "--json"]);
        json(&status, 0)["applied"].as_array().unwrap().len()
    };
    {
        // It stands for somebody who measures.
        let world = World::new();
        let undo = tune(&world, &["undo"]);
        assert_eq!(undo.status.code(), Some(1), "{}", stderr(&undo));
        assert_eq!((knob().as_str(), by_hand()), ("78\n", 1));
    }
    let _machine = common::machine();
    let undo = tune(&World::new(), &["undo"]);
    assert_eq!((undo.status.code(), knob()), (Some(0), before), "{}", stderr(&undo));
}
