//! Bencher's metric format (BMF JSON): benchmark, measure, value.

use super::{
    format::{Export, Exported, Writer, Written},
    text,
    trend::{Point, points},
};
use anyhow::Result;
use latido_model::clean;
use serde_json::{Map, Value, json};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "bencher",
    ending: "json",
    needs: None,
    about: "Bencher's metric format (BMF JSON): bencher run --adapter json --file",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (points, mut left_out) = points(exported);
    let mut document: Map<String, Value> = Map::new();
    for point in &points {
        let benchmark = document.entry(text::line(&benchmark(point))).or_insert_with(|| Value::Object(Map::new()));
        let Some(measures) = benchmark.as_object_mut() else { continue };
        if measures.insert(measure(point), json!({"value": value(point.value)})).is_some() {
            let name = benchmark_and_measure(point);
            left_out.push(format!("several runs have {name}: the export contains that of the last run"));
        }
    }
    let text = clean::text(&serde_json::to_string_pretty(&document)?).into_owned() + "\n";
    Ok(Written { bytes: text.into_bytes(), left_out })
}

/// Writes a whole number without a decimal point.
pub(super) fn value(value: f64) -> Value {
    // Beyond 2^53 a double has no fractional part.
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn benchmark(point: &Point) -> String {
    [point.title.as_str(), &point.place].join(" ").trim().to_owned()
}

/// Returns `latency_max_ns`: letters, digits and `_`.
fn measure(point: &Point) -> String {
    let parts = [&point.quantity, &point.key, &point.unit].map(|part| part.as_str());
    text::metric(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_"))
}

fn benchmark_and_measure(point: &Point) -> String {
    format!("{} {}", benchmark(point), measure(point))
}
