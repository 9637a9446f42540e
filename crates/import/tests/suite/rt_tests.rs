//! The readers take real outputs of the other tools of rt-tests as they are meant.

use crate::common::{figures, import, sample};
use latido_import::{Asked, Bin, IMPORTS, Interval, recognised};

/// The labels and extremes of oslat, by version.
#[test]
fn oslat_by_version() {
    let old = import("oslat/oslat-2.4.txt", "");
    assert_eq!(old.series[0].cpu, Some(1));
    assert_eq!(old.series[0].bins[0], Bin { low: 0, high: Some(999), count: 86_511_013 });
    assert_eq!(old.series[0].bins.last(), Some(&Bin { low: 31_000, high: Some(51_409_999), count: 115 }));
    assert_eq!(
        figures(&old),
        [(Some(86_511_956), Some(Interval::between(0, 999)), Some(Interval::between(51_409_000, 51_409_999)))]
    );
    assert_eq!(figures(&import("oslat/oslat-2.4.json", "")), figures(&old));
    assert_eq!(import("oslat/oslat-2.4.json", "").series[0].bins, old.series[0].bins);
    let new = import("oslat/oslat-2.10.txt", "");
    let max = Some(Interval::between(40_586_000, 40_586_999));
    assert_eq!((new.series[0].min, new.series[0].max), (Some(Interval::between(0, 999)), max));
    assert_eq!(import("oslat/oslat-2.10.json", "").series[0].bins, new.series[0].bins);
    assert_eq!(new.elapsed_ns, Some(2_001_000_000));
    assert!(new.series[0].mean.is_none(), "its average is of upper edges");
    for file in ["oslat/oslat-2.10-W500.txt", "oslat/oslat-2.10-W500.json"] {
        let fine = import(file, "");
        assert_eq!(fine.series[0].bins[0], Bin { low: 0, high: Some(499), count: 73_367_697 }, "{file}");
        assert_eq!(fine.series[0].max, Some(Interval::exactly(52_450_362)), "{file}");
        assert_eq!(fine.series[0].bins.last().unwrap().low, 19_500, "{file}");
    }
    let two = import("oslat/oslat-2.4-z.txt", "");
    assert_eq!(two.series.iter().map(|one| one.count.unwrap()).collect::<Vec<_>>(), [125_314_872, 81_934_220]);
    let biased = import("oslat/oslat-2.4-bias.txt", "");
    assert_eq!(biased.series[0].bins.last(), Some(&Bin { low: 8_000, high: Some(47_404_999), count: 691 }));
}

/// Up to version 2.2 the line of frequencies had another name.
#[test]
fn oslat_before_its_counter_was_named() {
    for (file, counts, largest) in [
        ("oslat/oslat-1.10.txt", [21_093_524, 20_983_014], [8_047, 12_047]),
        ("oslat/oslat-2.1.txt", [19_747_153, 19_463_186], [8_047, 8_079]),
    ] {
        let read = import(file, "");
        for (core, series) in read.series.iter().enumerate() {
            let us = largest[core] * 1000;
            assert_eq!((series.cpu, series.count), (Some(core as u32), Some(counts[core])), "{file}");
            assert_eq!(series.max, Some(Interval::between(us, us + 999)), "{file}");
        }
    }
}

/// A live screen starts before its threads: it shows the id of another thread and figures without meaning. The last state counts.
#[test]
fn what_has_not_begun_says_nothing() {
    let us = |us: i64| Some(Interval::between(us * 1000, us * 1000 + 999));
    for (file, tool, expected) in [
        ("ptsematest-2.3-live.txt", "ptsematest", [(200, 3, 49), (144, 2, 8)]),
        ("svsematest-2.3-live.txt", "svsematest", [(200, 3, 13), (97, 3, 15)]),
    ] {
        let format = IMPORTS.iter().find(|format| format.name == tool).unwrap();
        let read = format.import(&sample(&format!("rt-tests/{file}")), &Asked::default()).unwrap();
        assert_eq!(figures(&read), expected.map(|(n, min, max)| (Some(n), us(min), us(max))), "{file}");
    }
}

/// cyclicdeadline takes a 0 for a smallest value that is not set. Without rows the smallest value is between 0 and the printed one.
#[test]
fn a_smallest_value_that_begins_anew() {
    let of = |to: i64, max: i64| {
        (Some(Interval::between(0, to * 1000 + 999)), Some(Interval::between(max * 1000, max * 1000 + 999)))
    };
    let read = import("rt-tests/cyclicdeadline-2.0-live.txt", "");
    let told: Vec<_> = read.series.iter().map(|one| (one.min, one.max)).collect();
    assert_eq!(told, [of(4, 23), of(12, 46)]);
}

/// The text and the JSON of one run have the same extremes, labelled by what wakes the thread.
#[test]
fn pairs_and_rings() {
    for (tool, by, first) in [
        ("pmqtest", Some("mqueue"), (2000, 1, 56)),
        ("ptsematest", Some("mutex"), (2000, 1, 72)),
        ("svsematest", Some("semaphore"), (2000, 1, 9)),
        ("sigwaittest", Some("signal"), (2000, 1, 16)),
        ("signaltest", None, (2000, 5, 502)),
    ] {
        let format = IMPORTS.iter().find(|format| format.name == tool).unwrap();
        let (n, min, max) = first;
        let us = |us: i64| Some(Interval::between(us * 1000, us * 1000 + 999));
        for ending in ["txt", "json"] {
            let bytes = sample(&format!("rt-tests/{tool}-2.4.{ending}"));
            let read = format.import(&bytes, &Asked::default()).unwrap();
            assert_eq!(figures(&read)[0], (Some(n), us(min), us(max)), "{tool} {ending}");
            assert_eq!(read.series[0].labels.get("by").map(String::as_str), by, "{tool} {ending}");
            assert_eq!(read.policy.as_deref(), Some("fifo 95"), "{tool} {ending}");
            let names: Vec<_> = recognised(&bytes).iter().map(|format| format.name).collect();
            assert!(names.contains(&tool), "{tool} {ending}: {names:?}");
            // Three tools print the same text: the reader does not guess one of them.
            assert_eq!(names.len(), if ending == "txt" && by.is_some_and(|by| by != "mqueue") { 3 } else { 1 });
        }
    }
}

