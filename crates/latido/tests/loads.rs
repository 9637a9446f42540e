//! Every load for real and small: what it says it did, what it leaves behind, and that heat ends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::{World, installed, json, skip, stderr};
use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A world whose loads put their data into a directory of its own.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("tmp")).unwrap();
    world
}

fn latido<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = world.latido(arguments);
    command.env("TMPDIR", world.path("tmp"));
    command
}

/// What lies in the directory for temporary files.
fn left(world: &World) -> Vec<PathBuf> {
    fs::read_dir(world.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Runs the probe that asks for nothing under the load for some seconds; the record's entries of loads.
fn under(world: &World, hold: &str, load: &str) -> Vec<Value> {
    let (hold, load) = (format!("hold={hold}"), format!("--load={load}"));
    let output = latido(world, ["run", "null", &hold, &load, "--no-report", "--json"]).output().unwrap();
    // A stolen machine may contaminate; the load is what is tested.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{load}: {}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let loads = document["records"][0]["load"].as_array().unwrap().clone();
    assert!(loads.iter().all(|load| load["alive"] == true), "{loads:?}");
    assert_eq!(left(world), Vec::<PathBuf>::new(), "{load}");
    loads
}

fn achieved(load: &Value, name: &str) -> i64 {
    load["achieved"][name].as_i64().unwrap_or_else(|| panic!("no {name} in {load}"))
}

/// The load's own account has all of these, each above nothing, and the time for their rates.
fn did(load: &Value, names: &[&str]) {
    for name in names.iter().chain(&["elapsed_ns"]) {
        assert!(achieved(load, name) > 0, "{name}: {load}");
    }
}

#[test]
fn a_disk_is_written_synced_and_read() {
    let world = world();
    let dir = world.path("tmp");
    let both = under(&world, "3s", &format!("disk:size=4,block=256,sync=4,dir={}", dir.display()));
    did(&both[0], &["read_bytes", "written_bytes", "syncs", "sync_ns"]);
    // Four blocks a sync, as far as a sample in the middle can tell.
    let blocks = achieved(&both[0], "written_bytes") / (256 << 10);
    assert!((blocks / 4 - achieved(&both[0], "syncs")).abs() <= 1, "{}", both[0]);
    // A device is read and never written.
    let file = world.file("device", &"x".repeat(1 << 20));
    let read = under(&world, "3s", &format!("disk:size=1,block=64,device={}", file.display()));
    did(&read[0], &["read_bytes"]);
    assert_eq!(achieved(&read[0], "written_bytes"), 0);
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == b'x'));
}

#[test]
fn a_tree_is_searched() {
    if !(installed("find", "the load tree") && installed("grep", "the load tree")) {
        return;
    }
    let world = world();
    let loads = under(&world, "3s", "tree:50");
    did(&loads[0], &["passes", "files", "lines"]);
    assert!(loads[0]["version"].as_str().unwrap().contains("grep"), "{}", loads[0]);
}

#[test]
fn archives_are_made() {
    let world = world();
    for with in ["gzip", "bzip2", "xz", "zstd"] {
        if installed("tar", "the load archive") && installed(with, &format!("the load archive with {with}")) {
            did(&under(&world, "3s", &format!("archive:{with},size=1,level=1,jobs=2"))[0], &["compressed_bytes"]);
        }
    }
}

#[test]
fn source_is_compiled() {
    if !installed("cc", "the load compile") {
        return;
    }
    let world = world();
    did(&under(&world, "8s", "compile:units=2,level=0")[0], &["units"]);
}

#[test]
fn messages_are_sent_by_either_way_and_program() {
    let world = world();
    for by in ["sockets", "pipes"] {
        did(&under(&world, "3s", &format!("messaging:1,pairs=4,by={by}"))[0], &["messages"]);
    }
    // hackbench has no --version and runs at once; -h prints its help.
    match Command::new("hackbench").arg("-h").output() {
        Ok(_) => did(&under(&world, "3s", "messaging:1,pairs=4,with=hackbench")[0], &["messages", "rounds"]),
        Err(_) => skip("messaging with hackbench", "hackbench (rt-tests) is not installed"),
    }
}

#[test]
fn the_built_in_load_tells_what_it_did() {
    let world = world();
    did(&under(&world, "3s", "spin:cpu=1,memory=1,size=1")[0], &["computed", "touched", "forks"]);
}

#[test]
fn memory_is_thrashed() {
    let world = world();
    did(&under(&world, "3s", "memory:both,threads=2,size=2")[0], &["copied_bytes", "accesses"]);
    let random = under(&world, "3s", "memory:random,threads=1,size=1");
    did(&random[0], &["accesses"]);
    assert!(random[0]["achieved"]["copied_bytes"].is_null(), "what was not done is absent: {}", random[0]);
}

