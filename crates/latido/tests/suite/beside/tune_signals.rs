//! Ctrl-C in `tune` and before a run's first cell, a full disk, a lock that a stranger holds, an agent that takes its time: the machine
//! ends as it began, and latido gives the true reason.

use crate::common;

use common::{World, json, stderr};
use latido_model::{
    cell::Cell,
    protocol::{Request, Writer},
};
use rustix::{
    fs::{CWD, FileType, FlockOperation, Mode, OFlags, flock, mknodat},
    process::Signal,
};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const INTERVAL: &str = "root/proc/sys/vm/stat_interval";
const MIGRATION: &str = "root/proc/sys/kernel/timer_migration";

/// A machine with two knobs, one of which may become a pipe: a process that reads it waits until the test has written.
struct Machine(World);

impl Machine {
    fn new() -> Self {
        let machine = Self(World::new());
        for (path, text) in [(INTERVAL, "1\n"), (MIGRATION, "1\n")] {
            machine.write(path, text);
        }
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path(path)).unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.0.state().join("journal.jsonl")
    }

    fn command(&self, words: &[&str]) -> Command {
        let root = self.0.path("root").display().to_string();
        let mut command = self.0.latido(["tune", "--sysroot", &root]);
        command.args(words);
        command
    }

    fn tune(&self, words: &[&str]) -> std::process::Output {
        self.command(words).output().unwrap()
    }

    fn pipe(&self, path: &str) {
        let path = self.0.path(path);
        fs::remove_file(&path).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::from(0o600), 0).unwrap();
    }

    /// Starts the command, interrupts it while it reads the pipe, and then lets it read this text.
    fn interrupted(&self, command: Command, signal: Signal, path: &str, text: &str) -> std::process::Output {
        self.interrupted_reading(command, signal, path, text, false)
    }

    fn interrupted_reading(
        &self,
        mut command: Command,
        signal: Signal,
        path: &str,
        text: &str,
        again: bool,
    ) -> std::process::Output {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = self.reader(&mut child, path);
        // The host must have noticed the signal before the agent goes on.
        common::processes::heard_by_agent(child.id(), signal);
        pipe.write_all(text.as_bytes()).unwrap();
        drop(pipe);
        // An apply that starts reads the pipe more than once. A command that reads it once must not get a second answer.
        let file = self.0.path(path);
        let over = Arc::new(AtomicBool::new(false));
        let answers = again.then(|| {
            let (text, over) = (text.to_owned(), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let opened = rustix::fs::open(&file, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
                    let _ = opened.map(|file| File::from(file).write_all(text.as_bytes()));
                    std::thread::sleep(Duration::from_millis(5));
                }
            })
        });
        let output = common::ended(child, "an interrupted tune");
        over.store(true, Ordering::Relaxed);
        if let Some(answers) = answers {
            answers.join().unwrap();
        }
        output
    }

    /// Waits until the process reads the pipe.
    fn reader(&self, child: &mut Child, path: &str) -> File {
        common::meanwhile(child, &format!("a reader of {path}"), || {
            rustix::fs::open(self.0.path(path), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).ok().map(File::from)
        })
    }

    /// Leaves an apply that was killed after the first of its changes.
    fn leave_half(&self) {
        let mut command = self.command(&["apply", "vm-stat:60s"]);
        // The host dies too, before it can have the change undone.
        assert!(command.env("LATIDO_FAULT", "agent:3,host:1").output().unwrap().status.code().is_none());
        assert_eq!(self.read(INTERVAL), "60\n");
    }
}

#[test]
fn an_interrupted_apply_puts_everything_back() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let machine = Machine::new();
        machine.pipe(MIGRATION);
        let apply = machine.command(&["apply", "vm-stat:60s", "timers"]);
        let output = machine.interrupted_reading(apply, signal, MIGRATION, "0\n", true);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {said}");
        assert!(said.contains("interrupted: nothing was applied, everything is as it was"), "{said}");
        assert_eq!(machine.read(INTERVAL), "1\n", "{signal:?}");
        assert!(!machine.journal().exists(), "{signal:?}");
    }
}

