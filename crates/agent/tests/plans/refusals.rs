//! latido refuses bad plans at the right line, in words that say what to write instead.

use super::*;
use std::fmt::Write;

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
    let compared = |lines: &str| expect(&format!("metric = \"null.latency.max\"\nop = \"<\"\n{lines}"));
    let source = |lines: &str| format!("{head}[[group]]\nprobe = [\"null\"]\n[source]\n{lines}\n");
    let published = |lines: &str| format!("{head}[[group]]\nprobe = [\"null\"]\n[published]\n{lines}\n");
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
        group("max_temp = 201"),
        group("max_temp = \"95\""),
        group("trace = 5"),
        group("trace = []"),
        group("trace = [\"sched switch\"]"),
        group("cpus = 2"),
        group("cpus = \"5-2\""),
        group("repeat = 0"),
        group("repeat = 1.5"),
        group("repeat = 99999999999999999999"),
        group("kernel = [\"\"]"),
        group("kernel = [\"6.12 rt\"]"),
        group("kernel = [\"rt\",\n \"rt\"]"),
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
        group("tuning = [\"isolat\"]"),
        group("tuning = [{ id = \"a\", use = [{ name = \"irqs\", cpus = inf }] }]"),
        group("tuning = [\"qqq\"]"),
        group("repeat = 6000\n[[group]]\nprobe = [\"null\"]\nrepeat = 6000"),
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
        metric("null.latency.above"),
        metric("null.latency.above7us"),
        metric("null.latency.above100us"),
        metric("null.latency.share1us"),
        expect("metric = \"null.latency.share1us\"\nop = \">=\"\nvalue = 99.9"),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\nwhere = { kind = \"normal\" }"),
        expect("claim = \" \"\nmetric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\""),
        expect("metric = \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\nby = \"1us\""),
        compared("value = \"1us\"\nthan = { load = \"calm\" }"),
        compared("than = \"calm\""),
        compared("than = {}"),
        compared("than = { load = \"clam\" }"),
        compared("than = { probe = \"null\" }"),
        compared("than = { kind = \"normal\" }"),
        compared("than = { option = \"samples\" }"),
        compared("than = { option.sampels = \"10\" }"),
        compared("than = { option.samples = 10 }"),
        compared("than = { option.samples = \"7\" }"),
        compared("where = { load = \"calm\" }\nthan = { load = \"calm\" }"),
        compared("than = { kernel = \"running\" }"),
        compared("than = { load = \"calm\" }\nby = 5"),
        compared("than = { load = \"calm\" }\ntimes = 0"),
        compared("than = { load = \"calm\" }\ntimes = \"2\""),
        source("title = \"T\"\nauthor = \"A\""),
        source("title = \"T\"\nauthor = \"A\"\nyear = \"2019\""),
        source("title = \"\"\nauthor = \"A\"\nyear = 2019"),
        source("title = \"T\"\nauthor = \"A\"\nyear = 2019\nplace = \"Here\""),
        format!("{head}scaled = 0\n[[group]]\nprobe = [\"null\"]\n"),
        format!("{head}scaled = 1.01\n[[group]]\nprobe = [\"null\"]\n"),
        format!("{head}scaled = \"1%\"\n[[group]]\nprobe = [\"null\"]\n"),
        published("study = \"scheduling\""),
        published("study = \"scheduling-latency\""),
        published("study = \"scheduling-latency\"\nsystem = [{ name = \"stok\" }]\nquantity = []"),
        published(
            "study = \"scheduling-latency\"\nsystem = [{ name = \"rt\", where = { kernel = \"rt\" } }]\nquantity = []",
        ),
        published("study = \"scheduling-latency\"\nsystem = [{ name = \"rt\" }, { name = \"rt\" }]\nquantity = []"),
        published(
            "study = \"scheduling-latency\"\nsystem = []\nquantity = [{ name = \"mutex_lock\", metric = \"null\" }]",
        ),
        published(
            "study = \"scheduling-latency\"\nsystem = []\nquantity = [{ name = \"mutex_lock\", metric = \"null.latncy\" }]",
        ),
        published(
            "study = \"scheduling-latency\"\nsystem = []\nquantity = [{ name = \"mutex_lock\", metric = \
             \"null.latency\", of = \"plane\" }]",
        ),
        published(
            "study = \"scheduling-latency\"\nsystem = []\nquantity = [{ name = \"mutex_lock\", metric = \
             \"null.latency\", options = { samples = \"7\" } }]",
        ),
        published(
            "study = \"scheduling-latency\"\nsystem = []\nquantity = [{ name = \"mutex_lock\", metric = \
             \"null.latency\", options = { sample = \"7\" } }]",
        ),
    ];
    let mut answers = String::new();
    for text in &bad {
        // The other options of the `null` probe may change without changing this snapshot.
        let answer = refusal(text).replace(&null_options(), "; it has ITS OPTIONS");
        writeln!(answers, "{}\n=> {answer}\n", text.trim_start_matches(head).trim_end()).unwrap();
        assert!(answer.starts_with("plan.toml:"), "{text}\n{answer}");
    }
    insta::assert_snapshot!(answers);
}

/// Which values an option may have depends on the others: latido judges the whole item, and the complaint points at the option that is
/// wrong.
#[test]
fn an_option_is_judged_among_the_others() {
    let refused = |options: &str| {
        let probe = format!("{{ name = \"interrupt\",\n{options} }}");
        refusal(&format!("schema = 1\nname = \"x\"\n[[group]]\nprobe = [{probe}]\n"))
    };
    for (options, answer) in [
        ("rate = 0,\nsource = \"timer\"", "plan.toml:5: probe `interrupt`: `rate` must be"),
        (
            "source = \"timer\",\nevent = 30",
            "plan.toml:6: probe `interrupt` has no option `event` (did you mean `events`?)",
        ),
        ("events = 30,\nsource = \"gpio\"", "plan.toml:6: probe `interrupt`: source=gpio needs two lines"),
        (
            "tsk = \"a\"",
            "plan.toml:5: probe `interrupt` has no option `tsk` (did you mean `task`?); it has source, task",
        ),
    ] {
        let found = refused(options);
        assert!(found.starts_with(answer), "{options}: {found}");
    }
}
