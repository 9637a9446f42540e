//! What makes a plan a study: kernels that are not running, comparisons, sources, printed numbers, and the scale.

use super::*;
use latido_model::{cell::RUNNING, plan::kernels};

use std::collections::BTreeSet;

const STUDY: &str = r#"schema = 1
name = "study"
[source]
title = "Of latencies"
author = "A. Author"
year = 2019
where = "Somewhere"
[[group]]
probe = ["null"]
load = ["none", "udp-flood"]
tuning = [{ id = "stock", use = [] }, { id = "isolated", use = [{ name = "isolate", cpus = ["1", "2"] }] }]
scheduling = [{ policy = "other" }, { policy = "other", nice = -20 }]
kernel = ["running", "rt+rcu"]
duration = "100s"
[[expect]]
claim = "Isolation lowers the maximum"
where = { tuning = "isolated", kernel = "running" }
metric = "null.latency.max"
op = "<="
than = { tuning = "stock" }
by = "10us"
times = 2.5
[[expect]]
metric = "null.latency.share1us"
op = ">"
value = 0.5
[published]
study = "scheduling-latency"
[[published.system]]
name = "stock"
where = { kernel = "running", tuning = "stock" }
[[published.system]]
name = "android"
[[published.quantity]]
name = "gap_1e9"
metric = "null.latency"
where = { load = "none" }
options = { samples = "1000" }
of = "plain"
"#;

#[test]
fn a_study_means_what_it_says_and_is_printed_whole() {
    let plan = parse("study.toml", STUDY).unwrap();
    let source = plan.source.as_ref().unwrap();
    assert_eq!((source.author.as_str(), source.year, source.place.as_deref()), ("A. Author", 2019, Some("Somewhere")));
    let Against::Than(than) = &plan.expect[0].against else { panic!("{:?}", plan.expect) };
    assert_eq!((than.by, than.times), (10_000.0, 2.5));
    let text = "2.5 x null.latency.max + 10us <= that with tuning = stock where tuning = isolated, kernel = running";
    assert_eq!(plan.expect[0].text, text);
    assert_eq!((&plan.expect[1].against, plan.expect[1].unit.as_str()), (&Against::Value(0.5), ""));
    let again = parse("printed.toml", &print::plan(&plan)).unwrap();
    assert_eq!(without_lines(again), without_lines(plan));
}

/// A plan may name a kernel that is not running. latido expands its cells, and skips them when it runs the plan.
#[test]
fn another_kernel_is_accepted_and_its_cells_are_counted_apart() {
    let plan = parse("study.toml", STUDY).unwrap();
    let cells = expand(&plan);
    assert_eq!((cells.len(), cells.iter().filter(|cell| cell.kernel == RUNNING).count()), (24, 12));
    assert_eq!(
        Extent::of_plan(&plan, &Around::default()).sentence(),
        "12 cells, until the probe has its number of samples; 12 more are skipped"
    );
    let printed = print::plan(&plan);
    let reason = "the target `local` has only its running kernel; the laboratory boots others (--on lab)";
    assert_eq!(printed.lines().nth(1), Some(&*format!("# skipped, 12 cells: kernel `rt+rcu`: {reason}")));
}

/// The printed plan gives each reason once, with the number of cells of all groups and boots. latido refuses a kernel's name that would end
/// the comment.
#[test]
fn why_cells_are_skipped_is_printed() {
    let two = "probe = [\"null\"]\nkernel = [\"running\", \"6.12-rt\"]\n";
    let text = format!(
        "schema = 1\nname = \"x\"\nboots = 2\n[[group]]\n{two}repeat = 3\n[[group]]\n{two}target = [\"lab\", \"local\"]\n"
    );
    let plan = parse("two.toml", &text).unwrap();
    let printed = print::plan(&plan);
    let told: Vec<&str> = printed.lines().filter(|line| line.starts_with('#')).collect();
    assert!(told[0].ends_with("; 10 more are skipped"), "{told:#?}");
    assert!(told[1].starts_with("# skipped, 8 cells: kernel `6.12-rt`") && told[1].contains("`local`"), "{told:#?}");
    assert!(told[2].starts_with("# skipped, 2 cells: the laboratory cannot use the running kernel"), "{told:#?}");
    assert_eq!((told.len(), parse("printed.toml", &printed).unwrap()), (3, plan));
    for name in ["a\\nb", "a/b\\nc", "linux-image-a\\rb"] {
        let hostile = parse("two.toml", &text.replace("6.12-rt", name)).unwrap_err().to_string();
        assert!(hostile.contains("a kernel's name is"), "{hostile}");
    }
}

