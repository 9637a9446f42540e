//! Ctrl-C once: an orderly end, stored as partial. Twice: an end at once. Both leave nothing behind; --resume goes on.

use crate::common;

use common::World;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::Duration,
};

const PLAN: &str = r#"
schema = 1
name = "long"
seed = 3
[[group]]
probe = [{ name = "null", samples = 50, hold = "60s" }]
load = [{ id = "busy", use = [{ name = "spin", cpu = 1, memory = 1, size = 1 }] }]
scheduling = [{ policy = "other" }]
duration = "60s"
warmup = "0ns"
"#;

/// Starts the long plan and waits until it measures.
fn measuring(world: &World) -> Child {
    let plan = world.file("long.toml", PLAN);
    let mut command = world.latido(["run", plan.to_str().unwrap(), "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let started = lines.by_ref().map_while(Result::ok).any(|line| line.contains("measuring") || line.contains("null"));
    assert!(started, "it never measured");
    std::thread::sleep(Duration::from_millis(700));
    // Somebody must go on reading, or the child is stopped by a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

#[test]
fn once_stores_what_there_is_as_partial() {
    let world = World::new();
    let child = measuring(&world);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let document = common::json(&output, 130);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["outcome"]["kind"], "interrupted");
    world.nothing_left("after one Ctrl-C");
    assert!(!world.state().join("journal.jsonl").exists());
}

#[test]
fn twice_stops_at_once_and_leaves_nothing() {
    let world = World::new();
    let mut child = measuring(&world);
    interrupt(&child);
    // Signals of one number merge while pending, and a third would give the agent up.
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    world.nothing_left("after two Ctrl-C");
    assert!(!world.state().join("journal.jsonl").exists());
}
