//! The course of a load in time: when it started and ended relative to the measurement, and what it did step by step.

use crate::common;

use common::{World, stderr};
use serde_json::Value;

/// The document of a run of wake-ups next to your program as a load.
fn beside(world: &World, script: &str, duration: &str) -> Value {
    let script = world.file("load.sh", script);
    let (load, duration) = (format!("--load=command:sh {}", script.display()), format!("-d{duration}"));
    let run = ["run", "wakeup", &duration, "--warmup=100ms", "--policy=other", "-c0", &load, "--no-report", "--json"];
    let output = world.run(run);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn finding<'a>(document: &'a Value, check: &str) -> &'a Value {
    let all = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    all.iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("{check}: {all:?}"))
}

/// latido starts a load before the first sample and ends it after the last, so that it measures neither, and says so.
#[test]
fn start_and_end_of_a_load_are_no_part_of_what_is_measured() {
    let world = World::new();
    let script = "n=0\nwhile sleep 0.1; do n=$((n+50)); echo \"latido-load requests=$n\"; done\n";
    let document = beside(&world, script, "6s");
    let record = &document["records"][0];
    let (load, elapsed) = (&record["load"][0], record["elapsed_ns"].as_i64().unwrap());
    let at = |key: &str| load["life"][key].as_i64().unwrap_or_else(|| panic!("{key}: {load}"));
    assert!(at("started_ns") < 0 && at("started_ns") < at("worked_ns") && elapsed < at("ended_ns"), "{load}");
    let steps = load["steps"].as_array().unwrap();
    assert!(steps.len() >= 2, "{load}");
    let sum = |key: &str| steps.iter().map(|step| step[key].as_i64().unwrap()).sum::<i64>();
    let counted: i64 = steps.iter().map(|step| step["counts"]["requests"].as_i64().unwrap()).sum();
    // The steps contain all the work from which the rate is computed.
    let mean = load["rates"]["requests"]["mean"].as_f64().unwrap();
    let over = load["rates"]["requests"]["over_ns"].as_f64().unwrap();
    assert!((counted as f64 - mean * over / 1e9).abs() < 1.0, "{counted} of {mean} a second: {load}");
    assert!(sum("length_ns") <= elapsed + 2_000_000_000, "{load}");
    let told = finding(&document, "load in time");
    // On a crowded machine latido receives the first count late, and says so.
    let words = if at("worked_ns") < 0 { "before the first sample" } else { "running from" };
    assert!(told["text"].as_str().unwrap().contains(words), "{told}");
    let show = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(show.contains("in time"), "{show}");
    world.run(["report", "last", "--figures", "figures"]);
    let figure = std::fs::read_to_string(world.path("figures/wakeup.latency-load-over-time.svg")).unwrap();
    assert!(figure.contains("mean requests") && figure.contains("time since the first sample"), "{figure}");
}

/// If a load starts to work late, its start is part of the measurement: latido notes it.
#[test]
fn a_load_that_starts_late_is_noted() {
    let world = World::new();
    let script = "sleep 6\nn=0\nwhile sleep 0.1; do n=$((n+50)); echo \"latido-load requests=$n\"; done\n";
    let document = beside(&world, script, "9s");
    let life = &document["records"][0]["load"][0]["life"];
    assert!(life["started_ns"].as_i64().unwrap() < 0 && life["worked_ns"].as_i64().unwrap() > 0, "{life}");
    let told = finding(&document, "load in time");
    let text = told["text"].as_str().unwrap();
    assert_eq!(told["level"], "note", "{told}");
    assert!(text.contains("running from") && text.contains("that is part of what was measured"), "{text}");
}
