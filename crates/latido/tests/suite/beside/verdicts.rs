//! What latido concludes from samples of a known distribution, end to end, and what it announces before: the short form of
//! scripts/slow/verdicts.

use crate::common;

use common::{World, json, stderr, text};

/// A plan of two systems: the logarithms of their repeats spread by `between`, and the maxima of one are `times` as large.
fn plan(times: f64, between: f64, repeat: u32) -> String {
    format!(
        "schema = 1\nname = \"known\"\n[[group]]\nprobe = [{{ name = \"null\", samples = 200, value = \"100us\", \
         dist = \"lognormal\", sigma = 0.05, between = {between}, times = {times}, under = \"busy\" }}]\n\
         load = [\"none\", {{ id = \"busy\", use = [] }}]\nscheduling = [{{ policy = \"other\" }}]\nrepeat = {repeat}\n\
         [[expect]]\nwhere = {{ load = \"busy\" }}\nmetric = \"null.latency.max\"\nop = \">\"\nthan = {{ load = \"none\" }}\n"
    )
}

/// The outcome with each of these seeds.
fn outcomes(times: f64, seeds: std::ops::RangeInclusive<u32>) -> Vec<String> {
    let world = World::new();
    world.file("known.toml", &plan(times, 0.4, 10));
    let run = |seed: u32| {
        let output = world.run(["run", "./known.toml", "--seed", &seed.to_string(), "--json", "--no-report", "-q"]);
        let document = json(&output, output.status.code().unwrap());
        document["judgement"]["expectations"][0]["outcome"].as_str().unwrap().to_owned()
    };
    seeds.map(run).collect()
}

/// Of six pairs of equal systems latido reports a difference for at most one: at a true level of 5 % the probability of more is 3 %. The
/// seeds are fixed, so that the answer is always the same.
#[test]
fn alike_systems_are_seldom_told_apart() {
    let all = outcomes(1.0, 1..=6);
    assert!(all.iter().filter(|outcome| *outcome != "undecided").count() <= 1, "{all:?}");
}

/// latido finds a factor of 2 in the maximum with ten repeats whose logarithms spread by .40, in both directions.
#[test]
fn a_planted_factor_is_found() {
    for (times, wanted, seeds, least) in [(2.0, "holds", 1..=4, 3), (0.5, "does not hold", 6..=7, 1)] {
        let all = outcomes(times, seeds);
        let found = all.iter().filter(|outcome| *outcome == wanted).count();
        let opposite = all.iter().any(|outcome| outcome != wanted && outcome != "undecided");
        assert!(found >= least && !opposite, "{times}: {all:?}");
    }
}

/// Before the first cell latido reports what too few repeats cannot decide. With enough repeats it reports nothing.
#[test]
fn too_few_repeats_are_told_first() {
    let world = World::new();
    for (repeat, told) in [(1, true), (3, true), (4, false)] {
        world.file("known.toml", &plan(1.0, 0.0, repeat));
        let said = stderr(&world.run(["run", "./known.toml", "--no-report"]));
        let short = said.find("the comparison cannot be decided").filter(|_| said.contains("(--repeat 4)"));
        assert_eq!(short.is_some(), told, "{repeat}: {said}");
        // Only the name of the run comes before it.
        let first = said.lines().nth(1).unwrap_or_default();
        assert!(!told || first.starts_with("warning: the comparison cannot be decided"), "{said}");
    }
}

/// A pilot of three repeats succeeds whatever it cannot decide, and requests more repeats the more they spread.
#[test]
fn a_pilot_says_how_many_repeats_a_difference_takes() {
    let world = World::new();
    let asked = |between: f64, flag: &str| -> u64 {
        world.file("known.toml", &plan(1.0, between, 10));
        let output = world.run(["run", "./known.toml", "--seed", "3", flag, "--no-report"]);
        assert!(stderr(&output).contains("6 cells"), "three repeats of two systems: {}", stderr(&output));
        let said = text(&output);
        let at = said.find("all of them: --repeat ").unwrap_or_else(|| panic!("{said}"));
        let number = said[at..].split(' ').nth(4).unwrap().trim_end_matches(',');
        number.parse().unwrap_or_else(|_| panic!("{said}"))
    };
    let (calm, wild, fine) = (asked(0.02, "--plan-power"), asked(0.8, "--plan-power"), asked(0.8, "--plan-power=1.5"));
    assert!(4 <= calm && calm < wild && wild < fine, "{calm} {wild} {fine}");
}

/// A budget first reduces what matters least for the statements of a plan, and latido reports the price.
#[test]
fn a_budget_is_kept_and_its_price_told() {
    let world = World::new();
    let fitted = |name: &str, budget: &str| {
        let output = world.run(["run", name, "--budget", budget, "--print-plan"]);
        (text(&output), stderr(&output))
    };
    // Maxima and counts depend on the size: latido reduces repeats first, but not below the number that can decide.
    let (plan, said) = fitted("scheduling-latency", "2h");
    assert!(plan.contains("repeat = 7") && !plan.contains("scaled"), "{plan}");
    assert!(said.contains("7 repeats instead of 10") && said.contains("certainty: 7 repeats per side find"), "{said}");
    let (plan, said) = fitted("scheduling-latency", "30m");
    assert!(plan.contains("repeat = 6") && plan.contains("scaled = 0."), "{plan}");
    let lost = "not measured (scaled): Isolation lowers the maximum gap of the stock kernel (294 to 136 µs)";
    assert!(said.contains(lost) && !said.contains("not measured (scaled): Nice"), "{said}");
    // Means do not depend on the size.
    let (plan, said) = fitted("execution-times", "2m");
    assert!(plan.contains("repeat = 10") && plan.contains("scaled = 0."), "{plan}");
    assert!(!said.contains("not measured"), "{said}");
    let (plan, said) = fitted("execution-times", "9h");
    assert!(!plan.contains("scaled") && said.contains("as written"), "{said}");
    let none = world.run(["run", "scheduling-latency", "--budget", "1s", "--print-plan"]);
    assert_eq!(none.status.code(), Some(64), "{}", stderr(&none));
}
/// A measurement at a named size has the size's name in the store and on the page, and latido judges its maxima.
#[test]
fn a_size_of_its_own_is_not_scaled() {
    let world = World::new();
    let study = "[source]\ntitle = \"Of latencies\"\nauthor = \"A. Author\"\nyear = 2019\n\
                 [[size]]\nname = \"laboratory\"\nrepeat = 4\noptions = { samples = 20 }\n";
    let text = plan(4.0, 0.01, 10).replacen("[[group]]", &format!("{study}[[group]]"), 1);
    world.file("known.toml", &text);
    let arguments = ["run", "./known.toml", "--size", "laboratory", "--json", "-o", "page.html"];
    let document = json(&world.run(arguments), 0);
    assert_eq!(document["judgement"]["expectations"][0]["outcome"], "holds", "{document:#}");
    assert_eq!(document["records"].as_array().unwrap().len(), 8);
    let stored = std::fs::read_to_string(world.runs().pop().unwrap().join("plan.toml")).unwrap();
    assert!(stored.contains("\nsized = \"laboratory\"\n") && !stored.contains("scaled"), "{stored}");
    let page = std::fs::read_to_string(world.path("page.html")).unwrap();
    assert!(page.contains("Measured at the size <b>laboratory</b>") && !page.contains("of the published size"));
    // A part of the named size counts as scaled.
    let scaled = [&arguments[..4], &["--scale", "0.5", "--json"]].concat();
    let document = json(&world.run(scaled), 3);
    assert_eq!(document["judgement"]["expectations"][0]["outcome"], "not measured");
}
