//! `latido import` makes a run of a file of each format outside rt-tests, with the figures that its tool printed.

use crate::common;

use common::{World, installed, json, realtime, stderr, text};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

struct Case {
    format: &'static str,
    file: &'static str,
    more: &'static [&'static str],
    /// For the first series: the quantity, the number of samples if the tool states it, and the largest value as printed, in units of
    /// `unit` ns.
    quantity: &'static str,
    count: Option<u64>,
    largest: f64,
    unit: f64,
}

const fn case(
    format: &'static str,
    file: &'static str,
    quantity: &'static str,
    count: Option<u64>,
    largest: f64,
    unit: f64,
) -> Case {
    Case { format, file, more: &[], quantity, count, largest, unit }
}

const US: f64 = 1000.0;

/// Read from the files by eye.
const CASES: [Case; 23] = [
    case("rtla-timerlat-hist", "rtla/rtla-6.12-timerlat-hist.txt", "irq-latency", Some(3965), 2907.0, US),
    case("rtla-timerlat-top", "rtla/rtla-6.12-timerlat-top.txt", "irq-latency", Some(2751), 62_692.0, US),
    case("rtla-osnoise-hist", "rtla/rtla-6.12-osnoise-hist.txt", "gap", Some(2_924_245), 4050.0, US),
    case("rtla-osnoise-top", "rtla/rtla-6.12-osnoise-top.txt", "gap", None, 138_620.0, US),
    case("rtla-osnoise-top", "rtla/rtla-6.12-hwnoise.txt", "gap", None, 20_070.0, US),
    case("jitterdebugger-json", "jitterdebugger/results.json", "latency", Some(80), 93.0, US),
    case("jitterdebugger-raw", "jitterdebugger/samples.raw", "latency", Some(79), 93.0, US),
    case("jitterdebugger-raw", "jitterdebugger/udp-3-packets.bin", "latency", Some(75), 33.0, US),
    case("jitterdebugger-screen", "jitterdebugger/screen-v.txt", "latency", Some(306), 47.0, US),
    case("jitterdebugger-csv", "jitterdebugger/samples.csv", "latency", Some(79), 93.0, US),
    Case {
        more: &["--args", "latency -h -B 2000"],
        ..case("xenomai-latency", "xenomai/latency-3.2.5-h.txt", "latency", Some(7927), 18_054.472, US)
    },
    case("xenomai-latency", "xenomai/latency-3.2.5-q.txt", "latency", None, 902.097, US),
    case("xenomai-plot", "xenomai/latency-3.2.5-g.plot", "latency", Some(7927), 18_054.472, US),
    case("rteval", "rteval/rteval-3.8-summary.xml", "latency", Some(142), 3099.0, US),
    Case { more: &["--unit", "us"], ..case("hgrm", "hdr/hdr-python.hgrm", "latency", Some(5002), 1200.127, US) },
    case("hlog", "hdr/rust-tagged.hlog", "latency", Some(3000), 420_351.0, 1.0),
    case("hwlatdetect", "rt-tests/hwlatdetect-2.10.txt", "gap", Some(2005), 11_092.0, US),
    case("stress-ng-cyclic", "other/stress-ng-cyclic.txt", "latency", Some(2000), 373_191.0, 1.0),
    case("rtai-latency", "xenomai/rtai-kernel.txt", "latency", Some(2), 63_125.0, 1.0),
    case("rtai-preempt", "rtai/preempt-user.txt", "latency", Some(2), 7_699.0, 1.0),
    case("latmus-screen", "xenomai/latmus-console.txt", "latency", Some(2), 3_398.0, 1.0),
    case("csv", "other/samples.csv", "latency", Some(20), 89_204.0, 1.0),
    case("ndjson", "other/samples.ndjson", "latency", Some(20), 89_204.0, 1.0),
];

/// The exit status of an import: the sample of stress-ng states that it kept fewer samples than it took.
fn status(case: &Case) -> i32 {
    if case.format == "stress-ng-cyclic" { 3 } else { 0 }
}

fn sample(name: &str) -> String {
    common::samples::folder().join(name).to_str().unwrap().to_owned()
}

