//! Two runs on one machine: the second is refused, or waits with `--wait` and says for which one.

use crate::common;

use common::{World, ended, json, meanwhile, stderr};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Output, Stdio},
    time::{Duration, Instant},
};

/// A run that measures nothing for a while, and holds the machine meanwhile.
struct First(Child);

impl First {
    fn start(world: &World, hold: &str) -> Self {
        let hold = format!("hold={hold}");
        let words = ["run", "null", "samples=10", &hold, "--no-report", "--quiet"];
        let child = world.latido(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = Self(child);
        let measures = || world.alive().iter().any(|(_, line)| line.contains("--measure")).then_some(());
        meanwhile(&mut first.0, "its measuring process", measures);
        first
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // Its agent ends with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a run next to it, with these additional words.
fn second(world: &World, more: &[&str]) -> Child {
    let words = ["run", "null", "samples=10", "--no-report", "--json"];
    let mut command = world.latido(words.into_iter().chain(more.iter().copied()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the run reports that it waits. Returns the run, which goes on, and its output so far.
fn waits(mut child: Child) -> (Child, String) {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    while !said.contains("waiting for another latido") {
        let line = lines.next().unwrap_or_else(|| panic!("it ended and did not wait: {said}")).unwrap();
        said += &line;
        said.push('\n');
    }
    // The test must go on reading, or a full pipe blocks the run.
    std::thread::spawn(move || lines.for_each(drop));
    (child, said)
}

/// Checks that it ended with status 1, named the process that has the machine, and stored nothing.
fn refused(world: &World, output: &Output) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another latido is using this machine (pid "), "{said}");
    assert!(said.contains("running `null`"), "{said}");
    assert_eq!(common::runs_of(world).len(), 1, "only the first run is stored");
}

#[test]
fn who_waits_says_for_whom_and_then_measures() {
    let world = World::new();
    let mut first = First::start(&world, "60s");
    let (child, said) = waits(second(&world, &["--wait"]));
    assert!(said.contains("waiting for another latido (pid ") && said.contains("running `null`"), "{said}");
    assert!(first.0.try_wait().unwrap().is_none(), "the first is not disturbed");
    // Only now does the first run end: in good order, with what it has measured.
    common::processes::ctrl_c(first.0.id());
    assert_eq!(common::status(&mut first.0, "the first run").code(), Some(130));
    let output = ended(child, "the run that waited");
    let document = json(&output, 0);
    assert_eq!(document["records"][0]["outcome"]["kind"], "complete");
    // One after the other: the first run stored its measurement before the second started its cell.
    let runs = world.runs();
    assert_eq!(runs.len(), 2);
    let mut facts: Vec<(String, String)> = runs
        .iter()
        .map(|run| {
            let facts: serde_json::Value =
                serde_json::from_slice(&fs::read(run.join("cells/001/host.json")).unwrap()).unwrap();
            let text = |key: &str| facts[key].as_str().unwrap().to_owned();
            (text("started"), text("stored"))
        })
        .collect();
    facts.sort();
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    assert!(at(&facts[0].1) <= at(&facts[1].0), "{facts:?}");
    world.nothing_left("after two runs in turn");
}

#[test]
fn without_waiting_it_is_refused_at_once() {
    let world = World::new();
    let _first = First::start(&world, "60s");
    let output = ended(second(&world, &[]), "a run that does not wait");
    refused(&world, &output);
    assert!(!stderr(&output).contains("waiting"), "{}", stderr(&output));
}

#[test]
fn patience_ends_when_it_was_said() {
    let world = World::new();
    let mut first = First::start(&world, "60s");
    let begun = Instant::now();
    let output = ended(second(&world, &["--wait=1s"]), "a run that waits for a second");
    let waited = begun.elapsed();
    // The other run still has the machine: the time limit ended the wait.
    assert!(first.0.try_wait().unwrap().is_none());
    refused(&world, &output);
    assert!(stderr(&output).contains("waiting for another latido (pid "), "{}", stderr(&output));
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[test]
fn ctrl_c_ends_the_waiting_and_stores_nothing() {
    let world = World::new();
    let mut first = First::start(&world, "60s");
    let mut child = second(&world, &["--wait=10m"]);
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("waiting for another latido (pid ") {
        assert!(words.read_line(&mut said).unwrap() > 0, "it ended and did not wait: {said}");
    }
    common::processes::ctrl_c(child.id());
    words.read_to_string(&mut said).unwrap();
    assert_eq!(ended(child, "a run that waits and is interrupted").status.code(), Some(130), "{said}");
    assert!(said.contains("nothing was started"), "{said}");
    assert_eq!(common::runs_of(&world).len(), 1, "only the first run is stored");
    assert!(first.0.try_wait().unwrap().is_none(), "the first goes on");
}
