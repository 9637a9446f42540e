//! The pages in docs/ about plans, stored data, trust checks and tunings agree with the code: keys, columns, checks, options, the example.

use crate::common;

use common::{World, json};
use latido::cli::known::CATALOGUE;
use latido_judge::trust::CHECKS;
use latido_model::{
    catalogue,
    cell::Item,
    machine::{GroupLimit, GroupLimits, Limits, Memory},
    plan::{
        self, Against, Citation, Expect, Figure, Kind, Layout, Op, Over, Pick, Plan, Published, Statistic, Table,
        Taken, Than, source::Problem,
    },
    record::{
        Bounds, ByHand, Change, Foreign, Freeze, LoadLife, LoadRecord, LoadStep, Overheated, ProgramRecord, Quantized,
        Rate, Reported, Second, SeriesFiles, Sibling, Skip, Slots, Source, Summary, TaskOwner, ThreadEvidence,
        ThrottleEvidence, Told, Tracer, Tracing, TuningRecord, Wait,
    },
    run::Planned,
    sample,
    verdict::Verdict,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

fn parse(name: &str, text: &str) -> Result<Plan, Problem> {
    plan::parse::parse(name, text, CATALOGUE)
}

fn document(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text between the fences of one language, block by block.
fn fenced(text: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).map(|block| format!("{block}\n")).collect()
}

/// The keys that the document does not name in backticks.
fn unnamed(document: &str, keys: impl IntoIterator<Item = String>) -> Vec<String> {
    keys.into_iter().filter(|key| !document.contains(&format!("`{key}`"))).collect()
}

/// Collects every key of a JSON value as a path, without array indices. Tables of free names need no documentation below their own key.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    const FREE: &[&str] = &["chosen", "counts", "options", "quantiles", "facts", "labels", "vulnerabilities"];
    /// Tables of free names whose values all have the same keys.
    const ALIKE: &[&str] = &["rates", "taken"];
    match value {
        Value::Array(all) => all.iter().for_each(|one| paths(one, path, found)),
        Value::Object(map) => {
            for (key, one) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match one {
                    Value::Object(alike) if ALIKE.contains(&key.as_str()) => {
                        alike.values().for_each(|one| paths(one, &path, found));
                    }
                    _ if FREE.contains(&key.as_str()) => {}
                    one => paths(one, &path, found),
                }
                found.insert(path);
            }
        }
        _ => {}
    }
}

#[test]
fn the_table_of_trust_checks_is_the_code_s() {
    let text = document("trust.md").replace('`', "");
    let rows: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("| check |")).skip(2).take_while(|l| !l.is_empty()).collect();
    let level = |level| serde_json::to_value(level).unwrap().as_str().unwrap().to_string();
    let wanted: Vec<String> = CHECKS
        .iter()
        .map(|check| format!("| {} | {} | {} | {} |", check.name, check.source, check.threshold, level(check.grade)))
        .collect();
    assert_eq!(rows, wanted);
    let other: Vec<&str> =
        CHECKS.iter().filter(|check| check.invalid != Verdict::Inconclusive).map(|check| check.name).collect();
    assert_eq!(other, ["load", "reported", "core"], "trust.md says which check does not make a cell inconclusive");
}

