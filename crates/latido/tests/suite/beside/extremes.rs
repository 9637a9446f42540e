//! The tail, the limit and the seen extremes of latido's own runs, end to end with samples of a known distribution; and what a paper takes
//! from such a run.

use crate::common::{self, Need};

use common::{World, json, skip, stderr};
use serde_json::Value;
use std::{fs, io::Write, process::Stdio};

/// Measures two repeats of `samples` samples each, and returns the run's id. A record stores every sample of a repeat of 4,000.
fn measured(world: &World, samples: u32) -> String {
    let plan = format!(
        "schema = 1\nname = \"known\"\n[[group]]\nprobe = [{{ name = \"null\", samples = {samples}, value = \"100us\", \
         dist = \"lognormal\", sigma = 0.3 }}]\nscheduling = [{{ policy = \"other\" }}]\nlimit = \"220us\"\nrepeat = 2\n"
    );
    world.file("known.toml", &plan);
    let output = world.run(["run", "./known.toml", "--seed", "3", "--json", "--no-report", "-q"]);
    json(&output, output.status.code().unwrap())["run"]["id"].as_str().unwrap().to_owned()
}

/// Returns the document of `latido show RUN --tail`. If some samples are above their limit, the status is 2.
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

/// Returns what `latido stats` prints for the same samples, given as a list of numbers.
fn of_numbers(world: &World, samples: &str) -> Value {
    let line = ["stats", "-", "--unit", "ns", "--interval", "1ms", "--limit", "220us", "--json"];
    let mut child = world.latido(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(samples.as_bytes()).unwrap();
    json(&child.wait_with_output().unwrap(), 0)
}

/// A run gives what its samples give as a list of numbers: the tail with its gate, intervals and levels, the limit with bounds and bursts,
/// and the seen extremes. latido treats each repeat separately.
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
            assert!(numbers[part].is_object(), "{part}: {numbers}");
            assert_eq!(own[part], numbers[part], "{part} of repeat {cell}");
        }
        assert_eq!(found["seen"][cell - 1]["missed_once_a_day"], numbers["seen"]["missed_once_a_day"]);
    }
    assert_ne!(extremes[0]["tail"], extremes[1]["tail"], "repeats are not pooled");
}

/// The terminal and the page show it too: the levels, or each reason why there are none, and next to the maximum what it may have missed.
/// No figure is NaN.
#[test]
fn people_are_told_too() {
    let world = World::new();
    let id = measured(&world, 15_000);
    // Some samples are above the limit, so the status is not 0.
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
        "A once-a-day event shows in 30 s with a chance of less than 1 %, in 3 days with 95 %",
        "quantiles with 95 % limits",
        "n too small",
    ] {
        assert!(show.replace('\u{a0}', " ").contains(wanted), "{wanted}: {show}");
    }
    let brief = said(&["show", "--full", &id]);
    assert!(brief.contains("latency") && !brief.contains("shape "), "only if the user requests it: {brief}");
    let page = said(&["report", &id, "-o", "page.html"]);
    let html = fs::read_to_string(world.path("page.html")).unwrap();
    for wanted in ["<summary>Tail</summary>", "once a day", "under the causes observed", "once-a-day event shows in"] {
        assert!(html.contains(wanted), "{wanted}: {page}");
    }
    assert!(!html.contains("NaN") && !show.contains("NaN") && html.len() < 250_000);
}

/// A file with the time of each sample gives what its values in order give: limits of quantiles that are as wide as its bursts make them,
/// and a tail with its gate.
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
    // Half of the ten bursts are above p99, so 20,000 samples say as much as some 450 independent ones. For independent samples the limits
    // would be two neighbouring bursts, 70 and 75 us.
    assert!(wide(p99).is_some_and(|ratio| ratio > 1.3), "{p99}");
    let output = world.run(["show", "--full", "last"]);
    let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Limits by binomial ranks of the number of independent samples"), "{said}");
    let least = format!("({:.1} to ", p99["lower"].as_f64().unwrap() / 1e3);
    assert!(said.contains(&least), "{least}: {said}");
    let tail = shown(&world, "last")["extremes"][0]["tail"].clone();
    assert!(tail.is_object() && !tail.to_string().contains("not stored"), "{tail}");
}

/// The width of a PDF page in points.
fn media_box(pdf: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(pdf);
    assert!(text.starts_with("%PDF-") && text.trim_end().ends_with("%%EOF"), "{text:.40}");
    let numbers = text.split("/MediaBox").nth(1).and_then(|rest| rest.split_once('[')).unwrap().1;
    let numbers: Vec<f64> = numbers.split(']').next().unwrap().split_whitespace().flat_map(str::parse).collect();
    numbers[2] - numbers[0]
}