/// A file that an editor of another system saved in UTF-16 gives the same figures, and latido stores it unchanged.
#[test]
fn a_file_in_utf_16_is_read() {
    let world = World::new();
    let file = common::samples::folder().join("cyclictest/cyclictest-2.4-h-2threads.hist");
    let plain = fs::read_to_string(&file).unwrap();
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(plain.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fs::write(world.path("wide.hist"), &wide).unwrap();
    let import = |file: &str| json(&world.run(["import", file, "--limit", "800us", "--json"]), 0);
    let [first, second] =
        [file.to_str().unwrap(), "wide.hist"].map(|file| import(file)["records"][0]["series"].clone());
    assert!(first.as_array().is_some_and(|all| all.len() == 2) && first == second, "{first} {second}");
    assert_eq!(fs::read(world.runs()[1].join("cells/001/source/wide.hist")).unwrap(), wide);
}

/// latido recognises each file, keeps it, has the figures of its tool and says in the headline that nothing was checked. The run works with
/// all commands that take runs.
#[test]
fn each_becomes_a_run_with_its_tools_figures() {
    let world = World::new();
    for case in &CASES {
        let (file, what) = (sample(case.file), case.file);
        let said = json(&world.run([&["import", &file, "--json"][..], case.more].concat()), status(case));
        let record = &said["records"][0];
        assert_eq!(record["source"]["format"], case.format, "{what}");
        let series = &record["series"][0];
        assert_eq!(series["quantity"], case.quantity, "{what}");
        match case.count {
            Some(count) => assert_eq!(series["count"], count, "{what}"),
            None => assert_eq!(series["bounds"]["uncounted"], true, "{what}: {series}"),
        }
        // Bins are complete: the printed value is within the bounds, or is the value itself.
        let printed = case.largest * case.unit;
        let max = series["max"].as_f64().unwrap();
        let bounds = &series["bounds"]["max"];
        let low = bounds[0].as_f64().unwrap_or(max);
        assert!((low..=max).contains(&printed), "{what}: {printed} in {low} to {max}");
        let shown = world.run(["show", "--full", "last"]);
        let told = String::from_utf8_lossy(&shown.stdout);
        assert!(told.contains("imported, nothing checked"), "{what}: {told}");
        for line in [&["report", "last", "-o", "r.html"][..], &["export", "markdown-summary", "last"]] {
            let out = world.run(line.iter().copied());
            assert_eq!(out.status.code(), Some(0), "{what}, {line:?}: {}", stderr(&out));
        }
    }
    // The names of the runs contain a time in whole seconds, so their order is not that of the cases.
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for run in world.runs() {
        let all =
            fs::read_dir(run.join("cells/001/source")).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        kept.extend(all);
    }
    for case in &CASES {
        assert!(kept.contains(&fs::read(sample(case.file)).unwrap()), "{} is kept as it was", case.file);
    }
}

/// A directory with an engineer's past years: latido imports the known files, and skips and counts the others.
#[test]
fn a_directory_is_taken_whole() {
    let world = World::new();
    for (number, case) in CASES.iter().filter(|case| case.more.is_empty()).enumerate() {
        let name = Path::new(case.file).file_name().unwrap().to_str().unwrap();
        let year = world.path("archive").join(format!("{number}"));
        fs::create_dir_all(&year).unwrap();
        fs::copy(sample(case.file), year.join(name)).unwrap();
    }
    fs::write(world.path("archive/notes"), "of those years").unwrap();
    let out = world.run(["import", "archive"]);
    assert_eq!(out.status.code(), Some(3), "one file says that it lost samples: {}", stderr(&out));
    assert!(stderr(&out).contains("skipped 1 file of the directories"), "{}", stderr(&out));
    let cells = fs::read_dir(world.runs()[0].join("cells")).unwrap().count();
    assert_eq!(cells, CASES.iter().filter(|case| case.more.is_empty()).count());
}

/// Files of a few bytes that distinguish hundreds of series do not fill the memory: latido names the files above the bound, and the others
/// become a run.
#[test]
fn files_that_tell_too_many_series_apart_are_refused() {
    let world = World::new();
    fs::create_dir(world.path("many")).unwrap();
    let file: String = "value_us,node\n".to_owned() + &(0..250).map(|node| format!("7,n{node}\n")).collect::<String>();
    (0..18).for_each(|at| fs::write(world.path("many").join(format!("{at:02}.csv")), &file).unwrap());
    let out = world.run(["import", "many"]);
    assert_eq!(out.status.code(), Some(1));
    let refused = |name: &str| stderr(&out).lines().any(|line| line.contains(name) && line.contains("more than 4096"));
    assert!(refused("17.csv") && refused("16.csv") && !refused("15.csv"), "{}", stderr(&out));
    assert_eq!(fs::read_dir(world.runs()[0].join("cells")).unwrap().count(), 16);
}

/// Runs of different tools that have lateness, or gaps, can be compared with each other and with one of our own. latido does not compare
/// the interrupt's own latency, and a file without a distribution gives no quantile.
#[test]
fn tools_are_compared_with_each_other() {
    let world = World::new();
    let mut runs: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    let mut newest = || {
        let all = world.runs().into_iter().map(|run| run.file_name().unwrap().to_str().unwrap().to_owned());
        let new: Vec<String> = all.filter(|run| known.insert(run.clone())).collect();
        assert_eq!(new.len(), 1, "{new:?}");
        new.into_iter().next().unwrap()
    };
    for file in
        ["cyclictest/cyclictest-2.4-h-2threads.hist", "rtla/rtla-6.12-timerlat-hist.txt", "xenomai/latency-3.2.5-q.txt"]
    {
        assert_eq!(world.run(["import", &sample(file)]).status.code(), Some(0));
        runs.push(newest());
    }
    json(&world.run(["run", "null", "samples=5000", "-c", "0", "--no-report", "--json"]), 0);
    runs.push(newest());
    for (a, b) in [(0, 1), (0, 2), (3, 1), (3, 2), (3, 0)] {
        let both = json(&world.run(["compare", &runs[a], &runs[b], "--json"]), 3);
        assert_eq!(both["rows"][0]["quantity"], "latency", "{a} {b}: {both}");
    }
    let without = json(&world.run(["compare", &runs[3], &runs[2], "--json"]), 3);
    assert_eq!(without["rows"][0]["shift"], serde_json::json!([]), "{without}");
}

/// Every format has a file here, except those of rt-tests, which `import.rs` tests with the tools themselves, and those without a real
/// file.
#[test]
fn every_format_is_tried() {
    let world = World::new();
    let junk = world.file("junk", "nothing that anybody knows\n");
    let said = stderr(&world.run(["import", junk.to_str().unwrap()]));
    let (_, all) = said.split_once("none of the known formats (").unwrap_or_else(|| panic!("{said}"));
    let all: BTreeSet<&str> = all.split(')').next().unwrap().split(", ").collect();
    let rt_tests = ["cyclic", "oslat", "signal", "pmq", "ptsema", "svsema", "sigwait"];
    // The last one has means and no maximum.
    let unseen = ["jitterdebugger-hdf5", "latmus", "rtai-switches"];
    let tried: BTreeSet<&str> = CASES.iter().map(|case| case.format).collect();
    assert!(all.len() > 25, "{all:?}");
    let left = all.iter().filter(|name| !rt_tests.iter().any(|tool| name.starts_with(tool)) && !unseen.contains(name));
    left.for_each(|name| assert!(tried.contains(name), "{name}"));
}

/// These tests need the whole machine.
mod alone {
    use super::*;

    /// Fresh output of the tools themselves: counts and maxima are as printed.
    #[test]
    fn the_tools_themselves() {
        const WHAT: &str = "imports of the tools' own output";
        if !realtime(WHAT) {
            return;
        }
        let _turn = common::machine();
        let world = World::new();
        let series = |file: &str| json(&world.run(["import", file, "--json"]), 0)["records"][0]["series"].clone();
        let begun = |tool: &str, words: &[&str]| {
            let mut command = Command::new(tool);
            let out = command.args(words).current_dir(world.dir.path()).env("LC_ALL", "C").output().unwrap();
            assert!(out.status.success(), "{tool}: {}", stderr(&out));
            text(&out) + &stderr(&out)
        };
        if installed("jitterdebugger", WHAT) {
            begun("jitterdebugger", &["-i", "1000", "-l", "300", "-p", "80", "-a", "0", "-s", "-o", "."]);
            let printed: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(world.path("results.json")).unwrap()).unwrap();
            let printed = &printed["cpu"]["0"];
            for file in ["results.json", "samples.raw"] {
                let own = &series(file)[0];
                let (count, told) = (own["count"].as_u64().unwrap(), printed["count"].as_u64().unwrap());
                // The tool writes its samples from another thread, which may lose the last ones: the file decides, in records of 28 bytes.
                let written =
                    if file == "samples.raw" { fs::metadata(world.path(file)).unwrap().len() / 28 } else { told };
                assert!(count == written && count <= told, "{file}: {written}; {own}, {printed}");
                let max = printed["max"].as_i64().unwrap();
                assert!(count < told || own["bounds"]["max"][0] == max * 1000, "{file}: {own}, {printed}");
            }
        }
        if installed("stress-ng", WHAT) {
            let said =
                begun("stress-ng", &["--cyclic", "1", "--cyclic-policy", "fifo", "--cyclic-dist", "50000", "-t", "1"]);
            world.file("cyclic.txt", &said);
            let own = &series("cyclic.txt")[0];
            let before = |word: &str| {
                let all: Vec<&str> = said.split_whitespace().collect();
                let at = all.iter().position(|found| *found == word).unwrap_or_else(|| panic!("{word}: {said}"));
                (all[at - 1].to_owned(), all[at + 1].to_owned())
            };
            assert_eq!(own["count"].to_string(), before("samples").0, "{said}");
            assert_eq!(own["max"].to_string(), before("max:").1, "{said}");
        }
        world.nothing_left("the tools");
    }
}

