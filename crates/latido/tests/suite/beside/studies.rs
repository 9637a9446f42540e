//! Studies end to end, with the probe that measures nothing: latido skips unavailable cells, and reports conclusions in their words.

use crate::common;

use common::{World, json, stderr};
use serde_json::Value;
use std::{fs, path::Path};

/// Four kernels, one of which latido can measure; the load does nothing.
const STUDY: &str = r#"schema = 1
name = "small-study"
about = "For trying out"
seed = 7
[source]
title = "Of latencies"
author = "A. Author"
year = 2019
[[group]]
probe = [{ name = "null", samples = [500, 2000] }]
load = ["none", { id = "calm", use = [] }]
kernel = ["running", "rt", "rcu", "rt+rcu"]
scheduling = [{ policy = "other" }]
duration = "1s"
[[expect]]
claim = "Some samples are made up"
metric = "null.latency.count"
where = { kernel = "running" }
op = ">"
value = 0
"#;

const ANOTHER: &str = r#"[[expect]]
claim = "Real time lowers the maximum"
where = { kernel = "rt" }
metric = "null.latency.max"
op = "<"
than = { kernel = "running" }
"#;

const WRONG: &str = r#"[[expect]]
claim = "Rest takes no time"
where = { load = "calm", kernel = "running" }
metric = "null.latency.max"
op = "<"
than = { load = "none" }
by = "1s"
"#;

/// The cells in `run.json`.
fn planned(run: &Path) -> Vec<Value> {
    let text = fs::read(run.join("run.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["cells"].as_array().unwrap().clone()
}

/// The number of cells with a record, of skipped cells, and of cells with a failure.
fn cell_states(world: &World) -> [usize; 3] {
    let run = world.runs().pop().unwrap();
    let count = |name: &str| {
        fs::read_dir(run.join("cells")).unwrap().flatten().filter(|cell| cell.path().join(name).exists()).count()
    };
    let skipped = planned(&run).iter().filter(|cell| !cell["skipped"].is_null()).count();
    [count("record.json"), skipped, count("infra.json")]
}

fn words(document: &Value) -> Vec<(String, String)> {
    let expectations = document["judgement"]["expectations"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    expectations.iter().map(|one| (text(&one["verdict"]), text(&one["detail"]))).collect()
}

#[test]
fn skipped_cells_are_no_failure_and_no_pass() {
    let world = World::new();
    world.file("study.toml", STUDY);
    let output = world.run(["run", "./study.toml", "--json"]);
    let document = json(&output, 0);
    assert_eq!(document["verdict"], "pass");
    assert_eq!(document["records"].as_array().unwrap().len(), 4);
    let verdicts: Vec<&str> =
        document["judgement"]["cells"].as_array().unwrap().iter().map(|c| c["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "skipped").count(), 12, "{verdicts:?}");
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "pass").count(), 4);
    assert_eq!(cell_states(&world), [4, 12, 0]);

    // Each reason occurs once, with the number of its cells, and the conclusions are in the words of the study.
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains("skipped: 4 cells: kernel `rt`: the target `local` has only its running kernel"), "{shown}");
    assert!(shown.contains("skipped: 4 cells: kernel `rt+rcu`: the target `local`"), "{shown}");
    assert!(shown.contains("conclusions of the study"), "{shown}");
    assert!(shown.contains("holds  Some samples are made up"), "{shown}");
    assert!(shown.contains("the only conclusion of the study holds"), "{shown}");
    // latido also makes the page.
    assert!(world.run(["report", "last"]).status.success());
}

#[test]
fn a_conclusion_that_needs_a_skipped_cell_is_not_measured() {
    let world = World::new();
    world.file("study.toml", &format!("{STUDY}{ANOTHER}"));
    let output = world.run(["run", "./study.toml", "--json"]);
    let words = words(&json(&output, 3));
    assert_eq!((words[0].0.as_str(), words[1].0.as_str()), ("pass", "inconclusive"));
    assert!(
        words[1].1.contains("not measured: kernel `rt`: the target `local` has only its running kernel"),
        "{}",
        words[1].1
    );
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains("not measured  Real time lowers the maximum"), "{shown}");
}

/// One run per side decides nothing, however far apart the sides are. Five decide, and a conclusion that they contradict is a failure.
#[test]
fn a_conclusion_that_does_not_hold_is_a_failure() {
    let world = World::new();
    world.file("study.toml", &format!("{STUDY}{WRONG}"));
    let once = words(&json(&world.run(["run", "./study.toml", "--json"]), 3));
    assert_eq!(once[1].0, "inconclusive");
    assert!(
        once[1].1.contains("one run per side cannot reach 5 % for one of 2 comparisons; 5 needed"),
        "{}",
        once[1].1
    );
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains("undecided  Rest takes no time"), "{shown}");
    let repeated = words(&json(&world.run(["run", "./study.toml", "--repeat", "5", "--json"]), 2));
    assert_eq!(repeated[1].0, "fail", "{}", repeated[1].1);
    assert!(repeated[1].1.contains("5 repeats per side"), "{}", repeated[1].1);
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains("does not hold  Rest takes no time"), "{shown}");
}