#[test]
fn an_undo_is_brought_to_its_end_in_spite_of_a_signal() {
    let machine = Machine::new();
    assert_eq!(machine.tune(&["apply", "vm-stat:60s", "timers"]).status.code(), Some(0));
    machine.pipe(MIGRATION);
    let output = machine.interrupted(machine.command(&["undo"]), Signal::INT, MIGRATION, "1\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("finished the undo"), "{}", stderr(&output));
    assert_eq!(machine.read(INTERVAL), "1\n");
    assert!(!machine.journal().exists());
}

/// latido restores the leftovers of a crash before the first cell. A signal does not interrupt this, and afterwards latido starts nothing.
#[test]
fn a_run_interrupted_before_its_first_cell_starts_nothing() {
    let machine = Machine::new();
    machine.leave_half();
    machine.pipe(INTERVAL);
    let run = machine.0.latido(["run", "null", "samples=10", "--no-report"]);
    let output = machine.interrupted(run, Signal::INT, INTERVAL, "1\n");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(machine.0.runs().is_empty(), "nothing was measured");
    assert!(!machine.journal().exists());
}

/// A file may grow to one block: the line that exceeds it is partly written, as on a full disk.
#[test]
fn a_full_disk_ends_an_apply_and_nothing_stays() {
    let machine = Machine::new();
    machine.write("root/sys/devices/system/cpu/online", "0-1\n");
    let lines: Vec<String> = (1..40).map(|line| format!("root/proc/irq/{line}/smp_affinity_list")).collect();
    lines.iter().for_each(|path| machine.write(path, "0-1\n"));
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"trap "" XFSZ; ulimit -f 1; exec "$0" "$@""#]);
    let apply = machine.command(&["apply", "irqs:1"]);
    limited.arg(apply.get_program()).args(apply.get_args()).current_dir(machine.0.path(""));
    let output = limited.env("LATIDO_STATE", machine.0.state()).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the journal") && said.contains("(nothing was changed)"), "{said}");
    assert!(lines.iter().all(|path| machine.read(path).trim() == "0-1"), "something stays changed");
    assert!(!machine.journal().exists());
}

/// Every user who may read the lock file may lock it: latido names the present holder, not the former one.
#[test]
fn a_stranger_who_holds_the_lock_is_named_truthfully() {
    let machine = Machine::new();
    assert_eq!(machine.tune(&["apply", "vm-stat:60s"]).status.code(), Some(0));
    let former = fs::read_to_string(machine.0.state().join("run")).unwrap();
    let held = File::open(machine.0.state().join("run")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let own = format!("pid {} of user {}, `suite-", std::process::id(), rustix::process::getuid().as_raw());
    for output in [machine.tune(&["undo"]), machine.0.run(["run", "null", "samples=10", "--no-report"])] {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&own) && said.contains("not latido") && !said.contains(&former), "{said}");
    }
    let status = json(&machine.tune(&["status", "--json"]), 0);
    assert!(status["at_work"].as_str().unwrap().starts_with(&own), "{status:#}");
    drop(held);
    assert_eq!(machine.tune(&["undo"]).status.code(), Some(0));
}

/// latido leaves alone what another run left between two of its cells: the other run would find the lock taken, and must itself restore its
/// leftovers.
#[test]
fn between_two_cells_of_a_run_another_one_touches_nothing() {
    let machine = Machine::new();
    machine.leave_half();
    let held = File::open(machine.0.state().join("run")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let output = machine.0.run(["run", "null", "samples=10", "--no-report"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(machine.read(INTERVAL), "60\n", "what the other one changed was put back under its feet");
    drop(held);
    json(&machine.0.run(["run", "null", "samples=10", "--no-report", "--json"]), 0);
    assert_eq!(machine.read(INTERVAL), "1\n");
}

/// latido stops if the journal has a change that it cannot read: it would lose the original, and the next measurement would take the change
/// for the machine's own setting.
#[test]
fn what_another_latido_wrote_into_the_journal_stops_all_but_status() {
    let machine = Machine::new();
    machine.leave_half();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let strange = format!("{{\"boot\":\"{}\",\"owner\":\"run\",\"what\":{{\"kind\":\"spell\"}}}}\n", boot.trim());
    fs::write(machine.journal(), machine.read("state/journal.jsonl") + &strange).unwrap();
    let shown = String::from_utf8(machine.tune(&["status"]).stdout).unwrap();
    assert!(shown.contains("not readable by this version") && shown.contains("spell"), "{shown}");
    let run = ["run", "null", "samples=10", "--no-report"];
    for output in [machine.0.run(run), machine.tune(&["apply", "timers"]), machine.tune(&["undo"])] {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("names changes that latido") && said.contains("spell"), "{said}");
        assert_eq!(machine.read("state/journal.jsonl"), strange, "what can be read is put back, that alone stays");
    }
    assert_eq!((machine.read(INTERVAL), machine.read(MIGRATION)), ("1\n".into(), "1\n".into()));
    assert!(machine.0.runs().is_empty());
}

/// The load takes a second to start: the agent sends signs of life to its host meanwhile.
#[test]
fn an_agent_that_waits_for_its_loads_gives_signs_of_life() {
    let world = World::new();
    let run = world.run(["run", "null", "samples=10", "--load", "disk", "--no-report", "--json"]);
    let cell: Cell = serde_json::from_value(json(&run, 0)["records"][0]["cell"].clone()).unwrap();
    let mut agent = world.latido(["agent"]);
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = Writer::new(agent.stdin.take().unwrap());
    input.send(&Request::Prepare { cells: vec![cell.clone()], wait: None }).unwrap();
    input.send(&Request::Measure { cell: Box::new(cell) }).unwrap();
    let lines = BufReader::new(agent.stdout.take().unwrap()).split(b'\n').map_while(Result::ok);
    let (mut settling, mut ends) = (0, 0);
    for line in lines {
        let line = String::from_utf8_lossy(&line).into_owned();
        settling += usize::from(line.contains(r#""phase":"settling""#));
        ends += usize::from(line.contains(r#""type":"end""#));
        if ends == 2 {
            break;
        }
    }
    drop(input);
    agent.wait().unwrap();
    assert!(settling > 1, "after it said that it waits it said nothing more");
}
