//! The kernel's own tracing: frozen when `--stop-on` ends a cell, and reported if it was running unrequested.

use crate::common::{self, Need};

use common::{World, skip};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The place of tracefs, below the tree that latido is given.
const TRACEFS: &str = "sys/kernel/tracing";

/// Makes plain files that look like a trace with tracing switched on or off.
fn plant(tree: &Path, place: &str, on: &str) -> PathBuf {
    let dir = tree.join(TRACEFS).join(place);
    fs::create_dir_all(dir.join("events")).unwrap();
    for (name, text) in
        [("tracing_on", on), ("current_tracer", "function"), ("events/enable", "0"), ("trace_marker", "")]
    {
        fs::write(dir.join(name), text).unwrap();
    }
    dir
}

fn latido(world: &World, tree: &Path, more: &[&str]) -> Output {
    let base = ["run", "wakeup", "period=1ms", "--policy=other", "--warmup=0ns", "-c0", "--no-report", "--json"];
    world.latido(base.into_iter().chain(more.iter().copied())).env("LATIDO_TRACING", tree).output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", common::stderr(output)))
}

/// The level and text of a finding.
fn finding(document: &Value, check: &str) -> Option<(String, String)> {
    let all = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let one = all.iter().find(|one| one["check"] == check)?;
    Some((one["level"].as_str().unwrap().into(), one["text"].as_str().unwrap().into()))
}

#[test]
fn a_sample_above_stop_on_marks_the_trace_and_switches_it_off() {
    let world = World::new();
    let tree = world.path("tree");
    let (own, mine) = (plant(&tree, "", "1"), plant(&tree, "instances/mine", "1"));
    let idle = plant(&tree, "instances/idle", "0");
    let document = document(&latido(&world, &tree, &["--stop-on=1ns", "-d60s"]));
    let record = &document["records"][0];
    let freeze = &record["quality"]["freeze"];
    assert_eq!((record["outcome"]["kind"].as_str(), freeze["kind"].as_str()), (Some("stopped"), Some("frozen")));
    assert_eq!((&freeze["value_ns"], &freeze["cpu"]), (&record["outcome"]["value_ns"], &record["outcome"]["cpu"]));
    let value = freeze["value_ns"].as_i64().unwrap();
    for dir in [&own, &mine] {
        assert_eq!(fs::read_to_string(dir.join("tracing_on")).unwrap(), "0", "{}", dir.display());
        let marker = fs::read_to_string(dir.join("trace_marker")).unwrap();
        let said = format!("latido: stop_on: sample {value} ns on CPU 0, ");
        assert!(marker.starts_with(&said) && marker.contains("CLOCK_MONOTONIC"), "{marker}");
    }
    assert_eq!(fs::read_to_string(idle.join("trace_marker")).unwrap(), "", "what was off stays as it was");
    let (level, text) = finding(&document, "frozen trace").unwrap();
    assert!(level == "note" && text.contains("`echo 1 > /sys/kernel/tracing/tracing_on`"), "{text}");
    // latido wrote the marker at the sample, before it made the record.
    let anchors = record["anchors"]["monotonic_ns"].as_u64().unwrap();
    let (marked, elapsed) = (freeze["monotonic_ns"].as_u64().unwrap(), record["elapsed_ns"].as_u64().unwrap());
    assert!(marked >= anchors + record["outcome"]["at_ns"].as_u64().unwrap(), "{marked}");
    assert!(marked >= anchors + elapsed, "behind the loop, which ended after {elapsed} ns");
}

#[test]
fn a_trace_is_told_where_nobody_asked_for_it_and_left_alone() {
    let world = World::new();
    let tree = world.path("tree");
    let own = plant(&tree, "", "1");
    let document = document(&latido(&world, &tree, &["-d200ms"]));
    let (level, text) = finding(&document, "tracing").unwrap();
    assert!(level == "note" && text.contains("function"), "{text}");
    assert_eq!(finding(&document, "frozen trace"), None);
    assert_eq!(fs::read_to_string(own.join("tracing_on")).unwrap(), "1");
    let printed = latido(&world, &tree, &["-d200ms", "--stop-on=10s"]);
    let document = self::document(&printed);
    assert_eq!(document["records"][0]["quality"]["freeze"]["kind"], "armed", "no sample was above");
    assert_eq!(finding(&document, "tracing").unwrap().0, "ok", "who stops on a sample wants the trace");
    assert_eq!(fs::read_to_string(own.join("tracing_on")).unwrap(), "1");
}