/// A plan with every part that a stored run keeps of a plan.
fn wordy() -> Plan {
    let than = Than { levels: Vec::new(), by: 0.0, times: 1.0, margin: Some(0.05) };
    let expect = |against| Expect {
        claim: None,
        of: None,
        filter: Vec::new(),
        probe: String::new(),
        quantity: String::new(),
        statistic: Statistic::Max,
        unit: String::new(),
        op: Op::Less,
        against,
        text: String::new(),
        line: 1,
    };
    let source = Citation { title: String::new(), author: String::new(), year: 2008, place: None };
    let options = BTreeMap::from([(String::new(), String::new())]);
    let taken = BTreeMap::from([("mutex_lock".to_string(), Taken { options, ..Taken::default() })]);
    let word = || Some(String::new());
    let levels = vec![(String::new(), String::new())];
    let pick = Pick { system: word(), quantity: word(), metric: word(), load: word(), levels, name: String::new() };
    let table = Table {
        title: String::new(),
        number: None,
        printed: Vec::new(),
        rows: vec![pick.clone()],
        columns: vec![pick],
        statistics: vec![Statistic::Max],
        layout: Layout::Apart,
        over: Over::Each(Statistic::Max),
        note: None,
    };
    let figure = |kind| Figure {
        title: String::new(),
        number: None,
        printed: Vec::new(),
        kind,
        panels: vec![Pick::default()],
        axis: vec![Pick::default()],
        curves: vec![Pick::default()],
        log: false,
        upto: None,
        captions: Vec::new(),
        over: Over::Each(Statistic::Max),
        note: None,
    };
    let kinds = [Kind::Bands(vec![1]), Kind::Bars(Statistic::Max), Kind::Ramp(Statistic::Max), Kind::Time];
    let figures = kinds.map(figure).into();
    Plan {
        source: Some(source),
        sized: Some(String::new()),
        expect: vec![expect(Against::Value(1.0)), expect(Against::Than(than))],
        published: Some(Published { taken, unmeasured: vec![String::new()], ..Published::default() }),
        tables: vec![table],
        figures,
        ..Plan::default()
    }
}

