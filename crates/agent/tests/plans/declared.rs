//! Declared tables and figures: latido checks them before it starts anything, and each number that a study printed has a place in the plan
//! of that study.

use super::*;
use latido_model::{places::places, plan::Over, printed};
use std::{collections::BTreeMap, fmt::Write as _, path::Path};

/// A plan with two systems and two quantities of a study. No probe measures one of the quantities.
const PLAN: &str = r#"schema = 1
name = "declared"
[[group]]
probe = ["null", { name = "mutex", calls = 5 }]
load = ["none", { id = "calm", use = [] }]
kernel = ["running", "rt"]
[published]
study = "interrupt-determinism"
[[published.system]]
name = "std"
where = { kernel = "running" }
[[published.system]]
name = "rt"
where = { kernel = "rt" }
[[published.quantity]]
name = "interrupt_latency"
metric = "null.latency"
[[published.quantity]]
name = "activation_latency"
"#;

const TABLE: &str = r#"[[table]]
title = "Latencies"
number = "1"
printed = ["fig3"]
where = { load = "none" }
load = "none"
rows = ["interrupt_latency"]
columns = ["std", { name = "real time", system = "rt" }]
statistics = ["mean", "max"]
"#;

const FIGURE: &str = r#"[[figure]]
title = "Bands"
kind = "bands"
edges = ["1us", "100us"]
quantity = "interrupt_latency"
where = { load = "none" }
curves = ["std", "rt"]
scale = "log"
captions = ["max", "above100us"]
"#;

#[test]
fn what_is_declared_is_printed_and_read_again() {
    let plan = parse("declared.toml", &format!("{PLAN}{TABLE}{FIGURE}")).unwrap();
    let ([table], [figure]) = (plan.tables.as_slice(), plan.figures.as_slice()) else { panic!("{plan:?}") };
    assert_eq!((table.over, table.cells().len(), figure.all().len(), figure.log), (Over::Median, 2, 2, true));
    let again = parse("printed.toml", &print::plan(&plan)).unwrap();
    assert_eq!(without_lines(again), without_lines(plan));
    for (name, text) in shipped::PLANS {
        let plan = parse(name, text).unwrap_or_else(|problem| panic!("{problem}"));
        let again = parse("printed.toml", &print::plan(&plan)).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_eq!(without_lines(again), without_lines(plan), "{name}");
    }
}

/// The complaint about each mistake names the file and suggests the right word.
#[test]
fn a_mistake_is_refused_before_anything_starts() {
    for (from, to, answer) in [
        ("statistics =", "statistic =", "a table has no key `statistic` (did you mean `statistics`?)"),
        ("[\"mean\", \"max\"]", "[\"meann\"]", "there is no statistic `meann` (did you mean `mean`?)"),
        (
            "[\"interrupt_latency\"]",
            "[\"interupt_latency\"]",
            "names no system or quantity `interupt_latency` (did you mean `interrupt_latency`?)",
        ),
        ("system = \"rt\"", "system = \"rtx\"", "names no system `rtx` (did you mean `rt`?)"),
        ("[\"fig3\"]", "[\"fig9\"]", "the study has no numbers of `fig9`"),
        (
            "{ load = \"none\" }\nload",
            "{ load = \"nne\" }\nload",
            "no level of load is called `nne` (did you mean `none`?)",
        ),
        (
            "where = { load = \"none\" }\nload = \"none\"\nrows",
            "rows",
            "`std` matches 2 configurations of the plan: choose one with `where`",
        ),
        ("{ load = \"none\" }\nload", "{ lod = \"none\" }\nload", "where has no key `lod` (did you mean `load`?)"),
        ("rows = [\"interrupt_latency\"]", "rows = []", "rows names no level"),
        ("kind = \"bands\"", "kind = \"band\"", "there is no figure `band` (did you mean `bands`?)"),
        ("\"1us\", \"100us\"", "\"1us\", \"70us\"", "latido counts samples exactly only at"),
        ("\"1us\", \"100us\"", "\"100us\", \"1us\"", "the edges must ascend"),
        ("kind = \"bands\"\nedges = [\"1us\", \"100us\"]", "kind = \"bars\"\nstatistic = \"max\"", "bars need `axis`"),
        ("kind = \"bands\"", "kind = \"histogram\"", "histogram have no `edges`"),
        (
            "[\"interrupt_latency\"]",
            "{ values = \"1..6000\", quantity = \"interrupt_latency\" }",
            "more than 1000 entries",
        ),
        ("scale = \"log\"", "scale = \"logg\"", "there is no scale `logg` (did you mean `log`?)"),
    ] {
        let good = format!("{PLAN}{TABLE}{FIGURE}");
        let text = good.replacen(from, to, 1);
        assert_ne!(good, text, "{from}");
        let problem = parse("declared.toml", &text).unwrap_err().to_string();
        assert!(problem.contains(answer) && problem.starts_with("declared.toml:"), "{from}: {problem}");
    }
}

