//! Blocks: the cells of one boot of a kernel on a target, measured without interruption. Every record names its block.

use crate::common;
use crate::common::scripted;

use common::{World, json, stderr};
use latido_model::{cell::Cell, plan};
use scripted::recorded;
use serde_json::Value;
use std::fs;

/// Two cells with two repeats each, in an order drawn from the seed.
const PLAN: &str = "schema = 1\nname = \"blocks\"\nseed = 7\norder = \"interleaved\"\nboots = 2\n[[group]]\n\
                    target = [\"local\"]\nprobe = [{ name = \"null\", samples = [200, 300] }]\nduration = \"100ms\"\n\
                    repeat = 2\n";

fn cells(text: &str) -> Vec<Cell> {
    plan::expand(&plan::parse::parse("blocks.toml", text, &latido_agent::catalogue::Installed).unwrap())
}

/// The cells in `run.json`, in the order in which they run.
fn planned(world: &World) -> Vec<Value> {
    let run = world.runs().pop().unwrap();
    let text = fs::read(run.join("run.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["cells"].as_array().unwrap().clone()
}

/// The target and boot of each block, in order: adjacent cells that agree are one block.
fn blocks(cells: &[Value]) -> Vec<(String, u64)> {
    let block = |cell: &Value| (cell["target"].as_str().unwrap().to_owned(), cell["boot"].as_u64().unwrap());
    let mut blocks: Vec<(String, u64)> = cells.iter().map(block).collect();
    blocks.dedup();
    blocks
}

#[test]
fn a_printed_plan_keeps_targets_and_boots() {
    let world = World::new();
    let targets = PLAN.replace("[\"local\"]", "[\"local\", \"ssh:rt@board\"]");
    world.file("blocks.toml", &targets);
    let output = world.run(["run", "./blocks.toml", "--print-plan"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for line in ["boots = 2\n", "target = [\"local\", \"ssh:rt@board\"]\n"] {
        assert!(printed.contains(line), "no `{line}` in: {printed}");
    }
    // Two targets, two boots, two repeats, two probes.
    assert!(printed.contains("16 cells"), "{printed}");
    assert_eq!(cells(&printed), cells(&targets), "the same cells in the same order");
    // A target on the command line replaces that of the plan.
    let output = world.run(["run", "./blocks.toml", "--print-plan", "--on", "ssh:other"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("target = [\"ssh:other\"]\n") && printed.contains("boots = 2\n"), "{printed}");
}

#[test]
fn a_machine_that_is_not_booted_has_its_first_boot_alone() {
    let world = World::new();
    world.file("blocks.toml", PLAN);
    let output = world.run(["run", "./blocks.toml", "--no-report", "--json"]);
    let document = json(&output, 0);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| record["cell"]["boot"] == 1 && record["cell"]["target"] == "local"));
    let reason = "boot 2: latido measures the target `local` as it runs, and does not boot it";
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    let planned = planned(&world);
    assert_eq!(planned.len(), 8);
    for one in &planned {
        let expected = if one["cell"]["boot"] == 2 { reason.into() } else { Value::Null };
        assert_eq!(one["skipped"], expected, "{one}");
    }
    let cells: Vec<Value> = planned.iter().map(|one| one["cell"].clone()).collect();
    assert_eq!(blocks(&cells), [("local".into(), 1), ("local".into(), 2)]);
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains(&format!("skipped: 4 cells: {reason}")), "{shown}");
}

/// Two targets in one plan: latido measures all cells of one before those of the other, each target in its own session.
#[test]
fn targets_are_measured_one_after_the_other() {
    let world = World::new();
    let text = PLAN.replace("[\"local\"]", "[\"fake:one.script\", \"fake:two.script\"]").replace("boots = 2\n", "");
    world.file("blocks.toml", &text);
    let all = cells(&text);
    for name in ["one.script", "two.script"] {
        let own: Vec<Cell> = all.iter().filter(|cell| cell.target == format!("fake:{name}")).cloned().collect();
        assert_eq!(own.len(), 4);
        fs::write(world.path(name), recorded(&world, &own).script()).unwrap();
    }
    let output = world.run(["run", "./blocks.toml", "--no-report", "--json"]);
    let document = json(&output, 0);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 8);
    let of_records: Vec<Value> = records.iter().map(|record| record["cell"].clone()).collect();
    assert_eq!(blocks(&of_records).len(), 2, "{:?}", blocks(&of_records));
    // latido stores the options with all defaults; everything else is as in the plan.
    let named = |mut cell: Value| {
        assert!(cell["probe"]["options"].take().as_object().unwrap().contains_key("samples"));
        cell
    };
    let planned: Vec<Value> = planned(&world).iter().map(|one| named(one["cell"].clone())).collect();
    let expected: Vec<Value> = all.iter().map(|cell| named(serde_json::to_value(cell).unwrap())).collect();
    assert_eq!(planned, expected);
    assert_eq!(blocks(&planned).len(), 2, "{:?}", blocks(&planned));
}

/// Repeats within one boot depend on it: latido refuses a record of another boot.
#[test]
fn a_record_of_another_boot_is_refused() {
    let world = World::new();
    let text = PLAN.replace("\"local\"", "\"fake:agent.script\"");
    world.file("blocks.toml", &text);
    let all = cells(&text);
    let first: Vec<Cell> = all.iter().filter(|cell| cell.boot == 1).cloned().collect();
    assert_eq!((first.len(), all.len()), (4, 8));
    // The script gives the same answers in each boot.
    fs::write(world.path("agent.script"), recorded(&world, &first).script()).unwrap();
    let output = world.run(["run", "./blocks.toml", "--no-report", "--json"]);
    let document = json(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("another cell"), "{said}");
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 4, "{said}");
    assert!(records.iter().all(|record| record["cell"]["boot"] == 1));
}
