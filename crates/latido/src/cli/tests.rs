//! Whole command lines: the plan that each makes, and the error of a wrong one.

use super::{Cli, Command, Usage, assemble, foreign, known};
use clap::{CommandFactory, Parser};
use latido_model::{
    catalogue::Kind,
    plan::{Plan, around::Around, expand, print, source::Problem},
};
use std::fmt::Write;

/// Reads a plan file's text.
fn parse(name: &str, text: &str) -> Result<Plan, Problem> {
    latido_model::plan::parse::parse(name, text, known::CATALOGUE)
}

/// Returns how errors list the options of the probe that the tests use.
fn null_options() -> String {
    format!("; it has {}", known::list(Kind::Probe).options("null").join(", "))
}

/// Returns the plan of a `run` command line, or its error.
fn plan(line: &[&str]) -> Result<Plan, String> {
    let words = ["latido", "run"].iter().chain(line);
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let Some(Command::Run(args)) = cli.command else { panic!("{line:?}") };
    match assemble::plan(&args, &Around::default()) {
        Ok((plan, _)) => Ok(plan),
        Err(error) => {
            let prefix = if error.is::<Usage>() { "usage: " } else { "" };
            Err(format!("{prefix}{error}"))
        }
    }
}

#[test]
fn the_table_of_flags_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn words_mean_what_the_plan_says() {
    let mut pages = String::new();
    for line in [
        &["null"][..],
        &["null:samples=5"],
        &["null", "samples=5", "-c", "2-5", "-d", "8s", "--limit", "100us", "--stop-on", "1ms", "--repeat", "3"],
        &["null", "--warmup", "0s", "--load", "none", "--tune", "default"],
        &["null", "--prio", "7"],
        &["null", "--policy", "rr"],
        &["null", "--policy", "rr:9"],
        &["null", "--policy", "other"],
        &["null", "--nice", "-5"],
        &["null", "--policy", "deadline:runtime=200us,deadline=1ms,period=2ms"],
        &["null", "--policy", "deadline", "--runtime", "200us", "--dl-period", "1ms"],
    ] {
        let line: Vec<&str> = line.iter().copied().chain(["--seed", "1"]).collect();
        let plan = plan(&line).unwrap();
        let text = print::plan(&plan);
        let again = parse("printed", &text).unwrap();
        assert_eq!(expand(&again), expand(&plan), "{line:?}");
        writeln!(pages, "$ latido run {}\n{text}", line.join(" ")).unwrap();
    }
    insta::assert_snapshot!(pages);
}

#[test]
fn wrong_words_are_usage_errors_that_name_the_word() {
    let mut answers = String::new();
    for line in [
        &["nul"][..],
        &["null", "sampels=3"],
        &["null", "samples=many"],
        &["null", "samples=1e6"],
        &["wakeup", "cycles=-3"],
        &["gap", "clock=foo"],
        &["null", "samples=1", "samples=2"],
        &["null:samples=1", "samples=2"],
        &["null:"],
        &["null", "gap"],
        &["null", "prio=9"],
        &["null", "stop_on=1ms"],
        &["null", "--load", ":a=1"],
        &["null", "--prio", "0"],
        &["null", "--prio", "high"],
        &["null", "--nice", "-21"],
        &["null", "--policy", "fifo", "--nice", "3"],
        &["null", "--policy", "fifo:prio=3", "--prio", "4"],
        &["null", "--policy", "fifa"],
        &["null", "--policy", "deadline"],
        &["null", "--policy", "deadline", "--runtime", "2ms", "--dl-period", "1ms"],
        &["null", "--duration", "10"],
        &["null", "--duration", "0s"],
        &["null", "-d", "-5s"],
        &["null", "--warmup", "-1s"],
        &["null", "--limit", "-1us"],
        &["wakeup", "--period", "-1ms"],
        &["null", "--warmup", "1 fortnight"],
        &["null", "--limit", "100"],
        &["null", "--cpus", "a"],
        &["null", "--repeat", "0"],
        &["null", "--repeat", "twice"],
        &["null", "--repeat", "100001"],
        &["null", "--load", "qqq"],
        &["null", "--load", "spin:cpu=-3"],
        &["null", "--load", "command"],
        &["null", "--load", "command:"],
        &["null", "--tune", "cstates:asis"],
        &["null", "--load", "none", "--load", "none"],
        &["null", "--load", "spin:cpu=1,cpu=2"],
        &["null", "--tune", "isolat:1"],
        &["null", "--tune", "isolate"],
        &["null", "--tune", ""],
    ] {
        let answer = plan(line).unwrap_err().replace(&null_options(), "; it has ITS OPTIONS");
        assert!(answer.starts_with("usage: "), "{line:?}: {answer}");
        writeln!(answers, "$ latido run {}\n{answer}\n", line.join(" ")).unwrap();
    }
    insta::assert_snapshot!(answers);
}

