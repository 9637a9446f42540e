//! The tail, the limit and what was seen of runs that latido made itself, end to end with samples whose distribution is known.

use crate::common;

use common::{World, json};
use serde_json::Value;
use std::{fs, io::Write, process::Stdio};

/// Two repeats of 4,000 samples, as many as a record holds whole.
fn measured(world: &World, samples: u32) -> String {
    let plan = format!(
        "schema = 1\nname = \"known\"\n[[group]]\nprobe = [{{ name = \"null\", samples = {samples}, value = \"100us\", \
         dist = \"lognormal\", sigma = 0.3 }}]\nscheduling = [{{ policy = \"other\" }}]\nlimit = \"220us\"\nrepeat = 2\n"
    );
    world.file("known.toml", &plan);
    let output = world.run(["run", "./known.toml", "--seed", "3", "--json", "--no-report", "-q"]);
    json(&output, output.status.code().unwrap())["run"]["id"].as_str().unwrap().to_owned()
}

/// `latido show RUN --tail`: of some samples above their limit the status is 2.
fn shown(world: &World, id: &str) -> Value {
    let output = world.run(["show", id, "--tail", "--json"]);
    json(&output, output.status.code().unwrap())
}

/// All samples of the first series of a cell, in order of time.
fn samples(world: &World, id: &str, cell: usize) -> String {
    let run = world.runs().into_iter().find(|run| run.ends_with(id)).unwrap();
    let file = run.join(format!("cells/{cell:03}/largest-0.csv"));
    let text = fs::read_to_string(file).unwrap();
    let mut all: Vec<(u64, &str)> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|fields| (fields[1].parse().unwrap(), fields[0]))
        .collect();
    all.sort_by_key(|(at_ns, _)| *at_ns);
    all.iter().map(|(_, value)| format!("{value}\n")).collect()
}

/// What `latido stats` says of the same samples as a list of numbers.
fn of_numbers(world: &World, samples: &str) -> Value {
    let line = ["stats", "-", "--unit", "ns", "--interval", "1ms", "--limit", "220us", "--json"];
    let mut child = world.latido(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(samples.as_bytes()).unwrap();
    json(&child.wait_with_output().unwrap(), 0)
}

/// A run is told what its samples are told as a list of numbers: tail with gate, intervals and levels, limit with bounds and
/// bursts, what was seen. Each repeat is told for itself.
#[test]
fn a_run_is_told_what_its_numbers_are_told() {
    let world = World::new();
    let id = measured(&world, 4_000);
    let found = shown(&world, &id);
    let extremes = found["extremes"].as_array().unwrap();
    assert_eq!(extremes.len(), 2);
    for (own, cell) in extremes.iter().zip(1..) {
        assert_eq!((&own["cell"], &own["repeat"], &own["count"]), (&cell.into(), &cell.into(), &4_000.into()));
        let numbers = of_numbers(&world, &samples(&world, &id, cell));
        for part in ["tail", "limit", "seen"] {
            assert_eq!(own[part], numbers[part], "{part} of repeat {cell}");
        }
        assert_eq!(found["seen"][cell - 1]["missed_once_a_day"], numbers["seen"]["missed_once_a_day"]);
    }
    assert_ne!(extremes[0]["tail"], extremes[1]["tail"], "repeats are not pooled");
}

/// A terminal and a page tell it too: the levels or each reason why there are none, and beside the maximum what it may have
/// missed. Nothing is no number.
#[test]
fn people_are_told_too() {
    let world = World::new();
    let id = measured(&world, 15_000);
    // Samples above the limit: the status is not 0.
    let said = |line: &[&str]| {
        let output = world.run(line.iter().copied());
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let show = said(&["show", &id, "--tail"]);
    for wanted in [
        "repeat 2, thread 0:",
        "u = ",
        "shape ",
        "gate ",
        "above 220 µs:",
        "max: 30 s show a once-a-day event with a chance of less than 1 %, 3 days with 95 %",
        "quantiles with 95 % limits",
        "n too small",
    ] {
        assert!(show.replace('\u{a0}', " ").contains(wanted), "{wanted}: {show}");
    }
    let brief = said(&["show", "--full", &id]);
    assert!(!brief.contains("shape "), "only where it is asked for: {brief}");
    let page = said(&["report", &id, "-o", "page.html"]);
    let html = fs::read_to_string(world.path("page.html")).unwrap();
    for wanted in
        ["<summary>Tail</summary>", "once a day", "under the causes observed", "show a once-a-day event with a chance"]
    {
        assert!(html.contains(wanted), "{wanted}: {page}");
    }
    assert!(!html.contains("NaN") && !show.contains("NaN") && html.len() < 250_000);
}

/// A file that says when each sample came gives what its values in order give: limits of quantiles as wide as its bursts make them, and
/// a tail with its gate.
#[test]
fn an_import_with_times_is_judged_by_them() {
    let world = World::new();
    let value = |at: u64| 10_000 + at * 7_919 % 101 + if at % 2_000 < 40 { 40_000 + at / 2_000 * 5_000 } else { 0 };
    let rows: String = (0..20_000).map(|at| format!("{},{}\n", at * 1_000_000, value(at))).collect();
    let file = world.file("bursts.csv", &format!("at_ns,value_ns\n{rows}"));
    assert!(world.run(["import", file.to_str().unwrap()]).status.success());
    let values: String = (0..20_000).map(|at| format!("{}\n", value(at))).collect();
    let values = world.file("values", &values);
    let of_values = json(&world.run(["stats", values.to_str().unwrap(), "--unit", "ns", "--json"]), 0);
    let p99 = of_values["quantiles"].as_array().unwrap().iter().find(|one| one["p"] == 0.99).unwrap();
    let wide = |one: &Value| one["upper"].as_f64().map(|upper| upper / one["lower"].as_f64().unwrap());
    assert!(wide(p99).is_none_or(|ratio| ratio > 1.3), "{p99}");
    let output = world.run(["show", "--full", "last"]);
    let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Limits by binomial ranks of as many samples as come independently"), "{said}");
    let least = format!("({:.1} to ", p99["lower"].as_f64().unwrap() / 1e3);
    assert!(said.contains(&least), "{least}: {said}");
    let tail = shown(&world, "last")["extremes"][0]["tail"].clone();
    assert!(tail.is_object() && !tail.to_string().contains("not stored"), "{tail}");
}
