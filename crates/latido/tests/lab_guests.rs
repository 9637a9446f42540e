//! What guests of the virtual laboratory bear: every probe, programs of the host, devices, another architecture.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;
#[path = "common/lab.rs"]
mod laboratory;

use common::{World, installed, skip, stderr};
use laboratory::{kernel, measured, record, run};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// A load's own program goes into the guest with its libraries, and is started there.
#[test]
fn a_guest_bears_a_program_of_its_host() {
    const WHAT: &str = "a program of the host in a guest";
    if !installed("stress-ng", WHAT) || kernel("6.12-rt", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt", &["--load", "stress-cpu", "--no-report"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = record(&world.runs()[0]);
    assert!(record["load"].to_string().contains("/bin/stress-ng"), "{}", record["load"]);
}

/// The probes of the studies, and those that look on, all measure in a guest; and cells of a guest and of the machine that runs can
/// be one plan's, of which the report makes configurations of their own and compares neither with the other.
#[test]
fn every_probe_measures_in_a_guest_beside_the_machine_that_runs() {
    const PROBES: [&str; 11] = [
        r#"name = "wakeup""#,
        r#"name = "gap""#,
        r#"name = "mutex", form = "calls""#,
        r#"name = "mutex", form = "inversion""#,
        r#"name = "priority""#,
        r#"name = "sleep""#,
        r#"name = "switch""#,
        r#"name = "compute", size = [8], instances = 20"#,
        r#"name = "scheduling""#,
        r#"name = "syscall", calls = "all""#,
        r#"name = "interrupt", task = "init""#,
    ];
    if kernel("6.12-rt", "probes in a guest").is_none() {
        return;
    }
    let world = World::new();
    let probes: Vec<String> = PROBES.iter().map(|probe| format!("{{ {probe} }}")).collect();
    let text = format!(
        "schema = 1\nname = \"mixed\"\nseed = 3\n[[group]]\nprobe = [{}]\ntarget = [\"lab\"]\nkernel = [\"6.12-rt\"]\n\
         scheduling = [{{ policy = \"fifo\", prio = 80 }}]\ncpus = \"0\"\nduration = \"60ms\"\n[[group]]\n\
         probe = [{{ name = \"sleep\" }}]\nscheduling = [{{ policy = \"other\" }}]\ncpus = \"0\"\nduration = \"60ms\"\n\
         [[expect]]\nwhere = {{ target = \"lab\" }}\nmetric = \"sleep.length.max\"\nop = \"<\"\nthan = {{ target = \"local\", kernel = \"running\", scheduling = \"other\" }}\n",
        probes.join(", ")
    );
    let plan = world.file("mixed.toml", &text);
    let output = world.run(["run", plan.to_str().unwrap(), "--no-report"]);
    let run = world.runs().remove(0);
    let mut seen = BTreeSet::new();
    for files in measured(&run).values() {
        let record: serde_json::Value = serde_json::from_slice(&files["record.json"]).unwrap();
        let probe = format!("{} {}", record["cell"]["target"], record["cell"]["probe"]);
        let samples = record["series"].as_array().unwrap().iter().filter_map(|one| one["count"].as_u64()).sum::<u64>();
        assert!(samples > 0, "{probe}: {}", record["series"]);
        seen.insert(probe);
    }
    assert_eq!(seen.len(), PROBES.len() + 1, "{seen:?}, {}", stderr(&output));
    // One real and one emulated kernel are no two sides of a comparison.
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let told = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("an emulated time is not compared with a real one"), "{told}");
}

/// A person's own program goes into the guest and is watched there: its threads are timed by the kernel's events.
#[test]
fn a_program_is_watched_in_a_guest() {
    const WHAT: &str = "a program watched in a guest";
    if !installed("cyclictest", WHAT) || kernel("6.12-rt", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let asked = [
        "run",
        "task",
        "period=1ms",
        "-d",
        "300ms",
        "--on",
        "lab",
        "--kernel",
        "6.12-rt",
        "--seed",
        "3",
        "--no-report",
    ];
    let program = ["--", "/usr/bin/cyclictest", "-q", "-p80", "-i1000", "-l200"];
    let output = world.run([asked.as_slice(), program.as_slice()].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let record = record(&world.runs()[0]);
    let thread = record["series"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["quantity"] == "wakeup" && series["count"].as_u64() > Some(150));
    assert!(thread.is_some(), "{}", record["series"]);
}

/// Two network devices of a guest, on a hub, carry what the studies' load sends: all of it arrives, and both raise interrupts.
#[test]
fn a_guest_has_a_network_of_its_own() {
    if kernel("6.12-rt", "a network in a guest").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt+net", &["--load", "udp-flood:between=eth0,eth1", "--no-report"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = record(&world.runs()[0]);
    let achieved = &record["load"][0]["achieved"];
    let [sent, received] = ["sent_packets", "received_packets"].map(|key| achieved[key].as_u64().unwrap());
    // Some are on their way when the measurement begins, and others when it ends.
    assert!(sent > 100 && received.abs_diff(sent) < sent / 20, "{achieved}");
    for device in ["eth0", "eth1"] {
        let lines = record["quality"]["interrupts"].as_array().unwrap();
        let line = lines.iter().find(|line| line["action"].as_str().unwrap().ends_with(device));
        assert!(line.is_some_and(|line| line["count"].as_u64() > Some(10)), "{lines:?}");
    }
}

/// A guest of another architecture measures with a latido that was built for it, and gives the same bytes twice.
#[test]
fn a_guest_of_another_architecture_measures() {
    const WHAT: &str = "a guest for 64-bit ARM";
    let agents = std::env::var_os("LATIDO_AGENTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents"), PathBuf::from);
    if !agents.join("aarch64/latido").is_file() {
        return skip(WHAT, "no latido was built for it: scripts/cross aarch64");
    }
    if kernel("6.12-rt-arm64", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let run = || {
        let words = run("6.12-rt-arm64", &["--load", "messaging", "--no-report"]);
        let output = world.latido(words).env("LATIDO_AGENTS", &agents).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    };
    run();
    run();
    let runs: Vec<_> = world.runs().iter().map(|run| measured(run)).collect();
    assert!(runs[0] == runs[1], "the same bytes twice");
    let record = record(&world.runs()[0]);
    assert_eq!(record["machine"]["preemption"]["model"], "rt");
    assert_eq!(record["series"][0]["count"], 100);
    world.nothing_left("after a guest of another architecture");
}
