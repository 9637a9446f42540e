//! A finished run asked to resume stays as it is.

use crate::common;

use common::{World, stderr};
use std::fs;

#[test]
fn a_finished_run_keeps_its_verdict() {
    let world = World::new();
    let output = world.run(["run", "null", "--policy", "other", "--duration", "10ms", "--json"]);
    common::json(&output, 0);
    let meta = world.runs()[0].join("run.json");
    let before = fs::read(&meta).unwrap();
    let again = world.run(["run", "--resume", "last", "--json"]);
    assert!(stderr(&again).contains("is finished"), "{}", stderr(&again));
    let document = common::json(&again, 0);
    assert_eq!(document["records"][0]["outcome"]["kind"], "complete", "it is shown as it is");
    assert_eq!(fs::read(&meta).unwrap(), before, "run.json was rewritten");
}
