//! A hog above the probe's priority: named in the record, blamed where it decides, and its slots are not lost.

use crate::common::{self, Need};

use common::{World, installed, realtime, skip};
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
    let _turn = common::alone();
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

/// A rival that takes half of the CPU in short pieces never keeps the probe away for long: it is found by what it ran.
#[test]
fn a_hog_in_short_pieces_is_found_by_what_it_ran() {
    if !realtime("a hog in short pieces") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let measure = ["run", "wakeup", "period=1ms", "-d6s", "-c0", "--prio=50", "--warmup=50ms", "--no-report", "--json"];
    let child = world.latido(measure).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(2));
    // Another latido's load is not this cell's: three seconds of FIFO 90, 2 ms of each 4 ms.
    let hog = ["load", "rt-interference:busy=2ms,idle=2ms,low=1,middle=2,high=90,cpus=0", "-d3s"];
    let hog = world.latido(hog).output().unwrap();
    assert!(hog.status.success(), "{}", common::stderr(&hog));
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let foreign = document["records"][0]["quality"]["foreign"].as_array().unwrap();
    let hog = foreign.iter().find(|f| f["policy"] == "fifo 90").unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!((&hog["owner"], &hog["cpu"]), (&"program".into(), &0.into()), "{hog}");
    assert!(hog["ran_ns"].as_u64().unwrap() > 1_000_000_000, "{hog}");
    assert!(foreign.iter().all(|f| f["policy"] != "fifo 1" && f["policy"] != "fifo 2"), "below the probe: {foreign:?}");
}

/// The cell's own rivals are what it was measured under: they excuse nothing, and are no throttle however regular.
#[test]
fn the_load_s_rivals_are_no_excuse_and_no_throttle() {
    if !realtime("rivals of a busy loop") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let output = world.run([
        "run",
        "gap",
        "-d4s",
        "-c0",
        "--prio=50",
        "--warmup=50ms",
        "--limit=1ms",
        "--load=rt-interference:busy=2ms,idle=50ms,low=1,middle=2,high=90",
        "--no-report",
        "--json",
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", document["judgement"]);
    assert_eq!(document["verdict"], "fail");
    let record = &document["records"][0];
    let facts = &record["series"][0]["facts"];
    assert!(facts["preempted"].as_u64().unwrap() > 40, "{facts}");
    // The loop is made to wait once a second, where the kernel limits it; never oftener.
    assert!(facts["throttled"].as_u64().unwrap_or(0) <= 5, "{facts}");
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let rival = foreign.iter().find(|f| f["policy"] == "fifo 90").unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!(rival["owner"], "load", "{rival}");
}

/// A busy loop is made to wait by the kernel's own limit: counted by the loop, named in the verdict, and no excuse.
#[test]
fn the_throttle_is_counted_and_named_and_the_failure_stands() {
    if !realtime("the real-time throttle") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let gap = ["run", "gap", "-d4s", "-c0", "--prio=50", "--warmup=50ms", "--limit=20ms", "--no-report", "--json"];
    let output = world.run(gap);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = &document["records"][0];
    let realtime = &record["machine"]["realtime"];
    let [runtime, period] = ["runtime_us", "period_us"].map(|key| realtime[key].as_i64().unwrap_or(-1));
    let of_groups = realtime["group_scheduling"] == true || realtime["fair_server"]["kind"] == "absent";
    if !of_groups || runtime < 0 || runtime >= period {
        return skip(
            "the real-time throttle",
            Need::Kernel,
            "this kernel leaves real-time tasks alone, or leaves them to the fair server",
        );
    }
    let throttle = &record["quality"]["throttle"];
    let waits = throttle["throttled"].as_u64().unwrap();
    // One a period, the first of which the loop need not have filled.
    assert!((1..=5).contains(&waits), "{throttle}");
    let rest_ns = (period - runtime).unsigned_abs() * 1000;
    assert!(throttle["throttled_ns"].as_u64().unwrap() >= waits * rest_ns / 2, "{throttle}");
    assert_eq!(output.status.code(), Some(2), "{}", document["judgement"]);
    let headline = document["judgement"]["headline"].as_str().unwrap();
    assert!(headline.contains("throttle made"), "{headline}");
}
