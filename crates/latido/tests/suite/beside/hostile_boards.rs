//! A board that is not trustworthy: what it sends costs the host no more memory, disk and time than a sound answer may. Each of these
//! boards ends by itself, far beyond the bound: a host without the bound takes all of it.

use crate::common::{self, scripted};

use common::{World, stderr};
use latido_model::{
    cell::Cell,
    plan,
    protocol::{Progress, Reply, Writer},
};
use scripted::{Recorded, recorded};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const PLAN: &str = "schema = 1\nname = \"hostile\"\nseed = 7\norder = \"as-written\"\n[[group]]\ntarget = [\"fake:agent.script\"]\n\
                    probe = [{ name = \"null\", samples = 200 }]\nduration = \"100ms\"\n";

/// A world with a plan of one cell, and the answers of a sound agent.
struct Board {
    world: World,
    said: Recorded,
}

impl Board {
    fn new() -> Self {
        let plan = plan::parse::parse("hostile.toml", PLAN, &latido_agent::catalogue::Installed).unwrap();
        let cells: Vec<Cell> = plan::expand(&plan);
        let world = World::new();
        let said = recorded(&world, &cells);
        world.file("hostile.toml", PLAN);
        Self { world, said }
    }

    /// Runs the cell with an agent that sends additional lines before its sound answer. `more` writes these lines.
    fn run(&self, more: impl FnOnce(&mut Writer<Vec<u8>>)) -> Output {
        let [prepared, measured] = &self.said.answers[..] else { panic!("one cell") };
        let mut writer = Writer::new(Vec::new());
        more(&mut writer);
        let said = std::mem::take(writer.inner());
        let lines = [&said[..], measured].concat();
        let first = starts(prepared).len();
        let script = [&self.said.hello[..], b"#wait 1\n", prepared, b"#wait 2\n", &numbered(&lines, first)].concat();
        fs::write(self.world.path("agent.script"), script).unwrap();
        let mut command = self.world.latido(["run", "./hostile.toml", "--no-report", "--json"]);
        command.env("LATIDO_CELL_MS", "60000").output().unwrap()
    }

    /// Checks that the cell has no record, for this reason, and that the store has kept nothing of what arrived.
    fn refused(&self, output: &Output, words: &str) {
        let said = stderr(output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let document = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(words) || document.contains(words), "`{words}` is not in: {said}{document}");
        assert_eq!(common::records_of(&self.world), 0);
        let run = common::runs_of(&self.world).pop().unwrap();
        assert!(!run.join("cells/001/.incoming").exists(), "what came is kept");
    }
}

/// The start of each line of the protocol. The bytes of a file do not end with a newline.
fn starts(bytes: &[u8]) -> Vec<usize> {
    const BEGIN: &[u8] = b"{\"seq\":";
    (0..bytes.len()).filter(|at| bytes[*at..].starts_with(BEGIN)).collect()
}

/// Renumbers the lines, from this number on.
fn numbered(bytes: &[u8], first: usize) -> Vec<u8> {
    let all = starts(bytes);
    let mut text = Vec::new();
    for (number, at) in all.iter().enumerate() {
        let end = all.get(number + 1).copied().unwrap_or(bytes.len());
        let behind = at + bytes[*at..end].iter().position(|byte| *byte == b',').unwrap();
        text.extend(format!("{{\"seq\":{}", first + number).into_bytes());
        text.extend(&bytes[behind..end]);
    }
    text
}

