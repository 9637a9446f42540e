//! How loads end: their data are gone whichever process is killed, and heat ends them.

use crate::common::loads;
use crate::common::{self, Need};

use common::{World, ended, installed, json, meanwhile, processes, skip, stderr, until};
use loads::{did, latido, left, under, world};
use std::{
    fs,
    path::PathBuf,
    process::{Child, Stdio},
};

/// Starts a load by itself, and waits until it has put data into the directory.
fn alone(world: &World, load: &str) -> Child {
    let mut child = latido(world, ["load", load]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    meanwhile(&mut child, "data of the load", || (!left(world).is_empty()).then_some(()));
    child
}

fn signal(pid: i32, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
}

/// A normal end, of the command or of the bearing process alone, leaves nothing behind.
#[test]
fn an_ended_load_removes_its_data() {
    if !installed("cc", "the data of an ended load") {
        return;
    }
    let world = world();
    let mut child = alone(&world, "compile:units=4");
    signal(child.id().cast_signed(), rustix::process::Signal::INT);
    child.wait().unwrap();
    assert_eq!(left(&world), Vec::<PathBuf>::new());
    world.nothing_left("by Ctrl-C");
    let mut child = alone(&world, "compile:units=4");
    for (pid, line) in world.alive() {
        if line.contains("load compile:") && pid != child.id().cast_signed() {
            signal(pid, rustix::process::Signal::TERM);
        }
    }
    child.wait().unwrap();
    until("the end of the data", || left(&world).is_empty().then_some(()));
    world.nothing_left("by SIGTERM");
}

/// After SIGKILL of all processes the next load of any kind removes the data.
#[test]
fn data_of_a_killed_load_go_with_the_next() {
    if !installed("cc", "the data of a killed load") {
        return;
    }
    let world = world();
    let mut child = alone(&world, "compile:units=4");
    for (pid, _) in world.alive() {
        signal(pid, rustix::process::Signal::KILL);
    }
    child.wait().unwrap();
    world.nothing_left("by SIGKILL");
    let leftovers = left(&world);
    assert_eq!(leftovers.len(), 1, "nobody was left to remove them");
    under(&world, "100ms", "messaging:1,pairs=1");
    assert!(!leftovers[0].exists());
    // latido does not remove data that are in use.
    let mut child = alone(&world, "archive:size=1");
    let data = left(&world);
    let output = latido(&world, ["run", "null", "hold=100ms", "--load=messaging:1,pairs=1", "--no-report"]).output();
    let output = output.unwrap();
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    assert_eq!(left(&world), data, "another load's data stay");
    signal(child.id().cast_signed(), rustix::process::Signal::INT);
    child.wait().unwrap();
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// The death of the supervisor ends the load, and the host removes what the load could not.
#[test]
fn data_go_when_the_supervisor_is_killed() {
    if !installed("cc", "the data after the supervisor's death") {
        return;
    }
    let world = world();
    let arguments = ["run", "null", "hold=30s", "--load=compile:units=4", "--no-report"];
    let mut host = latido(&world, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    meanwhile(&mut host, "data of the load", || (!left(&world).is_empty()).then_some(()));
    let supervisor = world.alive().into_iter().find(|(_, line)| line.trim_end().ends_with(" agent")).unwrap().0;
    signal(supervisor, rustix::process::Signal::KILL);
    host.wait().unwrap();
    world.nothing_left("by the supervisor");
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// A fake machine with one thermal zone, critical at 100 degrees.
fn zone(world: &World, degrees: u32) {
    for (name, text) in [
        ("temp", format!("{degrees}000\n")),
        ("trip_point_0_type", "critical\n".into()),
        ("trip_point_0_temp", "100000\n".into()),
    ] {
        let path = world.path("thermal/sys/class/thermal/thermal_zone0");
        fs::create_dir_all(&path).unwrap();
        // Atomically: a reader must not find an empty file.
        fs::write(path.join("next"), text).unwrap();
        fs::rename(path.join("next"), path.join(name)).unwrap();
    }
}

/// Above the limit of the cell, or 5 degrees below the critical point, latido ends load and measurement. The record says when and how hot,
/// the cell is contaminated, and latido keeps what it measured before.
#[test]
fn heat_ends_a_load_and_marks_the_cell() {
    if cfg!(not(debug_assertions)) {
        skip("the end by heat", Need::Build, "only debug builds read a fake temperature");
        return;
    }
    for (arguments, limit) in [(vec![], 95_000), (vec!["--max-temp=70"], 70_000)] {
        let world = world();
        zone(&world, 60);
        let mut words = vec!["run", "wakeup", "-d5m", "--policy=other", "--load=messaging:1,pairs=2", "--no-report"];
        words.extend(["--warmup=100ms", "--json"].iter().chain(&arguments));
        let mut command = latido(&world, words);
        command.env("LATIDO_THERMAL", world.path("thermal")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The machine gets hot while the probe measures: this number of wake-ups is beyond its warm-up.
        let pid = common::measuring_process(&world);
        meanwhile(&mut child, "1500 wake-ups", || (processes::wakeups(pid) > 1500).then_some(()));
        zone(&world, 97);
        let output = ended(child, "a run that grew hot");
        let document = json(&output, 3);
        assert_eq!(document["verdict"], "contaminated", "{document}");
        let record = &document["records"][0];
        let hot = &record["quality"]["overheated"];
        assert_eq!((&hot["temperature_mc"], &hot["limit_mc"]), (&97_000.into(), &limit.into()), "{hot}");
        let at = hot["at_ns"].as_i64().unwrap();
        let elapsed = record["elapsed_ns"].as_i64().unwrap();
        // The heat ended the measurement, not the duration of 5 minutes.
        assert!(0 < at && at <= elapsed && elapsed < 300_000_000_000, "{at} {elapsed}");
        let load = &record["load"][0];
        assert_eq!(load["alive"], false);
        assert!(load["died"].as_str().unwrap().contains("97 degrees, above the limit of"), "{load}");
        did(load, &["messages"]);
        world.nothing_left("by heat");
    }
}

/// On a machine that is already too hot latido starts nothing.
#[test]
fn nothing_begins_on_a_hot_machine() {
    if cfg!(not(debug_assertions)) {
        skip("a machine too hot to begin", Need::Build, "only debug builds read a fake temperature");
        return;
    }
    let world = world();
    zone(&world, 80);
    let run = |arguments: &[&str]| {
        let words = ["run", "null", "--no-report"].iter().chain(arguments).copied();
        latido(&world, words).env("LATIDO_THERMAL", world.path("thermal")).output().unwrap()
    };
    let output = run(&["--max-temp=75", "--load=messaging:1,pairs=1"]);
    assert!(!output.status.success());
    let said = format!("{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("too hot") && said.contains("80 degrees, above the limit of 75"), "{said}");
    assert!(run(&["--max-temp=80"]).status.success());
    // A load by itself ends too, and leaves nothing behind.
    let output = latido(&world, ["load", "messaging:1,pairs=1", "-d60s", "--max-temp=75"])
        .env("LATIDO_THERMAL", world.path("thermal"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("80 degrees, above the limit of 75"), "{}", stderr(&output));
    world.nothing_left("by a load alone");
}