#[test]
fn flags_change_a_plan_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    let text = "schema = 1\nname = \"mine\"\n[[group]]\nprobe = [\"null\"]\nduration = \"20s\"\nrepeat = 4\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let plan = plan(&[path, "samples=3", "-d", "5s", "--repeat", "2", "--prio", "9", "--seed", "7"]).unwrap();
    assert_eq!((plan.name.as_str(), plan.seed, expand(&plan).len()), ("mine", 7, 2));
    let cell = &expand(&plan)[0];
    assert_eq!(cell.conditions.duration.to_string(), "5s");
    assert_eq!(cell.scheduling.to_string(), "fifo 9");
    assert_eq!(cell.probe.options["samples"].as_integer(), Some(3));
}

/// A study in the laboratory uses the laboratory's size and measures the guest's one CPU. What the command line names stays.
#[test]
fn a_study_in_the_laboratory_has_its_size_and_cpu() {
    let cpus =
        |plan: &Plan| plan.groups.iter().map(|group| group.conditions.cpus.clone().unwrap().to_string()).collect();
    let study = |flags: &[&str]| plan(&[&["scheduling-latency", "--seed", "7"], flags].concat()).unwrap();
    let (here, there) = (study(&[]), study(&["--on", "lab"]));
    assert_eq!((here.sized.as_deref(), there.sized.as_deref()), (None, Some("laboratory")));
    let each: [Vec<String>; 2] = [cpus(&here), cpus(&there)];
    assert!(each[0].iter().all(|cpus| cpus == "1") && each[1].iter().all(|cpus| cpus == "0"), "{each:?}");
    let kept: Vec<String> = cpus(&study(&["--on", "lab", "-c", "1"]));
    assert!(kept.iter().all(|cpus| cpus == "1"), "{kept:?}");
    // A plan without that size keeps its written sizes.
    assert_eq!(plan(&["quick", "--on", "lab", "--kernel", "6.12-rt"]).unwrap().sized, None);
}

#[test]
fn the_running_kernel_is_taken_for_one_of_the_plans() {
    let taken = plan(&["scheduling-latency", "--as", "kernel=rt"]).unwrap();
    assert_eq!(taken.kernel_as.as_deref(), Some("rt"));
    for (line, answer) in [
        (&["scheduling-latency", "--as", "kernel=rtt"][..], "the plan has no kernel `rtt` (did you mean `rt`?)"),
        (&["scheduling-latency", "--as", "rt"], "--as kernel=NAME"),
        (&["wakeup", "--as", "kernel=rt"], "a plan names kernels, and `wakeup` is a probe"),
    ] {
        let error = plan(line).unwrap_err();
        assert!(error.starts_with("usage: ") && error.contains(answer), "{error}");
    }
}

