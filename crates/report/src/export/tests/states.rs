//! Every state in every format: no state but a pass may look like a pass.

use super::*;
use latido_model::verdict::Verdict;
use serde_json::Value;

/// Returns what each format writes for a run of one cell that has a limit and this verdict.
fn of_verdict(verdict: Verdict) -> Vec<(&'static str, String)> {
    let mut fixture = Fixture::new(vec![(of_a_second(cell()), vec![second(0)])]);
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let mut runs = [judged(&fixture, run)];
    runs[0].judgement.cells[0].verdict = verdict;
    let exported = Exported { runs: &runs, source: &fixture, options: Options { cell: None, ..options() } };
    texts_of(&exported)
}

/// Returns the line that contains this text.
fn line<'a>(text: &'a str, of: &str) -> &'a str {
    text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("no {of} in {text}"))
}

/// Returns whether a reader of the format takes the cell for one that kept its limit.
fn looks_passed(format: &str, text: &str) -> bool {
    let json = || serde_json::from_str::<Value>(text).unwrap();
    match format {
        "ktap" => {
            let line = line(text, "ok 1 limit").trim();
            line.starts_with("ok ") && !line.contains("# SKIP")
        }
        "junit" => {
            let case = line(text, "name=\"wakeup, idle, cpus 0,1: limit");
            !["<failure", "<error", "<skipped"].iter().any(|child| case.contains(child))
        }
        "lava" => line(text, "wakeup-idle-cpus-0-1-limit").contains("RESULT=pass"),
        "lava-results" => line(text, "wakeup-idle-cpus-0-1-limit").ends_with(" pass"),
        "kcidb" => {
            let all = json();
            let test = all["tests"].as_array().unwrap().iter().find(|test| test["path"] == "latido.wakeup.limit");
            test.unwrap()["status"] == "PASS"
        }
        "prometheus" | "openmetrics" => {
            let verdicts: Vec<&str> = text.lines().filter(|line| line.starts_with("latido_cell_verdict{")).collect();
            assert_eq!(verdicts.iter().filter(|line| line.ends_with(" 1")).count(), 1, "{verdicts:?}");
            verdicts.iter().any(|line| line.contains("verdict=\"pass\"") && line.ends_with(" 1"))
        }
        "cyclictest" | "hgrm" => line(text, ", idle, ").contains(", idle, cpus 0,1, pass"),
        "rt-tests" => json()["latido"]["verdict"] == "pass",
        "perfetto" => json()["traceEvents"][0]["args"]["name"].as_str().unwrap().ends_with(", pass"),
        "markdown-summary" => line(text, "| wakeup, idle, cpus 0,1 |").contains("| pass |"),
        "bencher" => json()["wakeup, idle, cpus 0,1"]["not_pass"]["value"] == 0,
        "github-action-benchmark" => {
            let all = json();
            let entry = all.as_array().unwrap().iter().find(|entry| entry["name"] == "wakeup, idle, cpus 0,1 not_pass");
            entry.unwrap()["value"] == 0
        }
        "otava" => {
            let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
            let head = rows.next().unwrap();
            let at = head.iter().position(|name| *name == "wakeup-idle-cpus-0-1_not_pass").unwrap();
            rows.all(|row| row[at] == "0")
        }
        "phoronix" => line(text, "wakeup, idle, cpus 0,1 not_pass").ends_with(": 0"),
        // hlog contains only samples. Its comments mark samples that do not represent the machine.
        "hlog" => !text.contains("#latido wakeup, idle") && text.contains("Tag=wakeup-idle-cpus-0-1"),
        other => panic!("how does a pass look in {other}?"),
    }
}

#[test]
fn nothing_but_a_pass_looks_like_one() {
    use Verdict::*;
    for verdict in [Pass, Fail, Inconclusive, Contaminated, Infra, Skipped] {
        for (format, text) in of_verdict(verdict) {
            // The samples of a failed cell are as valid as those of a passed one.
            let passed = verdict == Pass || (verdict == Fail && format == "hlog");
            assert_eq!(looks_passed(format, &text), passed, "{format} of {verdict}: {text}");
        }
    }
}

