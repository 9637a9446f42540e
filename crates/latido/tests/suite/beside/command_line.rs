//! The behaviour of the binary: exit statuses, which stream has which output, pipes that close.

use crate::common::{self, World};

use assert_cmd::Command;
use clap::CommandFactory;
use latido::cli::Cli;
use std::{fs, process::Stdio};

/// Runs latido with its own state directory, so that it does not meet other latidos on the machine or in other tests.
fn latido(line: &[&str]) -> (i32, String, String) {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_latido"));
    // It uses neither the store nor the configuration of the person who runs the tests, and writes no report next to the source.
    command.env("LATIDO_STORE", state.path().join("store")).env("XDG_CONFIG_HOME", state.path()).current_dir(&state);
    let output = command.args(line).env("LATIDO_STATE", state.path()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn wrong_command_lines_exit_64_and_say_so_on_stderr() {
    for line in [
        &["no-such-command"][..],
        &["run", "-p", "1"],
        &["run", "no-such-probe"],
        &["run", "null", "--prio", "100"],
        &["run", "--resume", "last", "-d", "1s"],
        &["run", "null", "-d", "1s", "-d", "2s"],
        &["help", "no-such-topic"],
        &["load", "no-such-load"],
        &["completions", "no-such-shell"],
    ] {
        let (status, out, err) = latido(line);
        assert_eq!((status, out.as_str()), (64, ""), "{line:?}: {err}");
        assert!(!err.is_empty(), "{line:?}");
    }
}

#[test]
fn help_and_version_exit_0_on_stdout() {
    for line in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["help"],
        &["help", "run"],
        &["help", "null"],
        &["help", "exit-status"],
        &["help", "plans"],
        &["help", "quick"],
        &["help", "probes"],
        &["help", "loads"],
        &["help", "tunings"],
        &["list"],
        &["completions", "bash"],
        &["man"],
        &["run", "null", "--print-plan"],
    ] {
        let (status, out, err) = latido(line);
        assert_eq!((status, err.as_str()), (0, ""), "{line:?}");
        assert!(!out.is_empty(), "{line:?}");
        assert!(!out.contains("\\u") && !out.contains('\u{1b}'), "no colours in a pipe: {line:?}: {out}");
    }
}

#[test]
fn a_list_as_json_is_one_document() {
    let (_, out, _) = latido(&["list", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    for list in ["probes", "loads", "tunings", "plans"] {
        assert!(document[list].as_array().is_some_and(|all| !all.is_empty()), "{list}");
    }
}

#[test]
fn a_broken_plan_file_exits_1_and_names_the_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.toml"), "schema = 1\nname = 5\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_latido")).args(["run", "x.toml"]).current_dir(&dir).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(err, "error: x.toml:2: name must be a string in quotes, not 5\n");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let (status, _, err) = latido(&["man", dir.path().to_str().unwrap()]);
    assert_eq!(status, 0, "{err}");
    let commands = Cli::command();
    let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let mut pages: Vec<String> = shown.map(|command| format!("latido-{}.1", command.get_name())).collect();
    assert!(pages.len() > 15, "{pages:?}");
    pages.extend(["latido.1", "latido-run.1", "latido-trace-record.1"].map(String::from));
    for page in pages {
        assert!(dir.path().join(&page).exists(), "{page}");
    }
}

/// `latido help run | head -0` must neither panic nor complain.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    for line in [&["help", "run"][..], &["completions", "bash"], &["run", "--help"], &["list"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_latido"))
            .args(line)
            .stdout(closed_pipe())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let status = child.wait().unwrap();
        let err = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{line:?}");
    }
}

