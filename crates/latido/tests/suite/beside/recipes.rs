//! The tests carry out the recipes in ci-recipes as far as a machine without a CI system allows: they take the steps from the YAML and run
//! them, verify the units, and read the results with the programs that would read them.

use crate::common::{self, Need};

use common::{World, installed, reader, skip};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Measures nothing real, and passes or is not trusted, whatever the machine does.
const WHAT: &str = "null -d 100ms --limit 1s";

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci-recipes").canonicalize().unwrap()
}

/// A checkout that contains the recipes, and `latido` as a command: the real one, or a script.
struct Checkout(World);

impl Checkout {
    fn with(latido: Option<&str>) -> Self {
        let world = World::new();
        fs::create_dir(world.path("bin")).unwrap();
        match latido {
            None => symlink(env!("CARGO_BIN_EXE_latido"), world.path("bin/latido")).unwrap(),
            Some(script) => program(&world.path("bin/latido"), script),
        }
        symlink(recipes(), world.path("ci-recipes")).unwrap();
        Self(world)
    }

    /// Runs a script as a CI runner does, with additional variables.
    fn shell(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let path = format!("{}:{}", self.0.path("bin").display(), std::env::var("PATH").unwrap());
        let latido = self.0.latido([]);
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", script]).current_dir(self.0.dir.path()).stdin(Stdio::null());
        shell.envs(latido.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))));
        shell.env("PATH", path).env("WHAT", WHAT).envs(variables.iter().copied()).output().unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Checks that a run passed, or was measured on a machine that cannot be trusted.
fn measured(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {out}{err}", output.status);
    out.into_owned()
}