/// Ten repeats of made-up samples from the same distribution on both sides: which side is higher stays undecided; that neither is twice the
/// other is decided both ways. The plan sets the seed, so that the answer is always the same.
#[test]
fn repeats_decide_what_they_can_and_no_more() {
    let world = World::new();
    let alike = |claim: &str, times: &str| {
        format!(
            "[[expect]]\nclaim = \"{claim}\"\nwhere = {{ load = \"calm\" }}\nmetric = \"null.latency.mean\"\nop = \"<\"\n\
             than = {{ load = \"none\" }}\ntimes = {times}\n"
        )
    };
    let group = STUDY.split("[[expect]]").next().unwrap().replace(", \"rt\", \"rcu\", \"rt+rcu\"]", "]");
    let group = group.replace("[500, 2000]", "500");
    let all = [alike("Calm is lower", "1"), alike("Half of it is lower", "0.5"), alike("Twice it is lower", "2")];
    world.file("alike.toml", &format!("{group}{}", all.concat()));
    let document = json(&world.run(["run", "./alike.toml", "--repeat", "10", "--json"]), 3);
    let expectations = document["judgement"]["expectations"].as_array().unwrap();
    let outcomes: Vec<&str> = expectations.iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["undecided", "holds", "does not hold"], "{expectations:#?}");
}

#[test]
fn a_plan_without_a_cell_to_measure_starts_nothing() {
    let world = World::new();
    world.file("study.toml", &STUDY.replace("[\"running\", ", "[").replace("where = { kernel = \"running\" }\n", ""));
    let output = world.run(["run", "./study.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing of the plan can be measured"), "{}", stderr(&output));
    assert!(stderr(&output).contains("kernel `rt`"), "{}", stderr(&output));
    assert_eq!(world.runs().len(), 0, "a run was stored");
}

#[test]
fn skipped_cells_are_done_when_a_run_is_resumed() {
    let world = World::new();
    world.file("study.toml", STUDY);
    json(&world.run(["run", "./study.toml", "--json"]), 0);
    let run = world.runs().pop().unwrap();
    // One measured cell is lost.
    let mut cells: Vec<_> = fs::read_dir(run.join("cells")).unwrap().flatten().map(|cell| cell.path()).collect();
    cells.sort();
    let measured = cells.remove(0);
    fs::remove_dir_all(&measured).unwrap();
    let before = planned(&run);
    let output = world.run(["run", "--resume", "last", "--json"]);
    let document = json(&output, 0);
    assert!(stderr(&output).contains("1 of 16 cells"), "{}", stderr(&output));
    assert_eq!(document["problems"].as_array().unwrap().len(), 0, "{}", document["problems"]);
    assert!(measured.join("record.json").exists());
    assert!(planned(&run) == before, "the plan of a run never changes");
    let again = world.run(["run", "--resume", "last", "--json"]);
    json(&again, 0);
    assert!(stderr(&again).contains("nothing is left to measure"), "{}", stderr(&again));
}

