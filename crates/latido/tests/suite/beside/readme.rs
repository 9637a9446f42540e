//! Every command in the README's fenced blocks, and in the section of docs/how-to.md with all commands, really runs, shortened if it would
//! take minutes. The list says why the test only parses and plans a command that needs a second machine, root's settings or the whole
//! suite.

use crate::common::{self, Need};

use clap::Parser;
use common::{Background, World, installed, realtime, skip};
use latido::cli::Cli;
use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Output};

/// How the test tries a command.
#[derive(Clone, Copy)]
enum How {
    /// As written.
    Real,
    /// Shortened: with this piece replaced, and this added.
    Short(&'static str, &'static str, &'static str),
    /// With `--print-plan`: latido parses it, checks it and prints the plan, but measures nothing.
    Planned(&'static str),
    /// latido parses its words, and plans its tunings.
    Parsed(&'static str),
    /// Not a command of latido: the test checks that this file exists.
    There(&'static str, &'static str),
}

/// The commands, each as written on the pages.
const COMMANDS: &[(&str, How)] = &[
    (
        "cargo install --locked --path crates/latido",
        How::There("crates/latido/Cargo.toml", "it builds what this test runs, and installs it"),
    ),
    (
        "RUSTFLAGS=-Ctarget-feature=+crt-static cargo build --profile dist --target x86_64-unknown-linux-gnu",
        How::There("Cargo.toml", "scripts/test builds it so"),
    ),
    (
        "cargo run --profile try -- run quick",
        How::Short("cargo run --profile try -- run quick", "latido run quick", "-d 300ms"),
    ),
    ("latido run quick --deadline 100us", How::Short("", "", "-d 300ms")),
    ("scripts/test", How::There("scripts/test", "it is the suite that this test is a part of")),
    // From here on the commands of docs/how-to.md.
    ("latido check", How::Real),
    ("latido check --period 1ms --deadline 100us", How::Real),
    ("latido run quick --deadline 100us", How::Short("", "", "-d 300ms")),
    (
        "latido run --vary load=idle,stress-cpu --repeat 10 -d 5s",
        How::Short("--repeat 10 -d 5s", "--repeat 4 -d 200ms", ""),
    ),
    // If another program keeps a CPU busy, a cell ends late: latido compares cells of different length only on request.
    ("latido compare", How::Short("", "", "--despite length")),
    ("latido run", How::Short("", "", "-d 300ms")),
    (
        "latido run wakeup period=250us -c 1 --prio 95 -d 10m --load stress-ng:cpu=4,vm=2 --limit 100us",
        How::Short("-d 10m", "-d 300ms", ""),
    ),
    ("latido run wakeup by=timerfd phase=random tasks=4", How::Short("", "", "-d 300ms")),
    ("latido run gap duty=900ms/1s -c 1 --load 'command:dd if=/dev/zero of=/dev/null'", How::Short("", "", "-d 1s")),
    ("latido run wakeup period=250us --load stress-cpu --print-plan > mine.toml", How::Real),
    ("latido run ./mine.toml --repeat 10", How::Short("--repeat 10", "--repeat 2", "-d 200ms")),
    ("latido run --resume last --keep-checkpoints", How::Real),
    ("latido run wakeup --stop-on 200us", How::Short("", "", "-d 300ms")),
    ("latido run pendulum --policy other --load stress-cpu", How::Short("", "", "-d 500ms")),
    (
        "latido run wakeup --tune isolate:1 --tune irqs:1 --load messaging",
        How::Planned("it changes settings of the machine; tests/isolate.rs does so"),
    ),
    ("latido run isolation", How::Planned("it changes settings of the machine, for twenty cells")),
    ("latido run balance", How::Short("", "", "-d 300ms")),
    (
        "latido run wakeup --load stress-ng:sleep=4,8,12..44 --repeat 10",
        How::Planned("its last level has 44 workers of a thousand threads each; tests/loads.rs has a small ramp"),
    ),
    // This machine acts as the second machine.
    ("latido load udp-flood --to HOST --size 64 --rate max", How::Short("HOST", "127.0.0.1", "-d 500ms")),
    ("latido station flood HOST --for 10m", How::Short("HOST --for 10m", "127.0.0.1 --for 500ms", "")),
    ("latido station trigger HOST --rate 20", How::Short("HOST", "127.0.0.1", "--for 500ms")),
    ("latido run wakeup --on ssh:board -d 10m", How::Planned("it needs a board; tests/links.rs has one over ssh")),
    ("latido run wakeup -c 1 --explain", How::Short("", "", "-d 300ms")),
    (
        "latido run task period=1ms -- ./my-program",
        How::Short("-- ./my-program", "-d 1s -- sh -c 'while :; do sleep 0.01; done'", ""),
    ),
    (
        "latido run task pid=1234 period=1ms --explain",
        How::Planned("it needs a program that runs; tests/looking_on.rs watches one"),
    ),
    (
        "latido run command -- python3 node.py",
        How::Short(
            "python3 node.py",
            "sh -c 'printf \"latido-samples 1\\nseries 0 quantity=latency unit=ns\\nready\\n\"; read go; echo 0 7; echo end 0 1'",
            "",
        ),
    ),
    ("latido run scheduling", How::Short("", "", "-d 300ms")),
    ("latido run syscall name=read,write", How::Short("", "", "-d 300ms")),
    ("latido run interrupt", How::Short("", "", "-d 300ms")),
    ("latido trace record -- ./my-program", How::Short("./my-program", "true", "")),
    ("latido trace analyze trace.dat --html trace.html", How::Real),
    ("latido trace record --for 3s -e sched -e irq", How::Short("--for 3s", "--for 300ms", "")),
    ("latido trace analyze trace.dat --perfetto trace.json", How::Real),
    (
        "latido run three-kernels --seed 1",
        How::Planned("it boots 60 guests of fetched kernels; tests/lab.rs boots some of each"),
    ),
    ("latido run quick --wait", How::Short("", "", "-d 300ms")),
    ("latido check --pid cyclictest", How::Real),
    ("latido list runs", How::Real),
    ("latido show last", How::Real),
    ("latido report last -o report.html", How::Real),
    ("latido report last --format latex", How::Real),
    ("latido export junit last -o results.xml", How::Real),
    (
        "latido import old.hist",
        How::Short("old.hist", "samples/cyclictest/cyclictest-2.4-h-2threads.hist --store=import", ""),
    ),
    ("latido export parquet last -o night", How::Real),
    // If another program keeps a CPU busy, a cell ends late: latido compares cells of different length only on request.
    ("latido compare last --by load", How::Short("", "", "--despite length")),
    ("latido figure", How::Real),
    ("latido cite --into paper", How::Real),
    ("latido prune --keep 90d --dry-run", How::Real),
    ("latido help wakeup", How::Real),
    (
        "latido run --tune throttle:off,server=as-is --tune frequency",
        How::Planned("it changes settings of the machine, and needs a frequency that can be set"),
    ),
    (
        "sudo latido tune apply isolate:1 irqs:1 vm-stat:60s",
        How::Parsed("it changes settings of the machine until they are undone; tests/tune.rs does so"),
    ),
    ("latido tune status", How::Real),
    ("latido list tunings", How::Real),
    (
        "latido run scheduling-latency --scale 0.01",
        How::Planned("it isolates a CPU and takes minutes; tests/studies.rs runs it smaller"),
    ),
    ("latido run embedded-properties --scale 0.01", How::Planned("it takes minutes; tests/studies.rs runs it smaller")),
    ("latido run execution-times --scale 0.1", How::Planned("it takes minutes; tests/studies.rs runs it smaller")),
    ("latido report last --published", How::Real),
];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The commands of the fenced blocks, without their comments.
fn fenced(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in text.split("\n```sh\n").skip(1) {
        let block = block.split("\n```").next().unwrap();
        for line in block.lines() {
            let (mut command, mut quoted) = (String::new(), false);
            for (at, c) in line.char_indices() {
                quoted ^= c == '\'';
                match c {
                    '#' if !quoted && line[..at].ends_with(' ') => break,
                    ';' if !quoted => commands.push(std::mem::take(&mut command)),
                    _ => command.push(c),
                }
            }
            commands.push(command);
        }
    }
    commands.iter().map(|command| command.trim().to_string()).filter(|command| !command.is_empty()).collect()
}

/// A world in which `latido` is a command.
struct Shell(World);

impl Shell {
    fn new() -> Self {
        let world = World::new();
        fs::create_dir(world.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_latido"), world.path("bin/latido")).unwrap();
        Self(world)
    }

    fn run(&self, line: &str) -> Output {
        let path = format!("{}:{}", self.0.path("bin").display(), std::env::var("PATH").unwrap());
        let mut latido = self.0.latido([]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line]).current_dir(self.0.dir.path()).stdin(std::process::Stdio::null());
        shell.envs(latido.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))));
        latido.env_clear();
        shell.env("PATH", path).output().unwrap()
    }

