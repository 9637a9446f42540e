//! latido prints for stored runs what it printed before, except for the intended changes (tests/suite/goldens).

use crate::common::{self, Need};

use common::skip;
use latido::cli::known::CATALOGUE;
use latido_model::{
    cell::Cell,
    plan::{self, Order, Plan},
    run::Planned,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The parts of its plan that a run stores, for the converter.
fn manifest(path: &Path) -> serde_json::Value {
    let plan = plan::parse::parse("plan.toml", &plan::parse::load(path).unwrap(), CATALOGUE).unwrap();
    let written = plan::expand(&Plan { order: Order::AsWritten, ..plan.clone() });
    let (mut measurands, mut items, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for cell in plan::expand(&plan) {
        let known = items.iter().position(|item| *item == cell.probe);
        let measurand = known.unwrap_or(items.len());
        if known.is_none() {
            measurands.push(CATALOGUE.measurand(&cell.probe).unwrap());
            items.push(cell.probe.clone());
        }
        // Within one boot no two cells of a plan have the same seed.
        let same = |other: &Cell| (other.seed, other.boot) == (cell.seed, cell.boot);
        let written = written.iter().position(same).unwrap();
        cells.push(Planned { cell, measurand, written, skipped: None });
    }
    serde_json::json!({ "plan": plan, "measurands": measurands, "cells": cells })
}

/// Returns the output of a program, which must succeed.
fn said(what: &str, output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {text}");
    text
}

fn unpack(archive: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut tar = Command::new("tar");
    said("tar", tar.arg("-xJf").arg(archive).arg("--no-same-owner").arg("-C").arg(to).output().unwrap());
}

#[test]
fn outputs_of_stored_runs_are_as_before() {
    for (program, argument) in [("python3", "import tomllib"), ("xz", "--version"), ("tar", "--version")] {
        let mut command = Command::new(program);
        let command = if program == "python3" { command.arg("-c") } else { &mut command };
        if !command.arg(argument).output().is_ok_and(|output| output.status.success()) {
            return skip("outputs of stored runs", Need::Program, &format!("{program} is not installed, or too old"));
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/goldens");
    // A comparison that lets everything pass would prove nothing: normal.py tests itself first.
    let mut trusted = Command::new("python3");
    said("normal.py", trusted.arg("-B").arg(here.join("normal.py")).output().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("LATIDO_GOLDENS").map(PathBuf::from);
    let work = kept.as_deref().unwrap_or(scratch.path());
    let place = |name: &str| work.join(name);
    for name in ["runs-1", "runs", "before", "after", "manifests"] {
        let _ = fs::remove_dir_all(place(name));
    }
    unpack(&here.join("runs-1.tar.xz"), &place("runs-1"));
    unpack(&here.join("outputs-1.tar.xz"), &place("before"));
    fs::create_dir(place("manifests")).unwrap();
    let mut runs = 0;
    for store in fs::read_dir(place("runs-1")).unwrap().flatten() {
        for run in fs::read_dir(store.path().join("runs")).unwrap().flatten() {
            let name = format!("{}.json", run.file_name().to_string_lossy());
            fs::write(place("manifests").join(name), manifest(&run.path().join("plan.toml")).to_string()).unwrap();
            runs += 1;
        }
    }
    assert_eq!(runs, 18);
    let mut convert = Command::new("python3");
    convert.arg(here.join("convert.py")).args([place("manifests"), place("runs-1"), place("runs")]);
    said("convert.py", convert.output().unwrap());
    let mut produce = Command::new("bash");
    produce.arg(here.join("produce.sh")).arg(common::small::latido()).args([place("runs"), place("after")]);
    said("produce.sh", produce.output().unwrap());
    let mut compare = Command::new("python3");
    compare.arg("-B").arg(here.join("compare.py")).args([place("before"), place("after")]);
    let rules = here.join("rules.toml");
    if rules.exists() {
        compare.arg("--rules").arg(rules);
    }
    let compared = compare.args(["--lines", "20", "--width", "200"]).output().unwrap();
    let text = String::from_utf8_lossy(&compared.stdout);
    fs::write(place("comparison.txt"), &*text).unwrap();
    let end = text.lines().skip(text.lines().count().saturating_sub(120)).collect::<Vec<_>>().join("\n");
    assert!(compared.status.success(), "{end}\n{}", String::from_utf8_lossy(&compared.stderr));
}
