//! Real measurements, small: FIFO threads on this machine. Nothing here asserts how fast the machine is.

mod common;

use common::{World, json, realtime};
use serde_json::Value;
use std::{fs, process::Stdio, thread, time::Duration};

fn series(document: &Value) -> Vec<&Value> {
    document["records"].as_array().unwrap().iter().flat_map(|r| r["series"].as_array().unwrap()).collect()
}

/// met + late + missed are the slots elapsed, and the corrected distribution holds each of them once.
fn slots_add_up(series: &Value, slots: u64) {
    let n = |key: &str| series["slots"][key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), slots, "{}", series["slots"]);
    assert_eq!(n("met") + n("late"), series["count"].as_u64().unwrap());
    assert_eq!(series["corrected"]["count"].as_u64().unwrap(), slots);
}

#[test]
fn wakeup_counts_every_slot_and_faults_nowhere() {
    if !realtime("wakeup as FIFO") {
        return;
    }
    let world = World::new();
    let output =
        world.run(["run", "wakeup", "period=500us", "cycles=2000", "-c0", "--warmup=100ms", "--no-report", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    assert_eq!(all.len(), 1);
    slots_add_up(all[0], 2000);
    let thread = &document["records"][0]["quality"]["threads"][0];
    assert_eq!(thread["policy"], "fifo 80");
    assert_eq!((thread["minor_faults"].as_u64(), thread["major_faults"].as_u64()), (Some(0), Some(0)), "{thread}");
}

#[test]
fn a_stall_of_the_measuring_process_is_not_lost() {
    if !realtime("a stalled wakeup") {
        return;
    }
    let world = World::new();
    let mut command =
        world.latido(["run", "wakeup", "period=1ms", "cycles=3000", "-c0", "--warmup=0ns", "--no-report", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measuring = loop {
        thread::sleep(Duration::from_millis(20));
        if let Some((pid, _)) = world.alive().into_iter().find(|(_, line)| line.contains("--measure")) {
            break pid;
        }
    };
    thread::sleep(Duration::from_millis(700));
    let pid = rustix::process::Pid::from_raw(measuring).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(60));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    slots_add_up(all[0], 3000);
    assert!(all[0]["slots"]["missed"].as_u64().unwrap() >= 49, "{}", all[0]["slots"]);
    assert!(all[0]["max"].as_i64().unwrap() >= 50_000_000, "the late slot itself shows the stall");
    // Fifty slots of up to 50 ms, not one sample: the plain p99 may be small, the corrected one cannot be.
    assert!(all[0]["corrected"]["quantiles"]["0.99"].as_i64().unwrap() > 10_000_000, "{}", all[0]["corrected"]);
}

#[test]
fn stop_on_ends_the_cell_at_the_first_sample_above() {
    let world = World::new();
    let output = world.run([
        "run",
        "wakeup",
        "period=1ms",
        "--policy=other",
        "-d60s",
        "--warmup=0ns",
        "--stop-on=1ns",
        "--no-report",
        "--json",
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["records"][0]["outcome"]["kind"], "stopped", "{}", document["records"][0]["outcome"]);
    assert!(document["records"][0]["outcome"]["value_ns"].as_i64().unwrap() > 1);
}

#[test]
fn a_failed_limit_is_exit_2_and_a_kept_one_0() {
    if !realtime("limits") {
        return;
    }
    let world = World::new();
    let base = ["run", "wakeup", "period=1ms", "-d200ms", "--warmup=50ms", "-c0", "--no-report", "--json"];
    let fails = world.run(base.into_iter().chain(["--limit=1ns"]));
    // A virtual machine that is robbed in that very second may call it contaminated (3), never a pass.
    assert!(matches!(fails.status.code(), Some(2 | 3)), "{}", common::stderr(&fails));
    let holds = world.run(base.into_iter().chain(["--limit=10s"]));
    assert_eq!(holds.status.code(), Some(0), "{}", common::stderr(&holds));
}

#[test]
fn gap_counts_iterations_beyond_32_bits_of_time_and_explains_large_gaps() {
    if !realtime("gap as FIFO") {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "gap", "iterations=20000000", "-c0", "--warmup=0ns", "--no-report", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    assert_eq!(all[0]["count"].as_u64(), Some(20_000_000));
    let bands: u64 = all[0]["bands"].as_array().unwrap().iter().map(|b| b["count"].as_u64().unwrap()).sum();
    assert_eq!(bands, 20_000_000, "every reading is in a band");
    let facts = &all[0]["facts"];
    for fact in ["elapsed_ns", "own_ns", "preempted", "in_place", "throttle_like"] {
        assert!(facts[fact].is_i64() || facts[fact].is_u64(), "{fact}: {facts}");
    }
}

#[test]
fn a_load_that_dies_contaminates_the_cell() {
    let world = World::new();
    let output = world.run([
        "run",
        "null",
        "hold=3s",
        "--policy=other",
        "--duration=3s",
        "--warmup=0ns",
        "--load",
        "command:sleep 1",
        "--no-report",
        "--json",
    ]);
    let document = json(&output, 3);
    assert_eq!(document["records"][0]["load"][0]["alive"], false);
    assert!(document["records"][0]["load"][0]["died"].as_str().unwrap().contains("status 0"));
    world.nothing_left("after a dead load");
}

#[test]
fn a_load_is_gone_with_all_its_descendants() {
    let world = World::new();
    // A shell that leaves a grandchild in a session of its own, which no process group reaches.
    let script =
        world.file("load.sh", "#!/bin/sh\nsetsid sleep 1000 &\nsetsid sh -c 'sleep 1001 & sleep 1002' &\nsleep 1003\n");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let load = format!("command:{}", script.display());
    let output = world.run([
        "run",
        "null",
        "hold=300ms",
        "--policy=other",
        "--duration=300ms",
        "--warmup=0ns",
        "--load",
        &load,
        "--no-report",
        "--json",
    ]);
    json(&output, 0);
    world.nothing_left("of the load");
}

#[test]
fn stress_ng_bears_what_was_asked_and_the_record_names_it() {
    if !common::installed("stress-ng", "stress-ng as a load") {
        return;
    }
    let world = World::new();
    let output = world.run([
        "run",
        "null",
        "hold=1s",
        "--policy=other",
        "--duration=1s",
        "--warmup=0ns",
        "--load",
        "stress-ng:cpu=1,vm=1,vm-bytes=8M",
        "--no-report",
        "--json",
    ]);
    let document = json(&output, 0);
    let load = &document["records"][0]["load"][0];
    assert!(load["version"].as_str().unwrap().contains("stress-ng"));
    let argv: Vec<&str> = load["argv"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    assert!(argv.windows(2).any(|pair| pair == ["--vm-bytes", "8M"]), "{argv:?}");
    assert!(load["cpu_ns"].as_u64().unwrap() > 0, "its processes used processor time");
    world.nothing_left("of stress-ng");
}
