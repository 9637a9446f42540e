//! Recordings that end in every way, by Ctrl-C and by SIGKILL of one process and of all: no instance of tracefs is left.

use crate::common;
use crate::common::recording;

use common::{World, ended, meanwhile, settled, stderr};
use recording::{INSTANCES, events, status, tracefs};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, process::Stdio, thread, time::Duration};

/// The trace instances of this process.
fn instances_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(INSTANCES).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("latido-{pid}-"))).collect()
}

/// Whether the instance of this process has events.
fn recorded(pid: u32) -> bool {
    let count = |text: String| text.lines().find_map(|line| line.strip_prefix("entries: ")?.parse::<u64>().ok());
    let read = |text: String| text.lines().find_map(|line| line.strip_prefix("read events: ")?.parse::<u64>().ok());
    instances_of(pid).iter().any(|instance| {
        let cpus = fs::read_dir(format!("{INSTANCES}/{instance}/per_cpu")).into_iter().flatten().flatten();
        let stats = cpus.filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok());
        stats.map(|text| count(text.clone()).unwrap_or(0) + read(text).unwrap_or(0)).sum::<u64>() > 0
    })
}

/// Ctrl-C keeps the file; the program receives it too, and nothing is left.
#[test]
fn an_interrupt_keeps_the_file() {
    if !tracefs("a trace that is interrupted") {
        return;
    }
    let world = World::new();
    for (more, expected) in [(&["--for=60s"][..], 130), (&[][..], 0), (&["--", "sleep", "60"][..], 143)] {
        let line = ["trace", "record", "-o", "e.dat"].iter().chain(more).copied();
        let mut child = world.latido(line).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        meanwhile(&mut child, "events in its instance", || recorded(pid).then_some(()));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = ended(child, "an interrupted trace");
        assert_eq!(status(&output), expected, "{more:?}: {}", stderr(&output));
        assert!(!events(&world.path("e.dat")).is_empty() && instances_of(pid).is_empty());
        fs::remove_file(world.path("e.dat")).unwrap();
        world.nothing_left("after an interrupt");
    }
}

/// After SIGKILL at every step and at moments between them the guard removes the instance without another latido, and no file was written.
#[test]
fn a_kill_leaves_no_instance_behind() {
    if !tracefs("a trace that is killed") {
        return;
    }
    let world = World::new();
    let journal = world.state().join("journal.jsonl");
    let after = |pid: u32, when: &str| {
        settled(&format!("nothing that is left ({when})"), || match (instances_of(pid), journal.exists()) {
            (none, false) if none.is_empty() => Ok(()),
            left => Err(format!("instances, and whether there is a journal: {left:?}")),
        });
        assert!(!world.path("f.dat").exists(), "{when}");
    };
    for point in 1.. {
        let line = ["trace", "record", "--wait=1m", "--for=20ms", "-o", "f.dat"];
        let mut command = world.latido(line);
        let mut child = command.env("LATIDO_FAULT", format!("agent:{point}")).stderr(Stdio::null()).spawn().unwrap();
        if child.wait().unwrap().success() {
            assert!(point > 4, "only {point} points: the test proves nothing");
            fs::remove_file(world.path("f.dat")).unwrap();
            break;
        }
        after(child.id(), &format!("point {point}"));
    }
    for wait in [3u64, 17, 40, 77, 120] {
        let words = ["trace", "record", "--wait=1m", "-o", "f.dat"];
        let mut child = world.latido(words).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        after(child.id(), &format!("after {wait} ms"));
    }
}

/// If the guard is killed too, the next latido removes the instance.
#[test]
fn a_kill_of_both_leaves_it_to_the_next_latido() {
    if !tracefs("a trace that is killed with its guard") {
        return;
    }
    let world = World::new();
    let words = ["trace", "record", "--wait=1m", "-o", "f.dat"];
    let mut child = world.latido(words).stderr(Stdio::null()).spawn().unwrap();
    let own = child.id();
    meanwhile(&mut child, "its instance", || (!instances_of(own).is_empty()).then_some(()));
    let pid = child.id();
    let guards = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let guards: Vec<i32> = guards.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(guards.len(), 1, "{guards:?}");
    for guard in guards {
        kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(instances_of(pid).len(), 1);
    let status = String::from_utf8(world.run(["tune", "status"]).stdout).unwrap();
    assert!(status.contains("not there -> recording, in force"), "{status}");
    let told = world.run(["tune", "undo"]);
    assert!(told.status.success(), "{}", stderr(&told));
    assert_eq!(instances_of(pid), Vec::<String>::new());
}

/// An agent that is killed while it traces a cell leaves no instance: its host has it removed.
#[test]
fn a_killed_agent_leaves_no_instance_behind() {
    if !tracefs("an agent that traces and is killed") {
        return;
    }
    let mut seen = 0;
    for point in (4..40).step_by(5) {
        let world = World::new();
        let line = [
            "run",
            "null",
            "samples=100",
            "hold=100ms",
            "--policy=other",
            "--trace=sched_switch",
            "--no-report",
            "--quiet",
        ];
        let mut command = world.latido(line);
        let mut child = command
            .env("LATIDO_FAULT", format!("agent:{point}"))
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut agents = Vec::new();
        while child.try_wait().unwrap().is_none() {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
            agents.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            agents.dedup();
            seen += usize::from(agents.iter().any(|agent| !instances_of(*agent).is_empty()));
            thread::sleep(Duration::from_millis(2));
        }
        world.nothing_left(&format!("after point {point}"));
        for agent in agents {
            assert_eq!(instances_of(agent), Vec::<String>::new(), "point {point}");
        }
        assert!(!world.state().join("journal.jsonl").exists(), "point {point}");
    }
    assert!(seen > 0, "no instance was ever there: the test proves nothing");
}