/// A run stores the printed plan: latido must be able to read it whatever the flags removed.
#[test]
fn flags_leave_a_study_that_can_be_read_again() {
    for text in ["load = [\"none\"]", "kernel = [\"running\"]", "tuning = [\"default\"]", "limit = \"1us\""] {
        let over = Overrides { axes: flags(text), ..Overrides::default() };
        let (plan, dropped) = parse::read("study.toml", STUDY, &over, &Installed).unwrap();
        let again = parse("printed.toml", &print::plan(&plan)).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(without_lines(again), without_lines(plan.clone()), "{text}");
        let published = plan.published.unwrap();
        let stock = published.systems.iter().any(|(name, _)| name == "stock");
        assert_eq!((dropped.is_empty(), stock), (!text.contains("default"), !text.contains("default")), "{text}");
    }
}

#[test]
fn a_limit_is_an_edge_to_count_at() {
    let plan = |limit: &str| {
        format!(
            "schema = 1\nname = \"x\"\n[[group]]\nprobe = [\"null\"]\n{limit}\n[[expect]]\nmetric = \
             \"null.latency.above70us\"\nop = \"<\"\nvalue = 3\n"
        )
    };
    assert!(parse("x", &plan("limit = \"70us\"")).is_ok());
    let answer = parse("x", &plan("")).unwrap_err().to_string();
    assert!(answer.contains("only at 1us, 5us, 8us, 10us, 50us, 100us, 150us, 200us and the limit"), "{answer}");
}

/// Each number that a study printed for a system has a place in the plan of the study, and every expectation has the words of a conclusion.
#[test]
fn shipped_studies_place_the_printed_numbers() {
    let of = |name: &str| parse(name, shipped::text(name).unwrap()).unwrap();
    for name in ["scheduling-latency", "embedded-properties", "execution-times"] {
        let plan = of(name);
        assert!(plan.source.is_some() && plan.expect.iter().all(|one| one.claim.is_some()), "{name}");
        let printed: BTreeSet<_> =
            printed::study(name).into_iter().map(|figure| (figure.system, figure.quantity)).collect();
        assert_eq!(printed.is_empty(), name == "execution-times", "{name}");
        let placed = published::columns(&plan);
        for (system, quantity) in &printed {
            let told = |one: &&published::Column| one.quantity == *quantity && one.system.ends_with(system.as_str());
            assert!(placed.iter().any(|one| told(&one)), "{name}: {system}, {quantity} has no place");
        }
    }
    let columns = published::columns(&of("scheduling-latency"));
    let of_system = |system: &str, quantity: &str| {
        let found = |one: &&published::Column| one.system == system && one.quantity == quantity;
        columns.iter().find(found).unwrap_or_else(|| panic!("{system}, {quantity}"))
    };
    let timers = of_system("rt+isolated", "sleep_relative_1000us");
    assert_eq!((timers.min, timers.mean, timers.max), (Some(1_069_300.0), Some(1_348_700.0), Some(1_226_500.0)));
    assert_eq!(timers.impossible.as_deref(), Some("mean 1348700 outside 1069300 to 1226500"));
    assert_eq!(columns.iter().filter(|one| one.impossible.is_some()).count(), 1);
    let pairs = [("kernel", "rt"), ("tuning", "isolated"), ("mode", "relative"), ("scheduling", "other")];
    let mut filter = timers.filter.clone().unwrap();
    let mut expected: Filter = pairs.map(|(a, b)| (a.to_string(), b.to_string())).into();
    filter.sort();
    expected.sort();
    assert_eq!((timers.metric.as_str(), filter), ("sleep.length", expected));
    let android = [("kernel", "android"), ("tuning", "stock")].map(|(a, b)| (a.to_string(), b.to_string()));
    assert_eq!(of_system("android", "mutex_lock").filter, Some(android.into()));
    let gaps = of_system("stock", "gap_1e9");
    let above = Some(Statistic::Above(100_000));
    assert!(gaps.other.iter().any(|one| (one.statistic, one.amount) == (above, 264.0)), "{gaps:?}");
    // cyclictest counts wake-ups alone. The study took its absolute sleeps in another order than the default.
    assert_eq!(of_system("stock", "cyclictest_priority_50").taken.of, Distribution::Plain);
    assert_eq!(gaps.taken, Taken::default());
    let order = &of_system("rt", "sleep_absolute_1000us").taken.options;
    assert_eq!(order.get("order").map(String::as_str), Some("target-first"));
    // Two boards published the same quantity of the same system.
    let boards = published::columns(&of("embedded-properties"));
    let names: Vec<&str> = boards.iter().map(|one| one.system.as_str()).filter(|name| name.ends_with("-rt")).collect();
    assert_eq!(names[..2], ["beaglebone-black, preempt-rt", "helio, preempt-rt"]);
    assert_eq!(boards.len(), 12);
    // latido compares the numbers that were printed for threads only with threads, not with processes.
    let switches = boards.iter().filter(|one| one.quantity == "task_switch");
    let between: Vec<_> = switches.map(|one| one.taken.options.get("between").map(String::as_str)).collect();
    assert_eq!(between, [Some("threads"); 6]);
}

