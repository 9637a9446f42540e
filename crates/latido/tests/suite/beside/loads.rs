//! Every load, really run but small: what it reports, and that it leaves nothing behind.

use crate::common::loads;
use crate::common::{self, Need};

use common::{World, installed, meanwhile, skip, stderr};
use loads::{did, latido, left, under, works, world};
use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

#[test]
fn a_disk_is_written_synced_and_read() {
    let world = world();
    let dir = world.path("tmp");
    let load = format!("disk:size=4,block=256,sync=4,dir={}", dir.display());
    let both = works(&world, &load, &["read_bytes", "written_bytes", "syncs", "sync_ns"]);
    // The load syncs after four blocks; it may report its counts between the two.
    let blocks = both["written_bytes"] / (256 << 10);
    assert!((blocks / 4).abs_diff(both["syncs"]) <= 1, "{both:?}");
    // The load reads a device and never writes it.
    let file = world.file("device", &"x".repeat(1 << 20));
    let read = works(&world, &format!("disk:size=1,block=64,device={}", file.display()), &["read_bytes"]);
    assert_eq!(read["written_bytes"], 0);
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == b'x'));
}

#[test]
fn a_tree_is_searched() {
    if !(installed("find", "the load tree") && installed("grep", "the load tree")) {
        return;
    }
    let world = world();
    works(&world, "tree:50", &["passes", "files", "lines"]);
    let loads = under(&world, "100ms", "tree:50");
    assert!(loads[0]["version"].as_str().unwrap().contains("grep"), "{}", loads[0]);
}

#[test]
fn archives_are_made() {
    let world = world();
    for with in ["gzip", "bzip2", "xz", "zstd"] {
        if installed("tar", "the load archive") && installed(with, &format!("the load archive with {with}")) {
            works(&world, &format!("archive:{with},size=1,level=1,jobs=2"), &["compressed_bytes"]);
        }
    }
}

#[test]
fn source_is_compiled() {
    if !installed("cc", "the load compile") {
        return;
    }
    let world = world();
    works(&world, "compile:units=2,level=0", &["units"]);
}

#[test]
fn messages_are_sent_by_either_way_and_program() {
    let world = world();
    for by in ["sockets", "pipes"] {
        works(&world, &format!("messaging:1,pairs=4,by={by}"), &["messages"]);
    }
    // hackbench has no --version and starts at once; -h prints its help.
    match Command::new("hackbench").arg("-h").output() {
        Ok(_) => drop(works(&world, "messaging:1,pairs=4,with=hackbench", &["messages", "rounds"])),
        Err(_) => skip("messaging with hackbench", Need::Program, "hackbench (rt-tests) is not installed"),
    }
}

#[test]
fn the_built_in_load_tells_what_it_did() {
    let world = world();
    works(&world, "spin:cpu=1,memory=1,size=1", &["computed", "touched", "forks"]);
}

#[test]
fn memory_is_thrashed() {
    let world = world();
    works(&world, "memory:both,threads=2,size=2", &["copied_bytes", "accesses"]);
    let random = works(&world, "memory:random,threads=1,size=1", &["accesses"]);
    assert!(!random.contains_key("copied_bytes"), "what was not done is absent: {random:?}");
}

/// A timer expires as often as requested and no more. A thread that wakes late reads several expiries at once.
#[test]
fn timers_storm() {
    let world = world();
    let began = Instant::now();
    let blown = works(&world, "interrupts:1000,timers=4,cpus=0", &["expiries", "wakeups"]);
    let most = 4 * u64::try_from(began.elapsed().as_millis()).unwrap();
    assert!(blown["wakeups"] <= blown["expiries"] && blown["expiries"] <= most, "{most} at most: {blown:?}");
    works(&world, "interrupts:1000,timers=1,by=nanosleep", &["expiries"]);
}

/// Without the kernel's module the load does not work, and latido names the command that loads the module. With it:
/// `scripts/slow/interrupts-off`.
#[test]
fn interrupts_are_off_by_the_kernels_module_alone() {
    if std::path::Path::new("/sys/kernel/preemptirq_delay_test").exists() {
        return skip("the refusal of irqs-off", Need::Kernel, "the module preemptirq_delay_test is loaded here");
    }
    let world = world();
    let output = latido(&world, ["load", "irqs-off:200us", "-d", "3s"]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    let told = stderr(&output);
    assert!(told.contains("not loaded: modprobe preemptirq_delay_test delay=200 test_mode=irq"), "{told}");
}

#[test]
fn iperf3_sends_over_the_loopback() {
    if !installed("iperf3", "the load iperf3") {
        return;
    }
    let world = world();
    let sent = works(&world, "iperf3:8Mbit,size=1000", &["sent_packets"]);
    assert_eq!(sent["sent_bytes"] % 1000, 0, "whole packets of 1000 bytes: {sent:?}");
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

/// With `together` latido takes apart the preset of the study: four loads run at once, each with its own entry. latido names the missing
/// ones.
#[test]
fn the_compound_is_its_parts() {
    let world = world();
    let load = "--load=compound-2008:together";
    let output = latido(&world, ["run", "null", "hold=2s", load, "--no-report", "--json"]).output();
    let output = output.unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = &document["records"][0];
    let loads = record["load"].as_array().unwrap();
    for name in ["disk", "tree", "archive", "compile"] {
        match loads.iter().find(|load| load["item"]["name"] == name) {
            // How much a part does in two seconds depends on the machine; the test of each part waits until it has worked.
            Some(load) => assert!(load["alive"] == true && load["cpu_ns"].as_u64() > Some(0), "{load}"),
            None => assert!(record["skipped"].to_string().contains(name), "{record}"),
        }
    }
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// One after the other the parts are one load, as in the study: programs of two parts never run at once.
#[test]
fn the_compound_s_parts_come_one_after_the_other() {
    for program in ["find", "tar", "cc"] {
        if !common::installed(program, "the parts of compound-2008 one after the other") {
            return;
        }
    }
    let world = world();
    let mut load = latido(&world, ["load", "compound-2008", "-d", "1h"]).stderr(Stdio::null()).spawn().unwrap();
    // The programs that each part starts; its disk reads start none.
    let parts = [&["find", "grep"][..], &["tar", "bzip2", "gzip"], &["cc", "gcc", "cc1", "as", "collect2", "ld"]];
    let mut seen = [false; 3];
    meanwhile(&mut load, "programs of each part", || {
        let before = at_work(&world, &parts);
        // The test looks twice: a single look may see both a program that ends and one that starts.
        let again = at_work(&world, &parts);
        let both: Vec<bool> = before.iter().zip(&again).map(|(a, b)| *a && *b).collect();
        assert!(both.iter().filter(|at_work| **at_work).count() <= 1, "two parts at once: {both:?}");
        seen.iter_mut().zip(&again).for_each(|(seen, now)| *seen |= now);
        (seen == [true; 3]).then_some(())
    });
    rustix::process::kill_process(rustix::process::Pid::from_child(&load), rustix::process::Signal::INT).unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(130));
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}

/// Which of the parts have a running program in this world.
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

/// An array in a plan is a ramp: one cell per level, each repeated and each with its own report.
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