/// The counterpart: latido measures a board that sends one more note and one more file.
#[test]
fn a_note_and_a_file_more_are_borne() {
    let board = Board::new();
    let output = board.run(|say| {
        say.send(&Reply::Note { message: "something".into() }).unwrap();
        say.attach("more.txt", 5, &b"bytes"[..], |_| Ok(())).unwrap();
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(common::records_of(&board.world), 1);
}

#[test]
fn notes_without_end_end_the_cell() {
    let board = Board::new();
    let many = board.run(|say| (0..5000).for_each(|_| say.send(&Reply::Note { message: "x".into() }).unwrap()));
    board.refused(&many, "more than 4096 notes");
    let board = Board::new();
    let long = "x".repeat(100 << 10);
    let large = board.run(|say| (0..40).for_each(|_| say.send(&Reply::Note { message: long.clone() }).unwrap()));
    board.refused(&large, "1024 KiB of them");
}

#[test]
fn a_file_that_nobody_would_read_ends_the_cell() {
    let board = Board::new();
    // The agent announces the size, and the host refuses it: the file need not arrive.
    let large = board.run(|say| {
        say.send(&Reply::Attachment { name: "large.csv".into(), len: 1 << 40 }).unwrap();
        say.send(&Reply::Chunk { len: 0 }).unwrap();
    });
    board.refused(&large, "large.csv of 1099511627776 bytes");
}

/// Progress messages keep a cell from ending by silence, so a clock ends it; the test shortens the time allowed.
#[test]
fn progress_without_end_ends_the_cell() {
    let board = Board::new();
    let world = &board.world;
    let run = |ms: &str| {
        let mut command = world.latido(["run", "./hostile.toml", "--no-report", "--json"]);
        command.env("LATIDO_CELL_MS", ms).output().unwrap()
    };
    let borne = board.run(|say| {
        (0..2000).for_each(|_| say.send(&Reply::Progress(Progress::default())).unwrap());
    });
    assert_eq!(borne.status.code(), Some(0), "the messages alone end nothing: {}", stderr(&borne));
    fs::remove_dir_all(world.store()).unwrap();
    board.refused(&run("0"), "did not end within 0 s");
}

/// A program `ssh` that is first in PATH: it connects, and answers the first question like this.
fn with_ssh(world: &World, survey: &str) -> Command {
    let bin: PathBuf = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let ssh = bin.join("ssh");
    let text = format!(
        "#!/bin/sh\nfor word; do case $word in ControlPath=*) way=${{word#ControlPath=}};; -M) master=1;; -O) exit 0;; \
         uname) survey=1;; esac; done\n[ -z \"$master\" ] || {{ : >\"$way\"; exec sleep 60; }}\n\
         [ -z \"$survey\" ] || {{ {survey}; exit 0; }}\nexit 1\n"
    );
    fs::write(&ssh, text).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let runtime = world.path("runtime");
    fs::create_dir_all(&runtime).unwrap();
    let mut command = world.latido(["run", "null", "--policy", "other", "--no-report", "--on", "ssh:board"]);
    command.env("PATH", path).env("LATIDO_AGENTS", world.path("none")).env("XDG_RUNTIME_DIR", runtime);
    command
}

/// A shell that prints without end instead of an answer: latido rejects the board and does not store its output.
#[test]
fn a_command_that_prints_without_end_is_no_answer() {
    for flood in ["", ">&2"] {
        let world = World::new();
        let survey = format!("head -c 1048576 /dev/zero | tr '\\0' x {flood}; echo; uname -m; id -u");
        let output = with_ssh(&world, &survey).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flood}: {}", stderr(&output));
        assert!(stderr(&output).contains("with more than 64 KiB"), "{flood}: {}", stderr(&output));
        world.nothing_left("after a board that floods");
    }
}

/// A host that is killed leaves the directory of its connection behind. The next host removes it, and its own.
#[test]
fn what_a_killed_host_leaves_of_a_connection_is_swept() {
    let world = World::new();
    let runtime = world.path("runtime");
    let left = || fs::read_dir(&runtime).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let mut host = with_ssh(&world, ": >asked; exec sleep 60").stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !world.path("asked").exists() {
        assert!(Instant::now() < until, "it never connected");
        sleep(Duration::from_millis(10));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    world.nothing_left("after SIGKILL of the host");
    assert_eq!(left().len(), 1, "there is something to sweep");
    let next = with_ssh(&world, "uname -m; id -u").output().unwrap();
    assert_eq!(next.status.code(), Some(1), "{}", stderr(&next));
    assert_eq!(left(), Vec::<PathBuf>::new());
}
