//! What guests of the virtual laboratory support: every probe, programs of the host, devices, another architecture. A boot is expensive:
//! tests that need many are ignored here, and scripts/slow/lab-guests runs them.

use crate::common::lab as laboratory;
use crate::common::{self, Need};

use common::{World, faults, installed, skip, stderr};
use laboratory::{kernel, measured, record};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The probes that watch passively: their records have no threads.
const PASSIVE: [&str; 3] = ["scheduling", "syscall", "interrupt"];

/// The probes of the studies, and those that watch passively.
const PROBES: [&str; 11] = [
    r#"name = "sleep""#,
    r#"name = "scheduling""#,
    r#"name = "wakeup""#,
    r#"name = "gap""#,
    r#"name = "mutex", form = "calls""#,
    r#"name = "mutex", form = "inversion""#,
    r#"name = "priority""#,
    r#"name = "switch""#,
    r#"name = "compute", size = [8], instances = 20"#,
    r#"name = "syscall", calls = "all""#,
    r#"name = "interrupt", task = "init""#,
];

/// One plan may have cells of a guest and of the running machine.
#[test]
fn guests_measure_beside_the_machine_that_runs() {
    mixed(&PROBES[..1]);
}

#[test]
#[ignore = "eleven guests: scripts/slow/lab-guests"]
fn every_probe_measures_in_a_guest() {
    mixed(&PROBES);
}

/// Checks that the probes all measure in a guest, that the report keeps the guest's cells and the running machine's apart as
/// configurations, and that it does not compare them with each other.
fn mixed(probes: &[&str]) {
    if kernel("6.12-rt", "probes in a guest").is_none() {
        return;
    }
    let world = World::new();
    let listed: Vec<String> = probes.iter().map(|probe| format!("{{ {probe} }}")).collect();
    let text = format!(
        "schema = 1\nname = \"mixed\"\nseed = 3\n[[group]]\nprobe = [{}]\ntarget = [\"lab\"]\nkernel = [\"6.12-rt\"]\n\
         scheduling = [{{ policy = \"fifo\", prio = 80 }}]\ncpus = \"0\"\nduration = \"60ms\"\n[[group]]\n\
         probe = [{{ name = \"sleep\" }}]\nscheduling = [{{ policy = \"other\" }}]\ncpus = \"0\"\nduration = \"60ms\"\n\
         [[expect]]\nwhere = {{ target = \"lab\" }}\nmetric = \"sleep.length.max\"\nop = \"<\"\nthan = {{ target = \"local\", kernel = \"running\", scheduling = \"other\" }}\n",
        listed.join(", ")
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
        let is_passive = PASSIVE.contains(&record["cell"]["probe"]["name"].as_str().unwrap());
        if record["cell"]["target"] == "lab" && !is_passive {
            faults::none(&record);
        }
        seen.insert(probe);
    }
    assert_eq!(seen.len(), probes.len() + 1, "{seen:?}, {}", stderr(&output));
    // latido does not compare a real kernel with an emulated one.
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let told = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("latido does not compare emulated time with real time"), "{told}");
}

/// A person's own program goes into the guest, and latido watches it there: the kernel's events time its threads.
#[test]
#[ignore = "two guests: scripts/slow/lab-guests"]
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

/// A load's own program goes into the guest with its libraries, and starts there. At the same time two network devices of the guest, on a
/// hub, carry the packets of the studies' load: all of them arrive, and both devices raise interrupts.
#[test]
fn a_guest_bears_a_program_of_its_host_and_a_network_of_its_own() {
    const WHAT: &str = "a program of the host and a network in a guest";
    if !installed("stress-ng", WHAT) || kernel("6.12-rt", WHAT).is_none() {
        return;
    }
    let world = World::new();
    // Long enough for latido to look around on a busy CPU.
    let words =
        ["run", "wakeup", "-d", "300ms", "--on", "lab", "--kernel", "6.12-rt+net", "--seed", "3", "--no-report"];
    let loads = ["--load", "stress-ng:cpu=1", "--load", "udp-flood:between=eth0,eth1,rate=4Mbit"];
    let output = world.run(words.into_iter().chain(loads));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = record(&world.runs()[0]);
    assert!(record["load"].to_string().contains("/bin/stress-ng"), "{}", record["load"]);
    let loads = record["load"].as_array().unwrap();
    let achieved = loads.iter().map(|load| &load["achieved"]).find(|one| one["sent_packets"].is_u64()).unwrap();
    let [sent, received] = ["sent_packets", "received_packets"].map(|key| achieved[key].as_u64().unwrap());
    // Some packets are on their way when the measurement starts, and others when it ends.
    assert!(sent > 100 && received.abs_diff(sent) < sent / 20, "{achieved}");
    for device in ["eth0", "eth1"] {
        let lines = record["quality"]["interrupts"].as_array().unwrap();
        let line = lines.iter().find(|line| line["action"].as_str().unwrap().ends_with(device));
        assert!(line.is_some_and(|line| line["count"].as_u64() > Some(10)), "{lines:?}");
    }
}

/// A guest of another architecture measures with a latido that was built for it.
#[test]
#[ignore = "a build for aarch64: scripts/slow/lab-guests"]
fn a_guest_of_another_architecture_measures() {
    another(&[("6.12-rt-arm64", "aarch64")], &["run"]);
}

/// Guests of other architectures also give the same bytes twice.
#[test]
#[ignore = "three kernels, each twice: scripts/slow/lab-guests"]
fn guests_of_every_other_architecture_give_the_same_bytes() {
    let all = [("6.12-rt-arm64", "aarch64"), ("6.1-rt-arm64", "aarch64"), ("6.1-rt-armhf", "armv7")];
    another(&all, &["lab", "verify"]);
}

fn another(kernels: &[(&str, &str)], command: &[&str]) {
    let agents = std::env::var_os("LATIDO_AGENTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents"), PathBuf::from);
    for (name, arch) in kernels {
        let what = format!("a guest with {name}");
        if !agents.join(arch).join("latido").is_file() {
            skip(&what, Need::Build, &format!("no latido was built for it: scripts/cross {arch}"));
            continue;
        }
        if kernel(name, &what).is_none() {
            continue;
        }
        let world = World::new();
        let cell = ["wakeup", "-d", "100ms", "--on", "lab", "--kernel", name, "--seed", "3", "--load", "messaging"];
        let output = world.latido([command, &cell].concat()).env("LATIDO_AGENTS", &agents).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        if command[0] == "run" {
            let record = record(&world.runs()[0]);
            assert_eq!(record["machine"]["preemption"]["model"], "rt");
            assert_eq!(record["series"][0]["count"], 100);
        } else {
            assert!(common::text(&output).starts_with("identical: "), "{name}");
        }
        world.nothing_left("after a guest of another architecture");
    }
}
