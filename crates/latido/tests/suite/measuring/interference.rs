//! Competing real-time tasks, the presets, and every scheduling policy, really run but small.

use crate::common;

use common::{World, installed, loads, realtime};
use serde_json::Value;
use std::{process::Output, time::Instant};

/// The time that a competing task runs before it sleeps again, in ns.
const BURST_NS: i64 = 10_000_000;

/// The document, whatever the verdict: stolen time may contaminate the run.
fn said(output: &Output) -> Value {
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn record(document: &Value) -> &Value {
    &document["records"][0]
}

/// A competing task above the probe on its own CPU costs it at least its burst, and the load reports what it did. A test in a guest shows
/// the exact cost (`guests/lab_planted.rs`).
#[test]
fn rivals_above_the_probe_are_felt_and_keep_account() {
    let _turn = common::alone();
    if !realtime("rt-interference") {
        return;
    }
    let world = World::new();
    let output = world.run([
        "run",
        "wakeup",
        "-c0",
        "-d3s",
        "period=1ms",
        "--prio=60",
        "--load=rt-interference:busy=10ms,idle=40ms",
        "--no-report",
        "--json",
    ]);
    let document = said(&output);
    let load = &record(&document)["load"][0];
    assert_eq!(load["alive"], true, "{load}");
    assert!(load["note"].as_str().unwrap().contains("throttle"), "{load}");
    let achieved = |name: &str| load["achieved"][name].as_i64().unwrap();
    // A burst lasts until its thread has run for this long; the report may catch each thread before that.
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as i64);
    let (bursts, busy_ns) = (achieved("bursts"), achieved("busy_ns"));
    assert!(bursts > 0 && busy_ns >= (bursts - 3 * cpus) * BURST_NS, "{load}");
    assert!(busy_ns <= cpus * (achieved("elapsed_ns") + 3 * BURST_NS), "more than the CPUs have: {load}");
    // The competing task of priority 90 keeps the probe of priority 60 off the CPU for its whole burst. The first slot in it comes up to a
    // period of 1 ms after its start.
    let max = record(&document)["series"][0]["corrected"]["max"].as_i64().unwrap();
    assert!(max + 1_000_000 >= BURST_NS, "{max}");
}

/// latido takes a preset apart: each part has its own entry, and latido names what is missing.
#[test]
fn a_preset_records_every_part() {
    let _turn = common::alone();
    let world = World::new();
    let output = world.run(["run", "null", "hold=1s", "--load=cpu-memory-video", "--no-report", "--json"]);
    let document = said(&output);
    let (loads, skipped) = (record(&document)["load"].as_array().unwrap(), record(&document)["skipped"].to_string());
    let has = |name: &str| loads.iter().any(|load| load["item"]["name"] == name);
    assert!(has("stress-ng") || (has("spin") && skipped.contains("stress-ng")), "{document}");
    assert!(has("video") || skipped.contains("ffmpeg"), "{document}");
    assert!(loads.iter().all(|load| load["alive"] == true && !load["version"].is_null()), "{document}");
}

#[test]
fn a_film_is_decoded_and_counted() {
    let _turn = common::alone();
    if !installed("ffmpeg", "the load video") {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "null", "hold=3s", "--load=video:320x240,speed=max", "--no-report", "--json"]);
    let document = said(&output);
    let frames = record(&document)["load"][0]["achieved"]["frames"].as_i64().unwrap();
    assert!(frames > 100, "{frames} frames of a small film as fast as it goes");
}

/// The kernel's own answer names the requested policy, and the slice of round robin.
#[test]
fn every_policy_is_granted_as_asked() {
    let _turn = common::alone();
    if !realtime("every policy") {
        return;
    }
    let world = World::new();
    for (asked, granted) in [
        ("other", "other"),
        ("other:nice=-7", "other nice -7"),
        ("other:nice=-8,by=setpriority", "other nice -8"),
        ("batch:nice=3", "batch nice 3"),
        ("idle", "idle"),
        ("fifo:1", "fifo 1"),
        ("rr:99", "rr 99"),
        ("deadline:runtime=100us,deadline=1ms,period=1ms", "deadline 100us/1000us/1000us"),
    ] {
        let policy = format!("--policy={asked}");
        let output = world.run(["run", "wakeup", "cycles=50", "--warmup=10ms", &policy, "--no-report", "--json"]);
        let document = said(&output);
        let threads = record(&document)["quality"]["threads"].as_array().unwrap();
        assert!(!threads.is_empty(), "{asked}");
        for thread in threads {
            assert_eq!(thread["policy"], granted, "{asked}");
            assert_eq!(
                thread["rr_slice_ns"].as_u64().is_some_and(|slice| slice > 0),
                asked.starts_with("rr"),
                "{asked}"
            );
        }
        assert!(record(&document)["quality"]["policy_refused"].is_null(), "{asked}");
    }
}

/// latido starts nothing if the kernel would refuse: the error names the policy, the reason and the remedy.
#[test]
fn what_the_machine_refuses_is_an_error_before_the_run() {
    let _turn = common::alone();
    if !realtime("a refused deadline") {
        return;
    }
    let world = World::new();
    // Less than the kernel's shortest period, for every user.
    let mut command =
        world.latido(["run", "wakeup", "period=50us", "--policy=deadline:runtime=10us,period=50us", "--no-report"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nothing was started") && said.contains("a period of 100us to 4s"), "{said}");
}

/// The pendulum stays up if it is actuated on time. Its record has signed angles in order.
#[test]
fn a_pendulum_is_balanced() {
    let _turn = common::alone();
    if !realtime("pendulum") {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "pendulum", "-c0", "-d2s", "--no-report", "--json"]);
    let document = said(&output);
    let series = record(&document)["series"].as_array().unwrap();
    let of = |name: &str| series.iter().find(|series| series["quantity"] == name).unwrap();
    let (lateness, angle) = (of("lateness"), of("angle"));
    assert_eq!((&lateness["unit"], &angle["unit"]), (&"ns".into(), &"urad".into()));
    let slots = |name: &str| lateness["slots"][name].as_u64().unwrap();
    assert_eq!(slots("met") + slots("late") + slots("missed"), 2000);
    assert!(lateness["files"]["samples"].is_string() && angle["files"]["samples"].is_string());
    let fell = angle["facts"]["fell"].as_i64().unwrap();
    // One angle per actuation while the pendulum stands; on a machine with stolen time it may fall.
    assert!(fell == 1 || angle["count"] == lateness["count"], "{angle}");
}

/// The load sends no packet before its time, and counts what arrives.
#[test]
fn a_flood_keeps_its_rate() {
    let world = loads::world();
    let began = Instant::now();
    let sent = loads::works(&world, "udp-flood:8Mbit,size=1000", &["sent_packets", "received_packets"]);
    // 1,000 packets per second.
    let most = 1 + u64::try_from(began.elapsed().as_millis()).unwrap();
    assert!(sent["sent_packets"] <= most && sent["received_packets"] <= most, "{most} at most: {sent:?}");
    assert_eq!(sent["sent_bytes"] % 1000, 0, "{sent:?}");
}