/// The writing end of a pipe without a reader.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// latido answers a wrong command line with what to type instead, never with a misleading guess.
#[test]
fn complaints_name_the_remedy() {
    for (line, status, told) in [
        (
            &["run", "-p", "1ms"][..],
            64,
            "latido run has no -p; for the option of cyclictest write --prio N; the default is FIFO 80; for the option of rtla write period=TIME",
        ),
        (
            &["run", "wakeup", "--align", "free"],
            64,
            "`align` is an option of the probe `wakeup`: write align=VALUE after its name",
        ),
        (&["run", "null", "-d", "-5s"], 64, "a span of time cannot be negative"),
        (&["run", "null", "--seed", "abc"], 64, "a seed is a whole number from 0 to 9223372036854775807"),
        (&["run", "null", "-d", "--load", "none"], 64, "the value before it is missing"),
        (&["run", "null", "-c", "-q"], 64, "the value before it is missing"),
        (&["run", "null", "--seed", "-1"], 64, "a seed is a whole number from 0"),
        (&["load", "spin", "--seed", "abc"], 64, "a seed is a whole number from 0"),
        (&["load", "none", "-d", "1s"], 1, "the load `none` runs nothing"),
        (&["load", "qqq"], 64, "try 'latido help load'"),
        (&["run", "qqq"], 64, "try 'latido help run'"),
        (&["help", "qqq"], 64, "try 'latido --help'"),
        (&["run", "null", "-o", "-"], 64, "name a file, or write --no-report"),
        (&["report", "last", "-o", "-"], 64, "name one, for example -o report.html"),
        (&["list", "runs", "--store", "/etc/passwd"], 1, "the store /etc/passwd is a file, not a directory"),
        (&["run", "null", "--store", "/proc/version"], 1, "the store /proc/version is a file, not a directory"),
        (&["run", "null", "--wait", "--store", "/proc/none"], 1, "making /proc/none: No such file or directory"),
        (&["compare", "a,b"], 64, "name two sides"),
        (&["compare", "a", "b", "--despite", "everything"], 64, "[possible values: probe, clock, load, cpus, length]"),
        (&["compare", "a", "--values", "b"], 64, "cannot be used with"),
        (&["history"], 64, "name runs in order of time, or a directory that holds them"),
        (&["effects"], 64, "name a run, or a file of values with --values FILE"),
        (&["tune"], 64, "Usage: latido tune [OPTIONS] <COMMAND>"),
        (&["export", "junti", "last"], 64, "no export format `junti` (did you mean `junit`?): there are ktap, junit"),
        (&["export", "junit"], 64, "name a run, for example `latido export junit last`"),
        (&["run", "null", "--export", "junit"], 64, "write FORMAT=FILE, where FILE - is stdout"),
        (&["run", "null", "--export", "ktap=-,junit=-"], 64, "only one format can go to stdout"),
        (&["run", "null", "--export", "kcidb=x"], 64, "`latido export kcidb RUN --build ORIGIN:ID`"),
        (&["lab", "verify"], 64, "`latido lab verify wakeup -d 300ms --kernel 6.12-rt`"),
        (&["lab", "verify"], 64, "the kernels are 6.12-none, "),
        (&["lab", "verify", "quick"], 64, "no kernel is named"),
        (&["load", "udp-flood", "--rate", "-5"], 64, "a whole number above 0 with its unit"),
        (&["station", "trigger", "localhost", "--rate", "-5"], 64, "write packets per second, 0.01 to 100000"),
        (&["station", "trigger", "localhost", "--rate", "--json"], 64, "the value before it is missing"),
        (&["station", "flood", "localhost", "--rate", "-5"], 64, "a whole number above 0 with its unit"),
        (&["station", "flood", "localhost", "--size", "-5"], 64, "write a whole number, 1 to 65507"),
        (&["station", "sink", "--count", "-5"], 64, "write a whole number, 1 to 1000000000000"),
        (&["station", "sink", "--for", "-5s"], 64, "a span of time cannot be negative"),
        (&["import", "/nowhere/a.hist"], 1, "No such file"),
        (&["import", "a", "--format", "zzz"], 64, "there is no such format"),
        (&["import", "a", "--label", "zzz"], 64, "write KEY=VALUE"),
        (&["run", "--no-such-flag"], 64, "Usage: latido run [NAME] [KEY=VALUE]... [OPTIONS]"),
        (&["list", "-x"], 64, "unexpected argument '-x'"),
    ] {
        let (code, out, err) = latido(line);
        assert_eq!((code, out.as_str()), (status, ""), "{line:?}: {err}");
        assert!(err.contains(told), "{line:?}: {err}");
        for misleading in ["as a value, use", "similar", "invalid digit", "expected u"] {
            assert!(!err.contains(misleading), "{line:?}: {err}");
        }
    }
}

#[test]
fn a_list_of_no_runs_says_where_it_looked() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("none");
    let (status, out, _) = latido(&["list", "runs", "--store", store.to_str().unwrap()]);
    let place = format!("no runs yet in {} (there is no such directory):", store.display());
    assert!(status == 0 && out.starts_with(&place), "{out}");
}

#[test]
fn help_knows_plans_lists_and_the_statuses_of_check() {
    for (line, told) in [
        (&["help", "quick"][..], "plan `quick`: Wake-ups and gaps"),
        (&["help", "quick"], "4 cells, about 61 s in all"),
        (&["help", "quick"], "latido run quick --print-plan"),
        (&["help", "quantiles"], "latido show --full"),
        (&["help", "deadline"], "latido run quick --deadline 100us"),
        (&["help", "xrun"], "latido run task --period 5ms --explain"),
        (&["help", "probes"], "wakeup"),
        (&["help", "loads"], "stress-cpu"),
        (&["help", "tunings"], "cstates"),
        (&["help", "plans"], "quick"),
        (&["help", "plans"], "{ cpu = \"1\" }"),
        (&["help", "exit-status"], "2 that it is unfit, 3 that it cannot tell"),
        (&["check", "--help"], "0 fit to measure, 2 unfit, 3 cannot tell"),
    ] {
        let (status, out, err) = latido(line);
        // Help fits the terminal: its lines may break anywhere.
        let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(status == 0 && joined.contains(told), "{line:?}: {out}{err}");
    }
}

