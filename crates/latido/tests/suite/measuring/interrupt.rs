//! Ctrl-C once: latido ends in good order and stores a partial record. Twice: it ends at once. Both leave nothing behind.

use crate::common;

use common::{World, agent_of, ended, processes, until};
use rustix::process::Signal;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
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
    // The probe stays alive for a minute after its loop, and its load runs meanwhile.
    let pid = common::measuring_process(world);
    until("a measuring thread that sleeps", || (processes::wakeups(pid) > 20).then_some(()));
    until("the load", || world.alive().iter().any(|(_, line)| line.contains(" load spin")).then_some(()));
    // The test must go on reading, or a full pipe blocks the child.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

#[test]
fn once_stores_what_there_is_as_partial() {
    let world = World::new();
    let child = measuring(&world);
    processes::ctrl_c(child.id());
    let output = ended(child, "a run that was interrupted once");
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
    // While the agent is stopped it receives neither request, so both arrive together.
    let agent = agent_of(child.id()).cast_signed();
    processes::signal(agent, Signal::STOP);
    processes::ctrl_c(child.id());
    processes::ctrl_c(child.id());
    processes::signal(agent, Signal::CONT);
    assert_eq!(common::status(&mut child, "a run that was interrupted twice").code(), Some(130));
    world.nothing_left("after two Ctrl-C");
    assert!(!world.state().join("journal.jsonl").exists());
}
