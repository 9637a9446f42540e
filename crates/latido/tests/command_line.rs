//! The binary's manners: exit statuses, which stream says what, pipes that close.

use assert_cmd::Command;
use std::process::Stdio;

fn latido(line: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_latido")).args(line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn wrong_command_lines_exit_64_and_say_so_on_stderr() {
    for line in [
        &[][..],
        &["no-such-command"],
        &["run", "-p", "1"],
        &["run", "no-such-probe"],
        &["run", "null", "--prio", "100"],
        &["run", "--resume", "last", "-d", "1s"],
        &["run", "null", "-d", "1s", "-d", "2s"],
        &["help", "no-such-topic"],
        &["load", "no-such-load"],
        &["report"],
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
        &["list"],
        &["completions", "bash"],
        &["man"],
        &["run", "null", "--print-plan"],
    ] {
        let (status, out, err) = latido(line);
        assert_eq!((status, err.as_str()), (0, ""), "{line:?}");
        assert!(!out.is_empty(), "{line:?}");
    }
}

#[test]
fn a_list_as_json_is_one_document() {
    let (_, out, _) = latido(&["list", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    for list in ["probes", "loads", "tunings", "plans"] {
        assert!(document[list].is_array(), "{list}");
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
    for page in ["latido.1", "latido-run.1", "latido-report.1"] {
        assert!(dir.path().join(page).exists(), "{page}");
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

/// The writing end of a pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}
