//! A power cut in a long cell costs what was measured since the last checkpoint, and no more.

use crate::common;

use common::{World, meanwhile, stderr};
use latido_model::run::CHECKPOINTS;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

/// Starts a run, waits for a checkpoint of its first cell, and cuts the power: it kills every process at once, so that none can react.
fn cut_after_a_checkpoint<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> PathBuf {
    let mut command = world.latido(arguments);
    let mut child =
        command.env("LATIDO_CHECKPOINT_MS", "300").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let checkpoint = meanwhile(&mut child, "a checkpoint", || {
        let record = world.runs().first().map(|run| run.join("cells/001/checkpoint/record.json"));
        record.filter(|path| path.exists())
    });
    for (pid, _) in world.alive() {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
    world.nothing_left("after the cut");
    // The cut may fall between the renames that replace a checkpoint.
    let cell = checkpoint.parent().and_then(Path::parent).unwrap();
    let places = CHECKPOINTS.map(|name| cell.join(name).join("record.json"));
    places.into_iter().find(|path| path.exists()).expect("a whole checkpoint")
}

#[test]
fn what_was_checkpointed_survives_a_cut_of_everything() {
    let world = World::new();
    let checkpoint = cut_after_a_checkpoint(
        &world,
        ["run", "null", "samples=777", "hold=60s", "-d60s", "--policy=other", "--no-report"],
    );
    assert!(checkpoint.exists());
    let output = world.run(["show", "last", "--json"]);
    let document = common::json(&output, 3);
    let record = &document["records"][0];
    assert_eq!(record["outcome"]["kind"], "checkpoint");
    assert_eq!(record["series"][0]["count"], 777);
    assert_eq!(record["probe"], "null");
    // The record claims nothing that is known only at the end of the loops.
    let findings = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let level = |check: &str| findings.iter().find(|f| f["check"] == check).unwrap()["level"].clone();
    assert_eq!((level("page faults"), level("pinning")), ("unknown".into(), "unknown".into()));
}

const SECONDS: [&str; 7] = ["run", "wakeup", "-d6s", "--warmup=100ms", "--policy=other", "-c0", "--no-report"];

fn record(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap()
}

/// With --keep-checkpoints latido keeps the measured part as it is and measures the rest as a further part. It does not join their samples.
#[test]
fn a_cut_cell_is_measured_on_where_that_is_wanted() {
    let world = World::new();
    let before = record(cut_after_a_checkpoint(&world, SECONDS));
    let first = before["elapsed_ns"].as_u64().unwrap();
    let output = world.run(["run", "--resume", "last", "--keep-checkpoints", "--no-report", "--json"]);
    let document = common::json(&output, 0);
    assert!(stderr(&output).contains("cell 1: latido keeps what it measured as a part"), "{}", stderr(&output));
    let cell = world.runs()[0].join("cells/001");
    let (one, two) = (record(cell.join("part-1/record.json")), record(cell.join("record.json")));
    assert_eq!(one, before, "what was measured is stored as it was");
    assert_eq!(two["outcome"]["kind"], "complete");
    let asked = two["cell"]["conditions"]["duration"].as_str().unwrap();
    assert_ne!(asked, "6s", "the rest alone was asked for");
    let slots = |record: &Value| {
        let slots = &record["series"][0]["slots"];
        ["met", "late", "missed"].map(|key| slots[key].as_u64().unwrap()).iter().sum::<u64>()
    };
    assert!((5_990..=6_010).contains(&(first / 1_000_000 + slots(&two))), "{first} ns and {asked}");
    let pooled = &document["records"][0];
    let count = |record: &Value| record["series"][0]["count"].as_u64().unwrap();
    assert_eq!(count(pooled), count(&one) + count(&two));
    assert_eq!(slots(pooled), slots(&one) + slots(&two));
    let told: Vec<(u64, &Value)> = document["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["part"].as_u64().unwrap(), &part["record"]))
        .collect();
    assert_eq!(
        told.iter().map(|(part, record)| (*part, count(record))).collect::<Vec<_>>(),
        [(1, count(&one)), (2, count(&two))]
    );
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in
        ["part 1 of 2:", "cut, known from its last checkpoint", "part 2 of 2:", "the figures are pooled from the parts"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    // On another resume nothing is left to do and nothing changes.
    let files = || {
        let list = |dir: &PathBuf| fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        let mut all: Vec<PathBuf> = [list(&cell), list(&cell.join("part-1"))].concat();
        all.sort();
        all.into_iter().filter(|path| path.is_file()).map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let stored = files();
    for more in [&["--keep-checkpoints"][..], &[]] {
        let again =
            world.run(["run", "--resume", "last", "--no-report", "--json"].into_iter().chain(more.iter().copied()));
        assert!(stderr(&again).contains("is finished"), "{}", stderr(&again));
        assert_eq!(files(), stored);
    }
}

fn files_below(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => vec![(path.clone(), fs::read(&path).unwrap())],
    };
    paths.into_iter().flat_map(below).collect()
}

/// latido refuses, before it measures, to join parts of two kernels or of different CPUs to one cell. It changes nothing.
#[test]
fn a_cut_cell_is_not_measured_on_elsewhere() {
    let world = World::new();
    let seconds = SECONDS.into_iter().filter(|word| *word != "-c0");
    let path = cut_after_a_checkpoint(&world, seconds);
    let before = record(path.clone());
    let run = world.runs().remove(0);
    let kernel = before["machine"]["kernel"].as_str().unwrap();
    let cpus = before["cell"]["conditions"]["cpus"].as_str().unwrap();
    for (old, stray) in [
        (format!("\"kernel\": \"{kernel}\""), "\"kernel\": \"6.1.0-other\""),
        (format!("\"cpus\": \"{cpus}\""), "\"cpus\": \"900\""),
    ] {
        let whole = fs::read_to_string(&path).unwrap();
        let changed = whole.replace(&old, stray);
        assert_ne!(changed, whole, "{old}");
        fs::write(&path, &changed).unwrap();
        let cells = files_below(&run);
        let output = world.run(["run", "--resume", "last", "--keep-checkpoints", "--no-report"]);
        let said = stderr(&output);
        let other = stray.split('"').nth(3).unwrap();
        for text in [other, kernel, cpus, "it started nothing", "latido run --resume 2"] {
            assert!(said.contains(text), "{text}: {said}");
        }
        assert_ne!(output.status.code(), Some(0));
        assert!(files_below(&run) == cells, "something was changed");
        fs::write(&path, whole).unwrap();
    }
    world.nothing_left("after a refusal");
}

#[test]
fn a_cut_cell_is_measured_from_zero_otherwise() {
    let world = World::new();
    let before = record(cut_after_a_checkpoint(&world, SECONDS));
    let document = common::json(&world.run(["run", "--resume", "last", "--no-report", "--json"]), 0);
    let run = world.runs().remove(0);
    let kept = CHECKPOINTS.map(|name| run.join("abandoned/001-1").join(name).join("record.json"));
    assert_eq!(record(kept.into_iter().find(|path| path.exists()).unwrap()), before);
    assert!(!run.join("cells/001/part-1").exists() && document.get("parts").is_none());
    assert_eq!(document["records"][0]["cell"]["conditions"]["duration"], "6s");
}

/// `--keep-checkpoints` works only with a run that exists.
#[test]
fn parts_are_kept_on_resuming_alone() {
    let world = World::new();
    let output = world.run(["run", "null", "--keep-checkpoints"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
}

/// A cell that ends by its number of samples has in the end exactly the requested number.
#[test]
fn a_cut_cell_of_so_many_samples_has_them_all_in_the_end() {
    let world = World::new();
    let cycles = ["run", "wakeup", "cycles=6000", "--warmup=100ms", "--policy=other", "-c0", "--no-report"];
    let before = record(cut_after_a_checkpoint(&world, cycles));
    let resumed = world.run(["run", "--resume", "last", "--keep-checkpoints", "--no-report", "--json"]);
    let document = common::json(&resumed, 0);
    let slots = |record: &Value| {
        let slots = &record["series"][0]["slots"];
        ["met", "late", "missed"].map(|key| slots[key].as_u64().unwrap()).iter().sum::<u64>()
    };
    let pooled = &document["records"][0];
    assert!(slots(&before) > 0 && slots(&before) < 6_000, "{}", before["series"][0]["slots"]);
    assert_eq!(slots(pooled), 6_000);
    assert_eq!(pooled["cell"]["probe"]["options"]["cycles"], 6_000, "what the whole cell was asked for");
    assert_eq!(document["parts"][1]["record"]["cell"]["probe"]["options"]["cycles"], 6_000 - slots(&before));
}
