//! `stats`, `compare`, `history` and `effects` of numbers: they give what scipy gives for the same numbers, and refuse absurd ones.

use assert_cmd::Command;
use serde_json::Value;
use std::fmt::Write;

/// Runs a command line with this on stdin. Returns exit status, stdout, stderr.
fn latido(line: &[&str], input: impl Into<Vec<u8>>) -> (i32, String, String) {
    // It uses neither the store nor the configuration of the person who runs the tests.
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_latido"));
    command.env("LATIDO_STORE", place.path()).env("XDG_CONFIG_HOME", place.path()).env("NO_COLOR", "1");
    let output = command.args(line).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns the exit status of a command line and its document.
fn json(line: &[&str], input: impl Into<Vec<u8>>) -> (i32, Value) {
    let (status, out, err) = latido(&[line, &["--json"]].concat(), input);
    (status, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line:?}: {error}: {out}{err}")))
}

/// The values that numpy and scipy computed: see numbers/reference.py.
fn reference(part: &str) -> Value {
    serde_json::from_str::<Value>(include_str!("../numbers/reference.json")).unwrap()[part].clone()
}

/// Checks that two numbers agree within the relative difference `parts`.
#[track_caller]
fn near(ours: &Value, theirs: &Value, parts: f64) {
    let (a, b) = (ours.as_f64().unwrap_or_else(|| panic!("{ours}")), theirs.as_f64().unwrap());
    assert!((a - b).abs() <= parts * b.abs().max(1e-12), "{a} is not {b}");
}

#[track_caller]
fn all_near(ours: &Value, theirs: &Value, parts: f64) {
    let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).for_each(|(a, b)| near(a, b, parts));
}

/// Quantiles with ranks, exceedances and the fitted tail agree with scipy, also for values that start at 10^15 ns.
#[test]
fn one_run_is_what_scipy_says() {
    let wanted = reference("one");
    let values: Vec<i64> = wanted["values"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
    let text = |offset: i64| values.iter().fold(String::new(), |text, v| text + &format!("{}\n", v + offset));
    let (status, found) = json(&["stats", "-", "--unit", "ns", "--limit", "14us", "--tail", "k=200"], text(0));
    assert_eq!(
        (status, &found["count"], &found["min"], &found["max"]),
        (0, &4000.into(), &wanted["min"], &wanted["max"])
    );
    near(&found["mean"], &wanted["mean"], 1e-14);
    near(&found["sd"], &wanted["sd"], 1e-13);
    let row = |one: &Value| {
        let ranks = &one["ranks"];
        serde_json::json!([one["p"], ranks["rank"], one["value"], ranks["lower"], ranks["upper"]])
    };
    let ours: Vec<Value> = found["quantiles"].as_array().unwrap().iter().map(row).collect();
    let mut theirs = wanted["quantiles"].as_array().unwrap().clone();
    // 4,000 values do not support p99.99 and p99.999: the sample of their rank is the largest one.
    theirs.iter_mut().filter(|one| one[0].as_f64().unwrap() > 0.9995).for_each(|one| one[2] = Value::Null);
    assert_eq!(ours, theirs);
    let samples = &found["limit"]["samples"];
    assert_eq!(samples["above"], wanted["above"]);
    all_near(
        &serde_json::json!([samples["share"]["value"], samples["share"]["lower"], samples["share"]["upper"]]),
        &wanted["share"],
        1e-9,
    );
    let tail = &found["tail"];
    assert_eq!((&tail["u"], &tail["exceedances"]), (&wanted["u"], &wanted["exceedances"]));
    if tail["k"] == wanted["exceedances"] && tail["step"].is_null() {
        near(&tail["log_likelihood"], &wanted["log_likelihood"], 1e-9);
        near(&tail["xi"]["value"], &wanted["xi"], 1e-3);
        near(&tail["sigma"], &wanted["sigma"], 1e-4);
        assert_eq!(tail["gate"]["verdict"], "accepted");
        near(&tail["levels"][0]["level"]["value"], &wanted["level_10"], 1e-5);
    } else {
        panic!("the reference fits each excess, this does not: {tail}");
    }
    let far = 1_000_000_000_000_000;
    let (_, shifted) = json(&["stats", "-", "--unit", "ns", "--tail", "200"], text(far));
    near(&shifted["sd"], &wanted["sd"], 1e-13);
    assert_eq!(shifted["tail"]["xi"], tail["xi"]);
    assert_eq!(shifted["max"].as_i64().unwrap() - far, wanted["max"].as_i64().unwrap());
}

/// U, the exact p, the ratio with its interval, delta, the permutations and Holm agree with scipy.
#[test]
fn comparisons_are_what_scipy_says() {
    let wanted = reference("compare");
    let mut text = "arm,value\n".to_string();
    for name in ["a", "b", "c"] {
        wanted["arms"][name].as_array().unwrap().iter().for_each(|value| writeln!(text, "{name},{value}").unwrap());
    }
    let (status, found) = json(&["compare", "--values", "-"], text);
    assert_eq!((status, &found["outcome"]), (2, &"worse".into()), "b is above, c is undecided: worse comes first");
    for one in found["comparisons"].as_array().unwrap() {
        let name = one["arm"].as_str().unwrap();
        let theirs = &wanted["found"][name];
        near(&one["mann_whitney"]["u_a"], &theirs["u_a"], 0.0);
        near(&one["mann_whitney"]["p"], &theirs["p"], 1e-9);
        assert_eq!(one["mann_whitney"]["method"], "exact");
        near(&one["p_holm"], &wanted["holm"][name], 1e-9);
        near(&one["permutation"]["p"], &theirs["permutation"], 1e-9);
        near(&one["estimate"]["value"], &theirs["ratio"], 1e-12);
        all_near(&one["estimate"]["interval"], &theirs["interval"], 1e-12);
        near(&one["cliffs_delta"], &theirs["delta"], 1e-12);
    }
    let verdicts: Vec<&Value> = found["comparisons"].as_array().unwrap().iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, ["higher", "undecided"]);
}

