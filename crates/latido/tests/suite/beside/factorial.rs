//! A plan whose cells differ in their settings: each has its own, the next finds the machine as it was, and the report
//! tells them apart. A setting that cannot be had costs its own cells alone.

use crate::common;
use crate::common::placement;

use common::{World, json, stderr};
use placement::{Snapshot, Stage};
use serde_json::Value;
use std::fs;

/// The shipped plan, short: every cell measures, the isolated ones find what the first found, and the machine is as
/// before.
#[test]
fn isolated_or_not_under_each_load() {
    let Some(stage) = Stage::take("the plan `isolation`") else { return };
    if !common::realtime("the plan `isolation`") {
        return;
    }
    let world = World::new();
    let _restore = stage.restore(&world);
    let before = Snapshot::take(&stage);
    // CPU 1 is isolated, which is there where there are two.
    let output = world.run(["run", "isolation", "--scale", "0.005", "--repeat", "1", "--json", "-o", "report.html"]);
    let document = json(&output, output.status.code().unwrap());
    before.equals(&Snapshot::take(&stage), "after the plan");

    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 20, "{}", stderr(&output));
    let level = |record: &&Value| record["cell"]["tuning"]["id"].as_str().unwrap().to_owned();
    let (isolated, shared): (Vec<_>, Vec<_>) = records.iter().partition(|record| level(record) == "isolated");
    assert_eq!((isolated.len(), shared.len()), (10, 10));
    for record in records {
        let id = &record["cell"]["load"]["id"];
        assert_eq!(
            (&record["outcome"]["kind"], &record["cell"]["conditions"]["cpus"]),
            (&"complete".into(), &"1".into()),
            "{id}"
        );
        assert!(record["series"][0]["count"].as_u64().unwrap() > 0, "{id}");
        assert!(record["quality"]["interrupts"].is_array(), "what else ran there was counted");
    }
    // What a cell found is what the one before had put back.
    let found: Vec<Vec<(&Value, &Value)>> = isolated.iter().map(|record| changes(record)).collect();
    assert!(!found[0].is_empty(), "{found:?}");
    assert!(found.iter().all(|other| *other == found[0]), "{found:#?}");
    assert!(shared.iter().all(|record| changes(record).is_empty()), "nothing of the kind in the other half");

    let report = fs::read_to_string(world.path("report.html")).unwrap();
    for words in ["Settings changed", "isolate:cpus=1", "What else ran on the measured CPUs", "isolated, messaging"] {
        assert!(report.contains(words), "{words}");
    }
}

/// Knobs and originals of isolation and interrupts. A line that the kernel made or freed meanwhile is no difference, and
/// neither is a task.
fn changes(record: &Value) -> Vec<(&Value, &Value)> {
    let tunings = record["tunings"].as_array().unwrap();
    let ours = tunings.iter().filter(|tuning| tuning["item"]["name"] != "cstates");
    ours.flat_map(|tuning| tuning["changes"].as_array().unwrap())
        .map(|change| (&change["knob"], &change["original"]))
        .filter(|(knob, _)| !knob.as_str().unwrap().contains("/proc/irq/"))
        .collect()
}

const TWO: &str = r#"
schema = 1
name = "two"
[[group]]
probe = [{ name = "null", samples = 10 }]
tuning = [{ id = "plain", use = [] }, { id = "locked", use = [{ name = "irq-priority", irq = "no-such-device", prio = 90 }] }]
duration = "100ms"
"#;

#[test]
fn a_setting_that_cannot_be_had_skips_its_cells() {
    let world = World::new();
    world.file("two.toml", TWO);
    let output = world.run(["run", "./two.toml", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("1 of 2 cells (1 skipped)"), "{said}");
    assert!(said.contains("skipped: tuning `irq-priority`") && said.contains("no-such-device"), "{said}");
    let document = json(&world.run(["show", "last", "--json"]), 0);
    assert!(document.to_string().contains("no-such-device"), "the reason is kept: {document:#}");
}

#[test]
fn a_plan_of_which_nothing_is_left_is_refused() {
    let world = World::new();
    world.file("one.toml", &TWO.replace("{ id = \"plain\", use = [] }, ", ""));
    let output = world.run(["run", "./one.toml", "--no-report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing was started: tuning `irq-priority`"), "{}", stderr(&output));
    assert!(world.runs().is_empty());
}
