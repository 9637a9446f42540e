//! How items become levels, with a catalogue for tests. The agent tests whole plans, because it has the real catalogue.

use super::{node::Keys, source::Source, *};
use crate::{catalogue::trial, written};
use proptest::prelude::*;

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
    assert_eq!(answer, "f:2: the load level `busy` means something else in an earlier group");
    // The same id on different axes means two different levels.
    let (mut other, place) = axes(3, 20);
    other.tuning = other.load.take();
    assert_eq!(parse::one_meaning_per_id(&[axes(1, 10), (other, place)]), Ok(()));
}

/// Reads the levels that a text makes from the test items.
fn trial_levels(text: &str) -> Result<Vec<Level>, String> {
    let text = format!("it = {text}");
    let source = Source::file("t", &text);
    let document = parse::document("t", &source).map_err(|problem| problem.to_string())?;
    let node = Keys::document(&source, document.get_ref()).get("it").unwrap();
    let levels = items::levels(node, trial()).map_err(|problem| problem.to_string())?;
    Ok(levels.into_iter().map(|at| at.it).collect())
}

#[test]
fn arrays_make_levels_except_where_the_option_is_a_list() {
    let text = r#"[{ id = "ramp", use = [{ name = "trial", period = "1ms", sleep = [4, 8], argv = ["a", "b"] }] }]"#;
    let levels = trial_levels(text).unwrap();
    assert_eq!(levels.iter().map(|level| level.id.as_str()).collect::<Vec<_>>(), ["ramp sleep=4", "ramp sleep=8"]);
    assert_eq!(
        written::item(&levels[1].items[0]),
        r#"{ name = "trial", argv = ["a", "b"], period = "1ms", sleep = 8 }"#
    );

    let both = r#"[{ id = "x", use = [{ name = "trial", period = ["1ms", "2ms"], sleep = [1, 2] }, "command"] }]"#;
    let ids: Vec<String> = trial_levels(both).unwrap().into_iter().map(|level| level.id).collect();
    assert_eq!(ids, ["x period=1ms sleep=1", "x period=1ms sleep=2", "x period=2ms sleep=1", "x period=2ms sleep=2"]);

    for (text, answer) in [
        (r#"[{ id = "x", use = ["trial"] }]"#, "t:1: load `trial`: the required option `period` is missing"),
        (
            "[{ id = \"x\", use = [{ name = \"trial\",\nargv = [\"a\"],\nperiod = 5 }] }]",
            "t:3: load `trial`: `period`: 5 has no unit: write \"5us\", \"5ms\" or \"5s\"",
        ),
        (
            "[{ id = \"x\", use = [{ name = \"trial\",\nargv = [\"a\"],\nslep = 5 }] }]",
            "t:3: load `trial` has no option `slep` (did you mean `sleep`?); it has argv, sleep, cpus, period",
        ),
    ] {
        assert_eq!(trial_levels(text), Err(answer.into()));
    }
}

#[test]
fn arrays_cannot_multiply_without_end() {
    let numbers = "1,".repeat(101);
    let item = format!("{{ name = \"trial\", period = [{}], sleep = [{numbers}] }}", "\"1ms\",".repeat(101));
    let answer = trial_levels(&format!("[{{ id = \"x\", use = [{item}] }}]"));
    assert_eq!(answer, Err("t:1: the arrays multiply to more than 10000 levels".into()));
}

proptest! {
    /// Options with any text survive printing.
    #[test]
    fn items_survive_printing(cpus: String, argv: Vec<String>, sleep: u32, id in "[a-z]{1,9}") {
        let options = toml::toml! { period = "1ms" };
        let mut item = Item { name: "trial".into(), options };
        item.options.insert("cpus".into(), cpus.into());
        item.options.insert("argv".into(), argv.into());
        item.options.insert("sleep".into(), i64::from(sleep).into());
        let level = Level { id: id.clone(), items: vec![item.clone(), item.clone()] };
        let printed = format!("[{{ id = {}, use = [{}, {}] }}]", written::quote(&id), written::item(&item), written::item(&item));
        prop_assert_eq!(trial_levels(&printed), Ok(vec![level]));
    }
}