#[test]
fn flags_that_spoil_a_plan_file_are_to_blame_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, "schema = 1\nname = \"mine\"\n[[group]]\nprobe = [\"gap\"]\n").unwrap();
    let path = path.to_str().unwrap();
    let deadline = ["--policy", "deadline", "--dl-runtime", "100us", "--dl-period", "1ms"];
    let answer = plan(&[&[path][..], &deadline].concat()).unwrap_err();
    let flags = "usage: --policy deadline --dl-runtime 100us --dl-period 1ms: probe `gap` with scheduling deadline";
    assert!(answer.starts_with(flags), "{answer}");
    let answer = plan(&[path, "iteratons=5"]).unwrap_err();
    let meant = "no probe of the plan has an option `iteratons` (did you mean `iterations`?)";
    assert_eq!(answer, format!("usage: iteratons=5: {meant}"));
}

#[test]
fn the_first_line_of_a_plan_says_how_long_it_takes() {
    for (line, first) in [
        (&["wakeup"][..], "# 1 cell, about 62 s in all"),
        (&["wakeup", "-d", "10m", "--repeat", "9"], "# 9 cells, 1 h 30 min in all"),
        (&["null"], "# 1 cell, until the probe has its number of samples"),
        (&["wakeup", "cycles=100"], "# 1 cell, about 2 s in all"),
        (&["gap", "iterations=9", "--repeat", "2"], "# 2 cells, about 4 s in all"),
        (&["gap", "iterations=1000000000", "duty=900ms/1s"], "# 1 cell, about 30 s in all"),
        (&["compute"], "# 1 cell, about 5 s in all"),
        (&["wakeup", "cycles=0"], "# 1 cell, about 62 s in all"),
        (&["wakeup", "cycles=200000", "--scale", "0.01"], "# 1 cell, about 3 s in all"),
        (&["wakeup", "--scale", "0.1"], "# 1 cell, about 8 s in all"),
    ] {
        let text = print::plan(&plan(line).unwrap());
        assert_eq!(text.lines().next(), Some(first), "{line:?}");
    }
    let mixed = "schema = 1\nname = \"x\"\n[[group]]\nprobe = [\"null\", \"wakeup\"]\nduration = \"29s\"\nrepeat = 4\n";
    let first = "# 8 cells, about 2 min in all for 4 of them, the others until the probe has its number of samples";
    assert_eq!(print::plan(&parse("x", mixed).unwrap()).lines().next(), Some(first));
}

#[test]
fn a_wrong_file_is_no_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, "schema = 1\nname = \"mine\"\n").unwrap();
    let answer = plan(&[path.to_str().unwrap()]).unwrap_err();
    assert!(answer.ends_with("mine.toml:1: a plan needs at least one [[group]]"), "{answer}");
    assert!(!answer.starts_with("usage"), "{answer}");
    assert!(plan(&["./no-such-file.toml"]).unwrap_err().starts_with("cannot open the plan"));
}

#[test]
fn a_plan_without_a_seed_gets_one_that_is_printed() {
    let (one, other) = (plan(&["null"]).unwrap(), plan(&["null"]).unwrap());
    assert_ne!(one.seed, other.seed);
    assert!(print::plan(&one).contains(&format!("seed = {}", one.seed)));
}