#[test]
fn every_key_of_a_stored_run_is_documented() {
    let world = World::new();
    json(&world.run(["run", "null", "samples=2000", "--json", "--no-report"]), 0);
    let run = world.runs().remove(0);
    let cell = run.join("cells/001");
    let text = document("record.md");
    let read = |path: std::path::PathBuf| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();

    let mut keys = BTreeSet::new();
    paths(&read(cell.join("record.json")), "", &mut keys);
    assert!(keys.contains("series.files.histogram") && keys.contains("quality.clock.cost_ns"));
    paths(&read(cell.join("host.json")), "", &mut keys);
    paths(&read(run.join("run.json")), "", &mut keys);
    // A cell has the same keys wherever it occurs.
    keys.retain(|key| !key.starts_with("cells.cell."));
    // The parts that this made-up measurement leaves empty.
    let quantity = sample::measurand(&sample::cell()).quantities.remove(0).up_to(1);
    let planned = Planned { cell: sample::cell(), measurand: 0, written: 0, skipped: Some(String::new()) };
    paths(&serde_json::to_value(&planned.cell).unwrap(), "cell", &mut keys);
    let planned = BTreeMap::from([("skipped", serde_json::to_value(planned.skipped).unwrap())]);
    let item = Item::default();
    let change = Change { knob: String::new(), original: String::new(), new: String::new() };
    let program = ProgramRecord::default();
    let tuning = TuningRecord {
        item: item.clone(),
        changes: vec![change],
        in_force: true,
        note: None,
        programs: vec![program.clone()],
    };
    let rate = Rate { mean: 1.0, slowest: Some(1.0), fastest: Some(1.0), over_ns: 1, whole_life: true };
    let load = LoadRecord {
        item,
        argv: vec![],
        version: None,
        note: None,
        alive: true,
        died: None,
        cpu_ns: None,
        achieved: [("elapsed_ns".to_string(), 1)].into(),
        rates: [("work".to_string(), rate)].into(),
        unaccounted: Some(String::new()),
        commands: vec![String::new()],
        programs: vec![program],
        life: Some(LoadLife { started_ns: -1, worked_ns: Some(1), ended_ns: Some(1) }),
        steps: vec![LoadStep::default()],
    };
    let thread = ThreadEvidence {
        tid: Some(1),
        rr_slice_ns: Some(1),
        helper: true,
        warmup_delay_ns: Some(1),
        longest_wait: Some(Wait::default()),
        ..ThreadEvidence::default()
    };
    let files = SeriesFiles { samples: Some(String::new()), buckets: Some(String::new()), ..SeriesFiles::default() };
    let labels = BTreeMap::from([("host".to_owned(), String::new())]);
    let source = Source { labels, findings: vec![Told::default()], ..Source::default() };
    let quantized = Quantized { above: Some(1), cut: true, ..Quantized::default() };
    let bounds = Bounds { uncounted: true, quantiles: BTreeMap::from([("0.5".to_owned(), None)]), ..Bounds::default() };
    let foreign = Foreign { owner: Some(TaskOwner::Program), ..Foreign::default() };
    let throttle = ThrottleEvidence {
        throttled: Some(1),
        throttled_ns: Some(1),
        throttle_like: Some(1),
        ..ThrottleEvidence::default()
    };
    let limit = GroupLimit::default();
    let groups = GroupLimits { quotas: vec![limit.clone()], memory: vec![limit], cpus: None };
    let limits = Limits { groups, ..Limits::default() };
    let tracer = Tracer { instance: String::new(), tracer: String::new(), events: true };
    let seen = Tracing::Seen { active: vec![tracer] };
    let frozen = Freeze::Frozen {
        switches: vec![String::new()],
        value_ns: 1,
        cpu: Some(0),
        monotonic_ns: 1,
        failed: Some(String::new()),
    };
    let started = ProgramRecord { name: String::new(), path: String::new(), sha256: String::new() };
    let reported = Reported { program: Some(started), ..Reported::default() };
    let skip = Skip { what: String::new(), why: String::new() };
    for (path, value) in [
        ("measurands.quantities", serde_json::to_value(quantity)),
        ("cells", serde_json::to_value(planned)),
        ("plan", serde_json::to_value(wordy())),
        ("tunings", serde_json::to_value(tuning)),
        ("load", serde_json::to_value(load)),
        ("quality.threads", serde_json::to_value(thread)),
        ("series.files", serde_json::to_value(files)),
        ("source", serde_json::to_value(source)),
        ("series.quantized", serde_json::to_value(quantized)),
        ("series.bounds", serde_json::to_value(bounds)),
        ("quality.foreign", serde_json::to_value(foreign)),
        ("quality.timeline", serde_json::to_value(Second { kernel_ns: 1, ..Second::default() })),
        ("quality.throttle", serde_json::to_value(throttle)),
        ("quality.tracing", serde_json::to_value(seen)),
        ("quality.tracing", serde_json::to_value(Tracing::Unseen { why: String::new() })),
        ("quality.trace", serde_json::to_value(sample::trace())),
        ("cell.conditions", serde_json::to_value(BTreeMap::from([("trace", Vec::<String>::new())]))),
        ("cell.conditions", serde_json::to_value(BTreeMap::from([("explain", 20)]))),
        ("quality.freeze", serde_json::to_value(frozen)),
        ("quality.freeze", serde_json::to_value(Freeze::Impossible { why: String::new() })),
        ("quality", serde_json::to_value(BTreeMap::from([("moved_pages", 1), ("unwatched", 1)]))),
        ("quality.reported", serde_json::to_value(reported)),
        ("quality.by_hand", serde_json::to_value(ByHand { in_force: Some(true), ..ByHand::default() })),
        ("quality.overheated", serde_json::to_value(Overheated::default())),
        ("quality.siblings", serde_json::to_value(Sibling::default())),
        ("machine.memory", serde_json::to_value(Memory { moves_locked: Some(true), ..Memory::default() })),
        ("machine.limits", serde_json::to_value(limits)),
        ("skipped", serde_json::to_value(skip)),
        ("series.corrected", serde_json::to_value(Summary::default())),
        ("series.slots", serde_json::to_value(Slots::default())),
    ] {
        paths(&value.unwrap(), path, &mut keys);
    }
    assert_eq!(unnamed(&text, keys), Vec::<String>::new());

    for file in ["blocks-0.csv", "largest-0.csv"] {
        let stored = fs::read_to_string(cell.join(file)).unwrap();
        let header = stored.lines().next().unwrap();
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(header)), "{file}: {header}");
    }
}