#[test]
fn what_is_named_on_the_command_line_must_be_there() {
    let world = World::new();
    let output = world.run(["run", "null", "--tune", "isolation"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert!(stderr(&output).contains("did you mean `isolate`?"), "{}", stderr(&output));
    assert_eq!(world.runs().len(), 0);
}

#[test]
fn a_scaled_run_measures_less_and_says_so() {
    let world = World::new();
    world.file("study.toml", STUDY);
    // A count at a hundredth of the size says nothing about the whole.
    let document = json(&world.run(["run", "./study.toml", "--scale", "0.01", "--json"]), 3);
    let conclusion = &document["judgement"]["expectations"][0];
    assert_eq!(conclusion["outcome"], "not measured");
    assert!(conclusion["detail"].as_str().unwrap().contains("not measured (scaled)"), "{conclusion}");
    let counts = document["records"].as_array().unwrap().iter().map(|r| r["series"][0]["count"].as_u64().unwrap());
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    assert_eq!(counts, [5, 5, 20, 20]);
    let stored = fs::read_to_string(world.runs().pop().unwrap().join("plan.toml")).unwrap();
    assert!(stored.contains("\nscaled = 0.01\n"), "{stored}");
    for wrong in ["0", "1.5", "-1", "x"] {
        let output = world.run(["run", "./study.toml", "--scale", wrong]);
        assert_eq!(output.status.code(), Some(64), "{wrong}: {}", stderr(&output));
    }
}

const PRINTED: &str = r#"[published]
study = "scheduling-latency"
[[published.system]]
name = "rt+isolated"
where = { kernel = "rt" }
[[published.system]]
name = "android"
[[published.quantity]]
name = "sleep_relative_1000us"
metric = "null.latency"
"#;

#[test]
fn printed_numbers_are_set_beside_when_asked_for() {
    let world = World::new();
    world.file("study.toml", &format!("{STUDY}{PRINTED}"));
    json(&world.run(["run", "./study.toml", "--json"]), 0);
    let page = |arguments: &[&str]| {
        let output = world.run(arguments.iter().copied());
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read_to_string(world.path("report.html")).unwrap()
    };
    let plain = page(&["report", "last"]);
    assert!(!plain.contains("published 2019"), "nobody asked for it");
    assert!(plain.contains("A. Author: Of latencies. 2019"), "the source is cited");
    assert!(plain.contains("the target `local` has only its running kernel"), "the report says what latido skipped");
    let beside = page(&["report", "last", "--published"]);
    assert!(beside.contains("rt+isolated, published 2019") && beside.contains("android, published 2019"));
    assert!(beside.contains("mean exceeds max"), "the impossible row is marked");

    // A run that is not of a study has no printed numbers: latido notes it, and makes the report.
    json(&world.run(["run", "null", "--policy", "other", "-d", "10ms", "--json"]), 0);
    fs::remove_file(world.path("report.html")).unwrap();
    let output = world.run(["report", "last", "--published"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("names no printed numbers"), "{}", stderr(&output));
    assert!(world.path("report.html").exists());
}

const DECLARED: &str = r#"[[table]]
title = "Sleeps"
number = "6"
printed = ["6"]
where = { load = "none" }
rows = ["sleep_relative_1000us"]
columns = ["rt+isolated", { name = "here", system = "rt+isolated", where = { kernel = "running" } }]
statistics = ["min", "max"]
[[figure]]
title = "Bands of all"
number = "8"
kind = "bands"
edges = ["1us", "100us"]
metric = "null.latency"
where = { load = "calm" }
curves = [{ name = "here", where = { kernel = "running" } }, { name = "real time", where = { kernel = "rt" } }]
scale = "log"
captions = ["max"]
"#;

/// The page, the text, JSON and the files contain the declared tables and figures: our numbers, the study's number under each, and a note
/// where nothing was measured.
#[test]
fn declared_tables_and_figures_are_in_every_form_of_the_report() {
    let world = World::new();
    world.file("study.toml", &format!("{STUDY}{PRINTED}{DECLARED}").replace("[500, 2000]", "500"));
    json(&world.run(["run", "./study.toml", "--repeat", "3", "--json"]), 0);
    let said = |arguments: &[&str]| {
        let output = world.run(arguments.iter().copied());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().replace(['\u{202f}', '\u{a0}'], " ")
    };
    said(&["report", "last", "--figures", "files"]);
    let page = fs::read_to_string(world.path("report.html")).unwrap().replace(['\u{202f}', '\u{a0}'], " ");
    for text in
        ["Table 6. Sleeps", "1 069.3 / 1 226.5", "Figure 8. Bands of all", "real time (not measured)", "&gt; 100 µs"]
    {
        assert!(page.contains(text), "no `{text}` in the page");
    }
    for arguments in [&["report", "last", "--format", "text"][..], &["show", "--full", "last"]] {
        let text = said(arguments);
        assert!(text.contains("Table 6. Sleeps") && text.contains("1 069.3 / 1 226.5"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("sleep relative") && line.contains("not measured")), "{text}");
    }
    let document: Value = serde_json::from_str(&said(&["report", "last", "--format", "json"])).unwrap();
    let cells = &document["declared"]["tables"][0]["rows"][0]["cells"];
    let max = |cell: usize| cells[cell]["figures"][1].clone();
    assert_eq!((max(0)["ours"].as_f64(), max(0)["published"].as_f64()), (None, Some(1_226_500.0)));
    // The second column selects another kernel: its printed number is the same, and ours is measured.
    let (ours, ratio) = (max(1)["ours"].as_f64().unwrap(), max(1)["ratio"].as_f64().unwrap());
    assert!((ours / 1_226_500.0 - ratio).abs() < 1e-9, "{ours} {ratio}");
    for name in ["table-6.csv", "table-6.tex", "table-6.md", "figure-8.svg", "figure-8.csv"] {
        assert!(world.path("files").join(name).exists(), "{name}");
    }
}

/// Two kernels, described by their properties. The first description fits every kernel.
const KERNELS: &str = r#"[[kernel]]
name = "rcu"
preemption = ["none", "voluntary", "lazy", "full", "rt"]
options = { LATIDO_HAS_NO_SUCH_OPTION = false }
[[kernel]]
name = "rt"
boot = ["latido-has-no-such-parameter"]
"#;

/// latido measures the cells of the running kernel, or of the one that the person declares it to be. A report of both runs has the cells of
/// both, and decides what compares them.
#[test]
fn runs_of_several_kernels_are_one_report() {
    let world = World::new();
    world.file("study.toml", &format!("{STUDY}{}{KERNELS}", ANOTHER.replace("running", "rcu")));
    let measured = |run: &Path| -> Vec<String> {
        let planned = planned(run);
        let kernels = planned.iter().filter(|cell| cell["skipped"].is_null());
        kernels.map(|cell| cell["cell"]["kernel"].as_str().unwrap().to_owned()).collect()
    };
    let output = world.run(["run", "./study.toml", "--no-report"]);
    let said = stderr(&output);
    assert!(said.contains("kernel of local: the plan's `rcu` (preemption "), "{said}");
    assert!(said.contains("the running kernel of local is measured as `rcu`"), "{said}");
    assert_eq!(measured(&world.runs()[0]), ["rcu"; 4]);
    let output = world.run(["run", "./study.toml", "--no-report", "--as", "kernel=rt"]);
    assert!(stderr(&output).contains("kernel of local: the plan's `rt` (according to --as)"), "{}", stderr(&output));
    let mut runs = world.runs();
    runs.sort_by_key(|run| measured(run)[0].clone());
    assert_eq!(measured(&runs[1]), ["rt"; 4]);
    let names: Vec<&str> = runs.iter().map(|run| run.to_str().unwrap()).collect();
    let output = world.run(["report", names[0], names[1], "--format", "json"]);
    let document = json(&output, 0);
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    let claims = document["study"]["claims"].as_array().unwrap();
    let compared = claims.iter().find(|one| one[0] == "Real time lowers the maximum").unwrap();
    assert_eq!(compared[1], "undecided", "one run per side decides nothing: {compared}");
    let page = world.run(["report", names[0], names[1], "-o", "both.html"]);
    assert!(page.status.success(), "{}", stderr(&page));
    let page = fs::read_to_string(world.path("both.html")).unwrap();
    assert_eq!(page.matches("latido run ./study.toml --no-report").count(), 2, "both command lines");
}