/// The storm blows as hard as asked, as far as the CPU lets the threads read: expiries of timerfds are not lost.
#[test]
fn timers_storm() {
    let world = world();
    let loads = under(&world, "3s", "interrupts:1000,timers=4,cpus=0");
    did(&loads[0], &["expiries", "wakeups"]);
    let rate = achieved(&loads[0], "expiries") as f64 / (achieved(&loads[0], "elapsed_ns") as f64 * 1e-9);
    assert!((rate / 4000.0 - 1.0).abs() < 0.3, "{rate} a second of 4000");
    did(&under(&world, "3s", "interrupts:1000,timers=1,by=nanosleep")[0], &["expiries"]);
}

#[test]
fn iperf3_sends_over_the_loopback() {
    if !installed("iperf3", "the load iperf3") {
        return;
    }
    let world = world();
    let loads = under(&world, "4s", "iperf3:8Mbit,size=1000");
    did(&loads[0], &["sent_packets"]);
    let bits = 8.0 * achieved(&loads[0], "sent_bytes") as f64 / (achieved(&loads[0], "elapsed_ns") as f64 * 1e-9);
    assert!((bits / 8e6 - 1.0).abs() < 0.3, "{bits} bit/s");
}

#[test]
fn a_missing_program_is_an_error_with_the_command_that_installs_it() {
    let world = world();
    for (load, package) in [("iperf3", "iperf3"), ("compile", "gcc"), ("archive:xz", "tar"), ("tree", "findutils")] {
        let output = latido(&world, ["load", load]).env("PATH", world.path("tmp")).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("is not installed: apt-get install") && said.contains(package), "{said}");
    }
}

/// All at once the preset of the study is taken apart: four entries, and what is missing is said.
#[test]
fn the_compound_is_its_parts() {
    let world = world();
    let load = "--load=compound-2008:together";
    let output = latido(&world, ["run", "null", "hold=5s", load, "--no-report", "--json"]).output();
    let output = output.unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = &document["records"][0];
    let loads = record["load"].as_array().unwrap();
    for (name, count) in
        [("disk", "read_bytes"), ("tree", "files"), ("archive", "compressed_bytes"), ("compile", "units")]
    {
        match loads.iter().find(|load| load["item"]["name"] == name) {
            Some(load) => did(load, &[count]),
            None => assert!(record["skipped"].to_string().contains(name), "{record}"),
        }
    }
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// One after the other it is one load, as the study had it: its programs are never those of two parts at once.
#[test]
fn the_compound_s_parts_come_one_after_the_other() {
    for program in ["find", "tar", "cc"] {
        if !common::installed(program, "the parts of compound-2008 one after the other") {
            return;
        }
    }
    let world = world();
    let mut load = latido(&world, ["load", "compound-2008", "-d", "3m"]).stderr(Stdio::null()).spawn().unwrap();
    // What each part starts; its disk reads start nothing.
    let parts = [&["find", "grep"][..], &["tar", "bzip2", "gzip"], &["cc", "gcc", "cc1", "as", "collect2", "ld"]];
    let mut seen = [false; 3];
    let give_up = Instant::now() + Duration::from_secs(150);
    while seen != [true; 3] {
        assert!(Instant::now() < give_up && load.try_wait().unwrap().is_none(), "{seen:?}");
        let before = at_work(&world, &parts);
        // Looked at twice: of what ends and what begins one glance may see both.
        let again = at_work(&world, &parts);
        let both: Vec<bool> = before.iter().zip(&again).map(|(a, b)| *a && *b).collect();
        assert!(both.iter().filter(|at_work| **at_work).count() <= 1, "two parts at once: {both:?}");
        seen.iter_mut().zip(&again).for_each(|(seen, now)| *seen |= now);
        std::thread::sleep(Duration::from_millis(5));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&load), rustix::process::Signal::INT).unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(130));
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// Which of the parts have a program of theirs at work in this world.
fn at_work(world: &World, parts: &[&[&str]; 3]) -> [bool; 3] {
    let alive = world.alive();
    let named = |names: &[&str]| {
        alive.iter().any(|(pid, _)| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            names.contains(&name.trim())
        })
    };
    parts.map(named)
}

