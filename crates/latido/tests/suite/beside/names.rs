//! Names by the options that a plan chose: test names that a CI system follows night after night, and the suggested next command.

use crate::common::{World, stderr};
use std::collections::BTreeSet;

/// The names of a run's tests as JUnit has them.
fn names(world: &World) -> BTreeSet<String> {
    let output = world.run(["export", "junit", "last"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    // Class and name come first, followed by what differs each night.
    let cases = text.split("<testcase ").skip(1).filter_map(|case| case.split_once(" time="));
    let names: BTreeSet<String> = cases.map(|(names, _)| names.to_owned()).collect();
    assert!(!names.is_empty(), "{text}{}", stderr(&output));
    names
}

/// Runs a plan of these probes and returns the names of its tests.
fn night(world: &World, probes: &str, seed: u32) -> BTreeSet<String> {
    let head = "schema = 1\nname = \"nightly\"\n[[group]]\nload = [\"none\"]\nduration = \"10ms\"\nwarmup = \"0ns\"\nlimit = \"1s\"\n";
    let path = world.file("nightly.toml", &format!("{head}repeat = 2\nprobe = [{probes}]\n"));
    let output = world.run(["run", path.to_str().unwrap(), "--no-report", "-q", "--seed", &seed.to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    names(world)
}

/// Twenty seeds shuffle the plan, and it grows: each test keeps its name, which contains the options that the plan chose and no default.
#[test]
fn tests_keep_their_names_whatever_the_order_and_when_the_plan_grows() {
    let world = World::new();
    let two = "{ name = \"null\", value = \"20us\" }, { name = \"null\", samples = 50 }";
    let first = night(&world, two, 1);
    assert_eq!(first.len(), 8, "two configurations, twice, with limit and trust: {first:?}");
    let of = |what: &str| first.iter().filter(|name| name.contains(what)).count();
    assert_eq!((of("value=20us"), of("samples=50"), of("sigma="), of("value=10us")), (4, 4, 0, 0), "{first:?}");
    for seed in 2..=20 {
        assert_eq!(night(&world, two, seed), first, "seed {seed}");
    }
    let more = format!("{{ name = \"null\", value = \"7us\" }}, {two}, {{ name = \"null\", dist = \"lognormal\" }}");
    let grown = night(&world, &more, 3);
    assert!(first.is_subset(&grown), "{grown:?}");
}

/// The suggested next command contains the chosen options and no default.
#[test]
fn the_next_command_has_no_defaults() {
    let world = World::new();
    let next = |words: &[&str]| {
        let output = world.run(["run"].iter().chain(words).chain(&["--no-report", "-q", "-d", "50ms"]).copied());
        let out = String::from_utf8(output.stdout.clone()).unwrap();
        let line = out.lines().find_map(|line| line.strip_prefix("next: $ ")).unwrap_or_default().to_owned();
        assert!(!line.is_empty(), "{out}{}", stderr(&output));
        line
    };
    assert_eq!(next(&["wakeup"]), "latido run wakeup --load stress-cpu");
    assert_eq!(next(&["wakeup", "tasks=2", "clock=monotonic"]), "latido run wakeup tasks=2 --load stress-cpu");
}
