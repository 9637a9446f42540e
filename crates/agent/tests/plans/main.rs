//! Whole plans: latido understands good ones, refuses bad ones at the right line, and prints each without loss.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

use latido_agent::catalogue::Installed;
use latido_model::{
    catalogue::{Catalogue, Kind},
    cell::{Cell, Item, Level, NiceBy, Scheduling},
    plan::{
        Against, Citation, Distribution, Expect, Filter, Group, Op, Order, Plan, Probed, Published, Sentence,
        Statistic, Taken, Than,
        around::Around,
        axes::{Axes, ProbeOption},
        expand, expect,
        extent::Extent,
        node::Keys,
        parse::{self, Overrides},
        print, scale, shipped,
        source::{Place, Problem, Source},
    },
    printed, published,
    registry::Objection,
    units::Ns,
};

mod blocks;
mod declared;
mod ramps;
mod refusals;
mod round_trip;
mod sizes;
mod specification;
mod studies;

/// A plan that uses every kind of key that one version of the format has.
const GOOD: &str = r#"schema = 1
name = "good"
seed = 42
[[group]]
probe = [{ name = "null", samples = [10, 20] }, "null"]
load = ["none", { id = "calm", use = [] }]
tuning = [{ id = "stock", use = [] }]
scheduling = [{ policy = "fifo", prio = 80 }, { policy = "other", nice = -5 }]
kernel = ["running"]
cpus = "0,2-5"
duration = "8s"
limit = "100us"
stop_on = "1ms"
repeat = 2
[[group]]
probe = ["null"]
duration = "10m"
[[expect]]
where = { load = "calm", scheduling = "fifo" }
metric = "null.latency.p99.9"
op = "<"
value = "100us"
[[expect]]
metric = "null.latency.missed"
op = "<="
value = 0
"#;

fn parse(name: &str, text: &str) -> Result<Plan, Problem> {
    parse::parse(name, text, &Installed)
}

/// Parses axes as flags give them.
fn flags(text: &str) -> Axes {
    let source = Source::file("flags", text);
    let document = parse::document("flags", &source).unwrap();
    Axes::read(Keys::document(&source, document.get_ref()), &Installed).unwrap()
}

/// The list of options of the probe `null` as complaints print it.
fn null_options() -> String {
    let null = Item { name: "null".into(), options: toml::toml! { none-such = 1 } };
    let error = Installed.read(Kind::Probe, &null).unwrap_err();
    let Some(Objection::Unknown { known, .. }) = error.downcast_ref() else { panic!("{error}") };
    format!("; it has {}", known.join(", "))
}

/// Whether an expectation covers a cell.
fn covers(expect: &Expect, cell: &Cell) -> bool {
    expect.covers(cell, &Installed.measurand(&cell.probe).unwrap())
}

fn refusal(text: &str) -> String {
    match parse("plan.toml", text) {
        Ok(plan) => format!("ACCEPTED {plan:?}"),
        Err(problem) => problem.to_string(),
    }
}

/// Removes the line numbers of the expectations: they are places in a file, not part of the plan's meaning.
fn without_lines(mut plan: Plan) -> Plan {
    for expect in &mut plan.expect {
        expect.line = 0;
    }
    plan
}

#[test]
fn a_good_plan_means_what_it_says() {
    let plan = parse("good.toml", GOOD).unwrap();
    let [first, second] = plan.groups.as_slice() else { panic!("{plan:?}") };
    let samples = |probed: &Probed| probed.item.options.get("samples").and_then(toml::Value::as_integer);
    assert_eq!(first.probe.iter().map(samples).collect::<Vec<_>>(), [Some(10), Some(20), None]);
    assert_eq!(first.load.iter().map(|level| level.id.as_str()).collect::<Vec<_>>(), ["none", "calm"]);
    assert_eq!(first.scheduling, [Scheduling::Fifo { prio: 80 }, Scheduling::Other { nice: -5, by: NiceBy::Nice }]);
    assert_eq!((first.conditions.warmup, second.conditions.warmup), (Ns::from_millis(800), Ns::from_secs(1)));
    assert_eq!(first.conditions.cpus, Some("0,2-5".parse().unwrap()));
    assert_eq!(second.tuning, [Level { id: "default".into(), items: vec![] }]);
    assert_eq!(second.scheduling, [Scheduling::Fifo { prio: 80 }]);
    assert_eq!((&plan.expect[0].against, plan.expect[0].line), (&Against::Value(100_000.0), 18));
    assert_eq!(plan.expect[0].text, "null.latency.p99.9 < 100us where load = calm, scheduling = fifo");
    let cells = expand(&plan);
    assert_eq!(cells.len(), 3 * 2 * 2 * 2 + 1);
    assert_eq!(cells.iter().filter(|cell| covers(&plan.expect[0], cell)).count(), 3 * 2);
}