/// Q, the place and the sides of a change agree with the definition, computed with numpy.
#[test]
fn a_change_is_where_the_definition_has_it() {
    let wanted = reference("history");
    let mut text = String::new();
    for (night, value) in wanted["values"].as_array().unwrap().iter().enumerate() {
        writeln!(text, "night {night},{value}").unwrap();
    }
    let (status, found) = json(&["history", "--values", "-"], text);
    let index = wanted["index"].as_u64().unwrap();
    assert_eq!((status, found["changes"].as_array().unwrap().len()), (2, 1));
    let change = &found["changes"][0];
    assert_eq!(change["index"], wanted["index"]);
    assert_eq!(change["before"], format!("night {index}"));
    assert_eq!(change["after"], format!("night {}", index - 1));
    near(&change["q"], &wanted["q"], 1e-9);
    near(&change["ratio"], &wanted["ratio"], 1e-12);
    let means = serde_json::json!([found["segments"][0]["mean"], found["segments"][1]["mean"]]);
    all_near(&means, &wanted["means"], 1e-12);
    assert!(change["p"].as_f64().unwrap() < 0.05);
}

/// A slow wave has no change of level. latido estimates how much each value keeps of the one before, adds the error, and says "up to".
#[test]
fn what_values_keep_is_told_as_a_bound() {
    let mut text = String::new();
    for night in 0..40_u32 {
        writeln!(text, "night {night},{}", 100.0 + 10.0 * (f64::from(night) * 0.9).sin()).unwrap();
    }
    let (status, out, _) = latido(&["history", "--values", "-"], text.as_str());
    assert_eq!(status, 0, "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, found) = json(&["history", "--values", "-"], text);
    let kept = found["kept"].as_f64().unwrap();
    assert!(kept > 0.0 && kept <= 0.9, "{found}");
    assert!(words.contains("dependence: each value keeps up to "), "{out}");
}

/// Effects with a block and a missing value agree with numpy's least squares.
#[test]
fn effects_are_those_of_least_squares() {
    let wanted = reference("effects");
    let mut text = "kernel,load,Repeat,max\n".to_string();
    for row in wanted["rows"].as_array().unwrap() {
        let field = |at: usize| row[at].as_str().unwrap();
        writeln!(text, "{},{},{},{}", field(0), field(1), field(2), row[3]).unwrap();
    }
    let (status, found) = json(&["effects", "--values", "-"], text);
    assert_eq!((status, &found["block"], &found["balanced"]), (0, &"Repeat".into(), &false.into()));
    assert_eq!(found["freedom"], wanted["freedom"]);
    near(&found["mean"], &wanted["mean"], 1e-9);
    for (at, name) in ["kernel", "load", "both"].into_iter().enumerate() {
        let (ours, theirs) = (&found["contrasts"][at], &wanted["found"][name]);
        near(&ours["ratio"], &theirs["ratio"], 1e-9);
        all_near(&ours["interval"], &theirs["interval"], 1e-7);
        near(&ours["p"], &theirs["p"], 1e-6);
        near(&found["terms"][at]["f"], &theirs["f"], 1e-7);
    }
}

/// The verdicts and their exit statuses: lower, higher, equivalent within a margin, undecided; with the options times and by.
#[test]
fn verdicts_have_exit_statuses() {
    let arms = |factor: f64, offset: f64| {
        (1..=10).fold(String::new(), |text, run| {
            let value = 100.0 + f64::from(run);
            text + &format!("a,{value}\nb,{}\n", value * factor + offset)
        })
    };
    for (options, input, status, told) in [
        (&[][..], arms(2.0, 0.0), 2, "b is 2.00 times a (1.94 to 2.06): higher"),
        (&[], arms(0.5, 0.0), 0, "b is 0.500 times a ("),
        (&[], arms(1.0, 0.1), 3, "undecided: p"),
        (&["--margin", "10%"], arms(1.0, 0.1), 0, "equivalent, within 10 %"),
        (&["--times", "3"], arms(2.0, 0.0), 0, "lower than 3.00 times a"),
        (&["--times", "2"], arms(2.0, 0.0), 3, "undecided against 2.00 times a"),
        (&["--by", "50"], arms(1.0, 80.0), 2, "higher than a and 50.0"),
        (&["--by", "-50"], arms(1.0, -80.0), 0, "lower than a and −50.0"),
        (&["--scale", "difference", "--margin", "20"], arms(1.0, 0.1), 0, "equivalent, within 20.0"),
        (&["--unit", "us", "--by", "1ms"], arms(1.0, 80.0), 0, "lower than a and 1.00 ms"),
    ] {
        let (code, out, err) = latido(&[&["compare", "--values", "-"], options].concat(), input);
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == status && flat.contains(told), "{options:?}: {code}\n{out}{err}");
    }
    let nights =
        |level: fn(u32) -> u32| (0..20).fold(String::new(), |text, n| text + &format!("n{n},{}\n", level(n) + n % 3));
    for (input, status, told) in [
        (nights(|n| if n < 10 { 100 } else { 200 }), 2, "worse: the newest change is to higher values"),
        (nights(|n| if n < 10 { 200 } else { 100 }), 0, "not worse: the newest change is to lower values"),
        (nights(|_| 100), 0, "no change of level was found"),
        ("x,1\ny,2\n".into(), 3, "too few values"),
    ] {
        let (code, out, err) = latido(&["history", "--values", "-"], input);
        assert!(code == status && out.contains(told), "{told}: {code}\n{out}{err}");
    }
}