/// Reads a YAML file as a document.
fn yaml(name: &str) -> Option<Value> {
    let python = reader("yaml", &format!("ci-recipes/{name}"))?;
    let program = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout, default=str)";
    let output = Command::new(python).args(["-c", program]).arg(recipes().join(name)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Checks that the most common reader of JUnit accepts the results.
fn junit(checkout: &Checkout) {
    let Some(python) = reader("junitparser", "the artefact of ci-recipes/gitlab.yml") else { return };
    let program =
        "import junitparser, sys\nassert sum(len(list(s)) for s in junitparser.JUnitXml.fromfile(sys.argv[1])) >= 2";
    let output =
        Command::new(python).args(["-c", program]).arg(checkout.0.path("results/results.xml")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn github_s_step_measures() {
    let Some(job) = yaml("github.yml") else { return };
    let steps = job["jobs"]["latency"]["steps"].as_array().unwrap().clone();
    let script = steps.iter().find_map(|step| step["run"].as_str()).unwrap();
    let checkout = Checkout::with(None);
    let summary = checkout.0.path("step-summary");
    let summary = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    measured(&checkout.shell(script, &summary));
    assert!(checkout.read("step-summary").contains("null"));
    serde_json::from_str::<Value>(&checkout.read("results/trend.json")).unwrap();
    junit(&checkout);
    let uploaded = steps.iter().find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("upload-artifact")));
    assert_eq!(uploaded.unwrap()["with"]["path"], "results");
    // A result without an answer and an error also fail the step, and the annotations distinguish them.
    let told = [(0, None), (1, Some("::error title=Broken")), (2, None), (3, Some("::error title=Inconclusive"))];
    for (status, told) in told {
        let checkout = Checkout::with(Some(&format!("mkdir -p results; : >results/summary.md; exit {status}")));
        let output = checkout.shell(script, &summary);
        assert_eq!(output.status.code(), Some(status));
        let said = String::from_utf8_lossy(&output.stdout);
        let as_told = told.map_or(!said.contains("::error"), |told| said.starts_with(told));
        assert!(as_told, "{status}: {said}");
    }
}

#[test]
fn gitlab_s_job_measures() {
    let Some(document) = yaml("gitlab.yml") else { return };
    let job = &document["real-time"];
    let script: Vec<&str> = job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let checkout = Checkout::with(None);
    measured(&checkout.shell(&script.join("\n"), &[]));
    assert_eq!(job["artifacts"]["reports"]["junit"], "results/results.xml");
    assert_eq!(job["allow_failure"]["exit_codes"], serde_json::json!([3]));
    junit(&checkout);
    assert!(checkout.0.path("results/report.html").exists());
}

/// lava-test-shell exists only on LAVA's devices: a stand-in prints its arguments.
#[test]
fn lava_s_steps_measure() {
    let Some(document) = yaml("lava.yaml") else { return };
    assert_eq!(document["metadata"]["format"], "Lava-Test Test Definition 1.0");
    let steps: Vec<&str> =
        document["run"]["steps"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let checkout = Checkout::with(None);
    program(&checkout.0.path("bin/lava-test-case"), "echo \"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=$1 RESULT=$3>\"\n");
    let out = measured(&checkout.shell(&steps.join("\n"), &[]));
    let signals: Vec<&str> = out.lines().filter(|line| line.starts_with("<LAVA_SIGNAL_TESTCASE ")).collect();
    assert!(signals.len() > 5, "{out}");
    assert!(signals.last().unwrap().starts_with("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=latido RESULT="), "{out}");
    for (status, result) in [(0, "pass"), (1, "unknown"), (2, "fail"), (3, "unknown")] {
        let stub = format!("case $1 in run) exit {status} ;; esac");
        let checkout = Checkout::with(Some(&stub));
        program(&checkout.0.path("bin/lava-test-case"), "echo \"$3\"\n");
        assert_eq!(String::from_utf8_lossy(&checkout.shell(&steps.join("\n"), &[]).stdout), format!("{result}\n"));
    }
}

#[test]
fn the_selftest_speaks_ktap() {
    let checkout = Checkout::with(None);
    let output = checkout.shell("ci-recipes/kselftest/latido.sh", &[]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.starts_with("KTAP version 1\n1..") && out.contains(" limit\n"), "{out}{err}");
    assert_eq!(
        output.status.code(),
        Some(i32::from(out.lines().any(|line| line.starts_with("not ok ")))),
        "{out}{err}"
    );
    kunit(&checkout.0.file("selftest.ktap", &out));
    // Each status as kselftest's status: 0 passed, 1 failed, 4 skipped.
    for (status, theirs) in [(0, 0), (1, 1), (2, 1), (3, 1), (130, 1)] {
        let stub = Checkout::with(Some(&format!("exit {status}")));
        assert_eq!(stub.shell("ci-recipes/kselftest/latido.sh", &[]).status.code(), Some(theirs));
    }
    let none = checkout.shell("ci-recipes/kselftest/latido.sh", &[("LATIDO", "/nowhere/latido")]);
    assert_eq!((none.status.code(), String::from_utf8_lossy(&none.stdout).contains("1..0 # SKIP")), (Some(4), true));
}

/// Checks that the kernel's own reader finds tests, and none that crashed.
fn kunit(file: &Path) {
    let kunit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/linux/tools/testing/kunit/kunit.py");
    if !kunit.exists() {
        return skip(
            "ci-recipes/kselftest by the kernel's reader",
            Need::Readers,
            "no kunit.py: scripts/readers fetches it",
        );
    }
    let output = Command::new("python3").arg(kunit).arg("parse").arg(file).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("Testing complete. Ran ") && !out.contains("rash"), "{out}");
}

#[test]
fn the_units_are_sound_and_the_night_is_kept() {
    let checkout = Checkout::with(None);
    let (state, metrics) = (checkout.0.path("nightly state"), checkout.0.path("collector"));
    fs::create_dir(&metrics).unwrap();
    let places = [("STATE_DIRECTORY", state.to_str().unwrap()), ("METRICS", metrics.to_str().unwrap())];
    measured(&checkout.shell("MEASURE=ci-recipes/measure ci-recipes/systemd/nightly", &places));
    let prom = fs::read_to_string(metrics.join("latido.prom")).unwrap();
    assert!(prom.contains("latido_run_finished_timestamp_seconds") && !metrics.join("latido.prom.new").exists());
    let nights: Vec<_> = fs::read_dir(state.join("lake")).unwrap().flatten().collect();
    assert!(nights.len() == 1 && nights[0].file_name().to_string_lossy().starts_with("day=20"));
    promtool(&prom);
    if !installed("systemd-analyze", "the units of ci-recipes/systemd") {
        return;
    }
    // The path of the program in this checkout.
    let unit = fs::read_to_string(recipes().join("systemd/latido-nightly.service")).unwrap();
    let here = recipes().join("systemd/nightly");
    let service = unit.replace("/usr/local/lib/latido/nightly", here.to_str().unwrap());
    assert_ne!(unit, service);
    let service = checkout.0.file("latido-nightly.service", &service);
    let timer = checkout.0.path("latido-nightly.timer");
    fs::copy(recipes().join("systemd/latido-nightly.timer"), &timer).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).args([service, timer]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    // systemd-analyze also reports on all units of the machine on which these depend.
    let own: Vec<&str> = told.lines().filter(|line| line.contains("latido")).collect();
    assert!(own.is_empty(), "{own:?}");
}

fn promtool(text: &str) {
    let promtool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/promtool");
    if !promtool.exists() {
        return skip("the metrics of ci-recipes/systemd", Need::Readers, "no promtool: scripts/readers fetches it");
    }
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The recipe tries once more after a result without an answer, and never after an answer, however unwelcome.
#[test]
fn only_what_is_no_answer_is_tried_again() {
    for (statuses, tried, last) in [
        (&[0][..], 1, 0),
        (&[2], 1, 2),
        (&[64], 1, 64),
        (&[130], 1, 130),
        (&[1, 0], 2, 0),
        (&[3, 2], 2, 2),
        (&[3, 3, 0], 2, 3),
        (&[1, 1, 1], 2, 1),
    ] {
        let lines: String = statuses.iter().map(|status| format!("{status}\n")).collect();
        let stub =
            "n=$(wc -l <tried 2>/dev/null || echo 0); echo >>tried; exit \"$(sed -n \"$((n + 1))p\" statuses)\"\n";
        let checkout = Checkout::with(Some(stub));
        checkout.0.file("statuses", &lines);
        checkout.0.file("tried", "");
        let output = checkout.shell("ci-recipes/measure results null", &[]);
        assert_eq!((output.status.code(), checkout.read("tried").lines().count()), (Some(last), tried), "{statuses:?}");
    }
}
