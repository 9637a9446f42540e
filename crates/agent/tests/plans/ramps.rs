//! Ramps of a load: arrays and even steps, in the long form and in the short form.

use super::*;

/// The ids of the levels, each with the value of one option.
fn levels(load: &str, key: &str) -> Vec<(String, i64)> {
    let text =
        format!("schema = 1\nname = \"a\"\nseed = 1\n[[group]]\nprobe = [\"null\"]\nrepeat = 3\nload = [{load}]\n");
    let plan = parse("plan.toml", &text).unwrap();
    // The printed plan is the same plan: it lists every level.
    let printed = print::plan(&plan);
    assert_eq!(parse("printed", &printed).unwrap().groups, plan.groups, "{printed}");
    assert_eq!(expand(&plan).len(), 3 * plan.groups[0].load.len());
    let option = |level: &Level| level.items[0].options[key].as_integer().unwrap();
    plan.groups[0].load.iter().map(|level| (level.id.clone(), option(level))).collect()
}

#[test]
fn a_ramp_can_be_written_in_each_form() {
    let all: Vec<i64> = (4..=44).step_by(4).collect();
    for load in [
        r#"{ id = "ramp", use = [{ name = "stress-ng", sleep = "4,8,12..44" }] }"#,
        r#"{ id = "ramp", use = [{ name = "stress-ng", sleep = ["4,8..16", "20,24..44"] }] }"#,
        r#"{ id = "ramp", use = [{ name = "stress-ng", sleep = [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44] }] }"#,
    ] {
        let found = levels(load, "sleep");
        assert_eq!(found.iter().map(|(_, value)| *value).collect::<Vec<_>>(), all, "{load}");
        assert_eq!((found[0].0.as_str(), found[10].0.as_str()), ("ramp sleep=4", "ramp sleep=44"));
    }
    let short = levels(r#"{ name = "stress-ng", sleep = "4,8,12..44", cpu = 1 }"#, "sleep");
    assert_eq!((short.len(), short[1].0.as_str()), (11, "stress-ng cpu=1 sleep=8"));
    let main = levels(r#"{ name = "interrupts", rate = [100, 200] }, { name = "interrupts", rate = 300 }"#, "rate");
    assert_eq!(
        main.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["interrupts 100", "interrupts 200", "interrupts 300"]
    );
}

#[test]
fn a_ramp_that_leads_nowhere_is_refused_at_its_line() {
    let refused =
        |load: &str| refusal(&format!("schema = 1\nname = \"a\"\n[[group]]\nprobe = [\"null\"]\nload = [{load}]\n"));
    let wrong = refused(r#"{ name = "stress-ng", sleep = "4,8..45" }"#);
    assert_eq!(wrong, "plan.toml:5: `4,8..45`: steps of 4 do not lead from 8 to 45");
    let twice = refused(r#"{ name = "stress-ng", sleep = 4 }, { name = "stress-ng", sleep = "4..6" }"#);
    assert_eq!(twice, "plan.toml:5: two levels of load are called `stress-ng sleep=4`");
    assert!(refused(r#"{ id = "a", name = "stress-ng", sleep = 4 }"#).contains("its keys are id, use"));
}