#[test]
fn every_key_of_a_plan_is_documented() {
    let text = document("plans.md");
    let good = "schema = 1\nname = \"a\"\n[[group]]\nprobe = [\"null\"]\n";
    let expect = "[[expect]]\nmetric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1s\"\n";
    for plan in [
        format!("zzz = 1\n{good}"),
        format!("{good}zzz = 1\n"),
        format!("{good}load = [{{ zzz = 1 }}]\n"),
        format!("{good}scheduling = [{{ policy = \"fifo\", zzz = 1 }}]\n"),
        format!("{good}{expect}zzz = 1\n"),
        format!("{good}{expect}where = {{ zzz = \"1\" }}\n"),
        format!("{good}[source]\nzzz = 1\n"),
        format!("{good}[published]\nzzz = 1\n"),
        format!("{good}[[size]]\nzzz = 1\n"),
        format!("{good}[[table]]\nzzz = 1\n"),
        format!("{good}[[figure]]\nzzz = 1\n"),
    ] {
        let message = parse("a.toml", &plan).unwrap_err().to_string();
        let (_, keys) = message.split_once("its keys are ").unwrap_or_else(|| panic!("{message}"));
        assert_eq!(unnamed(&text, keys.split(", ").map(String::from)), Vec::<String>::new(), "{message}");
    }
}

#[test]
fn the_example_plan_has_the_cells_that_the_text_says() {
    let text = document("plans.md");
    let blocks = fenced(&text, "toml");
    let read = parse("ramp.toml", &blocks[0]).unwrap();
    // The other blocks of the text are parts of a plan; the whole plan accepts them.
    assert_eq!(blocks.len(), 6);
    let study = parse("ramp.toml", &blocks.concat()).unwrap();
    assert!(study.source.is_some() && study.published.is_some() && study.expect.len() == read.expect.len() + 2);
    assert_eq!(study.unjudged.len(), 1);
    assert_eq!((study.tables.len(), study.figures.len()), (1, 1));
    let printed = plan::print::plan(&read);
    let first = printed.lines().next().unwrap();
    assert!(text.contains(&format!("`{first}`")), "{first}");
    let stated = fenced(&text, "text").concat();
    assert!(!stated.is_empty(), "the page states no line of the printed plan");
    for line in stated.lines() {
        assert!(printed.lines().any(|other| other == line), "not printed any more: {line}");
    }
    assert_eq!(parse("printed", &printed).unwrap().groups, read.groups);
}

/// The page has a row for every format of imports.
#[test]
fn the_page_of_imports_is_complete() {
    let page = document("import.md");
    for format in latido_import::IMPORTS {
        let row = page.lines().any(|line| line.starts_with("| ") && line.contains(&format!("`{}`", format.name)));
        assert!(row, "docs/import.md has no row for `{}`", format.name);
    }
}

/// The page names every tuning and each of its options.
#[test]
fn the_page_of_tunings_is_complete() {
    let page = document("tunings.md");
    let tunings = CATALOGUE.list(catalogue::Kind::Tuning);
    for entry in tunings.entries() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", entry.name)));
        let row = row.unwrap_or_else(|| panic!("docs/tunings.md has no row for `{}`", entry.name));
        assert!(entry.help.contains("Kernel document"), "{}: no kernel document", entry.name);
        if entry.name == "boot" {
            continue;
        }
        for option in tunings.options(entry.name) {
            assert!(row.contains(&format!("`{option}`")), "`{option}` of `{}` is not in its row", entry.name);
            assert!(entry.help.contains(&option), "`{option}` of `{}` is not in its help", entry.name);
        }
    }
}
