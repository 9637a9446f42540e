//! A test keeps its name, whatever the order in which a run measures its cells, and after its plan grew.

use super::*;
use latido_model::{
    catalogue::Kind,
    cell::{Item, Level, Scheduling},
    plan::{Group, Order, Plan, Probed, expand, items::nothing},
    quantity::Measurand,
};
use std::collections::{BTreeMap, BTreeSet};

/// A probe with its resolved options, and those of them that the plan sets.
fn probe(name: &str, resolved: toml::Table, chosen: toml::Table) -> Probed {
    let measurand = Measurand { chosen: Some(chosen), ..Measurand::default() };
    Probed { item: Item { name: name.into(), options: resolved }, measurand }
}

fn level(id: &str) -> Level {
    Level { id: id.into(), items: vec![Item { name: id.into(), ..Item::default() }] }
}

fn plan() -> Plan {
    let usual = |period: &str| toml::toml! { align = "common" by = "nanosleep" period = period };
    let group = Group {
        target: vec!["local".into()],
        kernel: vec!["running".into()],
        tuning: vec![Level { id: nothing(Kind::Tuning).into(), items: Vec::new() }],
        load: vec![Level { id: nothing(Kind::Load).into(), items: Vec::new() }, level("stress-cpu")],
        scheduling: vec![Scheduling::Fifo { prio: 80 }],
        probe: vec![
            probe("wakeup", usual("1ms"), toml::Table::new()),
            probe("wakeup", usual("250us"), toml::toml! { period = "250us" }),
            probe("gap", toml::Table::new(), toml::Table::new()),
        ],
        conditions: Conditions { duration: Ns::from_secs(1), limit: Some(Ns::from_millis(1)), ..Conditions::default() },
        repeat: 2,
    };
    Plan { name: "nightly".into(), seed: 1, groups: vec![group], ..Plan::default() }
}

/// The plan after some months: more levels on each axis, another limit, more repeats, and a second group with the same cells but a longer
/// duration.
fn grown() -> Plan {
    let mut plan = plan();
    let group = &mut plan.groups[0];
    group.load.insert(0, level("messaging"));
    group.scheduling.push(Scheduling::OTHER);
    group.tuning.push(level("isolated"));
    group.probe.insert(0, probe("wakeup", toml::toml! { by = "timerfd" }, toml::toml! { by = "timerfd" }));
    group.repeat = 3;
    group.conditions.limit = Some(Ns::from_millis(2));
    let longer = Conditions { duration: Ns::from_secs(2), ..group.conditions.clone() };
    let again = Group { conditions: longer, ..group.clone() };
    plan.groups.push(again);
    plan
}

/// Returns a run of a plan. The run does not store the plan's groups, but it stores each cell's place in the order of the plan file.
fn run_of(plan: &Plan) -> Fixture {
    let cells = expand(plan);
    let written = expand(&Plan { order: Order::AsWritten, ..plan.clone() });
    let mut fixture = Fixture::new(cells.iter().map(|cell| (cell.clone(), vec![vec![2_000, 3_000]])).collect());
    for stored in &mut fixture.run.cells {
        let of = |probed: &&Probed| probed.item == stored.cell.probe;
        let probed = plan.groups.iter().flat_map(|group| &group.probe).find(of).unwrap();
        stored.measurand.chosen.clone_from(&probed.measurand.chosen);
        stored.written = written.iter().position(|cell| *cell == stored.cell).unwrap();
    }
    fixture.run.plan = Plan { groups: Vec::new(), expect: expectations("busy"), ..plan.clone() };
    fixture.run.meta.plan.clone_from(&plan.name);
    fixture
}

/// Returns the names of tests and figures in a text, for each format that a CI history compares.
fn named(format: &str, text: &str) -> Vec<String> {
    let between = |line: &str, from: &str, to: &str| -> Option<String> {
        Some(line.split_once(from)?.1.split_once(to)?.0.to_owned())
    };
    let ktap = |line: &str| -> Option<String> {
        let rest = line.trim().strip_prefix("not ").unwrap_or(line.trim()).strip_prefix("ok ")?;
        let deep = line.len() - line.trim_start().len();
        Some(format!("{deep} {}", rest.split_once(' ')?.1.split(" # ").next()?))
    };
    let of = |line: &str| match format {
        "junit" => Some(format!("{:?} {:?}", between(line, "classname=\"", "\""), between(line, "\" name=\"", "\"")?)),
        "ktap" => ktap(line),
        "lava" => between(line, "TEST_CASE_ID=", " "),
        "lava-results" | "phoronix" => {
            Some(line.rsplit_once(if format == "phoronix" { ": " } else { " pass" })?.0.to_owned())
        }
        "hlog" => between(line, "Tag=", ","),
        "github-action-benchmark" => between(line, "\"name\": \"", "\""),
        "bencher" => Some(line.trim().strip_suffix(": {")?.to_owned()).filter(|_| line.starts_with("  \"")),
        _ => None,
    };
    text.lines().filter_map(of).collect()
}

/// Returns all names of a plan's run, sorted, per format. Each name must occur once.
fn names_of(plan: &Plan) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut fixture = run_of(plan);
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    let exported = Exported { runs: &runs, source: &fixture, options: options() };
    let mut all = BTreeMap::new();
    for (format, text) in texts_of(&exported) {
        let names = named(format, &text);
        // A parent of KTAP is not a test: tests of two parents may share a name.
        let tests = names.iter().filter(|name| format != "ktap" || name.starts_with("0 ")).collect::<Vec<_>>();
        let distinct: BTreeSet<&&String> = tests.iter().collect();
        assert_eq!(distinct.len(), tests.len(), "{format}: {tests:?}");
        all.insert(format, names.into_iter().collect());
    }
    all
}

#[test]
fn names_are_the_same_in_every_run_of_a_plan_and_after_it_grew() {
    let (first, grown) = (names_of(&plan()), names_of(&grown()));
    for format in ["junit", "ktap", "lava", "lava-results", "hlog", "bencher", "github-action-benchmark", "phoronix"] {
        assert!(first[format].len() >= 12, "{format}: {:?}", first[format]);
        let lost: Vec<_> = first[format].difference(&grown[format]).collect();
        assert!(lost.is_empty(), "{format}: {lost:?} have other names after the plan grew: {:?}", grown[format]);
    }
    let junit: Vec<&String> = first["junit"].iter().collect();
    assert!(
        junit.iter().any(|name| name.contains("latido.nightly.wakeup-period-250us-stress-cpu-repeat-2")),
        "{junit:?}"
    );
    assert!(junit.iter().any(|name| name.contains("wakeup period=250us, stress-cpu, repeat 2: limit")), "{junit:?}");
    let order = |plan: &Plan| -> Vec<String> {
        expand(plan).iter().map(|cell| format!("{} {:?} {}", cell.load.id, cell.probe, cell.repeat)).collect()
    };
    let mut orders = BTreeSet::from([order(&plan())]);
    for seed in 2..=20 {
        let other = Plan { seed, ..plan() };
        orders.insert(order(&other));
        assert_eq!(names_of(&other), first, "seed {seed}");
    }
    assert!(orders.len() > 15, "the seeds give {} orders", orders.len());
}