/// The system `isolated` differs from `stock` in its settings alone: each group names the same CPU for both, and `isolated` always has all
/// three tunings.
#[test]
fn the_systems_of_a_study_are_measured_alike() {
    let plan = parse("scheduling-latency", shipped::text("scheduling-latency").unwrap()).unwrap();
    for group in &plan.groups {
        assert_eq!(group.conditions.cpus.as_ref().map(ToString::to_string).as_deref(), Some("1"));
        let levels: Vec<(&str, Vec<&str>)> = group
            .tuning
            .iter()
            .map(|level| (level.id.as_str(), level.items.iter().map(|item| item.name.as_str()).collect()))
            .collect();
        assert_eq!(levels, [("stock", vec![]), ("isolated", vec!["isolate", "irqs", "frequency"])]);
    }
    let rivals = plan.groups.iter().flat_map(|group| &group.load).flat_map(|level| &level.items);
    let rivals: Vec<&Item> = rivals.filter(|item| item.name == "rt-interference").collect();
    assert!(!rivals.is_empty());
    for item in rivals {
        let prio = |key: &str| item.options[key].as_integer().unwrap();
        assert!(prio("middle") < 50 && 50 < prio("high"), "one rival above 50, and none beside it");
    }
}

/// Another order is another measurement: latido does not show the printed numbers next to it.
#[test]
fn options_from_the_command_line_take_the_printed_numbers_away() {
    let over = |word: &str, value: &str| {
        let place = Place::word(&format!("{word}={value}"));
        let option = ProbeOption { key: word.into(), word: value.into(), place };
        Overrides { options: vec![option], ..Overrides::default() }
    };
    let read = |over| {
        let text = shipped::text("scheduling-latency").unwrap();
        parse::read("scheduling-latency", text, &over, &Installed).unwrap().0
    };
    for (value, beside) in [("target-first", true), ("reading-first", false)] {
        let plan = read(over("order", value));
        let published = plan.published.clone().unwrap();
        assert_eq!(published.quantities.iter().any(|(name, ..)| name == "sleep_absolute_1000us"), beside, "{value}");
        assert!(published.taken.contains_key("cyclictest_priority_50"));
        let again = parse("printed", &print::plan(&plan)).unwrap();
        assert_eq!(without_lines(again), without_lines(plan));
    }
}

/// On any machine latido measures those cells of a study that the running kernel allows, and each study has some.
#[test]
fn shipped_studies_have_cells_for_the_running_kernel() {
    for (name, first) in [
        ("scheduling-latency", "140 cells, 2 h 42 min in all; 580 more are skipped"),
        ("embedded-properties", "120 cells, 1 h 23 min in all; 240 more are skipped"),
        ("execution-times", "50 cells, about 3 min in all; 150 more are skipped"),
        ("interrupt-determinism", "24 cells, 4 h 1 min in all; 96 more are skipped"),
        ("ftrace-latencies", "570 cells, 1 h 8 min in all; 1140 more are skipped"),
    ] {
        let mut plan = parse(name, shipped::text(name).unwrap()).unwrap();
        assert!(
            Extent::of_plan(&plan, &Around::default()).sentence().starts_with(first),
            "{}",
            Extent::of_plan(&plan, &Around::default()).sentence()
        );
        let here = |plan: &Plan| expand(&kernels::had(plan)).len();
        let full = here(&plan);
        scale::scale(&mut plan, 0.01, &Installed).unwrap();
        assert_eq!(here(&plan), full, "{name}");
        let again = parse("printed", &print::plan(&plan)).unwrap();
        assert_eq!(without_lines(again), without_lines(plan), "{name}");
    }
}