#[test]
fn a_run_named_twice_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let call = |line: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latido"));
        command.env("LATIDO_STORE", dir.path().join("store")).env("LATIDO_STATE", dir.path().join("state"));
        command.args(line).current_dir(&dir).output().unwrap()
    };
    let made = call(&["run", "null", "samples=5", "--load", "none", "-q", "--no-report", "--wait"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let output = call(&["report", "last", "last"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(err, "note: `last` names a run that you already named; latido takes it once\n");
}

/// A person who types only `latido` learns how to start.
#[test]
fn the_name_alone_says_where_to_begin() {
    let (status, out, err) = latido(&[]);
    assert_eq!((status, err.as_str()), (0, ""));
    for words in ["latido run quick --deadline 100us", "latido help cyclictest", "run task", "ssh:", "latido report"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.lines().count() <= 9, "{out}");
}

/// latido measures two configurations alternately, and compares them by what differs.
#[test]
fn configurations_in_turn_are_compared() {
    let world = World::new();
    let words =
        ["run", "null", "samples=50", "--vary", "value=10us,1ms", "--repeat", "5", "--seed", "1", "-q", "--no-report"];
    let output = world.run(words.into_iter().chain(["--wait"]));
    assert_eq!(output.status.code(), Some(0), "{}", common::stderr(&output));
    let out = common::text(&output);
    assert!(out.contains("compare: $ latido compare "), "{out}");
    let output = world.run(["compare"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{out}{}", common::stderr(&output));
    assert!(out.contains("by value") && out.contains("higher"), "{out}");
    world.run(["run", "null", "samples=5", "-q", "--no-report", "--wait"]);
    let output = world.run(["compare"]);
    let err = common::stderr(&output);
    assert!(output.status.code() == Some(64) && err.contains("--vary load=idle,stress-cpu"), "{err}");
}

/// A label finds a run and protects it; `prune` removes the others by their age.
#[test]
fn labels_find_and_keep_runs() {
    let world = World::new();
    for label in [&["--label", "golden"][..], &[]] {
        let words = ["run", "null", "samples=5", "-q", "--no-report", "--wait"];
        let output = world.run(words.into_iter().chain(label.iter().copied()));
        assert_eq!(output.status.code(), Some(0), "{}", common::stderr(&output));
    }
    assert!(common::text(&world.run(["list", "runs"])).contains("golden"));
    assert!(common::text(&world.run(["show", "golden"])).contains("more: $ latido show --full"));
    let output = world.run(["compare", "golden", "last", "--despite", "probe"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("\ngolden: 1 cell of "), "a side goes by its label: {out}");
    let would = common::text(&world.run(["prune", "--keep", "1ns", "--dry-run"]));
    assert_eq!((would.lines().count(), world.runs().len()), (1, 2), "{would}");
    let gone = common::text(&world.run(["prune", "--keep", "1ns"]));
    assert_eq!((gone, world.runs().len()), (would, 1));
    assert!(common::text(&world.run(["show", "golden"])).contains("NO LIMIT SET"));
    assert!(
        common::stderr(&world.run(["prune", "--keep", "1ns"])).contains("; latido keeps 1 older run for its label")
    );
    let output = world.run(["prune", "--keep", "90d"]);
    assert!(common::stderr(&output).contains("the only run stays"), "{}", common::stderr(&output));
}

/// The configuration file supplies what the flags do not state, and latido names a wrong line in it.
#[test]
fn the_configuration_stands_in_for_flags() {
    let world = World::new();
    fs::create_dir_all(world.path("config/latido")).unwrap();
    let path = world.file("config/latido/config.toml", "limit = \"1us\"\n");
    let run = |more: &[&'static str]| {
        let words = ["run", "null", "samples=5", "-q", "--no-report", "--wait"];
        world.run(words.into_iter().chain(more.iter().copied()))
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", common::stderr(&output));
    assert_eq!(run(&["--limit", "1s"]).status.code(), Some(0), "the flag goes before it");
    fs::write(&path, "limits = \"1us\"\n").unwrap();
    let output = run(&[]);
    let err = common::stderr(&output);
    assert!(output.status.code() == Some(1) && err.contains("config.toml:1: unknown field `limits`"), "{err}");
}
