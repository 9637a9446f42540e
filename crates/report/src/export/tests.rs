//! Every format over the same small runs: how it looks, that no name breaks it, and that no state but a pass looks like a pass.

mod hostile;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod states;
mod validators;

use super::*;
use crate::judged::JudgedRun;
use latido_model::{
    cell::{Cell, Conditions},
    plan::{Against, Expect, Op, Statistic},
    record::{HostFacts, Slots},
    run::CellState,
    sample::{Fixture, cell, probing, quiet, under},
    units::Ns,
};

/// Returns a second of samples, one per millisecond.
fn second(thread: i64) -> Vec<i64> {
    quiet(thread).into_iter().take(1_000).collect()
}

/// Returns the cell for such samples: its duration is one second.
fn of_a_second(cell: Cell) -> Cell {
    let conditions = Conditions { duration: Ns::from_secs(1), ..cell.conditions };
    Cell { conditions, ..cell }
}

/// A run of six cells (within the limit, above it, without one, refused, broken, skipped) and three expectations.
pub fn fixture(name: &str) -> Fixture {
    let named = |cell: Cell| of_a_second(Cell { plan: name.into(), ..cell });
    let spiky = || second(1).into_iter().enumerate().map(|(at, v)| if at == 300 { 420_181 } else { v });
    let mut fixture = Fixture::new(vec![
        (named(cell()), vec![second(0)]),
        (named(under(name)), vec![second(0), spiky().collect()]),
        (named(probing("gap")), vec![vec![25, 31, 1_250, 99_999]]),
        (named(under("refused")), vec![second(0)]),
        (named(under("broken")), vec![second(0)]),
        (named(under("elsewhere")), vec![second(0)]),
    ]);
    for number in 1..=4 {
        let started = "2026-11-21T20:00:07.25Z".to_owned();
        fixture.run.cells[number - 1].host = Some(HostFacts { started, ..HostFacts::default() });
        fixture.record(number).machine.hostname = format!("bench {name}");
    }
    fixture.record(2).series[1].slots = Some(Slots { met: 993, late: 7, missed: 0 });
    fixture.record(4).quality.policy_refused = Some(format!("fifo 80 was refused: {name}"));
    fixture.run.cells[4].state = CellState::Infra(format!("the link broke: {name}"));
    fixture.run.cells[5].state = CellState::Skipped(format!("no such kernel: {name}"));
    fixture.run.plan.name = name.into();
    fixture.run.meta.plan = name.into();
    fixture.run.plan.expect = expectations(name);
    fixture
}

/// Three expectations: one holds, one does not hold, and one matches nothing in this run.
fn expectations(name: &str) -> Vec<Expect> {
    let of = |probe: &str, quantity: &str, load: Option<&str>| Expect {
        claim: None,
        of: None,
        filter: load.map(|load| ("load".to_owned(), load.to_owned())).into_iter().collect(),
        probe: probe.into(),
        quantity: quantity.into(),
        statistic: Statistic::Max,
        unit: "ns".into(),
        op: Op::Less,
        against: Against::Value(100_000.0),
        text: format!("{probe}.{quantity}.max < 100us where load = {name}"),
        line: 1,
    };
    vec![of("wakeup", "latency", Some("idle")), of("wakeup", "latency", Some(name)), of("switch", "handoff", None)]
}

fn judged(fixture: &Fixture, run: latido_model::run::Run) -> JudgedRun {
    JudgedRun::new(run, String::new(), fixture)
}

fn options() -> Options {
    Options { build: Some("ci:b1".into()), origin: "ci".into(), cell: Some(2), bins: 200, ..Options::default() }
}

/// Returns the output of every format for the fixture, with this name in every field that has a name.
fn texts(name: &str) -> Vec<(&'static str, String)> {
    let mut fixture = fixture(name);
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    let exported = Exported { runs: &runs, source: &fixture, options: options() };
    texts_of(&exported)
}

/// Returns the output of every single-file format for these runs; all of these formats are text.
fn texts_of(exported: &Exported) -> Vec<(&'static str, String)> {
    let text = |export: &Export| match export.write {
        Writer::File(write) | Writer::Signals(write) => {
            Some((export.name, String::from_utf8(write(exported).unwrap().bytes).unwrap()))
        }
        Writer::Directory(_) | Writer::Absent(_) => None,
    };
    EXPORTS.iter().filter_map(text).collect()
}

/// Every format keeps its look; the snapshot contains only the start of long ones.
#[test]
fn each_format_is_what_it_was() {
    let mut all = String::new();
    for (name, text) in texts("quick") {
        let shown = text.lines().take(120).map(|line| line.chars().take(240).collect::<String>());
        all.push_str(&format!("==== {name}\n{}\n", shown.collect::<Vec<_>>().join("\n")));
        assert!(text.ends_with('\n') && !text.contains("NaN") && !text.contains("null"), "{name}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn each_format_has_a_name_of_its_own() {
    let mut names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), EXPORTS.len());
    assert!(EXPORTS.iter().all(|export| !export.about.is_empty() && !export.ending.starts_with('.')));
    let error = named("junti").unwrap_err().to_string();
    assert!(error.contains("did you mean `junit`?") && error.contains("ktap, junit, lava"), "{error}");
}

#[test]
fn the_worked_example_is_an_export() {
    let mut fixture = fixture("quick");
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    let Writer::File(write) = graphite::EXPORT.write else { panic!("it is one file") };
    let written = write(&Exported { runs: &runs, source: &fixture, options: options() }).unwrap();
    let text = String::from_utf8(written.bytes).unwrap();
    assert!(text.contains("latido.wakeup-quick-cpus-0-1.cpu-1.latency.max.ns 420181 "), "{text}");
    assert_eq!(written.left_out, ["004 wakeup, refused, cpus 0,1: inconclusive: its figures are left out"]);
}

/// A format reports a missing option by its name; formats of one distribution list the available cells.
#[test]
fn what_is_needed_is_asked_for() {
    let mut fixture = fixture("quick");
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    let write = |format: &str, options: Options| {
        let exported = Exported { runs: &runs, source: &fixture, options };
        let (Writer::File(write) | Writer::Signals(write)) = named(format).unwrap().write else {
            panic!("{format} is no file")
        };
        write(&exported).map_err(|error| format!("{error:#}"))
    };
    let refused = |format, options| write(format, options).unwrap_err();
    assert!(refused("kcidb", Options { build: None, ..options() }).contains("--build ORIGIN:ID"));
    assert!(refused("kcidb", Options { build: Some("x".into()), ..options() }).contains("write ORIGIN:ID"));
    assert!(refused("kcidb", Options { origin: "A".into(), ..options() }).contains("a to z"));
    let several = refused("cyclictest", Options { cell: None, ..options() });
    assert!(
        several.contains(
            "--cell NUMBER, of 001 wakeup, idle, cpus 0,1; 002 wakeup, quick, cpus 0,1; 003 gap, idle, cpus 0,1"
        ),
        "{several}"
    );
    assert!(refused("hgrm", Options { cell: Some(9), ..options() }).contains("no cell 9"));
    // Bins above the last are counted, and the maximum stays exact.
    let written = write("cyclictest", Options { bins: 100, ..options() }).unwrap();
    let text = String::from_utf8(written.bytes).unwrap();
    assert!(text.contains("# Max Latencies: 00005 00420\n# Histogram Overflows: 00000 00001\n"), "{text}");
    let written = write("bencher", options()).unwrap();
    assert_eq!(written.left_out, ["004 wakeup, refused, cpus 0,1: inconclusive: its figures are left out"]);
}
