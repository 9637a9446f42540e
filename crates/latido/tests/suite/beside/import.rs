//! Outputs of other tools become runs like any other: stored, shown, reported, judged, compared; round trips and the tools themselves give
//! the same figures.

use crate::common::{self, Need};

use common::{World, installed, json, realtime, skip, stderr, text};
use serde_json::{Value, json as value};
use std::{fs, process::Command};

fn sample(name: &str) -> String {
    let path = common::samples::folder().join(name);
    assert!(path.exists(), "{}", path.display());
    path.to_str().unwrap().to_owned()
}

fn record(world: &World, run: usize) -> Value {
    let path = world.runs()[run].join("cells/001/record.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn an_import_is_a_run_with_its_file_beside() {
    let world = World::new();
    let file = sample("cyclictest/cyclictest-2.4-h-2threads.hist");
    let out = world.run(["import", &file, "--limit", "800us"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let shown = text(&out);
    assert!(shown.contains("PASS: imported, nothing checked"), "{shown}");
    assert!(shown.contains("743 to 744") && shown.contains("12.0 to 13.0"), "{shown}");
    let run = world.runs().remove(0);
    let kept = run.join("cells/001/source/cyclictest-2.4-h-2threads.hist");
    assert_eq!(fs::read(kept).unwrap(), fs::read(&file).unwrap());
    let record = record(&world, 0);
    assert_eq!(
        (&record["quality"], &record["anchors"], &record["elapsed_ns"], &record["source"]["format"]),
        (&Value::Null, &Value::Null, &Value::Null, &value!("cyclictest"))
    );
    let series = &record["series"][1];
    assert_eq!(series["bounds"]["max"], value!([743_000, 743_999]));
    assert_eq!((&series["max"], &series["count"], &series["sd"]), (&value!(743_999), &value!(3000), &Value::Null));
    assert_eq!((&series["bands"], &series["quantized"]["width"]), (&Value::Null, &value!(1000)));
    let buckets = fs::read_to_string(run.join("cells/001/buckets-1.csv")).unwrap();
    assert!(buckets.starts_with("low,high,count\n17000,17999,1\n18000,18999,6\n"), "{buckets}");
    assert!(buckets.ends_with("120000,743999,2\n"), "{buckets}");
    for line in [&["show", "--full", "last"][..], &["report", "last", "-o", "r.html"], &["list", "runs"]] {
        let out = world.run(line.iter().copied());
        assert_eq!(out.status.code(), Some(0), "{line:?}: {}", stderr(&out));
        assert!(!stderr(&out).contains("warning"), "{line:?}: {}", stderr(&out));
    }
    let page = fs::read_to_string(world.path("r.html")).unwrap();
    assert!(page.contains("imported, nothing checked") && page.contains("743 to 744"));
    for format in ["junit", "ktap", "markdown-summary", "prometheus", "cyclictest", "rt-tests", "hlog", "hgrm", "lava"]
    {
        let out = world.run(["export", format, "last"]);
        assert_eq!(out.status.code(), Some(0), "{format}: {}", stderr(&out));
    }
    world.nothing_left("imports");
}

/// A limit inside a bin decides nothing; a limit next to the bin does.
#[test]
fn limits_and_bins() {
    let world = World::new();
    let file = sample("cyclictest/cyclictest-2.4-h-2threads.hist");
    for (limit, status, told) in [
        ("743999ns", 0, "inside the limit"),
        ("743500ns", 3, "bins too coarse: 743 µs to 743.999 µs"),
        ("742999ns", 2, "above the limit"),
        // The limit is inside a bin: how many samples are above it is unknown.
        ("59us", 2, "unknown load: samples above the limit of 59.0 µs, worst 743 µs to 744 µs"),
    ] {
        let out = world.run(["import", &file, "--limit", limit]);
        let said = String::from_utf8_lossy(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(out.status.code(), Some(status), "{limit}: {said}");
        assert!(said.contains(told), "{limit}: {said}");
    }
}

/// What a file does not state is absent: a summary without a count does not count as 0 samples, and its other figures stay.
#[test]
fn samples_that_nobody_counted_are_not_none() {
    let world = World::new();
    for (file, limit, status, told) in [
        ("xenomai/latency-3.2.5.txt", "1ms", 0, &["2 or more", "928 µs", "inside the limit"][..]),
        ("xenomai/latency-3.2.5.txt", "100us", 2, &["samples above the limit of 100 µs, worst 928 µs"]),
        ("rtla/rtla-6.12-osnoise-top.txt", "1s", 0, &["2 or more", "worst 139 ms (gap"]),
        ("rt-tests/hwlatdetect-2.10.txt", "1s", 0, &["2005", "worst 11.1 ms of 2005 samples"]),
    ] {
        let out = world.run(["import", &sample(file), "--limit", limit]);
        let said = String::from_utf8_lossy(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(out.status.code(), Some(status), "{file}: {said}{}", stderr(&out));
        assert!(told.iter().all(|told| said.contains(told)), "{file}: {told:?} in {said}");
        assert!(!said.contains(" 0 samples") && !said.contains("of 0 "), "{file}: {said}");
        for line in [&["show", "--full", "last"][..], &["report", "last", "-o", "r.html"], &["export", "junit", "last"]]
        {
            let out = world.run(line.iter().copied());
            // `show` judges the run again.
            let expected = if line[0] == "show" { status } else { 0 };
            assert_eq!(out.status.code(), Some(expected), "{file}, {line:?}: {}", stderr(&out));
        }
        let out = world.run(["export", "parquet", "last", "-o", "two"]);
        let expected = if cfg!(feature = "parquet") { 0 } else { 64 };
        assert_eq!(out.status.code(), Some(expected), "{file}: {}", stderr(&out));
    }
    let written = fs::metadata(world.path("two/series.parquet")).is_ok_and(|found| found.len() > 0);
    assert_eq!(written, cfg!(feature = "parquet"));
}

/// A measurement that was cut is interrupted, not running: the import has ended.
#[test]
fn a_cut_measurement_is_interrupted() {
    let world = World::new();
    let cut = "hwlatdetect:  test duration 10 seconds\n   parameters:\n        Latency threshold: 10us\n\nStarting test\n\
        Max Latency: 42us\nSamples recorded: 3\nSamples exceeding threshold: 3\nts: 1704444545.123456789, inner:12, outer:42\n";
    let out = world.run(["import", world.file("cut.txt", cut).to_str().unwrap()]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("INTERRUPTED: ") && !said.contains("AT WORK"), "{said}{}", stderr(&out));
}

/// latido names the files that it cannot read, and imports the others.
#[test]
fn one_bad_file_stops_no_other() {
    let world = World::new();
    let good = sample("cyclictest/cyclictest-2.4-hist.json");
    let ambiguous = sample("rt-tests/ptsematest-2.4.txt");
    let torn = world.file("torn.hist", "# Histogram\n000001 000002\n000002 00000");
    let junk = world.file("junk", "nothing that anybody knows\n");
    let out = world.run(["import", &good, &ambiguous, torn.to_str().unwrap(), junk.to_str().unwrap(), "/nowhere/x"]);
    assert_eq!(out.status.code(), Some(1));
    let said = stderr(&out);
    for told in [
        "the format may be ptsematest or svsematest or sigwaittest: name it with --format",
        "torn.hist: as cyclictest: line 3 has no end",
        "junk: the content shows none of the known formats (cyclictest, ",
        "/nowhere/x: No such file",
        "4 files were not imported",
    ] {
        assert!(
            said.contains(told) || said.contains(&told.replace(": No such", ": reading /nowhere/x: No such")),
            "{told}: {said}"
        );
    }
    assert_eq!(record(&world, 0)["source"]["tool"], "cyclictest");
    let named = world.run(["import", &ambiguous, "--format", "sigwaittest"]);
    assert_eq!(named.status.code(), Some(0), "{}", stderr(&named));
    let by_args = world.run(["import", &ambiguous, "--args", "/usr/bin/ptsematest -q -S"]);
    assert_eq!(by_args.status.code(), Some(0), "{}", stderr(&by_args));
    // latido skips and counts the other files of a directory.
    fs::create_dir(world.path("nights")).unwrap();
    fs::copy(&good, world.path("nights/a.json")).unwrap();
    fs::write(world.path("nights/README"), "notes").unwrap();
    let out = world.run(["import", "nights"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stderr(&out).contains("skipped 1 file of the directories"), "{}", stderr(&out));
    assert_eq!(world.run(["import", junk.to_str().unwrap()]).status.code(), Some(1));
}

/// Names and contents that must not reach a terminal, a page or a path unchanged.
#[test]
fn hostile_names_stay_names() {
    let world = World::new();
    let text_of = fs::read_to_string(sample("cyclictest/cyclictest-2.10-hist.json")).unwrap();
    let hostile = text_of.replace("\"vm\"", "\"<script>alert(1)</script>\\u001b[2J\"");
    assert_ne!(hostile, text_of);
    let name = "a <img src=x>\x1b[31m'\"..%s.json";
    world.file(name, &hostile);
    let out = world.run(["import", name, "--label", "who=<i>zzz</i>\x1b[1m"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    for line in [&["show", "--full", "last"][..], &["show", "last", "--json"], &["list", "runs"]] {
        let out = world.run(line.iter().copied());
        assert_eq!(out.status.code(), Some(0), "{line:?}: {}", stderr(&out));
        assert!(!out.stdout.contains(&0x1b), "{line:?}");
    }
    world.run(["report", "last", "-o", "r.html"]);
    let page = fs::read_to_string(world.path("r.html")).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x>") && !page.contains("<i>zzz"));
    let kept: Vec<String> = fs::read_dir(world.runs()[0].join("cells/001/source"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(kept, ["a__img_src_x___31m__.._s.json"]);
}

/// Comparisons among imports and with a native run, at the coarser bins.
#[test]
fn imports_are_compared() {
    let world = World::new();
    let two =
        [sample("cyclictest/cyclictest-2.4-h-2threads.hist"), sample("cyclictest/cyclictest-2.10-h-2threads.hist")];
    for file in &two {
        assert_eq!(world.run(["import", file]).status.code(), Some(0));
    }
    json(&world.run(["run", "null", "samples=5000", "-c", "0", "--no-report", "--json"]), 0);
    let mut ids: Vec<(String, String)> = world
        .runs()
        .iter()
        .map(|run| {
            let manifest: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
            let id = run.file_name().unwrap().to_str().unwrap().to_owned();
            (id, manifest["meta"]["plan"].as_str().unwrap().to_owned())
        })
        .collect();
    ids.sort_by_key(|(_, plan)| plan != "import");
    let [a, b, native] = [0, 1, 2].map(|at| ids[at].0.as_str());
    assert_eq!(ids[2].1, "null");
    let both = json(&world.run(["compare", a, b, "--json"]), 3);
    let row = &both["rows"][0];
    assert_eq!((&both["metric"], row["quantity"].as_str()), (&value!("max"), Some("latency")), "{both}");
    let mixed = json(&world.run(["compare", native, a, "--json"]), 3);
    assert_eq!(mixed["rows"].as_array().unwrap().len(), 1, "{mixed}");
    // The native maximum is compared as the end of its microsecond.
    let native = mixed["rows"][0]["a"]["median"].as_f64().unwrap_or_else(|| panic!("{mixed}"));
    assert_eq!(native as i64 % 1000, 999, "{mixed}");
    let history = world.run(["history", a, b]);
    assert!(matches!(history.status.code(), Some(0 | 3)), "{}", stderr(&history));
}

/// latido's export in the text format of cyclictest can be imported again: each count is the same, and extremes agree to a bin.
#[test]
fn a_round_trip_through_cyclictests_text() {
    let world = World::new();
    let run = "run null samples=20000 value=30us dist=lognormal -c 0 --no-report --json";
    json(&world.run(run.split(' ')), 0);
    let native = record(&world, 0);
    let out = world.run(["export", "cyclictest", "last", "--bins", "400", "-o", "out.hist"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let exported = fs::read_to_string(world.path("out.hist")).unwrap();
    assert_eq!(world.run(["import", "out.hist"]).status.code(), Some(0));
    let run = world.runs().into_iter().find(|run| run.to_str().unwrap().contains("-import-")).unwrap();
    let back: Value = serde_json::from_slice(&fs::read(run.join("cells/001/record.json")).unwrap()).unwrap();
    let (a, b) = (&native["series"][0], &back["series"][0]);
    assert_eq!(a["count"], b["count"]);
    for key in ["min", "max"] {
        let exact = a[key].as_i64().unwrap();
        let bounds = &b["bounds"][key];
        assert!(
            bounds[0].as_i64().unwrap() <= exact && exact <= bounds[1].as_i64().unwrap(),
            "{key}: {exact} {bounds}"
        );
    }
    for key in ["0.5", "0.99", "0.999"] {
        let (exact, bounds) = (a["quantiles"][key].as_i64().unwrap(), &b["bounds"]["quantiles"][key]);
        let within = bounds[0].as_i64().unwrap() - 1000 <= exact && exact <= bounds[1].as_i64().unwrap() + 1000;
        assert!(within, "{key}: {exact} {bounds}");
    }
    let buckets = fs::read_to_string(run.join("cells/001/buckets-0.csv")).unwrap();
    let rows: Vec<&str> = buckets.lines().skip(1).filter(|line| !line.starts_with("400000,")).collect();
    assert!(rows.len() > 10, "{buckets}");
    for row in rows {
        let [low, _, count] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let line = format!("{:06} {:06}", low.parse::<u64>().unwrap() / 1000, count.parse::<u64>().unwrap());
        assert!(exported.lines().any(|own| own == line), "{row}");
    }
}

/// Runs a tool for a moment and returns its text.
fn output(world: &World, line: &[&str]) -> String {
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).current_dir(world.dir.path()).env("LC_ALL", "C");
    // svsematest makes the key of its semaphores from the file that the shell names in this variable, and prints nothing without one.
    let out = command.env("_", "/proc/self/exe").output().unwrap();
    assert!(out.status.success(), "{line:?}: {}", stderr(&out));
    String::from_utf8(out.stdout).unwrap()
}

/// The words after a name on a line.
fn behind<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let line = text.lines().rfind(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.split_once(name).unwrap().1.split_whitespace().collect()
}

/// These tests need the whole machine.
mod alone {
    use super::*;

    /// Fresh output of the tools themselves: counts and maxima are as printed.
    #[test]
    fn the_tools_themselves() {
        let what = "imports of the tools' own output";
        if !realtime(what) {
            return;
        }
        let _turn = common::machine();
        let world = World::new();
        let of = |name: &str, out: &str, more: &[&str]| -> Value {
            world.file(name, out);
            let line = [&["import", name, "--json"][..], more].concat();
            json(&world.run(line.iter().copied()), 0)["records"][0]["series"].clone()
        };
        let us = |series: &Value| series["bounds"]["max"][0].as_i64().unwrap() / 1000;
        if installed("cyclictest", what) {
            let line = [
                "cyclictest",
                "-q",
                "-m",
                "-p",
                "80",
                "-i",
                "500",
                "-l",
                "1000",
                "-t",
                "2",
                "-h",
                "50",
                "--json=c.json",
            ];
            let out = output(&world, &line);
            let series = of("c.hist", &out, &[]);
            let (totals, over) = (behind(&out, "Total:"), behind(&out, "Histogram Overflows:"));
            for (thread, max) in behind(&out, "Max Latencies:").iter().enumerate().take(2) {
                let count = totals[thread].parse::<u64>().unwrap() + over[thread].parse::<u64>().unwrap();
                let own = &series[thread];
                assert_eq!((own["count"].as_u64(), us(own)), (Some(count), max.parse().unwrap()), "{out}");
            }
            let from_json = of("again.json", &fs::read_to_string(world.path("c.json")).unwrap(), &[]);
            assert_eq!(from_json[0]["bounds"]["max"], series[0]["bounds"]["max"]);
            assert_eq!(
                (&from_json[1]["count"], &from_json[1]["bounds"]["quantiles"]),
                (&series[1]["count"], &series[1]["bounds"]["quantiles"])
            );
            let out = output(&world, &["cyclictest", "-q", "-p", "80", "-i", "1000", "-l", "500"]);
            let own = &of("c.txt", &out, &[])[0];
            assert_eq!(
                (us(own).to_string(), own["count"].to_string()),
                (behind(&out, "Max:")[0].into(), behind(&out, "C:")[0].into())
            );
            let out = output(&world, &["cyclictest", "-q", "-v", "-p", "80", "-i", "1000", "-l", "300"]);
            let own = &of("v.txt", &out, &[])[0];
            let lines = out.lines().filter(|line| line.trim_start().starts_with("0:")).count() as u64;
            assert_eq!((own["count"].as_u64(), us(own).to_string()), (Some(lines), behind(&out, "Max:")[0].into()));
        }
        if installed("oslat", what) {
            let out = output(&world, &["oslat", "-c", "0", "-C", "0", "-D", "1", "--json=o.json"]);
            let own = &of("o.txt", &out, &[])[0];
            let rows = out.lines().filter(|line| line.contains("(us):\t")).filter_map(|line| line.split_once(" (us):"));
            let rows = rows.filter(|(label, _)| label.trim().bytes().all(|byte| byte.is_ascii_digit()));
            let count: u64 =
                rows.map(|(_, rest)| rest.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(own["count"].as_u64(), Some(count), "{out}");
            // 2.4 prints one more than the whole microseconds.
            let printed: i64 = behind(&out, "Maximum:")[0].parse().unwrap();
            assert!([us(own), us(own) + 1].contains(&printed), "{out}");
            let from_json = &of("again-o.json", &fs::read_to_string(world.path("o.json")).unwrap(), &[])[0];
            assert_eq!((&from_json["count"], &from_json["cpu"]), (&own["count"], &own["cpu"]));
        }
        for (tool, file) in
            [("pmqtest", "text"), ("ptsematest", "text"), ("svsematest", "text"), ("sigwaittest", "text")]
        {
            if !installed(tool, what) {
                continue;
            }
            let out = output(
                &world,
                &[tool, "-q", "-p", "80", "-i", "500", "-l", "500", "-t", "1", &format!("--json={tool}.json")],
            );
            let own = &of(&format!("{tool}.{file}"), &out, &["--format", tool])[0];
            let max = behind(&out, "Max").first().unwrap().to_string();
            assert_eq!(
                (us(own).to_string(), own["count"].to_string()),
                (max, behind(&out, "Cycles")[0].to_string()),
                "{out}"
            );
            let from_json =
                &of(&format!("again-{tool}"), &fs::read_to_string(world.path(&format!("{tool}.json"))).unwrap(), &[])
                    [0];
            assert_eq!(from_json["bounds"]["max"], own["bounds"]["max"], "{tool}");
        }
        for (tool, more) in
            [("signaltest", &["-p", "80", "-t", "2"][..]), ("cyclicdeadline", &["-i", "10000", "-D", "1", "-t", "1"])]
        {
            if !installed(tool, what) {
                continue;
            }
            let line = [&[tool, "-q"][..], more, if tool == "signaltest" { &["-l", "500"] } else { &[] }].concat();
            let out = Command::new(tool).args(&line[1..]).output().unwrap();
            if !out.status.success() {
                skip(&format!("{what}: {tool}"), Need::Realtime, stderr(&out).lines().next().unwrap_or("it failed"));
                continue;
            }
            let out = text(&out);
            let series = of(&format!("{tool}.txt"), &out, &[]);
            let last = series.as_array().unwrap().last().unwrap();
            assert_eq!(
                (us(last).to_string(), last["count"].to_string()),
                (behind(&out, "Max:")[0].into(), behind(&out, "C:")[0].into()),
                "{out}"
            );
        }
        world.nothing_left("the tools");
    }
}
