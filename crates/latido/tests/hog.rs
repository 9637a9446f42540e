//! A hog above the probe's priority: named in the record, blamed where it decides, and its slots are not lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::{World, installed, realtime};
use serde_json::Value;
use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

#[test]
fn a_hog_above_the_own_priority_is_seen_and_blamed() {
    if !realtime("a hog above the probe") || !installed("taskset", "a hog above the probe") {
        return;
    }
    let world = World::new();
    let mut command = world.latido([
        "run",
        "wakeup",
        "period=1ms",
        "cycles=4000",
        "-c0",
        "--prio=50",
        "--warmup=50ms",
        "--limit=20ms",
        "--no-report",
        "--json",
    ]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(1500));
    // 600 ms of FIFO 70 on the measured CPU, in one stretch, by one process.
    let hog = ["0.6", "taskset", "-c", "0", "chrt", "-f", "70", "sh", "-c", "while :; do :; done"];
    let hog = Command::new("timeout").args(hog).status().unwrap();
    assert_eq!(hog.code(), Some(124), "the hog was not ended by its time");
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let quality = &document["records"][0]["quality"];
    assert_eq!(output.status.code(), Some(3), "{}; {quality}", document["judgement"]["headline"]);
    assert_eq!(document["verdict"], "contaminated", "{}", document["judgement"]);
    let record = &document["records"][0];
    let slots = &record["series"][0]["slots"];
    let n = |key: &str| slots[key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), 4000);
    assert!(n("missed") > 500, "600 ms without the CPU are some 600 slots: {slots}");
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let hog = foreign.iter().find(|f| f["policy"] == "fifo 70").unwrap_or_else(|| panic!("{foreign:?}"));
    assert!(hog["ran_ns"].as_u64().unwrap() > 400_000_000, "{hog}");
}
