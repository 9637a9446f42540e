//! Plans as a whole: good ones mean what they say, bad ones are refused at the right line, printing loses nothing.

use super::{node::Keys, source::Source, *};
use crate::{
    cell::{Item, Level, NiceBy, Scheduling},
    cpus::CpuSet,
};
use parse::Overrides;
use proptest::prelude::*;
use std::fmt::Write;

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

/// How complaints list the options of the probe that the tests use.
pub(crate) fn null_options() -> String {
    let null = Item { name: "null".into(), options: toml::toml! { none-such = 1 } };
    let error = kind::Kind::Probe.read(&null).unwrap_err();
    let Some(crate::registry::Objection::Unknown { known, .. }) = error.downcast_ref() else { panic!("{error}") };
    format!("; it has {}", known.join(", "))
}

fn refusal(text: &str) -> String {
    match parse("plan.toml", text) {
        Ok(plan) => format!("ACCEPTED {plan:?}"),
        Err(problem) => problem.to_string(),
    }
}

/// The lines of expectations are places in a file, not part of the plan's meaning.
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
    let samples = |item: &Item| item.options.get("samples").and_then(toml::Value::as_integer);
    assert_eq!(first.probe.iter().map(samples).collect::<Vec<_>>(), [Some(10), Some(20), None]);
    assert_eq!(first.load.iter().map(|level| level.id.as_str()).collect::<Vec<_>>(), ["none", "calm"]);
    assert_eq!(first.scheduling, [Scheduling::Fifo { prio: 80 }, Scheduling::Other { nice: -5, by: NiceBy::Nice }]);
    assert_eq!((first.warmup, second.warmup), (Ns::from_millis(800), Ns::from_secs(1)));
    assert_eq!(first.cpus, Some("0,2-5".parse().unwrap()));
    assert_eq!(second.tuning, [Level { id: "default".into(), items: vec![] }]);
    assert_eq!(second.scheduling, [Scheduling::Fifo { prio: 80 }]);
    assert_eq!((plan.expect[0].value, plan.expect[0].line), (100_000.0, 18));
    assert_eq!(plan.expect[0].text, "null.latency.p99.9 < 100us where load = calm, scheduling = fifo");
    let cells = expand(&plan);
    assert_eq!(cells.len(), 3 * 2 * 2 * 2 + 1);
    assert_eq!(cells.iter().filter(|cell| plan.expect[0].covers(cell)).count(), 3 * 2);
}

#[test]
fn the_help_page_shows_a_plan_that_is_one() {
    let page = include_str!("../cli/help/plans.txt");
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
        assert!(!plan.expect.is_empty() && plan.about.is_some(), "{name}");
    }
}