/// `where` and `than` accept the labels of the probe's series, and no others.
#[test]
fn labels_are_axes_of_expectations() {
    let plan = |lines: &str| {
        format!(
            "schema = 1\nname = \"x\"\n[[group]]\nprobe = [{{ name = \"mutex\", calls = 5 }}, {{ name = \"mutex\", \
             timing = \"batch\" }}]\n[[expect]]\n{lines}"
        )
    };
    let compared = |lines: &str| plan(&format!("metric = \"mutex.lock.max\"\nop = \">\"\n{lines}\n"));
    let sound =
        parse("x", &compared("where = { kind = \"inherit\" }\nthan = { kind = \"normal\" }\nby = \"10ns\"")).unwrap();
    assert_eq!(sound.expect[0].text, "mutex.lock.max > that with kind = normal + 10ns where kind = inherit");
    let batch = parse("x", &plan("metric = \"mutex.lock_batch.mean\"\nop = \"<\"\nvalue = \"10ns\"\n")).unwrap();
    assert_eq!((batch.expect[0].unit.as_str(), &batch.expect[0].against), ("ns", &Against::Value(10.0)));
    // The expectation covers only the cell that yields the metric.
    assert_eq!(expand(&batch).iter().filter(|cell| covers(&batch.expect[0], cell)).count(), 1);
    for (lines, answer) in [
        (compared("value = \"1us\"\nwhere = { knd = \"inherit\" }"), "has no key `knd` (did you mean `kind`?)"),
        (
            compared("value = \"1us\"\nwhere = { kind = \"inherited\" }"),
            "no kind `inherited` (did you mean `inherit`?); it has",
        ),
        (compared("than = { kind = \"reentrant\" }"), "the probe `mutex` has no kind `reentrant`"),
        (compared("where = { kind = \"normal\" }\nthan = { kind = \"normal\" }"), "no two cells of the plan match"),
        (
            plan("metric = \"mutex.lok.max\"\nop = \"<\"\nvalue = \"1us\"\n"),
            "does not yield `lok` (did you mean `lock`?)",
        ),
        (
            plan("metric = \"mutex.lock_batch.above1us\"\nop = \"<\"\nvalue = 1\n"),
            "the bands are times, but `lock_batch` is in ps",
        ),
    ] {
        let problem = parse("x", &lines).unwrap_err().to_string();
        assert!(problem.contains(answer), "{problem}");
    }
}

/// `than` may name another quantity of the same cell, if it has the same unit and the probe yields both.
#[test]
fn a_quantity_is_compared_with_another() {
    let plan = |lines: &str| {
        format!(
            "schema = 1\nname = \"x\"\n[[group]]\nprobe = [{{ name = \"interrupt\", source = \"hpet\" }}]\n\
             [[expect]]\nmetric = \"interrupt.interrupt.max\"\nop = \">\"\n{lines}\n"
        )
    };
    let sound = parse("x", &plan("than = { quantity = \"entry\" }\ntimes = 5")).unwrap();
    assert_eq!(sound.expect[0].text, "interrupt.interrupt.max > 5 x that of entry");
    let again = parse("printed", &print::plan(&sound)).unwrap();
    assert_eq!(without_lines(again), without_lines(sound));
    for (lines, answer) in [
        ("than = { quantity = \"entri\" }", "does not yield `entri` (did you mean `entry`?)"),
        ("than = { quantity = \"interrupt\" }", "`interrupt` is the metric's own quantity"),
        ("value = 1\nwhere = { quantity = \"entry\" }", "has no key `quantity`"),
    ] {
        let problem = parse("x", &plan(lines)).unwrap_err().to_string();
        assert!(problem.contains(answer), "{problem}");
    }
    let units = "schema = 1\nname = \"x\"\n[[group]]\nprobe = [{ name = \"mutex\", calls = 5 }, { name = \"mutex\", \
                 timing = \"batch\" }]\n[[expect]]\nmetric = \"mutex.lock.max\"\nop = \">\"\nthan = { quantity = \"lock_batch\" }\n";
    let problem = parse("x", units).unwrap_err().to_string();
    assert!(problem.contains("`lock_batch` is in ps, and `lock` in ns"), "{problem}");
}

