//! Stored runs compared with each other and over time: verdicts by repeats, refusals of unequal runs, exit statuses. The samples are made
//! up from seeds, so that every run of this suite compares the same numbers.

use crate::common;

use common::{World, stderr};
use serde_json::Value;
use std::{fs, path::Path};

/// Makes a run of made-up samples and returns its name.
fn run(world: &World, options: &[&str]) -> String {
    let known = world.runs();
    let output = world.run(["run", "null", "--no-report", "-q"].iter().chain(options).copied());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let new = world.runs().into_iter().find(|run| !known.contains(run)).unwrap();
    new.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Returns the exit status, the output without line breaks, and the complaints.
fn latido(world: &World, line: &[&str]) -> (i32, String, String) {
    let output = world.run(line.iter().copied());
    let flat = |bytes: &[u8]| String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code().unwrap(), flat(&output.stdout), flat(&output.stderr))
}

fn document(world: &World, line: &[&str]) -> (i32, Value) {
    let output = world.run(line.iter().chain(&["--json"]).copied());
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (output.status.code().unwrap(), document)
}

/// Changes every record of a run, as if it had been measured elsewhere.
fn edit(run: &Path, change: impl Fn(&mut Value)) {
    for cell in fs::read_dir(run.join("cells")).unwrap().flatten() {
        let path = cell.path().join("record.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut record);
        fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    }
}

/// latido refuses unequal runs and names the difference. On request it compares them all the same, and finds the planted factor in both
/// directions.
#[test]
fn two_runs_of_ten_repeats_are_compared() {
    let world = World::new();
    let slow = run(&world, &["samples=500", "value=20us", "--repeat", "10", "--seed", "1"]);
    let fast = run(&world, &["samples=500", "value=10us", "--repeat", "10", "--seed", "2"]);
    let again = run(&world, &["samples=500", "value=10us", "--repeat", "10", "--seed", "3"]);

    let (code, out, err) = latido(&world, &["compare", &fast, &slow]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("null: value is 10us in a, 20us in b") && err.contains("--despite probe"), "{err}");

    let (code, found) = document(&world, &["compare", &fast, &slow, "--despite", "probe"]);
    let row = &found["rows"][0];
    assert_eq!((code, &found["outcome"], &row["verdict"]), (2, &"worse".into(), &"higher".into()));
    assert!((1.8..2.2).contains(&row["estimate"]["value"].as_f64().unwrap()), "{row}");
    assert_eq!((&row["repeats"], &row["mann_whitney"]["method"]), (&serde_json::json!([10, 10]), &"exact".into()));
    let what: Vec<&Value> = found["differences"].as_array().unwrap().iter().map(|one| &one["what"]).collect();
    assert_eq!(what, ["value"]);
    let quantiles: Vec<f64> = row["shift"].as_array().unwrap().iter().map(|one| one["p"].as_f64().unwrap()).collect();
    assert_eq!(quantiles, [0.5, 0.75, 0.9, 0.99, 0.999], "5,000 samples have no p99.99");
    assert!(row["shift"][0]["ratio_band"][0].as_f64().unwrap() > 1.5, "{}", row["shift"][0]);

    let line = ["compare", &fast, &slow, "--despite", "probe", "--format", "junit"];
    let (code, out, _) = latido(&world, &line);
    assert!(code == 2 && out.contains("failures=\"1\" errors=\"0\""), "{out}");
    assert!(out.contains("name=\"comparison: null latency: max of b against a\""), "{out}");
    assert!(out.contains("message=\"higher; ratio ") && !out.contains(&format!("name=\"{fast}")), "{out}");
    let (code, out, err) = latido(&world, &[&line[..], &["--float"]].concat());
    assert!(code == 64 && out.is_empty() && err.contains("applies only to LaTeX tables"), "{out}{err}");
    let line = ["compare", &fast, &again, "--format", "junit"];
    let (code, out, _) = latido(&world, &line);
    assert!(code == 3 && out.contains("failures=\"0\" errors=\"1\""), "{out}");

    let (code, turned) = document(&world, &["compare", &slow, &fast, "--despite", "probe"]);
    assert_eq!((code, &turned["rows"][0]["verdict"]), (0, &"lower".into()));
    let product = turned["rows"][0]["estimate"]["value"].as_f64().unwrap() * row["estimate"]["value"].as_f64().unwrap();
    assert!((product - 1.0).abs() < 1e-9, "{product}");

    // Runs that differ by chance alone are undecided, or equivalent within a stated margin.
    let (code, out, _) = latido(&world, &["compare", &fast, &again]);
    assert!(code == 3 && out.contains("differs: nothing that latido recorded") && out.contains("undecided"), "{out}");
    let (code, out, _) = latido(&world, &["compare", &fast, &again, "--margin", "20%"]);
    assert!(code == 0 && out.contains("equivalent"), "{out}");

    // Two runs per side, with names; only the quantity of --metric decides.
    let arms = ["--side", &format!("quick={fast},{again}"), "--side", &format!("slow={slow}"), "--despite", "probe"];
    let (code, found) = document(&world, &[&["compare"], arms.as_slice()].concat());
    assert_eq!((code, &found["rows"][0]["repeats"]), (2, &serde_json::json!([20, 10])));
    let (code, out, _) = latido(&world, &[&["compare", "--base", "slow"], arms.as_slice()].concat());
    assert!(code == 0 && out.contains("quick") && out.contains("lower"), "{out}");
    let (code, _, err) = latido(&world, &["compare", &fast, &again, "--metric", "null.jitter.max"]);
    assert!(code == 1 && err.contains("measured: null.latency"), "{err}");
    let (code, _, err) = latido(&world, &["compare", &fast, &again, "--metric", "biggest"]);
    assert!(code == 64 && err.contains("neither a statistic"), "{err}");
}

/// One run per side decides nothing, and latido says what is needed. It refuses to compare a run with itself.
#[test]
fn one_run_a_side_is_undecided() {
    let world = World::new();
    let a = run(&world, &["samples=50", "--seed", "1"]);
    let b = run(&world, &["samples=50", "--seed", "2"]);
    let (code, out, _) = latido(&world, &["compare", &a, &b]);
    assert!(code == 3 && out.contains("one run per side; 4 repeats per side needed"), "{out}");
    let (code, _, err) = latido(&world, &["compare", &a, &a]);
    assert!(code == 64 && err.contains("with itself"), "{err}");
    let (code, _, err) = latido(&world, &["compare", &a]);
    assert!(code == 64 && err.contains("has only one measured configuration"), "{err}");
    let longer = run(&world, &["samples=70", "--seed", "3"]);
    let (code, _, err) = latido(&world, &["compare", &a, &longer]);
    assert!(code == 1 && err.contains("a repeat has 50 samples in a, 70 samples in b"), "{err}");
    assert!(err.contains("--despite probe,length"), "{err}");
}

const AXES: &str = r#"
schema = 1
name = "axes"
[[group]]
probe = [{ name = "null", samples = 300, value = "10us" }, { name = "null", samples = 300, value = "20us" }]
load = ["none", { id = "waits", use = [{ name = "command", argv = ["sleep", "100"] }] }]
duration = "100ms"
repeat = 5
"#;

/// Levels within a run: any axis or option makes the sides. Everything else distinguishes places, which Holm's correction takes as a
/// family.
#[test]
fn factors_within_a_run_make_arms() {
    let world = World::new();
    world.file("axes.toml", AXES);
    let output = world.run(["run", "./axes.toml", "--seed", "5", "--no-report", "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, found) = document(&world, &["compare", "last", "--by", "value", "--metric", "p50"]);
    let rows = found["rows"].as_array().unwrap();
    let places: Vec<&Value> = rows.iter().map(|row| &row["place"]).collect();
    assert_eq!((code, places), (2, vec![&Value::from("idle"), &Value::from("waits")]));
    for row in rows {
        assert_eq!((&row["base"], &row["arm"], &row["verdict"]), (&"10us".into(), &"20us".into(), &"higher".into()));
        let (p, holm) = (row["mann_whitney"]["p"].as_f64().unwrap(), row["p_holm"].as_f64().unwrap());
        assert!((holm / p - 2.0).abs() < 1e-9 && holm < 0.05, "both p are 2 of 252, and two are a family: {p} {holm}");
    }
    assert_eq!(found["in_turn"], false, "within one run");
    let (code, found) = document(&world, &["compare", "last", "--by", "load", "--base", "waits", "--metric", "p50"]);
    assert_eq!(found["arms"][0]["arm"], "waits");
    let places: Vec<&Value> = found["rows"].as_array().unwrap().iter().map(|row| &row["place"]).collect();
    assert_eq!((code, places), (3, vec![&Value::from("value=10us"), &Value::from("value=20us")]));
    for (by, said) in [("kernel", "a comparison needs two levels"), ("kernle", "nothing measured has a `kernle`")] {
        let (code, _, err) = latido(&world, &["compare", "last", "--by", by]);
        assert!(code == 64 && err.contains(said), "{err}");
    }
}

/// A run whose axes form a factorial has effects with intervals, and the order of repeats is the block. Printed numbers have effects
/// without intervals.
#[test]
fn a_factorial_run_has_effects() {
    let world = World::new();
    world.file("axes.toml", AXES);
    let output = world.run(["run", "./axes.toml", "--seed", "6", "-o", "report.html", "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, found) = document(&world, &["effects", "last", "--metric", "p50"]);
    let latency = &found["quantities"][0];
    assert_eq!((code, &latency["factors"]), (0, &serde_json::json!(["load", "value"])));
    assert_eq!((&latency["block"], &latency["balanced"]), (&"repeat".into(), &true.into()));
    let value = &latency["contrasts"][1];
    assert!((1.7..2.3).contains(&value["ratio"].as_f64().unwrap()) && value["p"].as_f64().unwrap() < 0.01, "{value}");
    assert!(value["interval"][0].as_f64().unwrap() > 1.5);
    let report = fs::read_to_string(world.path("report.html")).unwrap();
    let (spread, effects, pooled) = ("id=\"s0-repeats\"", "id=\"s0-effects\"", "id=\"s0-histogram\"");
    let at = |what: &str| report.find(what).unwrap_or_else(|| panic!("{what} is not in the report"));
    assert!(at(spread) < at(pooled) && at(effects) < at(pooled), "repeats first, what is pooled second");
    // A run with one load has no factor to compare, so it has no effects.
    let alone = run(&world, &["samples=50", "--repeat", "3"]);
    let (code, out, _) = latido(&world, &["effects", &alone]);
    assert!(code == 0 && out.contains("there is no factor"), "{out}");
    let (code, out, _) = latido(&world, &["effects", "--published", "scheduling-latency"]);
    assert!(code == 0 && out.contains("effects have no intervals") && out.contains("rt=on is"), "{out}");
}

/// latido leaves out a repeat that contradicts itself, and reports it.
#[test]
fn doubtful_repeats_do_not_count() {
    let world = World::new();
    let a = run(&world, &["samples=50", "--repeat", "4", "--seed", "1"]);
    let b = run(&world, &["samples=50", "--repeat", "4", "--seed", "2"]);
    let broken = world.store().join("runs").join(&b).join("cells/002/record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&broken).unwrap()).unwrap();
    record["series"][0]["mean"] = 1e12.into();
    fs::write(&broken, serde_json::to_vec(&record).unwrap()).unwrap();
    let (_, found) = document(&world, &["compare", &a, &b]);
    assert_eq!(found["rows"][0]["repeats"], serde_json::json!([4, 3]));
    let left_out = found["rows"][0]["left_out"][0].as_str().unwrap();
    assert!(left_out.starts_with("b: repeat ") && left_out.contains("mean"), "{left_out}");
    // A fault that all repeats share is reported once.
    let (_, found) = document(&world, &["compare", &a, &b, "--metric", "p99.99"]);
    let left_out = found["rows"][0]["left_out"][0].as_str().unwrap();
    assert!(left_out.starts_with("a: repeats 1, 2, 3, 4 of ") && left_out.contains("too few"), "{left_out}");
}

/// Six nights, another kernel, six nights with twice the value: latido finds and places the change, and reports what differs there.
#[test]
fn a_change_over_nights_is_placed() {
    let world = World::new();
    let mut nights = Vec::new();
    for night in 0..12 {
        let value = if night < 6 { "value=10us" } else { "value=20us" };
        let name = run(&world, &["samples=100", value, "--seed", &night.to_string()]);
        if night >= 6 {
            edit(&world.store().join("runs").join(&name), |record| record["machine"]["kernel"] = "9.9.9-new".into());
        }
        nights.push(name);
    }
    let store = world.store().display().to_string();
    let (code, _, err) = latido(&world, &["history", &store]);
    assert!(code == 1 && err.contains("null: value is 10us in") && err.contains("--despite probe"), "{err}");
    let line = ["history", &store, "--despite", "probe", "--metric", "null.latency.p50"];
    let (code, found) = document(&world, &line);
    let series = &found["series"][0];
    assert_eq!((code, &found["outcome"], &series["changes"][0]["index"]), (2, &"worse".into(), &6.into()));
    assert_eq!(series["changes"][0]["before"], nights[6].as_str());
    let differences = series["differences"][0].as_array().unwrap();
    let what: Vec<&str> = differences.iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["kernel", "value"]);
    assert_eq!(differences[0]["values"][1], "9.9.9-new");
    let (_, out, _) = latido(&world, &line);
    assert!(out.contains("from 10us to 20us") && out.contains("worse: the newest change is for the worse"), "{out}");
    // In reverse order it is a change for the better.
    let turned: Vec<&str> = nights.iter().rev().map(String::as_str).collect();
    let (code, out, _) = latido(&world, &[&["history"], turned.as_slice(), &line[2..]].concat());
    assert!(code == 0 && out.contains("not for the worse"), "{out}");
    // latido needs five nights after the change. With four it reports that they cannot be judged yet, and does not call them good.
    let few: Vec<&str> = nights[..10].iter().map(String::as_str).collect();
    let (code, out, _) = latido(&world, &[&["history"], few.as_slice(), &line[2..]].concat());
    assert!(code == 3 && out.contains("the newest 4 runs cannot be judged yet"), "{code} {out}");
    let (code, out, _) = latido(&world, &[&["history"], &few[..9], &line[2..]].concat());
    assert!(code == 3 && out.contains("too few values"), "{out}");
}

/// `history` tests the newest run against the runs before it and against a baseline, by the repeats of each.
#[test]
fn the_newest_night_is_tested_alone() {
    let world = World::new();
    let night =
        |seed: u32, value: &str| run(&world, &["samples=100", value, "--seed", &seed.to_string(), "--repeat", "6"]);
    let nights: Vec<String> = (0..3).map(|seed| night(seed, "value=10us")).collect();
    let store = world.store().display().to_string();
    let line = ["history", &store, "--metric", "null.latency.p50", "--despite", "probe", "--against"];
    let against = |what: &str| latido(&world, &[&line[..], &[what]].concat());
    let (code, _, err) = latido(&world, &["history", &nights[0], "--against", "last:10"]);
    assert!(code == 64 && err.contains("at least two runs"), "{err}");
    let (code, out, _) = against("last:2");
    assert!(code != 2 && out.contains("the 2 runs before"), "{code} {out}");
    let (code, out, _) = latido(&world, &["baseline", "set", "good", &nights[0]]);
    assert!(code == 0 && out.contains(&nights[0]), "{out}");
    let (_, out, _) = latido(&world, &["baseline", "list"]);
    assert_eq!(out, format!("good {}", nights[0]));
    // The newest night takes three times as long.
    let tonight = night(9, "value=30us");
    let (code, out, _) = against("last:10");
    assert!(code == 2 && out.contains("the 3 runs before") && out.contains(&tonight), "{code} {out}");
    let (code, out, _) = against("good");
    assert!(code == 2 && out.contains("baseline good"), "{code} {out}");
    let (code, _, err) = against("god");
    assert!(code == 1 && err.contains("did you mean `good`?"), "{err}");
    let (code, _, err) = against("last");
    assert!(code == 64 && err.contains("last:N"), "{err}");
}