#[test]
fn bad_plans_are_refused_at_their_line() {
    let head = "schema = 1\nname = \"x\"\n";
    let group = |lines: &str| format!("{head}[[group]]\nprobe = [\"null\"]\n{lines}\n");
    let expect = |lines: &str| {
        format!(
            "{head}[[group]]\nprobe = [\"null\"]\nload = [\"none\", {{ id = \"calm\", use = [] }}]\n[[expect]]\n{lines}\n"
        )
    };
    let metric = |metric: &str| expect(&format!("metric = \"{metric}\"\nop = \"<\"\nvalue = \"1us\""));
    let probe = |probe: &str| format!("{head}[[group]]\nprobe = {probe}\n");
    let bad = [
        String::new(),
        "schema = 2\nnew = 1\n".into(),
        "schema = \"1\"\n".into(),
        "name = \"x\"\n".into(),
        "schema = 1\nname = \"../x\"\n".into(),
        "schema = 1\nname = \"x\"\n".into(),
        "schema = 1\nnam = \"x\"\n".into(),
        "schema = 1\nname = \"x\"\ngroup = []\n".into(),
        "schema = 1\nname = \"x\n".into(),
        "schema = 1\nname = \"x\"\nname = \"y\"\n".into(),
        format!("{head}seed = -1\n[[group]]\nprobe = [\"null\"]\n"),
        format!("{head}order = \"interleave\"\n[[group]]\nprobe = [\"null\"]\n"),
        format!("{head}[group]\nprobe = [\"null\"]\n"),
        format!("{head}[[group]]\n"),
        probe("[]"),
        probe("\"null\""),
        probe("[\"nul\"]"),
        probe("[{ nam = \"null\" }]"),
        probe("[\n  \"null\",\n  { name = \"null\",\n    sampels = 3 }]"),
        probe("[{ name = \"null\", samples = \"3\" }]"),
        probe("[{ name = \"null\", samples = -3 }]"),
        probe("[{ name = \"null\", samples = [] }]"),
        probe("[{ name = \"null\", samples = [1,\n \"2\"] }]"),
        probe("[{ name = \"null\", samples = [1, 1] }]"),
        probe("[\"null\", \"null\"]"),
        probe("[1979-05-27]"),
        group("durations = \"10s\""),
        group("duration = 10"),
        group("duration = \"10\""),
        group("duration = \"10min\""),
        group("duration = \"0s\""),
        group("duration = [\"1s\"]"),
        group("limit = 100"),
        group("limit = 1.5"),
        group("stop_on = \"0ns\""),
        group("cpus = 2"),
        group("cpus = \"5-2\""),
        group("repeat = 0"),
        group("repeat = 1.5"),
        group("repeat = 99999999999999999999"),
        group("kernel = [\"6.12-rt\"]"),
        group("kernel = [\"runing\"]"),
        group("scheduling = [{ prio = 80 }]"),
        group("scheduling = [{ policy = \"fifi\" }]"),
        group("scheduling = [{ policy = \"fifo\", prio = 0 }]"),
        group("scheduling = [{ policy = \"rr\", prio = 100 }]"),
        group("scheduling = [{ policy = \"fifo\", nice = 3 }]"),
        group("scheduling = [{ policy = \"fifo\", priority = 3 }]"),
        group("scheduling = [{ policy = \"other\", nice = 20 }]"),
        group("scheduling = [{ policy = \"deadline\", runtime = \"1ms\" }]"),
        group("scheduling = [{ policy = \"deadline\", runtime = \"2ms\", period = \"1ms\" }]"),
        group("scheduling = [{ policy = \"deadline\", runtime = \"1us\", period = \"1ms\" }]"),
        group("scheduling = [{ policy = \"other\" }, { policy = \"other\", nice = 0 }]"),
        group("load = [\"qqq\"]"),
        group("load = [{ id = \"a\" }]"),
        group("load = [{ id = \"\", use = [] }]"),
        group("load = [{ id = \"a\", use = [] }, { id = \"a\", use = [] }]"),
        group("load = [{ id = \"a\", use = [\"qqq\"] }]"),
        group("tuning = [\"isolate\"]"),
        group("tuning = [{ id = \"a\", use = [{ name = \"irqs\", cpus = \"1\" }] }]"),
        group("tuning = [\"qqq\"]"),
        group("repeat = 60000\n[[group]]\nprobe = [\"null\"]\nrepeat = 60000"),
        expect("metrics = 1"),
        expect("metric = \"null.latency.max\"\nop = \"=\"\nvalue = \"1us\""),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = 100"),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"100\""),
        expect("metric = \"null.latency.missed\"\nop = \"<\"\nvalue = \"100us\""),
        expect("metric = \"null.latency.max\"\nop = \"<\""),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\nwhere = { laod = \"none\" }"),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\nwhere = { load = \"clam\" }"),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\nwhere = { scheduling = \"rr\" }"),
        metric("null"),
        metric("nul.latency.max"),
        metric("null.latncy.max"),
        metric("null.latency.maxx"),
        metric("null.latency.p100"),
        metric("null.latency.p0"),
        metric("null.latency.p99.99999999999"),
    ];
    let mut answers = String::new();
    for text in &bad {
        // What the `null` probe has besides is its own business.
        let answer = refusal(text).replace(&null_options(), "; it has ITS OPTIONS");
        writeln!(answers, "{}\n=> {answer}\n", text.trim_start_matches(head).trim_end()).unwrap();
        assert!(answer.starts_with("plan.toml:"), "{text}\n{answer}");
    }
    insta::assert_snapshot!(answers);
}