/// cyclicdeadline prints the smallest of the samples above 0. The rows give the true one.
#[test]
fn cyclicdeadline_with_samples_of_0() {
    for file in ["rt-tests/cyclicdeadline-2.10.hist", "rt-tests/cyclicdeadline-2.10.json"] {
        let read = import(file, "");
        assert_eq!(
            figures(&read)[0],
            (Some(201), Some(Interval::between(0, 999)), Some(Interval::between(94_000, 94_999))),
            "{file}"
        );
        assert!(read.notes.iter().any(|note| note.contains("9 samples of 0")), "{file}: {:?}", read.notes);
    }
    for file in ["rt-tests/cyclicdeadline-2.4.txt", "rt-tests/cyclicdeadline-2.4.json"] {
        assert_eq!(figures(&import(file, ""))[0].0, Some(51), "{file}");
    }
}

/// The reader refuses a run that is appended to another and names the line. It reads a screen that shows one run several times.
#[test]
fn two_runs_in_a_file_are_refused() {
    for (tool, from, to) in [
        ("signaltest", "502", "501"),
        ("signaltest", "(24364)", "(24370)"),
        ("pmqtest", "ID24376", "ID24386"),
        ("pmqtest", "Max   56", "Max   55"),
        ("ptsematest", "Cycles 2000", "Cycles 1999"),
        ("svsematest", "Min    1", "Min    2"),
        ("sigwaittest", "Max   16", "Max    9"),
    ] {
        let format = IMPORTS.iter().find(|format| format.name == tool).unwrap();
        let run = String::from_utf8(sample(&format!("rt-tests/{tool}-2.4.txt"))).unwrap();
        let other = run.replacen(from, to, 1);
        assert_ne!(run, other, "{tool}: {from}");
        let both = |first: &str, second: &str| format.import(format!("{first}{second}").as_bytes(), &Asked::default());
        assert_eq!(both(&run, &run).unwrap().series, both(&run, "").unwrap().series, "{tool}");
        let error = format!("{:#}", both(&run, &other).unwrap_err());
        assert!(error.contains("a second run: keep one run per file") && error.contains("line "), "{tool}: {error}");
    }
}

/// A document of another writer: keys sorted as text, everything on one line, without the keys that only cyclictest adds.
#[test]
fn json_in_any_order_of_keys() {
    let sorted = |name: &str| -> serde_json::Value { serde_json::from_slice(&sample(name)).unwrap() };
    for name in ["cyclictest/cyclictest-2.4-hist.json", "oslat/oslat-2.4.json", "rt-tests/cyclicdeadline-2.10.json"] {
        let value = sorted(name);
        for text in [serde_json::to_string_pretty(&value).unwrap(), serde_json::to_string(&value).unwrap()] {
            assert_eq!(
                crate::common::read(format!("{text}\n").as_bytes(), "").unwrap().series,
                import(name, "").series,
                "{name}"
            );
        }
    }
    let mut value = sorted("cyclictest/cyclictest-2.4-hist.json");
    value["cmdline:"] = "somewhere/exporter --rt-tests".into();
    let thread = value["thread"]["0"].as_object_mut().unwrap();
    thread.retain(|key, _| key != "cpu" && key != "node");
    let text = serde_json::to_string_pretty(&value).unwrap();
    let names: Vec<_> = recognised(text.as_bytes()).iter().map(|format| format.name).collect();
    assert_eq!(names, ["cyclictest-json"]);
    assert_eq!(crate::common::read(text.as_bytes(), "").unwrap().series[0].count, Some(2000));
}

/// The reader refuses a second run of oslat in a file, wherever it starts, and skips the lines below the table.
#[test]
fn two_tables_of_oslat_are_refused() {
    let run = String::from_utf8(sample("oslat/oslat-2.4.txt")).unwrap();
    let table = run.find("Core:").unwrap();
    for other in [&run[..], &run[run.find("Total runtime").unwrap()..], &run[table..]] {
        let error = format!("{:#}", crate::common::read(format!("{run}{other}").as_bytes(), "").unwrap_err());
        assert!(error.contains("a second run: keep one run per file") && error.contains("line "), "{error}");
    }
    let prompt = crate::common::read(format!("{run}\nreal\t0m3.1s\n[root@a ~]#\n").as_bytes(), "").unwrap();
    assert_eq!(prompt.series, crate::common::read(run.as_bytes(), "").unwrap().series);
    assert!(prompt.notes.iter().any(|note| note.contains("lines below the table")), "{:?}", prompt.notes);
}

/// Two documents in a file, on separate lines or on one, are two runs.
#[test]
fn two_documents_are_refused() {
    let one = String::from_utf8(sample("cyclictest/cyclictest-2.4-hist.json")).unwrap();
    let ends = one.matches('\n').count();
    for (text, line) in [(format!("{one}{one}"), ends + 1), (format!("{}{one}", one.trim_end()), ends)] {
        let error = format!("{:#}", crate::common::read(text.as_bytes(), "").unwrap_err());
        assert!(error.contains(&format!("line {line}: a second document: keep one run per file")), "{error}");
    }
}
