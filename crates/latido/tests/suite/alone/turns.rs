//! latidos with different state directories share only the machine: latido changes settings only while no other one measures.

use crate::common::{self, Need};

use common::{World, json, root, stderr};
use std::{
    fs,
    sync::{Mutex, PoisonError},
};

const KNOB: &str = "/proc/sys/vm/stat_interval";

/// Both tests look at the knob while no other test may change it.
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
        // The world itself acts as another latido that measures: it holds the machine's lock as one of several.
        let world = World::new();
        // Other processes may also measure, and latido may name one of them.
        let name = "another latido is using this machine (pid ";
        let apply = world.run(["tune", "apply", "vm-stat:77s"]);
        assert_eq!(apply.status.code(), Some(1), "{}", stderr(&apply));
        let said = stderr(&apply);
        assert!(said.contains(name) && said.contains("nothing was changed"), "{said}");
        let tuned = world.run(["run", "null", "samples=10", "--tune", "vm-stat:77s", "--no-report", "--json"]);
        assert_eq!(tuned.status.code(), Some(1), "{}", stderr(&tuned));
        assert!(stderr(&tuned).contains(name), "{}", stderr(&tuned));
        assert_eq!(knob(), before);
        // A run that only measures may run at the same time.
        json(&world.run(["run", "null", "samples=10", "--no-report", "--json"]), 0);
    }
    // A test that holds the machine alone lends the lock to its children.
    let _machine = common::machine();
    let world = World::new();
    let apply = world.run(["tune", "apply", "vm-stat:77s"]);
    assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    assert_eq!(knob(), "77\n");
    // The tuning stays in force during a measurement, and the record states it.
    let words = ["run", "null", "samples=10", "--no-report", "--json"];
    let beside = json(&world.run(words), 0);
    let set = serde_json::json!([{ "tuning": "vm-stat", "knob": KNOB, "value": "77", "in_force": true }]);
    assert_eq!(beside["records"][0]["quality"]["by_hand"], set);
    let undo = world.run(["tune", "undo"]);
    assert_eq!((undo.status.code(), knob()), (Some(0), before), "{}", stderr(&undo));
}

/// latido stores nothing of a cell that failed, but still reports the settings that it could not restore.
#[test]
fn what_would_not_go_back_is_told_where_the_cell_failed() {
    if !root("a knob that somebody else changes") || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
        return common::skip("a knob that somebody else changes", Need::Kernel, "the knob may not be written here");
    }
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let _machine = common::machine();
    let (before, world) = (knob(), World::new());
    // This load acts as another program: it changes the knob, and dies before the measurement starts.
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
    let told = format!("was set to `79` by another program: left unchanged (it was `{}`)", before.trim());
    assert!(said.contains(&told), "{said}");
}

/// A tuning that a person applied stays that person's, even if another measurement prevents the undo for the moment.
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
        // This world acts as another latido that measures.
        let world = World::new();
        let undo = tune(&world, &["undo"]);
        assert_eq!(undo.status.code(), Some(1), "{}", stderr(&undo));
        assert_eq!((knob().as_str(), by_hand()), ("78\n", 1));
    }
    let _machine = common::machine();
    let undo = tune(&World::new(), &["undo"]);
    assert_eq!((undo.status.code(), knob()), (Some(0), before), "{}", stderr(&undo));
}