/// latido refuses an input without an answer, names the line and the remedy, and writes to stderr alone.
#[test]
fn absurd_values_are_refused_at_their_line() {
    const STATS: &[&str] = &["stats", "-", "--unit", "us"];
    const COMPARE: &[&str] = &["compare", "--values", "-"];
    const HISTORY: &[&str] = &["history", "--values", "-"];
    const EFFECTS: &[&str] = &["effects", "--values", "-"];
    let pairs: String = (0..2450).map(|at| format!("a{},{}\n", at % 49, at % 17 + 1)).collect();
    let crowd = (0..1_001).fold("b,1\n".to_string(), |text, run| text + &format!("a,{}\n", run + 1));
    let nights = "n,1\n".repeat(501);
    for (line, input, status, told) in [
        (STATS, "", 1, "stdin: there are no values: write one per line"),
        (STATS, "# nothing\n\n", 1, "stdin: there are no values"),
        (STATS, "1\n2\nx3\n", 1, "stdin:3: `x3` is not a number"),
        (STATS, "1\n\n# c\n1 2\n", 1, "stdin:4: `1 2` is not a number: one value per line"),
        (STATS, "NaN\n", 1, "stdin:1: `NaN` is not a number"),
        (STATS, "1\n-inf\n", 1, "stdin:2: `-inf` is not a number"),
        (STATS, "1\n0x10\n", 1, "stdin:2: `0x10` is not a number"),
        (STATS, "a,b\n1,2\n", 1, "stdin:1: `a,b` is not a number: one value per line"),
        (STATS, "1.0005\n", 1, "stdin:1: `1.0005` is finer than one nanosecond: round it"),
        (STATS, "1e-400\n", 1, "stdin:1: `1e-400` is finer than one nanosecond"),
        (STATS, "1e300\n", 1, "stdin:1: `1e300` is longer than 31 years: is --unit the right one?"),
        (STATS, "99999999999999999999999999999999999999999999\n", 1, "stdin:1: `9999"),
        (&["stats", "/dev/zero", "--unit", "us"], "", 1, "/dev/zero: not a file"),
        (&["stats", "/nonexistent", "--unit", "us"], "", 1, "/nonexistent: No such file"),
        (&["stats", "-"], "1\n", 64, "--unit <UNIT>"),
        (&["stats", "-", "--unit", "us", "--tail", "k=0"], "1\n", 64, "write k=N with N from 1"),
        (&["stats", "-", "--unit", "us", "--interval", "1"], "1\n", 64, "--interval: `1` has no unit"),
        (&["stats", "-", "--unit", "us", "--interval", "0ms"], "1\n", 64, "write a time above zero"),
        (COMPARE, "", 1, "stdin: there are no values"),
        (COMPARE, "a,1\na,2\n", 1, "all values belong to the side `a`: a comparison needs two"),
        (COMPARE, "a,1\nb,\n", 1, "stdin:2: the value is missing"),
        (COMPARE, "a,1\n,2\n", 1, "stdin:2: column 1 is empty"),
        (COMPARE, "a,1\nb,2,3\n", 1, "stdin:2: 3 columns, but the table has 2"),
        (COMPARE, "1\n2\n", 1, "stdin:1: 1 column, but the table has 2"),
        (
            COMPARE,
            "a,1\nb,0\n",
            1,
            "stdin:2: 0 is not above zero, and ratios need values above zero: --scale difference",
        ),
        (COMPARE, "a,-1\nb,1\n", 1, "stdin:1: -1 is not above zero"),
        (COMPARE, "a,1\nb,inf\n", 1, "stdin:2: `inf` is not a number"),
        (COMPARE, "a,1\nb,1e999\n", 1, "stdin:2: `1e999` is out of range"),
        (COMPARE, "a,1\nb,1e-99\n", 1, "stdin:2: `1e-99` is out of range"),
        (COMPARE, "a,1\n\"b,1\n", 1, "stdin:2: a quote is not closed"),
        (COMPARE, &pairs, 1, "stdin: the pairs of these 49 sides have 117600 values together, more than 20000"),
        (COMPARE, &crowd, 1, "stdin:1002: the side `a` has more than 1000 values"),
        (&["compare", "--values", "-", "--margin", "5"], "", 64, "has a percent sign: 5%"),
        (&["compare", "--values", "-", "--margin", "0%"], "", 64, "the margin must be above zero"),
        (&["compare", "--values", "-", "--times", "0"], "", 64, "the factor must be above zero"),
        (&["compare", "--values", "-", "--times", "2", "--scale", "difference"], "", 64, "or write --by"),
        (&["compare", "--values", "-", "--by", "2us"], "", 64, "the values have no unit"),
        (HISTORY, "n,0\n", 1, "stdin:1: 0 is not above zero"),
        (HISTORY, &nights, 1, "stdin:501: more than 500 values: give the last 500"),
        (&["history", "--values", "-", "--format", "junit"], "", 64, "--format junit needs stored runs"),
        (&["history", "last", "--format", "csv"], "", 64, "for a table --against"),
        (&["history", "last", "--format", "junit", "--float"], "", 64, "--float applies only to LaTeX"),
        (EFFECTS, "x,1\ny,2\n", 1, "stdin: the first line must name the columns"),
        (EFFECTS, "k,v\nx,1\nx,2\n", 1, "the factor `k` has only one level"),
        (EFFECTS, "k,v\nx,1\ny,1\n", 1, "all values are equal"),
        (EFFECTS, "k,v\nx,1\ny,0\n", 1, "stdin:3: 0 is not above zero"),
        (EFFECTS, "repeat,v\n1,1\n2,2\n", 1, "there is no factor"),
        (EFFECTS, "k,k,v\nx,y,1\n", 1, "two columns are called `k`"),
        (EFFECTS, "k,l,v\nx,p,1\ny,p,2\nx,q,3\n", 1, "y/q not measured; --order 1"),
    ] {
        let (code, out, err) = latido(line, input);
        assert_eq!((code, out.as_str()), (status, ""), "{line:?} {input:.40}: {err}");
        assert!(err.contains(told), "{line:?} {input:.40}: {err}");
    }
    let (code, _, err) = latido(STATS, b"1\n2\n\xff\n".to_vec());
    assert!(code == 1 && err.contains("stdin:3: this is not UTF-8 text"), "{err}");
}

