//! `latido tune` on this very machine: it ends as it began, also when the test kills the supervisor at every step.

use crate::common::{self, Need};

use common::{World, stderr, text};
use std::fs;

/// On a locked-down kernel debugfs can be mounted but not read: latido refuses with a remedy. (The test uses its own mount namespace, so
/// that no other process sees the mount.)
#[test]
fn what_needs_debugfs_is_applied_or_says_why_not() {
    if !common::root("debugfs in a namespace") || !common::installed("unshare", "debugfs in a namespace") {
        return;
    }
    let _machine = common::machine();
    let world = World::new();
    let model = "/sys/kernel/debug/sched/preempt";
    let script = format!(
        "mount -t debugfs none /sys/kernel/debug || exit 77; cat {model}; \"$0\" tune apply preempt:full; status=$?; \
         cat {model}; \"$0\" tune undo; cat {model}; exit $status"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_latido")]);
    let output = command.env("LATIDO_STATE", world.state()).output().unwrap();
    let said = stderr(&output);
    match output.status.code() {
        Some(0) => {
            let out = String::from_utf8_lossy(&output.stdout);
            assert_eq!(out.lines().next(), out.lines().last(), "{out}");
            // The kernel puts the model in force between parentheses.
            assert!(out.lines().any(|line| line.contains("(full)")), "{out}");
        }
        Some(1) => {
            let why = ["kernel lockdown", "is fixed", "does not offer `full`"];
            assert!(why.iter().any(|why| said.contains(why)), "{said}");
            assert!(said.contains("(nothing was changed)"), "{said}");
        }
        Some(77) => common::skip("debugfs in a namespace", Need::Namespaces, &said),
        _ => panic!("{}: {said}", output.status),
    }
}

/// The settings of this machine that the test below changes, restored on drop.
struct Machine(Vec<(&'static str, String)>);

const KNOBS: &[&str] = &[
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/vm/stat_interval",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us",
];

impl Machine {
    fn read() -> Self {
        Self(KNOBS.iter().filter_map(|path| Some((*path, fs::read_to_string(path).ok()?))).collect())
    }

    fn is_as_before(&self, when: &str) {
        assert_eq!(Self::read().0, self.0, "{when}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for (path, before) in &self.0 {
            if fs::read_to_string(path).ok().as_ref() != Some(before) {
                let word = before.split_whitespace().find(|word| word.starts_with('[')).unwrap_or(before);
                let _ = fs::write(path, word.trim_matches(['[', ']']));
            }
        }
    }
}

/// Real tunings: by hand, in a run, and in a run whose supervisor the test kills at every step.
#[test]
fn this_machine_is_as_before() {
    if !common::root("tunings for real") {
        return;
    }
    let _alone = common::machine();
    let machine = Machine::read();
    let mut words = Vec::new();
    for (word, knob) in [
        ("timers", KNOBS[0]),
        ("vm-stat:77s", KNOBS[1]),
        ("thp", KNOBS[2]),
        ("printk:2", KNOBS[3]),
        ("watchdog", KNOBS[5]),
        ("resume-latency:latency=3us,cpus=0", KNOBS[6]),
    ] {
        match fs::OpenOptions::new().write(true).open(knob) {
            Ok(_) => words.push(word),
            Err(error) => common::skip(&format!("tuning {word} for real"), Need::Kernel, &format!("{knob}: {error}")),
        }
    }
    let world = World::new();
    if words.is_empty() {
        return;
    }
    let said = text(&world.run(["tune", "apply"].into_iter().chain(words.iter().copied())));
    assert_eq!(said.lines().filter(|line| line.ends_with(": in force")).count(), words.len(), "{said}");
    let status = common::json(&world.run(["tune", "status", "--json"]), 0);
    let applied = status["applied"].as_array().unwrap();
    assert!(!applied.is_empty() && applied.iter().all(|line| line["in_force"] == true), "{status:#}");
    text(&world.run(["tune", "undo"]));
    machine.is_as_before("undone by hand");

    let tuned: Vec<&str> = words.iter().flat_map(|word| ["--tune", word]).collect();
    let run = |fault: &str| {
        let mut command = world.latido(["run", "null", "samples=10", "-d", "100ms", "--json", "--no-report"]);
        command.args(&tuned).env("LATIDO_FAULT", fault).output().unwrap()
    };
    let document = common::json(&run("none"), 0);
    let tunings = document["records"][0]["tunings"].as_array().unwrap();
    assert_eq!(tunings.iter().filter(|tuning| tuning["in_force"] == true).count(), words.len() + 1, "{tunings:#?}");
    machine.is_as_before("after a run");
    for point in 1.. {
        let fault = format!("agent:{point}");
        let unharmed = run(&fault).status.code() == Some(0);
        world.nothing_left(&fault);
        machine.is_as_before(&fault);
        if unharmed {
            assert!(point > 2 * words.len(), "only {point} points");
            break;
        }
    }
}