/// A run whose plan cannot be read is incomplete: each format that lists cases has one that did not pass, even if its cells did.
#[test]
fn a_damaged_run_has_a_case_that_did_not_pass() {
    let texts = |damaged: bool| {
        let mut fixture = Fixture::new(vec![(of_a_second(cell()), vec![second(0)])]);
        let mut run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
        run.damaged = damaged;
        run.problems.extend(damaged.then(|| "run.json: broken".to_owned()));
        let runs = [judged(&fixture, run)];
        texts_of(&Exported { runs: &runs, source: &fixture, options: Options { cell: None, ..options() } })
    };
    let bad = |format: &str| match format {
        "ktap" => Some("not ok"),
        "junit" => Some("<error"),
        "lava" => Some("RESULT=unknown"),
        "lava-results" => Some("plan-can-be-read unknown"),
        "kcidb" => Some("\"ERROR\""),
        _ => None,
    };
    for ((format, whole), (_, damaged)) in texts(false).into_iter().zip(texts(true)) {
        let Some(bad) = bad(format) else { continue };
        assert!(damaged.contains(bad) && !whole.contains(bad), "{format}: {damaged}");
    }
}

/// No format reports that a cell without a limit kept one: only its trust passes, in the formats that list cases.
#[test]
fn without_a_limit_nothing_passes_but_trust() {
    let mut fixture = Fixture::new(vec![(of_a_second(probing("gap")), vec![vec![25, 31, 1_250]])]);
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    assert_eq!(state::State::of_cell(&runs[0].judgement.cells[0], false), state::State::Measured);
    let exported = Exported { runs: &runs, source: &fixture, options: Options { cell: None, ..options() } };
    for (format, text) in texts_of(&exported) {
        let count = |words: &str| text.matches(words).count();
        let told = match format {
            "ktap" => (count("  1..1\n  ok 1 trust\n"), count("limit")) == (1, 0),
            "junit" => (count("<testcase "), count("gap, idle, cpus 0,1: trust\"")) == (1, 1),
            "lava" => (count("RESULT=pass"), count("=gap-idle-cpus-0-1-trust RESULT=pass")) == (1, 1),
            "lava-results" => (count(" pass\n"), count("gap-idle-cpus-0-1-trust pass\n")) == (1, 1),
            "kcidb" => (count("\"PASS\""), count("\"latido.gap.trust\""), count("\"latido.gap.limit\"")) == (1, 1, 0),
            "prometheus" | "openmetrics" => count("probe=\"gap\",verdict=\"measured\"} 1") == 1,
            "cyclictest" | "hgrm" | "perfetto" => count("gap, idle, cpus 0,1, measured") == 1,
            "rt-tests" => count("\"verdict\": \"measured\"") == 1,
            "markdown-summary" => count("| gap, idle, cpus 0,1 | measured |") == 1,
            "bencher" | "github-action-benchmark" | "otava" | "phoronix" => count("gap") > 0 && count("not_pass") == 0,
            // hlog contains only samples.
            "hlog" => count("Tag=gap-idle-cpus-0-1") == 1,
            other => panic!("how does {other} tell what was only measured?"),
        };
        assert!(told, "{format}: {text}");
    }
}

/// A maximum that was cut off has another name in each format.
#[test]
fn a_censored_maximum_says_so() {
    let mut fixture =
        Fixture::new(vec![(of_a_second(cell()), vec![second(0).into_iter().chain([420_181]).skip(1).collect()])]);
    fixture.record(1).outcome =
        latido_model::record::Outcome::Stopped { value_ns: 420_181, cpu: Some(0), at_ns: Some(999_000_000) };
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    let exported = Exported { runs: &runs, source: &fixture, options: Options { cell: None, ..options() } };
    for (name, text) in texts_of(&exported) {
        let told = ["max_at_least", "max_is_at_least", "lower bound", "≥ 420.181"];
        // KTAP has no figures, and perfetto has slices that it does not call the largest possible.
        let none = ["ktap", "perfetto"].contains(&name);
        let told = none || told.iter().any(|words| text.contains(words));
        assert!(told, "{}: {text}", name);
        assert!(!text.contains("latency-max ") && !text.contains("latency_max_seconds"), "{}", name);
    }
}