#[test]
fn an_id_means_one_thing() {
    let axes = |line: u32, samples: i64| {
        let options = toml::Table::from_iter([("samples".into(), samples.into())]);
        let level = Level { id: "busy".into(), items: vec![Item { name: "null".into(), options }] };
        let place = source::Place::whole(&format!("f:{line}"));
        let level = source::At { it: level, place: place.clone() };
        let mut axes = axes::Axes::default();
        axes.load = Some(vec![level]);
        (axes, place)
    };
    assert_eq!(parse::one_meaning_per_id(&[axes(1, 10), axes(2, 10)]), Ok(()));
    let answer = parse::one_meaning_per_id(&[axes(1, 10), axes(2, 20)]).unwrap_err().to_string();
    assert_eq!(answer, "f:2: the load level `busy` is something else in an earlier group");
    // The same id on different axes is two things.
    let (mut other, place) = axes(3, 20);
    other.tuning = other.load.take();
    assert_eq!(parse::one_meaning_per_id(&[axes(1, 10), (other, place)]), Ok(()));
}

fn trial_levels(text: &str) -> Result<Vec<Level>, String> {
    let text = format!("it = {text}");
    let source = Source::file("t", &text);
    let document = parse::document("t", &source).map_err(|problem| problem.to_string())?;
    let node = Keys::document(&source, document.get_ref()).get("it").unwrap();
    let levels = items::levels(node, kind::Kind::Trial).map_err(|problem| problem.to_string())?;
    Ok(levels.into_iter().map(|at| at.it).collect())
}

