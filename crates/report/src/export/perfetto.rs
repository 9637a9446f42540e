//! The largest samples of runs as Chrome's trace JSON (Trace Event Format), which ui.perfetto.dev opens.
//!
//! `latido trace analyze --perfetto` draws a kernel trace; this draws what was measured, trace or not.

use super::{
    cells::OneSeries,
    format::{Export, Exported, Writer, Written},
    text, units,
};
use anyhow::Result;
use latido_model::clean;
use serde_json::{Value, json};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "perfetto",
    ending: "json",
    needs: None,
    about: "the largest samples as slices in time, Chrome's trace JSON: ui.perfetto.dev, chrome://tracing",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (mut events, mut left_out) = (Vec::new(), Vec::new());
    let cells = exported.cells();
    for (process, cell) in (1..).zip(&cells) {
        let series = cell.series();
        if series.is_empty() {
            continue;
        }
        let name = format!("{}, {}", text::line(&cell.name()), cell.state().words().word);
        events.push(json!({"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}));
        for (track, one) in (1..).zip(&series) {
            if !units::is_time(&one.series.unit) {
                left_out.push(format!("{}: {} is left out: it is not a time", cell.name(), one.series.quantity));
                continue;
            }
            slices(exported, one, (process, track), &mut events)?;
        }
    }
    let document = json!({"displayTimeUnit": "ns", "traceEvents": events});
    let text = clean::text(&serde_json::to_string(&document)?).into_owned() + "\n";
    Ok(Written { bytes: text.into_bytes(), left_out })
}

/// Adds a track: its name, and each kept sample as a slice from its start to its end, in us since the first slot.
fn slices(
    exported: &Exported,
    one: &OneSeries,
    (process, track): (usize, usize),
    events: &mut Vec<Value>,
) -> Result<()> {
    let name = text::line(&format!("{} {}", one.series.quantity, one.place));
    events.push(json!({"ph": "M", "pid": process, "tid": track, "name": "thread_name", "args": {"name": name}}));
    let unit = units::micro(&one.series.unit);
    let mut kept = exported.data(one)?.largest;
    kept.sort_by_key(|sample| sample.at_ns);
    for sample in kept {
        let dur = unit.of(sample.value as f64);
        let end = sample.at_ns as f64 / 1e3;
        // A sample's timestamp is its end. The result is rounded to a thousandth of a microsecond, because the input is no finer.
        let ts = ((end - dur) * 1e3).round() / 1e3;
        let name = format!("{} {dur} us", text::line(&one.series.quantity));
        let mut args = json!({(format!("value_{}", one.series.unit)): sample.value});
        if let (class, Some(args)) = (sample.class.name(), args.as_object_mut())
            && !class.is_empty()
        {
            args.insert("class".into(), json!(class));
        }
        events.push(json!({"name": name, "ph": "X", "ts": ts, "dur": dur, "pid": process, "tid": track, "args": args}));
    }
    Ok(())
}
