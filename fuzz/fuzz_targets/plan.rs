//! Any text as a plan: an answer; an accepted plan is printed and read as the same plan with the same cells.
#![no_main]

use latido::cli::known::CATALOGUE;
use latido_model::plan::{Plan, expand, parse::parse, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(plan) = parse("plan.toml", text, CATALOGUE) else { return };
    let printed = print::plan(&plan);
    let again = parse("printed.toml", &printed, CATALOGUE).unwrap_or_else(|problem| panic!("{problem}\n{printed}"));
    if plan.groups.iter().filter_map(|group| group.cells()).sum::<usize>() <= 500 {
        assert_eq!(expand(&again), expand(&plan), "{printed}");
    }
    assert_eq!(without_lines(again), without_lines(plan), "{printed}");
});

fn without_lines(mut plan: Plan) -> Plan {
    plan.expect.iter_mut().for_each(|expect| expect.line = 0);
    plan
}
