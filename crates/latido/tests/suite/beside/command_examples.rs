//! The shipped examples of programs that report their samples, each really run: Python, Java, C, a shell behind a serial line.

use crate::common::{self, Need};

use common::{World, installed, json, root, skip};
use serde_json::Value;
use std::{fs, process::Command};

/// Runs an example of examples/command/ and returns its record.
fn example(world: &World, options: &[&str], argv: &[&str]) -> Value {
    let dir = format!("{}/../../examples/command", env!("CARGO_MANIFEST_DIR"));
    let mut line = vec!["run", "command", "-d1s", "--warmup=200ms", "--json", "--no-report"];
    line.extend(options);
    line.push("--");
    line.extend(argv);
    let output = world.latido(line).current_dir(dir).output().unwrap();
    let record = json(&output, 0)["records"][0].clone();
    assert_eq!(record["outcome"]["kind"], "complete", "{}", record["quality"]["reported"]);
    assert_eq!(record["quality"]["reported"]["bad"], serde_json::json!({}));
    world.nothing_left(&format!("after {argv:?}"));
    record
}

#[test]
fn the_python_example_measures() {
    if !installed("python3", "examples/command/wakeup.py") {
        return;
    }
    let world = World::new();
    let record = example(&world, &[], &["python3", "wakeup.py"]);
    let slots = &record["series"][0]["slots"];
    let all: u64 = ["met", "late", "missed"].iter().map(|key| slots[key].as_u64().unwrap()).sum();
    assert!((990..=1010).contains(&all), "slots of a second: {slots}");
    assert_eq!(record["quality"]["threads"][0]["policy"], "other");
}

#[test]
fn the_java_example_measures() {
    let compiles = Command::new("java").arg("--list-modules").output();
    let compiles = compiles.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("jdk.compiler"));
    if !compiles {
        return skip(
            "examples/command/Timers.java",
            Need::Program,
            "there is no java with a compiler (jdk.compiler) here",
        );
    }
    let world = World::new();
    let record = example(&world, &["ready=60s"], &["java", "Timers.java"]);
    for series in record["series"].as_array().unwrap() {
        assert_eq!(
            (&series["quantity"], series["min"].as_i64() >= Some(1_000_000)),
            (&"length".into(), true),
            "{series}"
        );
        assert!(series["count"].as_u64() > Some(100), "{series}");
    }
    assert_eq!(record["series"].as_array().unwrap().len(), 2);
}

#[test]
fn the_c_example_measures_on_a_channel_of_its_own() {
    if !installed("cc", "examples/command/gettime.c") {
        return;
    }
    let world = World::new();
    let program = world.path("gettime");
    let source = format!("{}/../../examples/command/gettime.c", env!("CARGO_MANIFEST_DIR"));
    let mut built = Command::new("cc");
    built.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(built.status().unwrap().success());
    let record = example(&world, &["channel=fd"], &[program.to_str().unwrap()]);
    let series = &record["series"][0];
    assert_eq!((&series["quantity"], series["count"].as_u64() > Some(1000)), (&"cost".into(), true), "{series}");
    assert!(record["quality"]["threads"][0]["voluntary_switches"].as_u64() > Some(1000));
}

#[test]
fn the_device_example_measures_over_a_serial_line() {
    if !installed("bash", "examples/command/device.sh") || Command::new("socat").arg("-V").output().is_err() {
        return skip("examples/command/device.sh", Need::Program, "socat or bash is not installed");
    }
    let world = World::new();
    let record = example(&world, &[], &["socat", "-", "EXEC:./device.sh,pty,rawer"]);
    assert_eq!(record["quality"]["reported"]["by"], "device.sh");
    let series = &record["series"][0];
    assert_eq!((&series["labels"]["node"], &series["facts"]["placed"]), (&"device".into(), &0.into()));
    assert!(series["count"].as_u64() > Some(10), "{series}");
    assert_eq!(series["slots"], Value::Null);
}

/// The example's plan is valid: a program and one of latido's own probes, idle and under load.
#[test]
fn the_example_s_plan_is_read() {
    let world = World::new();
    let plan = fs::read_to_string(format!("{}/../../examples/command/plan.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let plan = plan
        .replace("\"10s\"", "\"300ms\"")
        .replace("wakeup.py", concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/command/wakeup.py"));
    if !installed("python3", "examples/command/plan.toml") || !root("a plan with a load") {
        return;
    }
    let plan = world.file("plan.toml", &plan);
    let document = json(&world.run(["run", plan.to_str().unwrap(), "--json", "--no-report"]), 0);
    assert_eq!(document["records"].as_array().unwrap().len(), 4);
}
