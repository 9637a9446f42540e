//! KCIDB 5.3, the schema with which test systems submit results to kernelci.org (kcidb-io, schema v05_03).

use super::{
    case::{Group, groups},
    cells::{OneCell, OneSeries},
    format::{Export, Exported, Writer, Written},
    state::State,
    text::{self, Names},
    units,
};
use anyhow::{Result, bail, ensure};
use latido_model::clean;
use serde_json::{Map, Value, json};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "kcidb",
    ending: "json",
    needs: Some("--build ORIGIN:ID"),
    about: "KCIDB 5.3 reports, for kcidb-submit; it needs --build ORIGIN:ID and takes --origin",
    write: Writer::File(write),
};

/// The longest excerpt of a log in the schema, in characters.
const EXCERPT: usize = 16_384;

fn write(exported: &Exported) -> Result<Written> {
    let Some(build) = &exported.options.build else {
        bail!("kcidb: each test needs the id of its build, which no run records: give it with --build ORIGIN:ID");
    };
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let named = build.split_once(':').is_some_and(|(origin, _)| !origin.is_empty() && origin.chars().all(fits));
    ensure!(named, "kcidb: --build {build}: write ORIGIN:ID, with only a to z, 0 to 9 and _ in the origin");
    let origin = &exported.options.origin;
    let well = !origin.is_empty() && origin.chars().all(fits);
    ensure!(well, "kcidb: --origin {origin}: an origin has only a to z, 0 to 9 and _");
    let mut names = Names::default();
    let mut tests: Vec<Value> = Vec::new();
    for group in groups(exported) {
        let mut add = |name: &str, path: String, state: State| {
            let id = format!("{origin}:{}.{}.{}", text::id(&group.run.run.meta.id, ""), group.step, text::id(name, ""));
            let mut test = about(&group);
            test.insert("id".into(), json!(names.unique(id)));
            test.insert("origin".into(), json!(origin));
            test.insert("build_id".into(), json!(build));
            test.insert("path".into(), json!(path));
            test.insert("status".into(), json!(state.words().kcidb));
            test
        };
        let probe = group.cell.as_ref().map_or("expect".into(), |cell| text::id(&cell.stored.cell.probe.name, ""));
        for case in &group.cases {
            let step = match group.cell {
                Some(_) => text::id(case.name.split(' ').next().unwrap_or_default(), ""),
                None => text::id(&case.name, ""),
            };
            let mut test = add(&step, format!("latido.{probe}.{step}"), case.state);
            test.insert("comment".into(), json!(text::line(&case.name)));
            if !case.why.is_empty() {
                let why: String = clean::line(&case.why).chars().take(EXCERPT).collect();
                test.insert("log_excerpt".into(), json!(why));
            }
            tests.push(test.into());
        }
        for one in group.cell.iter().flat_map(OneCell::series) {
            tests.extend(figures(&one, &probe, &mut add));
        }
    }
    let document = json!({"version": {"major": 5, "minor": 3}, "tests": tests});
    Ok(Written::all(clean::text(&serde_json::to_string_pretty(&document)?).into_owned() + "\n"))
}

/// Returns each figure as a test with a number, in base units.
fn figures(one: &OneSeries, probe: &str, add: &mut dyn FnMut(&str, String, State) -> Map<String, Value>) -> Vec<Value> {
    let unit = units::base(&one.series.unit);
    let quantity = text::id(&one.series.quantity, "");
    let write = |figure: super::cells::Figure| {
        let name = format!("{}-{quantity}-{}", one.place, figure.key);
        let mut test = add(&name, format!("latido.{probe}.{quantity}.{}", figure.key), figure.state);
        let value = unit.of(figure.value);
        test.insert("number".into(), json!({"value": value, "unit": text::line(&unit.name), "prefix": "metric"}));
        test.insert("comment".into(), json!(text::line(&format!("{} {}", one.cell.title, one.place))));
        Value::from(test)
    };
    one.figures().into_iter().map(write).collect()
}

/// Returns when and where the cell or the run was measured.
fn about(group: &Group) -> Map<String, Value> {
    let meta = &group.run.run.meta;
    let mut test = Map::new();
    let started = group.cell.as_ref().map_or(meta.started.as_str(), OneCell::started);
    if let Ok(at) = started.parse::<jiff::Timestamp>() {
        test.insert("start_time".into(), json!(at.to_string()));
    }
    let record = group.cell.as_ref().and_then(OneCell::record);
    test.extend(record.map(|record| ("duration".to_owned(), json!(record.elapsed_ns as f64 / 1e9))));
    let host = record.map_or(&meta.machine, |record| &record.machine.hostname);
    test.insert("environment".into(), json!({"comment": text::line(host)}));
    let mut own = Map::new();
    own.insert("run".into(), json!(text::line(&meta.id)));
    own.insert("plan".into(), json!(text::line(&meta.plan)));
    if let Some(cell) = &group.cell {
        let of = &cell.stored.cell;
        own.insert("cell".into(), json!(cell.stored.number));
        own.insert("load".into(), json!(text::line(&of.load.id)));
        own.insert("tuning".into(), json!(text::line(&of.tuning.id)));
        own.insert("scheduling".into(), json!(of.scheduling.to_string()));
    }
    test.insert("misc".into(), json!({"latido": own}));
    test
}
