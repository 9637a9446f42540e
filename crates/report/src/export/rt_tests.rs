//! The JSON of rt-tests (`cyclictest --json`), of one cell, with correct escapes and one extra key, `latido`.

use super::{
    cells::OneSeries,
    format::{Export, Exported, Writer, Written},
    one::{self, Bins},
};
use anyhow::Result;
use latido_model::{clean, record::Slots};
use serde_json::{Map, Value, json};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "rt-tests",
    ending: "json",
    needs: None,
    about: "the JSON of rt-tests (microseconds) of one cell: test-definitions' parse_rt_tests_results.py",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let cells = exported.cells();
    let cell = one::cell(exported, &cells, EXPORT.name)?;
    let threads = one::times(cell);
    let mut table = Map::new();
    for (number, (one, found)) in threads.iter().zip(one::bins(exported, &threads)?).enumerate() {
        table.insert(number.to_string(), thread(one, &found));
    }
    let meta = &cell.run.run.meta;
    let mut document = Map::new();
    document.insert("file_version".into(), json!(1));
    // The colons in these keys are part of the format.
    document.insert("cmdline:".into(), json!(meta.command.join(" ")));
    document.insert("rt_test_version:".into(), json!(format!("latido {}", meta.latido)));
    for (key, at) in [("start_time", Some(&meta.started)), ("end_time", meta.finished.as_ref())] {
        let at = at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
        document.extend(at.map(|at| (key.to_owned(), json!(at.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()))));
    }
    document.insert("return_code".into(), json!(cell.judged.verdict.exit()));
    if let Some(record) = cell.record() {
        let mut sysinfo = Map::new();
        sysinfo.insert("sysname".into(), json!("Linux"));
        sysinfo.insert("nodename".into(), json!(record.machine.hostname));
        sysinfo.insert("release".into(), json!(record.machine.kernel));
        sysinfo.extend(record.machine.kernel_version.as_ref().map(|text| ("version".to_owned(), json!(text))));
        sysinfo.extend(record.machine.architecture.as_ref().map(|text| ("machine".to_owned(), json!(text))));
        document.insert("sysinfo".into(), sysinfo.into());
    }
    document.insert("num_threads".into(), json!(threads.len()));
    document.insert("resolution_in_ns".into(), json!(0));
    document.insert("thread".into(), table.into());
    document.insert(
        "latido".into(),
        json!({"run": meta.id, "cell": cell.stored.number, "verdict": cell.state().words().word, "why": cell.why()}),
    );
    let text = clean::text(&serde_json::to_string_pretty(&document)?).into_owned() + "\n";
    Ok(Written { bytes: text.into_bytes(), left_out: one::others(cell) })
}

fn thread(one: &OneSeries, found: &Bins) -> Value {
    let occupied = (0..).zip(&found.bins).filter(|(_, count)| **count > 0);
    let histogram: Map<String, Value> =
        occupied.map(|(bin, count): (usize, _)| (bin.to_string(), json!(count))).collect();
    let series = one.series;
    let mut out = Map::new();
    out.insert("histogram".into(), histogram.into());
    out.insert("cycles".into(), json!(series.count));
    let micro = |value: Option<i64>| value.map(|value| json!(value / 1000));
    out.extend(micro(series.min).map(|value| ("min".to_owned(), value)));
    out.extend(micro(series.max).map(|value| ("max".to_owned(), value)));
    out.extend(one.printed_mean().map(|mean| ("avg".to_owned(), json!((mean / 10.0).round() / 100.0))));
    out.extend(series.cpu.map(|cpu| ("cpu".to_owned(), json!(cpu))));
    let mut own = Map::new();
    let exact = [("min_ns", series.min.map(Value::from)), ("max_ns", series.max.map(Value::from))];
    own.extend(exact.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    own.extend(one.printed_mean().map(|mean| ("mean_ns".to_owned(), json!(mean))));
    own.insert("overflow".into(), json!(found.over));
    own.insert("max_state".into(), json!(one.of_max().words().word));
    own.extend(
        series.slots.map(|Slots { met, late, missed }| {
            ("slots".to_owned(), json!({"met": met, "late": late, "missed": missed}))
        }),
    );
    own.extend(one.censored().map(|why| ("max_is_at_least".to_owned(), json!(why))));
    out.insert("latido".into(), own.into());
    out.into()
}
