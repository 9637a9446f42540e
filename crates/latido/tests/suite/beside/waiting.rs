//! Two runs on one machine: the second is refused, or waits its turn with `--wait` and says for whom.

use crate::common;

use common::{World, json, stderr};
use std::{
    fs,
    process::{Child, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// A run that measures nothing for a while, and has the machine meanwhile.
struct First(Child);

impl First {
    fn start(world: &World, hold: &str) -> Self {
        let hold = format!("hold={hold}");
        let words = ["run", "null", "samples=10", &hold, "--no-report", "--quiet"];
        let child = world.latido(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = Self(child);
        let until = Instant::now() + Duration::from_secs(30);
        while !world.alive().iter().any(|(_, line)| line.contains("--measure")) {
            assert!(Instant::now() < until && first.0.try_wait().unwrap().is_none(), "it does not measure");
            sleep(Duration::from_millis(10));
        }
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

/// A run beside it with these words more.
fn second(world: &World, more: &[&str]) -> Child {
    let words = ["run", "null", "samples=10", "--no-report", "--json"];
    let mut command = world.latido(words.into_iter().chain(more.iter().copied()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// It ended with status 1, says who has the machine, and stored nothing.
fn refused(world: &World, output: &Output) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another latido is at work on this machine (pid "), "{said}");
    assert!(said.contains("running `null`"), "{said}");
    assert_eq!(common::runs_of(world).len(), 1, "only the first run is stored");
}

#[test]
fn who_waits_says_for_whom_and_then_measures() {
    let world = World::new();
    let mut first = First::start(&world, "3s");
    let output = second(&world, &["--wait"]).wait_with_output().unwrap();
    let document = json(&output, 0);
    assert_eq!(document["records"][0]["outcome"]["kind"], "complete");
    let said = stderr(&output);
    assert!(said.contains("waiting for another latido (pid ") && said.contains("running `null`"), "{said}");
    assert_eq!(first.0.wait().unwrap().code(), Some(0), "the first is not disturbed");
    // One after the other: what the first measured was stored before the second began its cell.
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
    let output = second(&world, &[]).wait_with_output().unwrap();
    refused(&world, &output);
    assert!(!stderr(&output).contains("waiting"), "{}", stderr(&output));
}

#[test]
fn patience_ends_when_it_was_said() {
    let world = World::new();
    let _first = First::start(&world, "60s");
    let begun = Instant::now();
    let output = second(&world, &["--wait=1s"]).wait_with_output().unwrap();
    let waited = begun.elapsed();
    refused(&world, &output);
    assert!(stderr(&output).contains("waiting for another latido (pid "), "{}", stderr(&output));
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_secs(20), "{waited:?}");
}

#[test]
fn ctrl_c_ends_the_waiting_and_stores_nothing() {
    let world = World::new();
    let mut first = First::start(&world, "60s");
    let child = second(&world, &["--wait=10m"]);
    // Time to come to the lock; before that it would end in the same way.
    sleep(Duration::from_secs(2));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("waiting for another latido (pid "), "{said}");
    assert!(said.contains("nothing was started"), "{said}");
    assert_eq!(common::runs_of(&world).len(), 1, "only the first run is stored");
    assert!(first.0.try_wait().unwrap().is_none(), "the first goes on");
}