/// A quantity that is not a time takes plain numbers.
#[test]
fn an_angle_is_a_plain_number() {
    let plan = |value: &str| {
        format!(
            "schema = 1\nname = \"x\"\n[[group]]\nprobe = [\"pendulum\"]\n[[expect]]\nmetric = \
             \"pendulum.angle.max\"\nop = \"<\"\nvalue = {value}\n"
        )
    };
    let sound = parse("x", &plan("0.5")).unwrap();
    assert_eq!((sound.expect[0].unit.as_str(), sound.expect[0].text.as_str()), ("urad", "pendulum.angle.max < 0.5"));
    let again = parse("printed", &print::plan(&sound)).unwrap();
    assert_eq!(without_lines(again), without_lines(sound));
    let problem = parse("x", &plan("\"1us\"")).unwrap_err().to_string();
    assert!(problem.contains("a quantity in urad must be a number"), "{problem}");
}

fn scaled(text: &str, factor: f64) -> Plan {
    let mut plan = parse("x", text).unwrap();
    scale::scale(&mut plan, factor, &Installed).unwrap();
    plan
}

#[test]
fn a_scale_shortens_every_measurement_alike() {
    let text = "schema = 1\nname = \"x\"\n[[group]]\nprobe = [{ name = \"null\", samples = [10, 20, 100000] }, \"null\", \
                { name = \"wakeup\", cycles = [0, 200000], deadline = \"3ms\" }]\nduration = \"200s\"\nlimit = \"1ms\"\n\
                [[group]]\nprobe = [\"null\"]\nduration = \"10ns\"\nwarmup = \"1ms\"\n";
    let plan = scaled(text, 0.01);
    assert_eq!(plan.scaled, Some(0.01));
    let group = &plan.groups[0];
    assert_eq!(
        (group.conditions.duration, group.conditions.warmup, group.conditions.limit),
        (Ns::from_secs(2), Ns::from_millis(200), Some(Ns::from_millis(1)))
    );
    let counts: Vec<_> = group
        .probe
        .iter()
        .map(|item| {
            let option = |key: &str| item.item.options.get(key).and_then(toml::Value::as_integer);
            option("samples").or(option("cycles"))
        })
        .collect();
    // 10 and 20 both become 1 and so are one level. The default of 1000 is written out. 0 means without end and stays.
    assert_eq!(counts, [Some(1), Some(1000), Some(10), Some(0), Some(2000)]);
    assert_eq!(group.probe[4].item.options["deadline"].as_str(), Some("3ms"));
    assert_eq!((plan.groups[1].conditions.duration, plan.groups[1].conditions.warmup), (Ns(1), Ns(0)));
    let again = parse("printed.toml", &print::plan(&plan)).unwrap();
    assert_eq!(again, plan);
    // A scaled plan that is scaled again states its total factor relative to the sizes as written.
    let mut twice = again;
    scale::scale(&mut twice, 0.5, &Installed).unwrap();
    assert_eq!((twice.scaled, twice.groups[0].conditions.duration), (Some(0.005), Ns::from_secs(1)));
}

#[test]
fn a_scale_of_one_changes_nothing_and_others_are_refused() {
    let text = "schema = 1\nname = \"x\"\n[[group]]\nprobe = [\"null\"]\n";
    assert_eq!(scaled(text, 1.0), parse("x", text).unwrap());
    let mut plan = parse("x", text).unwrap();
    for factor in [0.0, -1.0, 1.1, f64::NAN, f64::INFINITY] {
        assert!(scale::scale(&mut plan, factor, &Installed).is_err(), "{factor}");
    }
}

proptest::proptest! {
    /// Every scaled plan can be printed and read, and nothing gets longer.
    #[test]
    fn scaled_plans_survive_printing(factor in 1e-9f64..=1.0, samples in 0i64..100_000_000, seconds in 1u64..100_000) {
        let text = format!(
            "schema = 1\nname = \"x\"\n[[group]]\nprobe = [{{ name = \"null\", samples = {samples} }}]\nduration = \"{seconds}s\"\n"
        );
        let plan = parse("x", &text).unwrap();
        let small = scaled(&text, factor);
        let (before, after) = (&plan.groups[0].conditions, &small.groups[0].conditions);
        proptest::prop_assert!(after.duration <= before.duration && after.warmup <= before.warmup && after.duration > Ns(0));
        let count = small.groups[0].probe[0].item.options["samples"].as_integer().unwrap();
        proptest::prop_assert!(count <= samples && (count > 0) == (samples > 0));
        proptest::prop_assert_eq!(parse("printed", &print::plan(&small)).unwrap(), small);
    }
}
