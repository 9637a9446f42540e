//! The JSON of github-action-benchmark with the tool `customSmallerIsBetter`.

use super::{
    bencher::value,
    format::{Export, Exported, Writer, Written},
    text::{self, Names},
    trend::{Point, points},
    units,
};
use anyhow::Result;
use latido_model::clean;
use serde_json::{Value, json};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "github-action-benchmark",
    ending: "json",
    needs: None,
    about: "benchmark-action/github-action-benchmark, tool customSmallerIsBetter (microseconds)",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (points, left_out) = points(exported);
    let mut names = Names::default();
    let all: Vec<Value> = points.iter().map(|point| entry(point, exported, &mut names)).collect();
    let text = clean::text(&serde_json::to_string_pretty(&all)?).into_owned() + "\n";
    Ok(Written { bytes: text.into_bytes(), left_out })
}

fn entry(point: &Point, exported: &Exported, names: &mut Names) -> Value {
    let unit = units::micro(&point.unit);
    let parts = [&point.title, &point.place, &point.quantity, &point.key].map(|part| part.as_str());
    let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let run = exported.runs.get(point.run).map(|run| run.run.meta.id.as_str()).unwrap_or_default();
    let mut entry = json!({
        "name": names.unique(text::line(&name)),
        "unit": if unit.name.is_empty() { "0 = pass".into() } else { text::line(&unit.name) },
        "value": value(unit.of(point.value)),
        "extra": text::line(&format!("{}, run {run}", point.state.words().word)),
    });
    if let (Some(sd), Some(keys)) = (point.sd, entry.as_object_mut()) {
        keys.insert("range".into(), json!(format!("± {}", unit.of(sd))));
    }
    entry
}