#[test]
fn the_help_page_shows_a_plan_that_is_one() {
    let page = include_str!("../../../latido/src/cli/help/plans.txt");
    let text: String =
        page.lines().filter_map(|line| line.strip_prefix("  ")).map(|line| format!("{line}\n")).collect();
    let plan = parse("help", &text).unwrap();
    assert_eq!(expand(&plan).len(), 8);
}

#[test]
fn every_shipped_plan_is_sound() {
    for (name, text) in shipped::PLANS {
        let plan = parse(name, text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(plan.name, *name);
        // `quick` is a first look at a machine and judges nothing: only the user knows what the machine must achieve. A study whose
        // quantities no probe measures judges nothing either.
        let unmeasured = plan.published.as_ref().is_some_and(|published| published.quantities.is_empty());
        assert_eq!(plan.expect.is_empty(), *name == "quick" || unmeasured, "{name}");
        assert!(plan.about.is_some(), "{name}");
    }
}

#[test]
fn what_cannot_be_a_plan_is_refused_before_it_is_read() {
    assert_eq!(refusal(&"#".repeat((1 << 20) + 1)), "plan.toml: larger than 1 MiB, so it is not a plan");
    for (open, count) in [("a = [", 1), ("[", 100_000), ("a.", 200_000), ("a = {", 1), ("{a=", 100_000)] {
        let text = format!("a = {}", open.repeat(count));
        assert!(refusal(&text).starts_with("plan.toml"), "{open}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("junk.toml");
    std::fs::write(&path, b"schema = 1\n\xff\xfe\0").unwrap();
    let error = parse::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("junk.toml:2: this is not text (UTF-8), so it is not a plan"), "{error}");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    assert!(parse::load(&path).unwrap_err().to_string().contains("larger than 1 MiB"));
    assert!(parse::load(dir.path()).is_err() && parse::load(&dir.path().join("none")).is_err());
}

#[test]
fn flags_replace_axes_and_drop_what_they_leave_without_a_cell() {
    let text = "load = [\"none\"]\nduration = \"5s\"\nrepeat = 3\n";
    let axes = flags(text);
    let option = |key: &str, word: &str| ProbeOption { key: key.into(), word: word.into(), place: Place::word(word) };
    let over = Overrides {
        axes,
        options: vec![option("samples", "7")],
        seed: Some(9),
        fallback_seed: 1,
        size: None,
        flags: vec![],
        ..Overrides::default()
    };
    let (plan, dropped) = parse::read("good.toml", GOOD, &over, &Installed).unwrap();
    assert_eq!(dropped, ["null.latency.p99.9 < 100us where load = calm, scheduling = fifo"]);
    assert_eq!((plan.seed, plan.expect.len()), (9, 1));
    for group in &plan.groups {
        assert_eq!(
            (group.load.len(), group.probe.len(), group.repeat, group.conditions.warmup),
            (1, 1, 3, Ns::from_millis(500))
        );
        assert_eq!(group.probe[0].item.options["samples"].as_integer(), Some(7));
    }
    let unknown = Overrides { options: vec![option("sampels", "7")], ..Overrides::default() };
    let answer = parse::read("good.toml", GOOD, &unknown, &Installed).unwrap_err();
    assert_eq!(answer.to_string(), "7: no probe of the plan has an option `sampels` (did you mean `samples`?)");
    assert!(answer.typed());
}

#[test]
fn cells_of_a_level_keep_their_seed_in_any_order() {
    let mut plan = parse("good.toml", GOOD).unwrap();
    let key = |cell: &Cell| serde_json::to_string(cell).unwrap();
    let mut shuffled: Vec<String> = expand(&plan).iter().map(key).collect();
    plan.order = Order::AsWritten;
    let mut written: Vec<String> = expand(&plan).iter().map(key).collect();
    assert_ne!(shuffled, written);
    shuffled.sort();
    written.sort();
    assert_eq!(shuffled, written);
    let mut seeds: Vec<u64> = expand(&plan).iter().map(|cell| cell.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), written.len());
}

#[test]
fn repeats_follow_one_another_and_a_seed_fixes_the_order_for_good() {
    let text = "schema = 1\nname = \"x\"\nseed = 42\n[[group]]\nprobe = [{ name = \"null\", samples = [1, 2, 3, 4, 5, 6] }]\nrepeat = 2\n";
    let cells = expand(&parse("x", text).unwrap());
    let order: Vec<_> =
        cells.iter().map(|cell| (cell.repeat, cell.probe.options["samples"].as_integer().unwrap())).collect();
    assert!(cells.is_sorted_by_key(|cell| cell.repeat));
    insta::assert_debug_snapshot!((order, cells[0].seed), @r"
    (
        [
            (
                1,
                2,
            ),
            (
                1,
                3,
            ),
            (
                1,
                1,
            ),
            (
                1,
                4,
            ),
            (
                1,
                6,
            ),
            (
                1,
                5,
            ),
            (
                2,
                5,
            ),
            (
                2,
                4,
            ),
            (
                2,
                3,
            ),
            (
                2,
                6,
            ),
            (
                2,
                2,
            ),
            (
                2,
                1,
            ),
        ],
        4605580839105306,
    )
    ");
}