/// A user can type what latido writes in place of another tool's flag: each command in backticks, each option with its value, each
/// `key=value` of the probe that is the tool's counterpart.
#[test]
fn what_to_write_in_place_of_a_foreign_flag_can_be_typed() {
    const WITH_VALUE: [&str; 10] =
        ["--load", "--tune", "--policy", "--prio", "--stop-on", "--limit", "--warmup", "--repeat", "-c", "-d"];
    let typed = |text: &str| {
        let values =
            [("TIME", "1ms"), ("CPUS", "0"), ("CPU", "0"), ("POLICY", "fifo"), ("SIZE", "64M"), ("BYTES", "100")];
        let text = values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        text.replace("=N", "=3").replace("--prio N", "--prio 3")
    };
    let mut tried = 0;
    for tool in foreign::TOOLS {
        let probe = match tool.name {
            "oslat" => "gap",
            "rtla" => "osnoise",
            _ => "wakeup",
        };
        for one in tool.flags {
            for command in one.here.split('`').skip(1).step_by(2).filter(|text| text.starts_with("latido ")) {
                let read = Cli::try_parse_from(command.split_whitespace());
                let help = read.as_ref().err().is_some_and(|error| error.kind() == clap::error::ErrorKind::DisplayHelp);
                assert!(read.is_ok() || help, "{command}: {}", read.err().unwrap());
                tried += 1;
            }
            let plain = one.here.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            let words: Vec<String> =
                typed(&plain).split_whitespace().map(|word| word.trim_end_matches([',', ';']).to_owned()).collect();
            for (at, word) in words.iter().enumerate() {
                let line: Vec<&str> = match word.as_str() {
                    option if WITH_VALUE.contains(&option) => {
                        // `latido's -d is the duration` names an option.
                        let Some(value) = words.get(at + 1).filter(|value| !["is", "names"].contains(&value.as_str()))
                        else {
                            continue;
                        };
                        vec![probe, option, value]
                    }
                    option if option.starts_with("--") => vec![probe, option],
                    pair if pair.contains('=') && words.get(at.wrapping_sub(1)).is_none_or(|one| one != "--load") => {
                        vec![probe, pair]
                    }
                    _ => continue,
                };
                if let Err(error) = plan(&line) {
                    panic!("{} {}: {line:?}: {error}", tool.name, one.flags.join(", "));
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

/// A deadline on the command line judges the probes that have a deadline, and leaves the others without a limit.
#[test]
fn a_deadline_judges_what_has_one() {
    let plan = plan(&["quick", "--deadline", "100us", "--period", "1ms"]).unwrap();
    let limits: Vec<(String, Option<String>)> = plan
        .groups
        .iter()
        .flat_map(|group| group.probe.iter().map(|probe| (probe.item.name.clone(), group.conditions.limit)))
        .map(|(name, limit)| (name, limit.map(|limit| limit.to_string())))
        .collect();
    assert_eq!(limits, [("wakeup".into(), Some("100us".into())), ("gap".into(), None)]);
    let wakeup = &plan.groups[0].probe[0].item.options;
    assert_eq!((wakeup["deadline"].as_str(), wakeup["period"].as_str()), (Some("100us"), Some("1ms")));
    let wrong = self::plan(&["gap", "--deadline", "100us"]).unwrap_err();
    assert!(wrong.contains("deadline"), "{wrong}");
}

/// `--vary` gives an axis several levels or an option several values, in a probe and in a plan.
#[test]
fn what_varies_is_an_axis_or_an_option() {
    let count = |line: &[&str]| plan(line).unwrap().groups.iter().filter_map(|group| group.cells()).sum::<usize>();
    assert_eq!(count(&["null", "--vary", "load=idle,spin", "--vary", "prio=50,80"]), 4);
    assert_eq!(count(&["wakeup", "--vary", "period=1ms,500us", "--repeat", "3"]), 6);
    let plan = plan(&["quick", "--vary", "period=1ms,500us"]).unwrap();
    assert_eq!(plan.groups[0].probe.len(), 3, "the gap has no period: {:?}", plan.groups[0].probe);
    let wrong = self::plan(&["quick", "--vary", "perod=1ms,500us"]).unwrap_err();
    assert!(wrong.contains("did you mean `period`?"), "{wrong}");
}

/// On a terminal, no line of an error is wider than the terminal. In a pipe, an error is one line.
#[test]
fn a_long_error_is_laid_out_on_a_terminal() {
    let text = format!("the store {} is a file, not a directory; name another with --store DIR", "/x".repeat(30));
    assert_eq!(super::laid_out(&text, None), format!("error: {text}"));
    let told = super::laid_out(&text, Some(80));
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert!(told.ends_with("\n   name another with --store DIR"), "{told}");
    assert_eq!(super::laid_out("short; do this", Some(80)), "error: short; do this");
}