#[test]
fn arrays_make_levels_except_where_the_option_is_a_list() {
    let text = r#"[{ id = "ramp", use = [{ name = "trial", period = "1ms", sleep = [4, 8], argv = ["a", "b"] }] }]"#;
    let levels = trial_levels(text).unwrap();
    assert_eq!(levels.iter().map(|level| level.id.as_str()).collect::<Vec<_>>(), ["ramp sleep=4", "ramp sleep=8"]);
    assert_eq!(print::item(&levels[1].items[0]), r#"{ name = "trial", argv = ["a", "b"], period = "1ms", sleep = 8 }"#);

    let both = r#"[{ id = "x", use = [{ name = "trial", period = ["1ms", "2ms"], sleep = [1, 2] }, "command"] }]"#;
    let ids: Vec<String> = trial_levels(both).unwrap().into_iter().map(|level| level.id).collect();
    assert_eq!(ids, ["x period=1ms sleep=1", "x period=1ms sleep=2", "x period=2ms sleep=1", "x period=2ms sleep=2"]);

    for (text, answer) in [
        (r#"[{ id = "x", use = ["trial"] }]"#, "t:1: trial `trial`: the option `period` is required and missing"),
        (
            "[{ id = \"x\", use = [{ name = \"trial\",\nargv = [\"a\"],\nperiod = 5 }] }]",
            "t:3: trial `trial`: `period`: 5 has no unit: write \"5us\", \"5ms\" or \"5s\"",
        ),
        (
            "[{ id = \"x\", use = [{ name = \"trial\",\nargv = [\"a\"],\nslep = 5 }] }]",
            "t:3: trial `trial` has no option `slep` (did you mean `sleep`?); it has argv, sleep, cpus, period",
        ),
    ] {
        assert_eq!(trial_levels(text), Err(answer.into()));
    }
}

#[test]
fn arrays_cannot_multiply_without_end() {
    let numbers = "1,".repeat(400);
    let item = format!("{{ name = \"trial\", period = [{}], sleep = [{numbers}] }}", "\"1ms\",".repeat(400));
    let answer = trial_levels(&format!("[{{ id = \"x\", use = [{item}] }}]"));
    assert_eq!(answer, Err("t:1: the arrays multiply to more than 100000 levels".into()));
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
    let error = load(&path).unwrap_err().to_string();
    assert!(error.ends_with("junk.toml:2: this is not text (UTF-8), so it is not a plan"), "{error}");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("larger than 1 MiB"));
    assert!(load(dir.path()).is_err() && load(&dir.path().join("none")).is_err());
}

#[test]
fn flags_replace_axes_and_drop_what_they_leave_without_a_cell() {
    let text = "load = [\"none\"]\nduration = \"5s\"\nrepeat = 3\n";
    let source = Source::file("flags", text);
    let document = parse::document("flags", &source).unwrap();
    let axes = axes::Axes::read(Keys::document(&source, document.get_ref())).unwrap();
    let option = |key: &str, word: &str| axes::ProbeOption {
        key: key.into(),
        word: word.into(),
        place: source::Place::word(word),
    };
    let over =
        Overrides { axes, options: vec![option("samples", "7")], seed: Some(9), fallback_seed: 1, flags: vec![] };
    let (plan, dropped) = parse::read("good.toml", GOOD, &over).unwrap();
    assert_eq!(dropped, ["null.latency.p99.9 < 100us where load = calm, scheduling = fifo"]);
    assert_eq!((plan.seed, plan.expect.len()), (9, 1));
    for group in &plan.groups {
        assert_eq!((group.load.len(), group.probe.len(), group.repeat, group.warmup), (1, 1, 3, Ns::from_millis(500)));
        assert_eq!(group.probe[0].options["samples"].as_integer(), Some(7));
    }
    let unknown = Overrides { options: vec![option("sampels", "7")], ..Overrides::default() };
    let answer = parse::read("good.toml", GOOD, &unknown).unwrap_err();
    assert_eq!(answer.to_string(), "7: no probe of the plan has an option `sampels` (did you mean `samples`?)");
    assert!(answer.typed());
}

#[test]
fn cells_of_a_level_keep_their_seed_in_any_order() {
    let mut plan = parse("good.toml", GOOD).unwrap();
    let key = |cell: &crate::cell::Cell| serde_json::to_string(cell).unwrap();
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
    insta::assert_debug_snapshot!((order, cells[0].seed));
}

fn levels() -> impl Strategy<Value = Vec<Level>> {
    let id = "[a-z\"'\\\\=#{é\u{7f}-\u{9f}]{1,8}( [a-z]{1,4})?"
        .prop_filter("visible", |id| !id.chars().any(char::is_control));
    prop::collection::hash_set(id, 1..4).prop_map(|ids| ids.into_iter().map(|id| Level { id, items: vec![] }).collect())
}

fn schedulings() -> impl Strategy<Value = Vec<Scheduling>> {
    let one = prop_oneof![
        (1u8..=99).prop_map(|prio| Scheduling::Fifo { prio }),
        (1u8..=99).prop_map(|prio| Scheduling::Rr { prio }),
        ((-20i8..=19), any::<bool>()).prop_map(|(nice, inside)| Scheduling::Other {
            nice,
            by: if inside && nice != 0 { NiceBy::Setpriority } else { NiceBy::Nice }
        }),
        (-20i8..=19).prop_map(|nice| Scheduling::Batch { nice }),
        Just(Scheduling::Idle),
        (1024u64..9999, 0u64..999, 0u64..999).prop_map(|(runtime, slack, more)| Scheduling::Deadline {
            runtime: Ns(runtime),
            deadline: Ns(runtime + slack),
            period: Ns(runtime + slack + more),
        }),
    ];
    prop::collection::vec(one, 1..4).prop_map(|mut levels| {
        let mut distinct: Vec<Scheduling> = Vec::new();
        levels.retain(|level| !distinct.contains(level) && (distinct.push(*level), true).1);
        levels
    })
}

fn groups() -> impl Strategy<Value = Group> {
    let probes = prop::collection::hash_set(prop::option::of(1i64..100_000), 1..4).prop_map(|samples| {
        let item = |samples: Option<i64>| Item {
            name: "null".into(),
            options: samples.map(|samples| ("samples".to_string(), samples.into())).into_iter().collect(),
        };
        samples.into_iter().map(item).collect::<Vec<_>>()
    });
    let span = || (1u64..10_000_000_000_000).prop_map(Ns);
    let cpus = prop::collection::btree_set(0u32..64, 1..9).prop_map(CpuSet);
    let values = (prop::option::of(cpus), span(), 0u64..99_999, prop::option::of(span()), prop::option::of(span()));
    (probes, levels(), levels(), schedulings(), values, 1u32..4).prop_map(
        |(probe, tuning, load, scheduling, (cpus, duration, warmup, limit, stop_on), repeat)| Group {
            kernel: vec!["running".into()],
            tuning,
            load,
            scheduling,
            probe,
            cpus,
            duration,
            warmup: Ns(warmup),
            limit,
            stop_on,
            repeat,
        },
    )
}

fn plans() -> impl Strategy<Value = Plan> {
    let statistic = prop_oneof![
        Just("count".to_string()),
        Just("max".into()),
        Just("late".into()),
        "p[1-9][0-9]?(\\.[0-9]{1,8}[1-9])?",
    ];
    let expects = prop::collection::vec((statistic, 0u64..1 << 50, any::<bool>()), 0..4);
    (
        "[a-z0-9][a-zA-Z0-9._-]{0,39}",
        prop::option::of("\\PC*[\n\t\u{7f}]?"),
        0..i64::MAX as u64,
        any::<bool>(),
        prop::collection::vec(groups(), 1..4),
        expects,
    )
        .prop_map(|(name, about, seed, written, groups, expects)| {
            let load = groups[0].load[0].id.clone();
            let expect = expects
                .into_iter()
                .map(|(figure, value, filtered)| {
                    let filter = if filtered {
                        vec![("load".into(), load.clone()), ("probe".into(), "null".into())]
                    } else {
                        vec![]
                    };
                    let mut expect = Expect {
                        filter,
                        probe: "null".into(),
                        quantity: "latency".into(),
                        statistic: expect::statistic(&figure).unwrap(),
                        op: Op::AtMost,
                        value: value as f64,
                        text: String::new(),
                        line: 0,
                    };
                    expect.text = expect.to_string();
                    expect
                })
                .collect();
            let order = if written { Order::AsWritten } else { Order::Interleaved };
            Plan { name, about, seed, order, groups, expect, ..Plan::default() }
        })
}

/// A good plan's text after a few random edits.
fn damaged() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..12, "[\\[\\]{}=\",.\\n a-z0-9-]{0,6}|\\PC{0,3}");
    prop::collection::vec(edit, 1..4).prop_map(|edits| {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    /// What is printed is read as the same plan, with the same cells.
    #[test]
    fn printing_and_reading_agree(plan in plans()) {
        let text = print::plan(&plan);
        let again = parse("printed.toml", &text).map_err(|problem| TestCaseError::fail(format!("{problem}\n{text}")))?;
        prop_assert_eq!(expand(&again), expand(&plan));
        prop_assert_eq!(without_lines(again), plan, "{}", text);
    }

    /// Options of any text survive.
    #[test]
    fn items_survive_printing(cpus: String, argv: Vec<String>, sleep: u32, id in "[a-z]{1,9}") {
        let options = toml::toml! { period = "1ms" };
        let mut item = Item { name: "trial".into(), options };
        item.options.insert("cpus".into(), cpus.into());
        item.options.insert("argv".into(), argv.into());
        item.options.insert("sleep".into(), i64::from(sleep).into());
        let level = Level { id: id.clone(), items: vec![item.clone(), item.clone()] };
        let printed = format!("[{{ id = {}, use = [{}, {}] }}]", print::quote(&id), print::item(&item), print::item(&item));
        prop_assert_eq!(trial_levels(&printed), Ok(vec![level]));
    }

    /// Junk is refused, never a crash.
    #[test]
    fn any_text_is_answered(text: String) {
        prop_assert!(parse("junk", &text).is_err());
    }

    /// A damaged plan is refused with a place, or is a plan that survives printing.
    #[test]
    fn a_damaged_plan_is_answered(text in damaged()) {
        match parse("damaged", &text) {
            Err(problem) => prop_assert!(problem.to_string().starts_with("damaged")),
            Ok(plan) => {
                let again = parse("printed", &print::plan(&plan)).unwrap();
                prop_assert_eq!(without_lines(again), without_lines(plan));
            }
        }
    }
}
