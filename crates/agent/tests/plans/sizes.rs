//! Named sizes of a plan, in addition to the size that its groups state.

use super::*;

const SIZED: &str = r#"schema = 1
name = "sized"
[[size]]
name = "laboratory"
duration = "10s"
repeat = 20
options = { cycles = 500 }
[[group]]
probe = [{ name = "wakeup", cycles = 200_000 }, "gap"]
load = ["none", { id = "calm", use = [] }]
duration = "100s"
repeat = 10
[[expect]]
metric = "wakeup.latency.max"
where = { load = "calm" }
op = "<"
than = { load = "none" }
"#;

fn sized(text: &str, size: Option<&str>, flags_typed: &str) -> Result<Plan, Problem> {
    let size = size.map(|name| (name.to_owned(), Place::word(&format!("--size {name}"))));
    let over = Overrides { size, axes: flags(flags_typed), ..Overrides::default() };
    parse::read("sized.toml", text, &over, &Installed).map(|(plan, _)| plan)
}

/// A size replaces durations, repeats and options. It is recorded by its name and does not count as scaled. Flags override it, and a size
/// that is not requested changes nothing.
#[test]
fn a_size_is_measured_under_its_name() {
    let of = |plan: &Plan| {
        let group = &plan.groups[0];
        (group.conditions.duration, group.repeat, group.probe[0].item.options["cycles"].as_integer().unwrap())
    };
    let whole = sized(SIZED, None, "").unwrap();
    assert_eq!((of(&whole), &whole.sized), ((Ns::from_secs(100), 10, 200_000), &None));
    let plan = sized(SIZED, Some("laboratory"), "").unwrap();
    assert_eq!(of(&plan), (Ns::from_secs(10), 20, 500));
    assert_eq!((plan.sized.as_deref(), plan.scaled), (Some("laboratory"), None));
    let again = parse("printed.toml", &print::plan(&plan)).unwrap();
    assert_eq!(without_lines(again), without_lines(plan));
    assert_eq!(of(&sized(SIZED, Some("laboratory"), "repeat = 3").unwrap()), (Ns::from_secs(10), 3, 500));
}

/// latido checks every size of a plan, requested or not.
#[test]
fn sizes_are_refused_at_their_line() {
    let refused = |from: &str, to: &str| sized(&SIZED.replace(from, to), None, "").unwrap_err().to_string();
    for (from, to, answer) in [
        ("cycles = 500", "cicles = 500", "sized.toml:7: no probe of the plan has the option `cicles`"),
        ("cycles = 500", "cycles = \"x\"", "sized.toml:7"),
        ("duration = \"10s\"", "duration = \"0s\"", "sized.toml:5: duration must be longer than 0"),
        ("duration = \"10s\"", "load = [\"none\"]", "a size has no key `load`"),
        ("[[group]]", "[[size]]\nname = \"laboratory\"\n[[group]]", "the plan has the size `laboratory` twice"),
    ] {
        let problem = refused(from, to);
        assert!(problem.contains(answer), "{problem}");
    }
    let problem = sized(SIZED, Some("laboratry"), "").unwrap_err().to_string();
    assert!(problem.contains("no size `laboratry` (did you mean `laboratory`?)"), "{problem}");
}
