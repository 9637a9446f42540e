//! Locks between several latidos: no other latido disturbs a running `tune`, and what a run left before a reboot is void.

use crate::common;

use common::{World, json, meanwhile, root, stderr};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags},
    process::{Pid, Signal, kill_process},
};
use std::{
    fs,
    io::Write,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// A machine on which one file is a pipe: a process that reads it waits until the test writes, and holds the lock meanwhile.
struct Slow {
    world: World,
    pipe: PathBuf,
}

const INTERVAL: &str = "root/proc/sys/vm/stat_interval";

impl Slow {
    fn new() -> Self {
        let world = World::new();
        let pipe = world.path("root/proc/sys/kernel/timer_migration");
        for dir in ["root/proc/sys/kernel", "root/proc/sys/vm"] {
            fs::create_dir_all(world.path(dir)).unwrap();
        }
        fs::write(world.path(INTERVAL), "1\n").unwrap();
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).unwrap();
        Self { world, pipe }
    }

    fn start(&self, words: &[&str]) -> Child {
        let root = self.world.path("root").display().to_string();
        let mut command = self.world.latido(["tune", "--sysroot", &root]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn tune(&self, words: &[&str]) -> std::process::Output {
        self.start(words).wait_with_output().unwrap()
    }

    /// Answers the process that waits at the pipe with this text.
    fn answer(&self, text: &str) {
        let open = rustix::fs::open(&self.pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        if let Ok(file) = open {
            let _ = fs::File::from(file).write_all(text.as_bytes());
        }
    }

    fn interval(&self) -> String {
        fs::read_to_string(self.world.path(INTERVAL)).unwrap()
    }

    /// Applies two tunings and stops between them: the first is in force, the second is not yet read.
    fn half_way(&self) -> Child {
        let mut child = self.start(&["apply", "vm-stat:60s", "timers"]);
        meanwhile(&mut child, "the first tuning", || (self.interval() == "60\n").then_some(()));
        child
    }
}

#[test]
fn while_a_tune_is_at_work_every_other_latido_waits_its_turn() {
    let slow = Slow::new();
    let mut first = slow.half_way();
    let name = format!("pid {}, tune apply", common::agent_of(first.id()));
    let refused = |output: std::process::Output, what: &str| {
        assert_eq!(output.status.code(), Some(1), "{what}");
        let said = stderr(&output);
        assert!(said.contains("another latido is using") && said.contains(&name), "{what}: {said}");
        assert_eq!(slow.interval(), "60\n", "{what} changed it");
    };
    refused(slow.tune(&["apply", "vm-stat:10s"]), "tune apply");
    refused(slow.tune(&["undo"]), "tune undo");
    refused(slow.world.run(["run", "null", "samples=10", "--no-report"]), "run");
    assert!(slow.world.runs().is_empty(), "nothing of a run that cannot start is stored");
    // `status` always works. It names the latido that holds the lock and lists what is not settled yet.
    let status = json(&slow.tune(&["status", "--json"]), 0);
    assert_eq!(status["at_work"], name);
    assert_eq!((status["applied"].as_array().unwrap().len(), status["unsettled"].as_array().unwrap().len()), (0, 1));

    // The first `tune` goes on undisturbed: the other file already has the requested value.
    common::until("the end of the first", || {
        slow.answer("0\n");
        first.try_wait().unwrap()
    });
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let undone = slow.tune(&["undo"]);
    assert_eq!((undone.status.code(), slow.interval().as_str()), (Some(0), "1\n"), "{}", stderr(&undone));
}

/// The lock ends with its holder, and the next latido restores what the holder had started to change.
#[test]
fn a_tune_that_is_killed_half_way_frees_the_lock() {
    let slow = Slow::new();
    let mut first = slow.half_way();
    // The agent waits in a system call, where only SIGKILL ends it.
    for pid in [common::agent_of(first.id()), first.id()] {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    }
    assert_eq!(first.wait().unwrap().signal(), Some(9));
    let status = json(&slow.tune(&["status", "--json"]), 0);
    assert!(status["at_work"].is_null() && status["unsettled"].as_array().unwrap().len() == 1, "{status:#}");
    let second = slow.tune(&["apply", "vm-stat:10s"]);
    assert_eq!((second.status.code(), slow.interval().as_str()), (Some(0), "10\n"), "{}", stderr(&second));
    let undone = slow.tune(&["undo"]);
    assert_eq!((undone.status.code(), slow.interval().as_str()), (Some(0), "1\n"), "{}", stderr(&undone));
    assert!(!slow.world.state().join("journal.jsonl").exists());
}

/// Two at the same moment, several times: either one of them applies its tuning entirely, or both do, one after the other.
#[test]
fn of_two_at_the_same_moment_none_is_half_done() {
    let slow = Slow::new();
    for _ in 0..10 {
        let (one, two) = (slow.start(&["apply", "vm-stat:10s"]), slow.start(&["apply", "vm-stat:20s"]));
        let outputs = [one, two].map(|child| child.wait_with_output().unwrap());
        let done = outputs.iter().filter(|output| output.status.success()).count();
        assert!(done >= 1, "{} {}", stderr(&outputs[0]), stderr(&outputs[1]));
        for output in outputs.iter().filter(|output| !output.status.success()) {
            assert!(stderr(output).contains("another latido is using"), "{}", stderr(output));
        }
        let status = json(&slow.tune(&["status", "--json"]), 0);
        assert_eq!(status["applied"].as_array().unwrap().len(), done, "{status:#}");
        assert!(["10\n", "20\n"].contains(&slow.interval().as_str()), "{}", slow.interval());
        let undone = slow.tune(&["undo"]);
        assert_eq!((undone.status.code(), slow.interval().as_str()), (Some(0), "1\n"), "{}", stderr(&undone));
    }
}

/// A knob of this machine, restored on drop.
struct Knob(&'static str, String);

impl Knob {
    fn now(&self) -> String {
        fs::read_to_string(self.0).unwrap()
    }
}

impl Drop for Knob {
    fn drop(&mut self) {
        let _ = fs::write(self.0, &self.1);
    }
}

const ELSEWHERE: &str = "00000000-0000-0000-0000-000000000000";

/// Makes a journal look as if another boot had written it.
fn reboot(journal: &Path) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = fs::read_to_string(journal).unwrap();
    assert!(text.contains(boot.trim()) && text.contains(r#""owner":"run""#), "{text}");
    fs::write(journal, text.replace(boot.trim(), ELSEWHERE)).unwrap();
}

/// Host and supervisor are gone and the machine was rebooted: the kernel has set its own values, whatever originals the journal has.
#[test]
fn what_a_run_left_before_a_reboot_is_void_and_the_next_run_goes_on() {
    if !root("the journal of a run from before a reboot") {
        return;
    }
    let _machine = common::machine();
    let path = "/proc/sys/vm/stat_interval";
    let knob = Knob(path, fs::read_to_string(path).unwrap());
    let world = World::new();
    let mut command = world.latido(["run", "null", "hold=60s", "--tune", "vm-stat:77s", "--json", "--no-report"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    meanwhile(&mut run, "a tuning in force", || (knob.now() == "77\n").then_some(()));
    let alive: Vec<_> = world.alive().into_iter().filter_map(|(pid, _)| Pid::from_raw(pid)).collect();
    // The test stops all first, so that none can react to the death of another.
    for (signal, pid) in
        [Signal::STOP, Signal::KILL].iter().flat_map(|signal| alive.iter().map(move |pid| (signal, pid)))
    {
        let _ = kill_process(*pid, *signal);
    }
    run.wait().unwrap();
    world.nothing_left("after SIGKILL of everybody");
    let journal = world.state().join("journal.jsonl");
    reboot(&journal);

    let status = world.run(["tune", "status"]);
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(said.starts_with("from before the last boot, no longer in force"), "{said}");
    let next = world.run(["run", "null", "samples=10", "--json", "--no-report"]);
    json(&next, 0);
    let told = format!("tuning vm-stat: {path} is from before the last boot and void: the reboot undid it");
    assert_eq!(stderr(&next).matches(&told).count(), 1, "said once: {}", stderr(&next));
    assert_eq!(knob.now(), "77\n", "a value of another boot was written");
    assert!(!journal.exists(), "it is void for good");
    let after = world.run(["run", "null", "samples=10", "--json", "--no-report"]);
    assert!(!stderr(&after).contains("void"), "{}", stderr(&after));
}

/// A load's mark from another boot is void: latido leaves alone a process that has the mark by chance.
#[test]
fn a_load_from_before_a_reboot_ends_nobody() {
    let world = World::new();
    let mark = "of-another-boot";
    let mut bearer = std::process::Command::new("sleep").arg("60").env("LATIDO_LOAD", mark).spawn().unwrap();
    let entry = |boot: &str| {
        format!(r#"{{"boot":"{boot}","owner":"run","what":{{"kind":"load","mark":"{mark}","argv":["sleep"]}}}}"#) + "\n"
    };
    fs::create_dir(world.state()).unwrap();
    let journal = world.state().join("journal.jsonl");
    fs::write(&journal, entry(ELSEWHERE)).unwrap();
    let next = world.run(["run", "null", "samples=10", "--json", "--no-report"]);
    json(&next, 0);
    assert!(stderr(&next).contains("the load `sleep` is from before the last boot and void"), "{}", stderr(&next));
    assert!(bearer.try_wait().unwrap().is_none(), "it was ended");
    // The same mark from this boot is a leftover.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(&journal, entry(boot.trim())).unwrap();
    let undone = world.run(["tune", "undo"]);
    assert_eq!(undone.status.code(), Some(0), "{}", stderr(&undone));
    assert!(stderr(&undone).contains("ended 1 process of the load `sleep`"), "{}", stderr(&undone));
    assert_eq!(bearer.wait().unwrap().signal(), Some(9));
    assert!(!journal.exists());
}

/// A changed change is not a fault. A value that somebody else set is one, and the exit status reports it.
#[test]
fn what_was_changed_again_is_told_from_what_is_not_in_force() {
    let slow = Slow::new();
    fs::remove_file(&slow.pipe).unwrap();
    for word in ["vm-stat:60s", "vm-stat:30s"] {
        let apply = slow.tune(&["apply", word]);
        assert_eq!(apply.status.code(), Some(0), "{}", stderr(&apply));
    }
    let status = || {
        let output = slow.tune(&["status"]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (exit, text) = status();
    assert!(exit == Some(0) && text.contains("1 -> 60, then changed again") && !text.contains("NOT"), "{text}");
    fs::write(slow.world.path(INTERVAL), "5\n").unwrap();
    let (exit, text) = status();
    assert!(exit == Some(2) && text.contains("60 -> 30, NOT in force: now 5"), "{text}");
}