/// The export of an import states no more than the imported file: overflows stay beyond the rows, the latency of a thread is not that of
/// the interrupt, the mean is the tool's, buckets are exact, and unchecked trust is skipped.
#[test]
fn exports_of_imports_say_no_more_than_their_files() {
    let world = World::new();
    let export = |file: &str, format: &str| {
        assert_eq!(world.run(["import", &sample(file)]).status.code(), Some(0), "{file}");
        let out = world.run(["export", format, "last"]);
        assert_eq!(out.status.code(), Some(0), "{file} {format}: {}", stderr(&out));
        text(&out)
    };
    let told = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {name}: ")));
        line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let names = ["Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows"];
    for file in ["cyclictest/cyclictest-2.4-h-2threads.hist", "cyclictest/cyclictest-2.4-H-sum-overflow.hist"] {
        let (before, after) = (fs::read_to_string(sample(file)).unwrap(), export(file, "cyclictest"));
        names.iter().for_each(|name| assert_eq!(told(&after, name), told(&before, name)[..2], "{file} {name}"));
    }
    let timerlat = export("rtla/rtla-6.12-timerlat-hist.txt", "cyclictest");
    assert_eq!(told(&timerlat, "Max Latencies"), ["06793", "05634"]);
    let ktap = export("cyclictest/cyclictest-2.4-h-2threads.hist", "ktap");
    assert!(ktap.contains("trust # SKIP"), "{ktap}");
    // This many samples are in the rows below 50 us; each of them is below 50 us.
    let (rows, metrics) = (
        fs::read_to_string(sample("cyclictest/cyclictest-2.4-h-2threads.hist")).unwrap(),
        export("cyclictest/cyclictest-2.4-h-2threads.hist", "prometheus"),
    );
    let rows = rows
        .lines()
        .filter(|line| line.starts_with("0000"))
        .map(|line| line.split_whitespace().map(|word| word.parse::<u64>().unwrap()).collect::<Vec<_>>());
    let below: u64 = rows.filter(|row| row[0] < 50).map(|row| row[1]).sum();
    let bucket = metrics.lines().find(|line| line.contains("_bucket{") && line.contains("le=\"4.9999e-05\""));
    let bucket = bucket.unwrap_or_else(|| panic!("{metrics}"));
    assert!(bucket.ends_with(&format!(" {below}")), "{below}: {bucket}");
    // An import that was cut has no extremes, and cyclictest's format cannot express that.
    let cut = world.file("cut.hist", "# Histogram\n000001 000002\n000002 000001\n");
    assert_eq!(world.run(["import", cut.to_str().unwrap(), "--args", "cyclictest -h 400"]).status.code(), Some(3));
    let out = world.run(["export", "cyclictest", "last"]);
    assert!(
        out.status.code() == Some(1) && stderr(&out).contains("lacks one of them"),
        "{}{}",
        text(&out),
        stderr(&out)
    );
}