/// An array in a plan is a ramp: one cell a level, each repeated, each with its own account.
#[test]
fn a_ramp_is_an_axis_of_a_plan() {
    let world = world();
    let plan = "schema = 1\nname = \"ramp\"\n\n[[group]]\nprobe = [{ name = \"null\", hold = \"2s\" }]\n\
                load = [{ id = \"ramp\", use = [{ name = \"messaging\", groups = [1, 2], pairs = 2 }] }]\nrepeat = 2\n";
    world.file("ramp.toml", plan);
    let output = latido(&world, ["run", "./ramp.toml", "--no-report", "--json"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = document["records"].as_array().unwrap();
    let mut levels: Vec<i64> = records
        .iter()
        .map(|record| {
            did(&record["load"][0], &["messages"]);
            record["load"][0]["item"]["options"]["groups"].as_i64().unwrap()
        })
        .collect();
    levels.sort_unstable();
    assert_eq!(levels, [1, 1, 2, 2]);
}

/// A load started by itself, when it has put data into the directory.
fn alone(world: &World, load: &str) -> Child {
    let child = latido(world, ["load", load]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| !left(world).is_empty(), "data of the load");
    child
}

fn until(mut reached: impl FnMut() -> bool, what: &str) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !reached() {
        assert!(Instant::now() < give_up, "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(pid: i32, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
}

/// An orderly end, of the command or of the bearing process alone, leaves nothing.
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
    until(|| left(&world).is_empty(), "the data are gone");
    world.nothing_left("by SIGTERM");
}

/// Whoever kills everything at once, the next load of any kind removes the data.
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
    // What is in use is no leftover.
    let mut child = alone(&world, "archive:size=1");
    let data = left(&world);
    let output = latido(&world, ["run", "null", "hold=100ms", "--load=messaging:1,pairs=1", "--no-report"]).output();
    assert!(output.unwrap().status.code().is_some());
    assert_eq!(left(&world), data, "another load's data stay");
    signal(child.id().cast_signed(), rustix::process::Signal::INT);
    child.wait().unwrap();
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// The supervisor's death ends the load, and the host removes what the load could not.
#[test]
fn data_go_when_the_supervisor_is_killed() {
    if !installed("cc", "the data after the supervisor's death") {
        return;
    }
    let world = world();
    let arguments = ["run", "null", "hold=30s", "--load=compile:units=4", "--no-report"];
    let mut host = latido(&world, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| !left(&world).is_empty(), "data of the load");
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
        // At once: a reader must not find an empty file.
        fs::write(path.join("next"), text).unwrap();
        fs::rename(path.join("next"), path.join(name)).unwrap();
    }
}

/// The limit of the cell, or 5 degrees below the critical point, ends load and measurement; the record says when and
/// how hot, and the cell is contaminated. What was measured before is kept.
#[test]
fn heat_ends_a_load_and_marks_the_cell() {
    if cfg!(not(debug_assertions)) {
        skip("the end by heat", "only debug builds read a fake temperature");
        return;
    }
    for (arguments, limit) in [(vec![], 95_000), (vec!["--max-temp=70"], 70_000)] {
        let world = world();
        zone(&world, 60);
        let mut words = vec!["run", "wakeup", "-d20s", "--policy=other", "--load=messaging:1,pairs=2", "--no-report"];
        words.extend(["--warmup=100ms", "--json"].iter().chain(&arguments));
        let mut command = latido(&world, words);
        command.env("LATIDO_THERMAL", world.path("thermal")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_secs(4));
        zone(&world, 97);
        let output = child.wait_with_output().unwrap();
        let document = json(&output, 3);
        assert_eq!(document["verdict"], "contaminated", "{document}");
        let record = &document["records"][0];
        let hot = &record["quality"]["overheated"];
        assert_eq!((&hot["temperature_mc"], &hot["limit_mc"]), (&97_000.into(), &limit.into()), "{hot}");
        let at = hot["at_ns"].as_i64().unwrap();
        let elapsed = record["elapsed_ns"].as_i64().unwrap();
        assert!(at > 0 && at < 20_000_000_000 && elapsed < 20_000_000_000, "{at} {elapsed}");
        let load = &record["load"][0];
        assert_eq!(load["alive"], false);
        assert!(load["died"].as_str().unwrap().contains("97 degrees, above the limit of"), "{load}");
        did(load, &["messages"]);
        world.nothing_left("by heat");
    }
}

/// On a machine that is too hot already nothing begins.
#[test]
fn nothing_begins_on_a_hot_machine() {
    if cfg!(not(debug_assertions)) {
        skip("a machine too hot to begin", "only debug builds read a fake temperature");
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
    // A load by itself ends too, with nothing left of it.
    let output = latido(&world, ["load", "messaging:1,pairs=1", "-d60s", "--max-temp=75"])
        .env("LATIDO_THERMAL", world.path("thermal"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("80 degrees, above the limit of 75"), "{}", stderr(&output));
    world.nothing_left("by a load alone");
}
