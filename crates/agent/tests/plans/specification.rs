//! The plans of the studies against the list of what each study has (`plans/studies/specification.toml`).

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

/// Each conclusion has an expectation or a reason why nothing decides it, under its own number; no other number is there.
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

/// Each figure has its number, kind, systems and scale, and no figure of ours has a number.
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
