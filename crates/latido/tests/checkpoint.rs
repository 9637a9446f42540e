//! A power cut in a long cell costs what was measured since the last checkpoint, no more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::World;
use std::{
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

#[test]
fn what_was_checkpointed_survives_a_cut_of_everything() {
    let world = World::new();
    let mut command =
        world.latido(["run", "null", "samples=777", "hold=60s", "-d60s", "--policy=other", "--no-report"]);
    let mut child =
        command.env("LATIDO_CHECKPOINT_MS", "300").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let give_up = Instant::now() + Duration::from_secs(20);
    let checkpoint = loop {
        assert!(Instant::now() < give_up, "no checkpoint was written");
        thread::sleep(Duration::from_millis(50));
        let record = world.runs().first().map(|run| run.join("cells/001/checkpoint/record.json"));
        if let Some(path) = record.filter(|path| path.exists()) {
            break path;
        }
    };
    // The power cut: every process at once, none gets to say goodbye.
    for (pid, _) in world.alive() {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
    world.nothing_left("after the cut");
    assert!(checkpoint.exists());
    let output = world.run(["show", "last", "--json"]);
    let document = common::json(&output, 3);
    let record = &document["records"][0];
    assert_eq!(record["outcome"]["kind"], "checkpoint");
    assert_eq!(record["series"][0]["count"], 777);
    assert_eq!(record["probe"], "null");
    // What only the end of the loops can tell is not claimed.
    let findings = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let level = |check: &str| findings.iter().find(|f| f["check"] == check).unwrap()["level"].clone();
    assert_eq!((level("page faults"), level("pinning")), ("unknown".into(), "unknown".into()));
}