/// Tiny, constant, tied and far-off inputs have complete answers, as text and as JSON, without NaN or infinity.
#[test]
fn odd_values_have_whole_answers() {
    let ramp = |n: u32, offset: u64| {
        (0..n).fold(String::new(), |text, i| text + &format!("{}\n", offset + u64::from(i * 7919 % 1000)))
    };
    let outlier = ramp(500, 1000) + "1000000000\n";
    let huge = ramp(300, 1_000_000_000_000_000);
    for (line, input) in [
        ("stats - --unit ns", "5\n"),
        ("stats - --unit ns --interval 1ns", "5\n6\n"),
        ("stats - --unit ns --interval 200d", "5\n6\n"),
        ("stats - --unit ns --limit 1us", "5\n6\n"),
        ("stats - --unit ns --tail 5", "5\n6\n"),
        ("stats - --unit ns", "-5\n-6\n0\n"),
        ("stats - --unit us", "\u{feff}\"1.5\"\r\n\r\n# c\r\n+2.250\r\n"),
        ("stats - --unit us", "latency_us\n1\n1\n1\n"),
        ("stats - --unit ns --interval 1ms --limit 2us", &outlier),
        ("stats - --unit ns --interval 1ms --tail k=60", &huge),
        ("stats - --unit ns --tail k=499", &"7\n".repeat(500)),
        ("compare --values -", "a,1\nb,2\n"),
        ("compare --values -", "\u{feff}\"a, 1\",1\r\n'b',2\r\n"),
        ("compare --values -", "a,1\na,1\na,1\na,1\nb,1\nb,1\nb,1\nb,1\n"),
        ("compare --values - --margin 5%", "a,1\na,1\na,1\na,1\nb,1\nb,1\nb,1\nb,1\n"),
        ("compare --values - --scale difference", "a,0\na,0\nb,-1\nb,0\n"),
        ("compare --values -", "a,1e30\na,1e-30\nb,1e30\nb,1e-30\nb,1\n"),
        ("compare --values - --unit s", "a,1e30\nb,1e-30\n"),
        ("history --values -", "a,1\n"),
        ("history --values -", &"n,3\n".repeat(20)),
        ("history --values - --scale difference", &"n,0\n".repeat(20)),
        ("history --values -", &["n,3\n".repeat(19), "n,1e30\n".into()].concat()),
        ("effects --values -", "k,v\nx,1\ny,2\n"),
        ("effects --values -", "k,v\nx,1e30\ny,1e-30\nx,1e-30\n"),
        ("effects --values -", "k,v\nx,1\nx,1\ny,2\ny,2\n"),
    ] {
        let line: Vec<&str> = line.split(' ').collect();
        let (code, out, err) = latido(&line, input);
        assert!([0, 2, 3].contains(&code) && err.is_empty(), "{line:?} {input:.40}: {code} {err}");
        let words: Vec<&str> = out.split(|c: char| !c.is_alphanumeric()).collect();
        assert!(!words.iter().any(|word| ["NaN", "inf"].contains(word)), "{line:?} {input:.40}: {out}");
        let (_, document) = json(&line, input);
        assert_eq!(document["schema"], 1);
    }
    let (_, exact) = json(&["stats", "-", "--unit", "us"], "1.5\n2.25\n1e1\n-0.001\n");
    assert_eq!((&exact["min"], &exact["max"], &exact["unit"]), (&(-1).into(), &10_000.into(), &"ns".into()));
}