#[test]
fn what_cannot_be_frozen_is_a_note() {
    let world = World::new();
    let tree = world.path("tree");
    fs::create_dir(&tree).unwrap();
    let document = document(&latido(&world, &tree, &["--stop-on=1ns", "-d60s"]));
    let (level, text) = finding(&document, "frozen trace").unwrap();
    assert!(level == "note" && text.contains("tracefs is not mounted"), "{text}");
    assert_eq!(finding(&document, "tracing").unwrap().0, "unknown");
    assert_eq!(document["records"][0]["outcome"]["kind"], "stopped", "the cell ends all the same");
}

/// A mounted tracefs with an instance of the test, restored on drop.
struct Mounted {
    tree: PathBuf,
    tracefs: PathBuf,
    instance: PathBuf,
    on: String,
}

impl Mounted {
    fn new(world: &World) -> Option<Self> {
        let tree = world.path("tree");
        let tracefs = tree.join(TRACEFS);
        fs::create_dir_all(&tracefs).unwrap();
        let mounted = Command::new("mount").args(["-t", "tracefs", "latido-test"]).arg(&tracefs).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let instance = tracefs.join(format!("instances/latido-test-{}", std::process::id()));
        let on = fs::read_to_string(tracefs.join("tracing_on")).unwrap_or_default().trim().to_owned();
        let mounted = Self { tree, tracefs, instance, on };
        let made = fs::create_dir(&mounted.instance).is_ok()
            && fs::write(mounted.instance.join("events/sched/sched_switch/enable"), "1").is_ok()
            && fs::write(mounted.instance.join("tracing_on"), "1").is_ok();
        made.then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = fs::write(self.tracefs.join("tracing_on"), &self.on);
        let _ = fs::remove_dir(&self.instance);
        let _ = Command::new("umount").arg(&self.tracefs).status();
    }
}

/// This test needs the whole machine.
mod alone {
    use super::*;

    /// On a real tracefs the ring still contains what ran before the sample, followed by the marker.
    #[test]
    fn the_kernels_ring_still_holds_the_cause() {
        const WHAT: &str = "the kernel's trace frozen";
        if !common::root(WHAT) {
            return;
        }
        let _turn = common::machine();
        let world = World::new();
        let Some(mounted) = Mounted::new(&world) else {
            return skip(WHAT, Need::Namespaces, "no tracefs with events can be mounted here");
        };
        let document = document(&latido(&world, &mounted.tree, &["--stop-on=1ns", "-d60s"]));
        let freeze = &document["records"][0]["quality"]["freeze"];
        assert_eq!((freeze["kind"].as_str(), freeze.get("failed")), (Some("frozen"), None), "{freeze}");
        let active = document["records"][0]["quality"]["tracing"]["active"].as_array().unwrap();
        let name = mounted.instance.file_name().unwrap().to_str().unwrap();
        assert!(active.iter().any(|one| one["instance"] == name && one["events"] == true), "{active:?}");
        assert_eq!(fs::read_to_string(mounted.instance.join("tracing_on")).unwrap().trim(), "0");
        let trace = fs::read_to_string(mounted.instance.join("trace")).unwrap();
        let value = freeze["value_ns"].as_i64().unwrap();
        let lines: Vec<&str> = trace.lines().filter(|line| !line.starts_with('#')).collect();
        let marker =
            lines.iter().position(|line| line.contains(&format!("latido: stop_on: sample {value} ns on CPU 0")));
        let marker = marker.unwrap_or_else(|| panic!("no marker in {trace}"));
        let before =
            lines[..marker].iter().filter(|line| line.contains("sched_switch") && line.contains("next_comm=latido/0"));
        assert!(before.count() > 0, "the switch to the measuring thread is in the ring: {trace}");
        // The next system call switches the trace off: only events of other CPUs in between follow the marker.
        assert!(lines.len() - marker < 200, "{} lines behind the marker", lines.len() - marker);
    }
}
