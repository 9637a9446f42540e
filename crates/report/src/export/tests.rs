//! Every format over the same small runs: what it looks like, that no name breaks it, that nothing but a pass looks like one.

mod hostile;
mod states;

use super::*;
use crate::judged::JudgedRun;
use latido_model::{
    cell::Cell,
    plan::{Against, Expect, Op, Statistic},
    record::{HostFacts, Slots},
    run::CellState,
    sample::{Fixture, cell, probing, quiet, under, with_spike},
};

/// A run of six cells: within the limit, above it, without one, contaminated, broken, skipped; one expectation.
pub fn fixture(name: &str) -> Fixture {
    let named = |cell: Cell| Cell { plan: name.into(), ..cell };
    let mut fixture = Fixture::new(vec![
        (named(cell()), vec![quiet(0)]),
        (named(under(name)), vec![quiet(0), with_spike(1, 3_000, 420_181)]),
        (named(probing("gap")), vec![vec![25, 31, 1_250, 99_999]]),
        (named(under("refused")), vec![quiet(0)]),
        (named(under("broken")), vec![quiet(0)]),
        (named(under("elsewhere")), vec![quiet(0)]),
    ]);
    for number in 1..=4 {
        let started = "2026-11-21T20:00:07.25Z".to_owned();
        fixture.run.cells[number - 1].host = Some(HostFacts { started, ..HostFacts::default() });
        fixture.record(number).machine.hostname = format!("bench {name}");
    }
    let series = &mut fixture.record(2).series[1];
    series.slots = Some(Slots { met: 9_993, late: 7, missed: 0 });
    fixture.record(4).quality.policy_refused = Some(format!("fifo 80 was refused: {name}"));
    fixture.run.cells[4].state = CellState::Infra(format!("the link broke: {name}"));
    fixture.run.cells[5].state = CellState::Skipped(format!("no such kernel: {name}"));
    fixture.run.plan.name = name.into();
    fixture.run.meta.plan = name.into();
    fixture.run.plan.expect = expectations(name);
    fixture
}

/// One that holds, one that does not, and one that is about nothing here.
fn expectations(name: &str) -> Vec<Expect> {
    let of = |probe: &str, quantity: &str, load: Option<&str>| Expect {
        claim: None,
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

/// One format over the fixture with this name in every place that has one.
pub fn exported(format: &str, name: &str, options: Options) -> Written {
    let mut fixture = fixture(name);
    let empty = Fixture::new(Vec::new()).run;
    let run = std::mem::replace(&mut fixture.run, empty);
    let runs = [judged(&fixture, run)];
    (named(format).unwrap().write)(&Exported { runs: &runs, source: &fixture, options }).unwrap()
}

fn text(format: &str, name: &str) -> String {
    String::from_utf8(exported(format, name, options()).bytes).unwrap()
}

/// What each format looks like; of the long ones the beginning.
#[test]
fn each_format_is_what_it_was() {
    for export in EXPORTS {
        let text = text(export.name, "quick");
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.iter().take(120).map(|line| line.chars().take(240).collect::<String>());
        insta::assert_snapshot!(export.name, shown.collect::<Vec<_>>().join("\n"));
        assert!(text.ends_with('\n'), "{}", export.name);
        assert!(!export.about.is_empty() && !text.contains("NaN") && !text.contains("null"), "{}", export.name);
    }
}
