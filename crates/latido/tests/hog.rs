//! A hog above the probe's priority: named in the record, blamed where it decides, and its slots are not lost.

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
    // 400 ms of FIFO 70 on the measured CPU, in one stretch.
    let busy = "import time\nend=time.monotonic()+0.4\nwhile time.monotonic()<end: pass";
    let hog = Command::new("taskset").args(["-c", "0", "chrt", "-f", "70", "python3", "-c", busy]).status().unwrap();
    assert!(hog.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", common::stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["verdict"], "contaminated", "{}", document["judgement"]);
    let record = &document["records"][0];
    let slots = &record["series"][0]["slots"];
    let n = |key: &str| slots[key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), 4000);
    assert!(n("missed") > 300, "400 ms without the CPU are some 400 slots: {slots}");
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let python = foreign
        .iter()
        .find(|f| f["comm"].as_str().unwrap().contains("python"))
        .unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!(python["policy"], "fifo 70");
}
