//! Loads for real: a world that keeps their data apart, and what they say they did.

use crate::common::{World, stderr};
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};

/// A world whose loads put their data into a directory of its own.
pub fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("tmp")).unwrap();
    world
}

pub fn latido<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = world.latido(arguments);
    command.env("TMPDIR", world.path("tmp"));
    command
}

/// What lies in the directory for temporary files.
pub fn left(world: &World) -> Vec<PathBuf> {
    fs::read_dir(world.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Runs the probe that asks for nothing under the load for some seconds; the record's entries of loads.
pub fn under(world: &World, hold: &str, load: &str) -> Vec<Value> {
    let (hold, load) = (format!("hold={hold}"), format!("--load={load}"));
    let output = latido(world, ["run", "null", &hold, &load, "--no-report", "--json"]).output().unwrap();
    // A stolen machine may contaminate; the load is what is tested.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{load}: {}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let loads = document["records"][0]["load"].as_array().unwrap().clone();
    assert!(loads.iter().all(|load| load["alive"] == true), "{loads:?}");
    assert_eq!(left(world), Vec::<PathBuf>::new(), "{load}");
    loads
}

pub fn achieved(load: &Value, name: &str) -> i64 {
    load["achieved"][name].as_i64().unwrap_or_else(|| panic!("no {name} in {load}"))
}

/// The load's own account has all of these, each above nothing, and the time for their rates.
pub fn did(load: &Value, names: &[&str]) {
    for name in names.iter().chain(&["elapsed_ns"]) {
        assert!(achieved(load, name) > 0, "{name}: {load}");
    }
}
