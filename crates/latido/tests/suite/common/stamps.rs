//! What runs of the probe `interrupt` leave: their record, the stamps of each event, and whether these add up.

use crate::common::{World, json};
use serde_json::Value;
use std::{fs, path::Path};

/// The record of a run's first cell.
pub fn record(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("cells/001/record.json")).unwrap()).unwrap()
}

/// The series of a quantity.
pub fn series<'a>(record: &'a Value, quantity: &str) -> &'a Value {
    let all = record["series"].as_array().unwrap();
    all.iter().find(|one| one["quantity"] == quantity).unwrap_or_else(|| panic!("no {quantity}: {}", record["series"]))
}

/// The rows of stages.csv: event, at, entry, thread, handler, task.
pub fn stages(run: &Path) -> Vec<[Option<i64>; 6]> {
    let text = fs::read_to_string(run.join("cells/001/stages.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("event,at_ns,entry_ns,thread_ns,handler_ns,task_ns"));
    let row = |line: &str| line.split(',').map(|cell| cell.parse().ok()).collect::<Vec<_>>().try_into().unwrap();
    lines.map(row).collect()
}

/// Checks the stamps of every event: the means of interrupt and activation add up to that of the response, and the stamps are in order.
pub fn adds_up(run: &Path, count: u64) {
    let record = record(run);
    for quantity in ["interrupt", "activation", "response"] {
        assert_eq!(series(&record, quantity)["count"], count, "{quantity}: {}", record["quality"]["stamps"]);
    }
    let mean = |quantity: &str| series(&record, quantity)["mean"].as_f64().unwrap();
    let sum = mean("interrupt") + mean("activation");
    assert!((sum - mean("response")).abs() < 1.0, "{sum} is not {}", mean("response"));
    let rows = stages(run);
    assert_eq!(rows.len() as u64, count);
    for row in &rows {
        let [_, _, entry, thread, handler, task] = *row;
        assert!(handler.unwrap() <= task.unwrap(), "{row:?}");
        assert!(entry.is_none_or(|entry| entry <= handler.unwrap()), "{row:?}");
        assert!(thread.is_none_or(|thread| thread <= handler.unwrap()), "{row:?}");
    }
    assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1]), "in the order of events");
    let stamps = &record["quality"]["stamps"];
    assert_eq!((&stamps["lost"], &stamps["doubled"], &stamps["events"]), (&0.into(), &0.into(), &count.into()));
}

/// Checks that the last run explains the four largest responses, the largest first, and that the causes of each add up to it. `whole`: the
/// kernel lost no event, and every part is known.
pub fn worst_are_explained(world: &World, run: &Path, whole: bool) {
    let told = json(&world.run(["trace", "explain", "last", "--json"]), 0);
    let spikes = told["cells"][0]["spikes"].as_array().unwrap_or_else(|| panic!("{told}"));
    assert_eq!(spikes.len(), 4);
    let mut responses: Vec<i64> = stages(run).iter().filter_map(|row| row[5]).collect();
    responses.sort_unstable();
    assert!(responses.len() >= spikes.len(), "{} responses", responses.len());
    for (spike, response) in spikes.iter().zip(responses.iter().rev()) {
        assert_eq!(spike["ns"], *response, "the largest responses, the largest first");
        let sum =
            |name: &str| spike[name].as_array().unwrap().iter().map(|one| one["ns"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(Some(sum("causes")), spike["ns"].as_u64(), "its causes add up to it: {spike}");
        // latido does not list the pieces of a response that has hundreds of them.
        let pieces = spike["slices"].as_array().unwrap();
        assert!(pieces.is_empty() || Some(sum("slices")) == spike["ns"].as_u64(), "and so do its slices: {spike}");
        assert!(!whole || spike["covered"] == true, "{spike}");
    }
}
