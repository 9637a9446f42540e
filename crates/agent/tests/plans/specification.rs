//! The plans of the studies, compared with the list of what each study contains (`plans/studies/specification.toml`), and the keys that say
//! whether a sentence is the study's or ours.

use super::*;
use latido_model::plan::{Pick, Plan, Sentence};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

const STUDIES: [&str; 5] =
    ["embedded-properties", "execution-times", "ftrace-latencies", "interrupt-determinism", "scheduling-latency"];

const LIST: &str = include_str!("../../../../plans/studies/specification.toml");

fn studies() -> BTreeMap<String, (Value, Plan)> {
    let list: BTreeMap<String, Value> = toml::from_str(LIST).unwrap();
    let plan = |name: &str| parse(name, shipped::text(name).unwrap()).unwrap();
    list.into_iter().map(|(name, study)| (name.clone(), (study, plan(&name)))).collect()
}

fn words(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn names(picks: &[Pick]) -> Vec<String> {
    picks.iter().map(|pick| pick.name.clone()).filter(|name| !name.is_empty()).collect()
}

/// Each conclusion has an expectation, or a reason why nothing decides it, under its number in the study. No other number occurs.
#[test]
fn each_conclusion_of_a_study_has_its_sentences() {
    let all = studies();
    assert_eq!(all.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(STUDIES));
    for (name, (study, plan)) in all {
        let of_study = plan.expect.iter().filter_map(|one| match &one.of {
            Some(Sentence::Study(number)) => Some(number.clone()),
            _ => None,
        });
        let found: BTreeSet<String> = of_study.chain(plan.unjudged.iter().map(|one| one.conclusion.clone())).collect();
        let listed: BTreeSet<String> = words(study.get("conclusions")).into_iter().collect();
        assert_eq!(found, listed, "{name}");
    }
}

/// Each figure of a study has its number, kind, systems and scale, and no figure of ours has a number.
#[test]
fn each_figure_of_a_study_is_drawn_under_its_number() {
    for (name, (study, plan)) in studies() {
        let listed = study["figures"].as_array().unwrap();
        let numbers = |one: &Value| one["number"].as_str().unwrap().to_owned();
        let numbered: Vec<String> = plan.figures.iter().filter_map(|figure| figure.number.clone()).collect();
        assert_eq!(numbered, listed.iter().map(numbers).collect::<Vec<_>>(), "{name}");
        for one in listed {
            let number = numbers(one);
            let figure = plan.figures.iter().find(|figure| figure.number.as_ref() == Some(&number)).unwrap();
            let told = format!("{name}, figure {number}");
            assert_eq!(figure.kind.name(), one["kind"].as_str().unwrap(), "{told}");
            assert_eq!(names(&figure.curves), words(one.get("curves")), "{told}");
            assert_eq!(names(&figure.panels), words(one.get("panels")), "{told}");
            if let Some(scale) = one.get("scale").and_then(Value::as_str) {
                assert_eq!(figure.log, scale == "log", "{told}");
            }
        }
    }
}

/// Each table has its number, columns and statistics.
#[test]
fn each_table_of_a_study_is_laid_out_under_its_number() {
    for (name, (study, plan)) in studies() {
        let listed = study["tables"].as_array().unwrap();
        let numbered: Vec<&str> = plan.tables.iter().filter_map(|table| table.number.as_deref()).collect();
        let numbers: Vec<&str> = listed.iter().map(|one| one["number"].as_str().unwrap()).collect();
        assert_eq!(numbered, numbers, "{name}");
        for (one, table) in listed.iter().zip(plan.tables.iter().filter(|table| table.number.is_some())) {
            assert_eq!(names(&table.columns), words(one.get("columns")), "{name}, table {}", one["number"]);
            let statistics: Vec<String> = table.statistics.iter().map(ToString::to_string).collect();
            assert_eq!(statistics, words(one.get("statistics")), "{name}, table {}", one["number"]);
        }
    }
}

/// A plan that repeats a publication states for each of its expectations whose sentence it is, and no sentence of the publication occurs
/// twice.
#[test]
fn every_shipped_expectation_says_whose_sentence_it_is() {
    for (name, text) in shipped::PLANS {
        let plan = parse(name, text).unwrap();
        assert!(plan.source.is_some() || plan.expect.iter().all(|one| one.of.is_none()), "{name}");
        let mut said = BTreeSet::new();
        for one in plan.expect.iter().filter(|_| plan.source.is_some()) {
            assert!(one.of.is_some(), "{name}: {one}");
            assert!(said.insert(one.claim.clone()), "{name}: {:?}", one.claim);
        }
        for one in &plan.unjudged {
            assert!(said.insert(Some(one.claim.clone())), "{name}: {}", one.claim);
        }
    }
}

/// The keys that say whose sentence an expectation is, what a kernel is, and what nothing decides: each complaint names what is missing or
/// wrong.
#[test]
fn the_keys_of_a_study_are_checked() {
    let source = "[source]\ntitle = \"Of latencies\"\nauthor = \"A\"\nyear = 2019\n";
    let plan = |source: &str, expect: &str, rest: &str| {
        format!(
            "schema = 1\nname = \"x\"\n{source}[[group]]\nprobe = [\"null\"]\nkernel = [\"running\", \"rt\"]\n[[expect]]\nmetric = \
             \"null.latency.max\"\nop = \"<\"\nvalue = \"1us\"\n{expect}\n{rest}"
        )
    };
    let said = "claim = \"It is short\"\nof = \"study\"\nconclusion = \"C4\"";
    let kernel = "[[kernel]]\nname = \"rt\"\npreemption = [\"rt\", \"lazy\"]\nboot = [\"threadirqs\"]\noptions = { RCU_BOOST = false }\n";
    let unjudged = "[[unjudged]]\nconclusion = \"5\"\nclaim = \"Tuning matters\"\nwhy = \"no figure\"\n";
    let sound = parse("x", &plan(source, said, &format!("{kernel}{unjudged}"))).unwrap();
    assert_eq!(sound.expect[0].of, Some(Sentence::Study("C4".into())));
    assert_eq!(without_lines(parse("again", &print::plan(&sound)).unwrap()), without_lines(sound));
    let ours = parse("x", &plan(source, "of = \"ours\"", "")).unwrap();
    assert_eq!(ours.expect[0].of, Some(Sentence::Ours));
    for (plan, answer) in [
        (plan("", said, ""), "`of` is only for plans that repeat a publication"),
        (plan("", "", unjudged), "`unjudged` is only for plans that repeat a publication"),
        (plan(source, "claim = \"a\"\nof = \"study\"", ""), "needs `conclusion`, its number"),
        (plan(source, "of = \"study\"\nconclusion = \"1\"", ""), "needs the key `claim`"),
        (plan(source, "of = \"ours\"\nconclusion = \"1\"", ""), "`conclusion` goes with `of = \"study\"`"),
        (plan(source, "conclusion = \"1\"", ""), "`conclusion` goes with `of = \"study\"`"),
        (plan(source, "of = \"your\"", ""), "`of` cannot be `your` (did you mean `ours`?)"),
        (plan("", "", "[[kernel]]\nname = \"rtt\"\npreemption = [\"rt\"]"), "uses a kernel `rtt` (did you mean `rt`?)"),
        (plan("", "", "[[kernel]]\nname = \"rt\""), "needs `preemption`, `boot` or `options`"),
        (
            plan("", "", "[[kernel]]\nname = \"rt\"\npreemption = [\"ful\"]"),
            "no preemption model `ful` (did you mean `full`?)",
        ),
        (plan("", "", &kernel.replace("false", "7")), "the kernel option `RCU_BOOST` must be true or false"),
        (plan("", "", &format!("{kernel}{kernel}")), "the kernel `rt` is described twice"),
        (
            plan("kernel_as = \"rtt\"\n", "", ""),
            "the plan has no kernel `rtt` (did you mean `rt`?); it has rt, running",
        ),
    ] {
        let problem = parse("x", &plan).unwrap_err().to_string();
        assert!(problem.contains(answer), "{answer}: {problem}");
    }
    let over = Overrides { kernel_as: Some(("rt".into(), Place::word("--as kernel=rt"))), ..Overrides::default() };
    let (taken, _) = parse::read("x", &plan(source, said, kernel), &over, &Installed).unwrap();
    assert_eq!(taken.kernel_as.as_deref(), Some("rt"));
    assert_eq!(without_lines(parse("again", &print::plan(&taken)).unwrap()), without_lines(taken));
}
