//! The studies by their names on this machine.

use crate::common::{self, World, stderr};
use serde_json::Value;
use std::fs;

/// Checks that stock and isolated cells differ only in the isolation: they have the same CPU, threads, requested samples and arguments of
/// the loads.
fn equal(name: &str, records: &[Value]) {
    let told = |record: &Value| {
        let series = record["series"].as_array().unwrap();
        let cpus: Vec<&Value> = series.iter().map(|one| &one["cpu"]).collect();
        let cell = &record["cell"];
        // Competing tasks may not enter an isolated CPU.
        let rivals = cell["load"]["id"] == "rt-interference";
        let loads = record["load"].as_array().unwrap().iter().filter(|_| !rivals);
        let loads: Vec<String> = loads.map(words_without_seed).collect();
        format!("{} {} {cpus:?} {loads:?}", cell["scheduling"], cell["probe"])
    };
    let of = |tuning: &str| -> Vec<String> {
        let mut all: Vec<String> =
            records.iter().filter(|record| record["cell"]["tuning"]["id"] == tuning).map(told).collect();
        all.sort();
        all
    };
    assert_eq!(of("stock"), of("isolated"), "{name}");
    // Only this study isolates a CPU.
    assert_eq!(!of("isolated").is_empty(), name == "scheduling-latency", "{name}");
    for record in records.iter().filter(|record| record["cell"]["tuning"]["id"] == "isolated") {
        let tunings: Vec<&Value> =
            record["tunings"].as_array().unwrap().iter().map(|one| &one["item"]["name"]).collect();
        for wanted in ["isolate", "irqs", "frequency"] {
            assert!(tunings.iter().any(|name| *name == wanted), "{name}: {tunings:?}");
        }
    }
}

/// The arguments of a load without its seed, which is that of the cell.
fn words_without_seed(load: &Value) -> String {
    let argv: Vec<&str> = load["argv"].as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap()).collect();
    let mut after_seed = false;
    let mut told = Vec::new();
    for word in argv.iter().flat_map(|word| word.split(',')) {
        if !after_seed && !word.starts_with("seed=") && word != "--seed" {
            told.push(word);
        }
        after_seed = word == "--seed";
    }
    told.join(" ")
}

/// These tests need the whole machine.
mod alone {
    use super::*;

    #[test]
    fn the_studies_run_by_name() {
        run_by_name(&[("embedded-properties", "Toyooka", "switch"), ("execution-times", "González", "compute")]);
    }

    #[test]
    #[ignore = "72 cells, a minute in which nothing else may run: scripts/slow/lab-guests"]
    fn the_first_study_runs_by_name() {
        run_by_name(&[("scheduling-latency", "Revuelta", "mutex")]);
    }

    /// Runs each study by its name on this machine. latido measures every cell that is available here and skips the rest. The report cites
    /// the study, states how far the run was shortened, and shows the printed numbers next to ours.
    fn run_by_name(studies: &[(&str, &str, &str)]) {
        if !common::realtime("the studies by name") {
            return;
        }
        // The studies isolate a CPU.
        let _machine = common::machine();
        for &(name, author, table) in studies {
            let world = World::new();
            let output = world.run(["run", name, "--scale=0.0005", "--repeat=1", "--json"]);
            let said = stderr(&output);
            // Conclusions that need another kernel are not measured, so no study passes here.
            assert!(matches!(output.status.code(), Some(2 | 3)), "{name}: {said}");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            let records = document["records"].as_array().unwrap();
            assert!(
                records.len() >= 5 && records.iter().all(|record| record["outcome"]["kind"] == "complete"),
                "{name}"
            );
            let printed = world.run(["report", "last", "-o", "page.html", "--published"]);
            assert_eq!(printed.status.code(), Some(0), "{}", stderr(&printed));
            // The results of this study are charts: it has no numbers to show, and latido says so.
            let charts = name == "execution-times";
            assert_eq!(stderr(&printed).contains("no printed numbers"), charts, "{}", stderr(&printed));
            let page = fs::read_to_string(world.path("page.html")).unwrap();
            equal(name, records);
            for text in
                [author, table, "Measured at 0.05", "of the published size", "not measured", "Conclusions of the study"]
            {
                assert!(page.contains(text), "{name}: no `{text}` in the report");
            }
            assert_eq!(page.contains("published 20"), !charts, "{name}");
        }
    }
}
