//! A plan whose cells differ in their settings: if a setting is not available, only its own cells are skipped.

use crate::common::{World, json, stderr};

const TWO: &str = r#"
schema = 1
name = "two"
[[group]]
probe = [{ name = "null", samples = 10 }]
tuning = [{ id = "plain", use = [] }, { id = "locked", use = [{ name = "irq-priority", irq = "no-such-device", prio = 90 }] }]
duration = "100ms"
"#;

#[test]
fn a_setting_that_cannot_be_had_skips_its_cells() {
    let world = World::new();
    world.file("two.toml", TWO);
    let output = world.run(["run", "./two.toml", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("1 of 2 cells (1 skipped)"), "{said}");
    assert!(said.contains("skipped: tuning `irq-priority`") && said.contains("no-such-device"), "{said}");
    let document = json(&world.run(["show", "last", "--json"]), 0);
    assert!(document.to_string().contains("no-such-device"), "the reason is kept: {document:#}");
}

#[test]
fn a_plan_of_which_nothing_is_left_is_refused() {
    let world = World::new();
    world.file("one.toml", &TWO.replace("{ id = \"plain\", use = [] }, ", ""));
    let output = world.run(["run", "./one.toml", "--no-report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing was started: tuning `irq-priority`"), "{}", stderr(&output));
    assert!(world.runs().is_empty());
}