/// Each command of the page's section on papers runs: a figure has the requested width in every format, a table has its caption, and the
/// paragraph on methods says what was measured.
#[test]
fn a_paper_takes_figures_tables_and_methods() {
    let world = World::new();
    let plan = "schema = 1\nname = \"paper\"\n[[group]]\nprobe = [{ name = \"null\", samples = 2000, value = \"100us\", \
                dist = \"lognormal\" }, { name = \"null\", samples = 2000, value = \"150us\", dist = \"lognormal\" }]\n\
                scheduling = [{ policy = \"other\" }]\nlimit = \"1s\"\nrepeat = 5\n";
    world.file("paper.toml", plan);
    let output = world.run(["run", "./paper.toml", "--seed", "3", "--no-report", "-q"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = include_str!("../../../../../docs/export.md");
    let page = text.split("\n## Papers\n").nth(1).unwrap().split("\n```").nth(1).unwrap();
    let commands: Vec<&str> = page.lines().skip(1).map(|line| line.split('#').next().unwrap().trim()).collect();
    assert!(commands.len() > 7, "{commands:?}");
    let (mut said, mut drawn) = (String::new(), true);
    for command in commands {
        let words = command.replace("wakeup.latency-", "null.latency-").replace("--by load", "--by value");
        let output = world.run(words.split(' ').skip(1));
        let told = stderr(&output);
        if !cfg!(feature = "pictures") && told.contains("without the feature `pictures`") {
            drawn = false;
            skip(command, Need::Build, "it was built without `pictures`");
        } else if told.contains("this machine has no fonts") {
            drawn = false;
            skip(command, Need::Program, "no font is installed");
        } else {
            let known = output.status.success() || (command.contains("compare") && output.status.code() == Some(2));
            assert!(known, "{command}: {told}");
        }
        said.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    for words in [
        "null.latency-histogram-log-x",
        "\\label{tab:null.latency-quantiles}",
        "Mann-Whitney",
        "--seed 3",
        "\\cite{latido}",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let svg = fs::read_to_string(world.path("percentiles.svg")).unwrap();
    assert!(svg.contains(" width=\"178.00mm\"") && svg.contains("Null latency"), "{svg:.300}");
    assert!(fs::read_to_string(world.path("tables.tex")).unwrap().contains("\\begin{tabular}"));
    if drawn {
        let pdf = fs::read(world.path("histogram.pdf")).unwrap();
        assert!((media_box(&pdf) / 72.0 * 25.4 - 84.0).abs() < 0.1, "{}", media_box(&pdf));
        let png = fs::read(world.path("over-time.png")).unwrap();
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert!(number(16).abs_diff((84.0 / 25.4 * 600.0) as u32) <= 2, "{} pixels", number(16));
        assert_eq!((&png[37..41], number(41)), (b"pHYs".as_slice(), 23_622), "600 dots an inch");
    }
    let files: Vec<String> = fs::read_dir(world.path("paper")).unwrap().map(|one| name_of(one.unwrap())).collect();
    let is_there = |begin: &str, end: &str| files.iter().any(|name| name.starts_with(begin) && name.ends_with(end));
    assert!(
        is_there("table-null.latency-summary", ".tex")
            && is_there("figure-null.latency", if drawn { ".pdf" } else { ".svg" })
    );
    let of = |name: &str| fs::read_to_string(world.path("paper").join(name)).unwrap();
    assert!(
        of("latido-methods.tex").contains("\\cite{latido}") && of("latido.bib").starts_with("@misc{latido,"),
        "{files:?}"
    );
    // The run varies one option: the output of `latido compare` on it is among the tables, and the paragraph names the test.
    assert!(
        of("table-compare.tex").contains("\\label{tab:compare}") && of("latido-methods.tex").contains("Mann-Whitney")
    );
    for (words, why) in [
        (&["figure", "nothing", "last"][..], "this run has no figure of that name; it has null-maxima, null.latency-"),
        (&["figure", "histogram", "-o", "figure.eps"], "ends in .pdf, .svg or .png"),
        (&["figure", "histogram", "--width", "84"], "for example 84mm"),
        (&["cite", "last", "--into", "paper.toml"], "name a directory; latido makes it"),
        (&["report", "last", "--table", "nothing"], "it has null-table, null.latency-repeats"),
    ] {
        let output = world.run(words.iter().copied());
        assert_eq!((output.status.code(), stderr(&output).contains(why)), (Some(64), true), "{}", stderr(&output));
    }
}

fn name_of(entry: fs::DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

/// Each command whose output has no room for a lost series names that series on stderr.
#[test]
fn a_lost_series_is_named_by_tables_figures_and_files() {
    let world = World::new();
    let output = world.run(["run", "null", "samples=500", "-d", "1s", "--policy", "other", "--no-report", "-q"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let [run] = world.runs().try_into().unwrap();
    fs::remove_file(run.join("cells/001/histogram-0.hdr")).unwrap();
    for command in ["report --table summary", "report --format csv", "figure", "cite", "export prometheus last"] {
        let output = world.run(command.split(' '));
        assert!(stderr(&output).contains("warning: left out: latency of thread 0"), "{command}: {}", stderr(&output));
    }
}
