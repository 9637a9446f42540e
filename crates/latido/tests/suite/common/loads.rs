//! Real loads: a world that keeps their data apart, and what they report.

use crate::common::{World, meanwhile, stderr};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

/// A world whose loads put their data into a directory of this test.
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

/// What is left in the directory for temporary files.
pub fn left(world: &World) -> Vec<PathBuf> {
    fs::read_dir(world.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Runs the probe `null` under the load. Returns the record's entries of loads.
pub fn under(world: &World, hold: &str, load: &str) -> Vec<Value> {
    let (hold, load) = (format!("hold={hold}"), format!("--load={load}"));
    let output = latido(world, ["run", "null", &hold, &load, "--no-report", "--json"]).output().unwrap();
    // Stolen time may contaminate the run; the test is about the load.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{load}: {}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let loads = document["records"][0]["load"].as_array().unwrap().clone();
    assert!(!loads.is_empty() && loads.iter().all(|load| load["alive"] == true), "{loads:?}");
    assert_eq!(left(world), Vec::<PathBuf>::new(), "{load}");
    loads
}

pub fn achieved(load: &Value, name: &str) -> i64 {
    load["achieved"][name].as_i64().unwrap_or_else(|| panic!("no {name} in {load}"))
}

/// Starts a load as an agent does, until it has reported work of each name: the work counts, however slow the machine is. Then ends the
/// load, which must leave nothing behind.
pub fn works(world: &World, load: &str, names: &[&str]) -> BTreeMap<String, u64> {
    let account = works_by(latido(world, ["load", load]), load, names);
    assert_eq!(left(world), Vec::<PathBuf>::new(), "{load}");
    account
}

/// The same with another command that bears the load.
pub fn works_by(mut bearer: Command, load: &str, names: &[&str]) -> BTreeMap<String, u64> {
    // latido bears a load only for its parent.
    let mark = format!("{}-0", std::process::id());
    bearer.env("LATIDO_LOAD", mark).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut bearer = bearer.spawn().unwrap();
    let accounts = heard(bearer.stdout.take().unwrap());
    let account = meanwhile(&mut bearer, &format!("{load} tells of {names:?}"), || {
        let worked = |account: &BTreeMap<String, u64>| {
            names.iter().chain(&["elapsed_ns"]).all(|name| account.get(*name).is_some_and(|done| *done > 0))
        };
        accounts.try_iter().last().filter(worked)
    });
    rustix::process::kill_process(rustix::process::Pid::from_child(&bearer), rustix::process::Signal::TERM).unwrap();
    let ended = bearer.wait().unwrap();
    assert!(ended.success() || ended.signal() == Some(signal_hook::consts::SIGTERM), "{load}: {ended}");
    account
}

/// The counts that a load prints, as they arrive. The thread reads all of them.
fn heard(printed: ChildStdout) -> Receiver<BTreeMap<String, u64>> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(printed).lines().map(Result::unwrap);
        lines
            .filter_map(|line| line.strip_prefix("latido-load ").map(account))
            .for_each(|account| _ = tell.send(account));
    });
    told
}

/// The counts of one line.
fn account(line: &str) -> BTreeMap<String, u64> {
    let count = |word: &str| {
        let (name, count) = word.split_once('=').unwrap_or_else(|| panic!("{word} is no count"));
        (name.to_string(), count.parse().unwrap())
    };
    line.split_whitespace().map(count).collect()
}

/// Checks that the record's counts of a load include these names, each above zero, and the time for their rates.
pub fn did(load: &Value, names: &[&str]) {
    for name in names.iter().chain(&["elapsed_ns"]) {
        assert!(achieved(load, name) > 0, "{name}: {load}");
    }
}