    /// Runs a line, which must succeed. A bad verdict of a measurement also counts as success.
    fn must(&self, line: &str) -> String {
        let output = self.run(line);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let judges = line.starts_with("latido run") && !line.contains("--print-plan")
            || ["latido check", "latido compare"].iter().any(|command| line.starts_with(command));
        let fine = match output.status.code() {
            Some(0) => true,
            Some(2 | 3) => judges,
            _ => false,
        };
        assert!(fine, "`{line}`: {:?}: {said}", output.status);
        said
    }
}

/// The README, and the section of docs/how-to.md with all commands.
fn pages() -> String {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let (readme, tasks) = (read("README.md"), read("docs/how-to.md"));
    let (_, section) = tasks.split_once("\n## Every command on one page\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    format!("{readme}\n{section}")
}

/// The list and the pages name the same commands in the same order.
#[test]
fn every_command_of_the_readme_has_its_way() {
    let text = pages();
    let known: Vec<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(fenced(&text), known);
    assert_eq!(fenced("\n```sh\na 'b; # c';  d   # e\n\nf\n```\ng\n```sh\nh\n```"), ["a 'b; # c'", "d", "f", "h"]);
}

#[test]
fn every_command_of_the_readme_runs() {
    if !realtime("the commands of the README") || !installed("stress-ng", "the commands of the README") {
        return;
    }
    let two = latido_agent::machine::Reach::ask().usable.contains(1);
    let shell = Shell::new();
    std::os::unix::fs::symlink(common::samples::folder(), shell.0.path("samples")).unwrap();
    // A running program of that name.
    fs::copy("/bin/sleep", shell.0.path("bin/cyclictest")).unwrap();
    let _cyclictest = Background::shell(&format!("exec {} 600", shell.0.path("bin/cyclictest").display()));
    for (command, how) in COMMANDS {
        println!("{command}");
        if !two && command.contains("-c 1") {
            skip(&format!("`{command}` of the README"), Need::TwoCpus, "there is no CPU 1");
            continue;
        }
        match *how {
            How::Real => _ = shell.must(command),
            How::Short(piece, short, more) => {
                assert!(command.contains(piece), "{command}");
                let line = if piece.is_empty() { (*command).to_string() } else { command.replace(piece, short) };
                // `--stop-on` would switch off the machine's trace, and leave it so.
                let before = if line.contains("--stop-on") { "LATIDO_TRACING=no-tracing " } else { "" };
                shell.must(&format!("{before}{line} {more}"));
            }
            How::Planned(why) => {
                let plan = shell.must(&format!("{command} --print-plan"));
                assert!(plan.contains("\nschema = 1\n"), "{command}: {plan}");
                println!("planned only: {command}: {why}");
            }
            How::Parsed(why) => {
                let words = command.trim_start_matches("sudo ").split_whitespace();
                Cli::try_parse_from(words.clone()).unwrap_or_else(|error| panic!("{command}: {error}"));
                let tunings: Vec<&str> = words.skip_while(|word| *word != "apply").skip(1).collect();
                let line = format!("latido run null --tune {} --print-plan", tunings.join(" --tune "));
                assert!(shell.must(&line).contains("tuning = "), "{command}");
                println!("parsed only: {command}: {why}");
            }
            How::There(file, why) => {
                let text = fs::read_to_string(root().join(file)).unwrap();
                assert!(file != "Cargo.toml" || text.contains("[profile.dist]"), "{command}");
                println!("not carried out: {command}: {why}");
            }
        }
    }
}