/// Flags may remove what a table is about. Then latido drops the table, and the plan can be read again.
#[test]
fn flags_leave_tables_that_can_be_read_again() {
    let text = format!("{PLAN}{TABLE}{FIGURE}");
    for (flags, left) in [("kernel = [\"running\"]", 1), ("load = [\"none\"]", 2), ("probe = [\"null\"]", 2)] {
        let over = Overrides { axes: super::flags(flags), ..Overrides::default() };
        let (plan, _) = parse::read("declared.toml", &text, &over, &Installed).unwrap();
        let again = parse("printed.toml", &print::plan(&plan)).unwrap_or_else(|problem| panic!("{flags}: {problem}"));
        assert_eq!(without_lines(again), without_lines(plan.clone()), "{flags}");
        assert_eq!(plan.tables[0].columns.len(), left, "{flags}");
    }
    let over = Overrides { axes: super::flags("load = [{ id = \"calm\", use = [] }]"), ..Overrides::default() };
    let (plan, _) = parse::read("declared.toml", &text, &over, &Installed).unwrap();
    assert!(plan.tables.is_empty() && plan.figures.is_empty());
}

/// A ramp is written in short form and stands for each of its values.
#[test]
fn a_ramp_is_one_entry_for_each_of_its_values() {
    let plan = parse("ftrace", shipped::text("ftrace-latencies").unwrap()).unwrap();
    let table = &plan.tables[0];
    let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["4", "7", "10", "13", "16", "19", "22", "25", "28", "31", "34"]);
    assert_eq!(table.rows[1].load.as_deref(), Some("stress-ng --sleep --sleep-max P, workers 7"));
    assert_eq!(table.over, Over::Each(latido_model::plan::Statistic::Max));
}

/// Every number that a study printed has a place in a declared table or under a declared figure, as `plans/studies/places.csv` lists them
/// (`LATIDO_PLACES=write` rewrites that file).
#[test]
fn each_printed_number_has_its_places() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let key = |study: &str, one: &printed::PrintedNumber| {
        let load = if one.load.contains(',') { format!("\"{}\"", one.load) } else { one.load.clone() };
        [study, &one.table, &one.system, &load, &one.quantity, &one.stat].join(",")
    };
    let mut order = Vec::new();
    for study in printed::studies() {
        for one in printed::study(study) {
            order.push(key(study, &one));
            assert!(found.insert(key(study, &one), Vec::new()).is_none(), "printed twice: {}", key(study, &one));
        }
        let plan = parse(study, shipped::text(study).unwrap()).unwrap();
        for place in places(&plan) {
            found.get_mut(&key(study, place.printed)).unwrap().push(place.place);
        }
    }
    let wrong: Vec<_> = found.iter().filter(|(_, places)| places.is_empty()).collect();
    assert!(wrong.is_empty(), "{} without a place: {:#?}", wrong.len(), wrong.iter().take(20).collect::<Vec<_>>());
    let mut list = String::from("study,table,system,load,quantity,stat,place\n");
    for key in &order {
        writeln!(list, "{key},\"{}\"", found[key].join("; ")).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/studies/places.csv");
    if std::env::var_os("LATIDO_PLACES").is_some_and(|word| word == "write") {
        std::fs::write(&path, &list).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    let differing: Vec<_> = list.lines().zip(stored.lines()).filter(|(now, then)| now != then).take(5).collect();
    assert!(list == stored, "the list is another: {differing:#?}");
    assert_eq!(order.len(), 696);
}

/// A probe that only watches has no policy to set. Its cells keep their own policy, and latido refuses a plan that sets one.
#[test]
fn what_only_looks_on_keeps_its_own_policy() {
    let plan = |keys: &str| format!("schema = 1\nname = \"x\"\n[[group]]\n{keys}\n");
    let watched = r#"{ name = "task", argv = ["true"] }"#;
    let policies = |keys: &str| {
        let cells = expand(&parse("plan.toml", &plan(keys)).unwrap());
        cells.into_iter().map(|cell| (cell.probe.name, cell.scheduling)).collect::<Vec<_>>()
    };
    assert_eq!(policies(&format!("probe = [{watched}]")), [("task".into(), Scheduling::Own)]);
    let mut both = policies(&format!("probe = [{watched}, \"wakeup\"]\nscheduling = [{{ policy = \"other\" }}]"));
    both.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(both, [("task".into(), Scheduling::Own), ("wakeup".into(), Scheduling::OTHER)]);
    for scheduling in [r#"{ policy = "other" }"#, r#"{ policy = "other" }, { policy = "fifo" }"#] {
        let said = refusal(&plan(&format!("probe = [{watched}]\nscheduling = [{scheduling}]")));
        assert!(said.contains("keeps its policy: leave out the scheduling"), "{said}");
    }
}
