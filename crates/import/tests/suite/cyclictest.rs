//! The reader takes real outputs of cyclictest as they print their figures.

use crate::common::{figures, import, read, sample};
use latido_import::{Bin, Ending, Interval, Severity};

/// Counts, extremes and overflows of both generations, with and without the column of sums.
#[test]
fn histograms_of_text() {
    let us = |low: i64, high: i64| Some(Interval::between(low * 1000, high * 1000 + 999));
    for (file, expected) in [
        ("cyclictest-1.0-h.hist", vec![(300, 19, 116), (300, 22, 80)]),
        ("cyclictest-2.4-h-2threads.hist", vec![(3000, 12, 383), (3000, 17, 743)]),
        ("cyclictest-2.4-H-sum-overflow.hist", vec![(3000, 15, 256), (3000, 17, 147)]),
        ("cyclictest-2.4-histfile.hist", vec![(2000, 9, 135)]),
        ("cyclictest-2.4-b-break.hist", vec![(887, 16, 263)]),
        ("cyclictest-2.10-h-2threads.hist", vec![(3000, 16, 634), (2989, 15, 410)]),
        ("cyclictest-2.10-H-sum-overflow.hist", vec![(3000, 17, 121), (3000, 16, 94)]),
        ("cyclictest-2.10-H-1thread-sum.hist", vec![(2000, 15, 36)]),
    ] {
        let imported = import(&format!("cyclictest/{file}"), "");
        let expected: Vec<_> =
            expected.into_iter().map(|(n, min, max)| (Some(n), us(min, min), us(max, max))).collect();
        assert_eq!(figures(&imported), expected, "{file}");
        assert!(imported.series.iter().all(|series| series.cpu.is_none() && series.width == Some(1000)), "{file}");
    }
}

/// Versions from 0.56 to 0.74 print no smallest values and write `Latencys`. Earlier versions end with the largest value of all threads,
/// which they looked for in the rows alone, so the number and size of the values beyond the rows are unknown. (Built from their sources and
/// run.)
#[test]
fn old_versions_end_otherwise() {
    let rows = "# Histogram\n000000 000000\t000000\t\n000001 000003\t000000\t\n000002 000000\t000002\t\n";
    let middle = "# Total: 000000003 000000002\n# Max Latencys: 00001 00007\n# Histogram Overflows: 00000 00001\n";
    let imported = read(format!("{rows}{middle}").as_bytes(), "").unwrap();
    assert_eq!(imported.ending, Ending::Complete);
    let told = |imported: &latido_import::Imported| -> Vec<_> {
        imported.series.iter().map(|one| (one.count, one.min.map(|min| min.low), one.max.map(|max| max.low))).collect()
    };
    assert_eq!(told(&imported), [(Some(3), Some(1000), Some(1000)), (Some(3), Some(2000), Some(7000))]);
    let imported = read(format!("{rows}# Total: 000000003 000000002\n# Max Latency: 2 / 3\n").as_bytes(), "").unwrap();
    assert_eq!(imported.ending, Ending::Complete);
    assert_eq!(told(&imported), [(None, Some(1000), None), (None, Some(2000), None)]);
    assert!(imported.notes[0].contains("2 / 3"), "{imported:?}");
}

/// The text and the JSON of one run give the same figures.
#[test]
fn text_and_json_of_one_run_agree() {
    for [text, json] in [
        ["cyclictest-2.4-histfile.hist", "cyclictest-2.4-hist.json"],
        ["cyclictest-2.10-h-2threads.hist", "cyclictest-2.10-hist.json"],
    ] {
        let args = "cyclictest -q -m -p 95 -h 100";
        let args = if json.contains("2.10") { "cyclictest -q -h 200" } else { args };
        let text = import(&format!("cyclictest/{text}"), args);
        let json = import(&format!("cyclictest/{json}"), "");
        assert_eq!(figures(&text), figures(&json));
        for (a, b) in text.series.iter().zip(&json.series) {
            assert_eq!(a.bins, b.bins);
            // JSON has two decimals of the mean and the text has none; the rows give it more exactly than both.
            let ([low, high], [from, to]) = (a.mean.unwrap(), b.mean.unwrap());
            assert!(low <= to && from <= high && to - from <= high - low);
        }
        assert!(json.series.iter().all(|series| series.cpu.is_some()) && json.machine["sysname"] == "Linux");
    }
}

#[test]
fn what_lies_beyond_the_rows_reaches_to_the_maximum() {
    let imported = import("cyclictest/cyclictest-2.4-H-sum-overflow.hist", "");
    let over = imported.series[0].bins.last().unwrap();
    assert_eq!(*over, Bin { low: 60_000, high: Some(256_999), count: 7 });
    // From 2.7 on cyclictest does not print rows of 0: without the command line the reader knows only the last row.
    let last =
        |args: &str| import("cyclictest/cyclictest-2.10-h-2threads.hist", args).series[0].bins.last().unwrap().low;
    assert_eq!((last(""), last("cyclictest -qh200")), (176_000, 200_000));
    let imported = import("cyclictest/cyclictest-2.4-overflow.json", "");
    assert_eq!(imported.series[0].bins.last(), Some(&Bin { low: 20_000, high: Some(53_999), count: 1989 }));
}

/// The reader takes from the command line what the text does not state: the unit, the policy, locked memory.
#[test]
fn the_command_line_says_what_the_text_does_not() {
    let imported = import("cyclictest/cyclictest-2.10-N-h.hist", "cyclictest -qmNp95 -i 500 -h 60000");
    assert_eq!(figures(&imported), [(Some(150), Some(Interval::exactly(15_801)), Some(Interval::exactly(26_685)))]);
    assert_eq!((imported.series[0].width, imported.policy.as_deref()), (None, Some("fifo 95")));
    assert_eq!(imported.findings[0].name, "memory");
    let plain = import("cyclictest/cyclictest-2.10-N-h.hist", "");
    assert_eq!((plain.series[0].min.unwrap().low, plain.policy), (15_801_000, None));
}

/// The reader reports a unit that it assumed, in each form of text. If the file or the command line states the unit, it reports nothing.
#[test]
fn a_unit_that_nobody_said_is_told() {
    let told = |file: &str, args: &str| import(file, args).findings.iter().any(|finding| finding.name == "unit");
    let file = "cyclictest/cyclictest-2.10-N-h.hist";
    assert!(told(file, "") && !told(file, "cyclictest -q"));
    let lines: String = String::from_utf8(sample("cyclictest/cyclictest-2.4-v.txt")).unwrap();
    let bare: String = lines.lines().filter(|line| !line.starts_with("T:")).map(|line| format!("{line}\n")).collect();
    assert!(read(bare.as_bytes(), "").unwrap().findings.iter().any(|finding| finding.name == "unit"));
    assert!(!told("cyclictest/cyclictest-2.4-v.txt", ""), "its last lines say it");
    assert!(!told("cyclictest/cyclictest-2.4-q.txt", ""), "the widths of its columns say it");
    assert!(!told("cyclictest/cyclictest-2.4-N.json", ""), "JSON says it");
}

#[test]
fn json_without_distribution_and_without_cycles() {
    for file in ["cyclictest-2.4-N.json", "cyclictest-2.10-N.json"] {
        let imported = import(&format!("cyclictest/{file}"), "");
        assert!(!imported.series.is_empty(), "{file}");
        assert!(imported.series.iter().all(|series| series.bins.is_empty() && !series.cut), "{file}");
    }
    let none = import("cyclictest/cyclictest-2.4-zero-cycles.json", "");
    assert_eq!(figures(&none), [(Some(0), None, None)]);
    assert!(none.notes.iter().any(|note| note.contains("-nan")), "{:?}", none.notes);
    // A quote in an argument breaks the file. The reader mends it in the only line in which it can occur.
    let text = String::from_utf8(sample("cyclictest/cyclictest-2.4-hist.json")).unwrap();
    let broken = text.replace("-m -p 95", "-m -p 95 --tracemark=\"a b\"");
    let mended = read(broken.as_bytes(), "").unwrap();
    assert_eq!(mended.series, import("cyclictest/cyclictest-2.4-hist.json", "").series);
    assert!(mended.notes.iter().any(|note| note.contains("not escaped")), "{:?}", mended.notes);
    let twice = text.replace("\"17\": 22", "\"16\": 22");
    assert!(read(twice.as_bytes(), "").is_err(), "a key that is there twice");
}

#[test]
fn lines_of_a_run_and_of_a_screen() {
    let ns = |low: i64, high: i64| Some(Interval::between(low * 1000, high * 1000 + 999));
    let verbose = import("cyclictest/cyclictest-2.4-v.txt", "");
    assert_eq!(figures(&verbose), [(Some(150), ns(22, 22), ns(124, 124)), (Some(100), ns(17, 17), ns(26, 26))]);
    assert_eq!(verbose.series[1].facts["cycles"], 108);
    assert!(verbose.notes.iter().any(|note| note.contains("last 8 cycles of thread 1")), "{:?}", verbose.notes);
    let maxima = import("cyclictest/cyclictest-2.4-v-o10.txt", "");
    assert_eq!(figures(&maxima), [(Some(400), ns(20, 20), ns(412, 412)), (Some(276), ns(11, 11), ns(236, 236))]);
    assert!(maxima.series.iter().all(|series| series.bins.is_empty()));
    for (file, n, max) in [("cyclictest-2.4-q.txt", 1000, 859), ("cyclictest-2.4-M.txt", 1943, 724)] {
        let screen = import(&format!("cyclictest/{file}"), "");
        assert_eq!(figures(&screen)[0].0, Some(n), "{file}");
        assert_eq!(screen.series[0].max, ns(max, max), "{file}");
        assert_eq!(screen.policy.as_deref(), Some("fifo 95"), "{file}");
    }
    // A ring that was overwritten: some cycles in the middle have no line.
    let text = String::from_utf8(sample("cyclictest/cyclictest-2.4-v.txt")).unwrap();
    let lost: String =
        text.lines().filter(|line| !line.starts_with("       0:      5")).map(|line| line.to_owned() + "\n").collect();
    let lost = read(lost.as_bytes(), "").unwrap();
    assert!(lost.series[0].cut && lost.findings.iter().any(|one| one.severity == Severity::Contaminated));
}

/// The reader refuses lines of two runs as a live screen: within a run the thread ids stay the same, and extremes only spread.
#[test]
fn screens_of_two_runs_are_refused() {
    let line = |thread, id, cycles, min, max| {
        format!("T: {thread} ({id:5}) P:80 I:1000 C:{cycles:7} Min:{min:7} Act:   55 Avg:   50 Max:{max:8}\n")
    };
    let start = line(0, 0, 0, 1_000_000, 0);
    let first = line(0, 1148, 9000, 5, 177);
    for grown in [line(0, 1148, 9000, 5, 177), line(0, 1148, 9001, 4, 178)] {
        let imported = read(format!("{start}{first}{grown}").as_bytes(), "").unwrap();
        assert_eq!(imported.series.len(), 1);
    }
    for other in [
        line(0, 1157, 9000, 4, 187),
        line(0, 1148, 8999, 5, 177),
        line(0, 1148, 9000, 6, 177),
        line(0, 1148, 9000, 5, 87),
    ] {
        let text = format!("{start}{first}{}{other}", line(1, 1149, 10, 1, 2));
        let error = format!("{:#}", read(text.as_bytes(), "").unwrap_err());
        assert!(error.contains("line 4") && error.contains("a second run: keep one run per file"), "{other}: {error}");
    }
}

#[test]
fn a_break_is_told_with_its_thread() {
    let imported = import("cyclictest/cyclictest-2.4-b-break.hist", "");
    assert_eq!(imported.ending, Ending::Stopped { value: Interval::between(263_000, 263_999), thread: Some(0) });
}

/// The widths of a screen's columns show whether `-N` was set, in each version. A screen that lost its blanks does not show it.
#[test]
fn the_columns_of_a_screen_tell_their_unit() {
    let ns = |min: i64, max: i64| vec![(min, max)];
    for (file, text, expected) in [
        ("2.x, ns", "Min:  16526 Act:   23045 Avg:  131598 Max:  290236", ns(16_526, 290_236)),
        ("2.x, us", "Min:     17 Act:  109 Avg:  133 Max:    1750", ns(17_000, 1_750_999)),
        ("before 0.8, us", "Min:       2 Act:       3 Avg:       3 Max:      87", ns(2_000, 87_999)),
        ("a large value, ns", "Min:  16526 Act:123456789 Avg:  131598 Max:999290236", ns(16_526, 999_290_236)),
        ("a large value, us", "Min:     17 Act:1234567 Avg:  133 Max: 1234567", ns(17_000, 1_234_567_999)),
        ("blanks lost", "Min: 16526 Act: 23045 Avg: 131598 Max: 290236", ns(16_526_000, 290_236_999)),
    ] {
        let line = format!("T: 0 (27769) P:80 I:1000 C:    200 {text}\n");
        let told = read(line.as_bytes(), "").unwrap();
        let own = &told.series[0];
        assert_eq!(vec![(own.min.unwrap().low, own.max.unwrap().high.unwrap())], expected, "{file}");
        let unit = told.findings.iter().find(|one| one.name == "unit").map(|one| one.text.as_str()).unwrap_or_default();
        assert_eq!(unit.starts_with("latido assumes ns, as `cyclictest -N`"), file.ends_with(", ns"), "{file}: {unit}");
        assert_eq!(unit.starts_with("latido assumes us"), file == "blanks lost", "{file}: {unit}");
        assert_eq!(read(line.as_bytes(), "cyclictest -q").unwrap().series[0].min.unwrap().low % 1000, 0, "{file}");
    }
    // Lines that contradict each other do not show the unit. The lines of its screen show the unit of a histogram.
    let two = "T: 0 ( 7) P:80 I:1000 C:      2 Min:      1 Act:        1 Avg:        1 Max:        2\n\
               T: 1 ( 8) P:80 I:1000 C:      2 Min:      1 Act:    1 Avg:    1 Max:       2\n";
    assert_eq!(read(two.as_bytes(), "").unwrap().series[0].min.unwrap().low, 1_000);
    let screen = "T: 0 (27769) P:80 I:1000 C:      3 Min:      1 Act:       1 Avg:       1 Max:       2\n";
    let rows = "# Histogram\n000001 000002\n000002 000001\n# Min Latencies: 00001\n# Avg Latencies: 00001\n\
                # Max Latencies: 00002\n# Histogram Overflows: 00000\n";
    assert_eq!(read(format!("{screen}{rows}").as_bytes(), "").unwrap().series[0].max.unwrap(), Interval::exactly(2));
    let verbose = "       0:       0:   23045\n       0:       1:   16526\n       0:       2:   16527\n";
    let last = "T: 0 (27769) P:80 I:1000 C:      4 Min:  16526 Act:   16527 Avg:   18699 Max:   23045\n";
    assert_eq!(read(format!("{verbose}{last}").as_bytes(), "").unwrap().series[0].max.unwrap().high, Some(23_045));
}

/// The reader refuses a second run in a file, in both forms that the tool writes: the lines of the screen and the histogram must belong to
/// one run.
#[test]
fn a_histogram_and_a_screen_of_two_runs_are_refused() {
    let rows = "# Histogram\n000001 000002\n000002 000001\n# Min Latencies: 00001\n# Avg Latencies: 00001\n\
                # Max Latencies: 00002\n# Histogram Overflows: 00000\n";
    let screen = |max: i64| format!("T: 0 (27769) P:80 I:1000 C:      3 Min:      1 Act:    1 Avg:    1 Max:{max:8}\n");
    let whole = read(format!("{}{rows}", screen(2)).as_bytes(), "").unwrap();
    assert_eq!(whole.series, read(rows.as_bytes(), "").unwrap().series);
    for both in [format!("{}{rows}", screen(3)), format!("{rows}{}", screen(1750))] {
        let error = format!("{:#}", read(both.as_bytes(), "").unwrap_err());
        assert!(error.contains("two runs: keep one run per file"), "{error}");
    }
    // The output of another tool at the end of a long file also counts.
    let long: String = (0..9000).map(|row| format!("{row:06} 000001\n")).collect();
    let long = format!(
        "# Histogram\n{long}# Min Latencies: 00000\n# Avg Latencies: 04499\n# Max Latencies: 08999\n# Histogram Overflows: 00000\n"
    );
    assert_eq!(latido_import::recognised(long.as_bytes()).len(), 1);
    let both = format!("{long}{}", String::from_utf8(sample("oslat/oslat-2.4.txt")).unwrap());
    let names: Vec<_> = latido_import::recognised(both.as_bytes()).iter().map(|format| format.name).collect();
    assert_eq!(names, ["cyclictest", "oslat"]);
}

/// Text that is quoted in a mail or indented reads as the original does.
#[test]
fn quoted_and_indented_text_reads_alike() {
    for name in ["cyclictest/cyclictest-2.4-h-2threads.hist", "cyclictest/cyclictest-2.4-q.txt", "oslat/oslat-2.4.txt"]
    {
        let (text, whole) = (String::from_utf8(sample(name)).unwrap(), import(name, ""));
        for mark in ["> ", "    ", "> > ", "\t"] {
            let dressed: String = text.lines().map(|line| format!("{mark}{line}\n")).collect();
            assert_eq!(read(dressed.as_bytes(), "").unwrap().series, whole.series, "{name} behind {mark:?}");
        }
    }
}

/// Version 1.8 prints `pid = 20483` and no line feed before the first thread.
#[test]
fn a_screen_of_a_version_with_a_word_too_many() {
    let us = |low: i64| Some(Interval::between(low * 1000, low * 1000 + 999));
    let screen = import("cyclictest/cyclictest-1.8-q.txt", "");
    assert_eq!(figures(&screen), [(Some(300), us(16), us(192)), (Some(162), us(15), us(74))]);
}

/// A console log may lack the heading or have lost it. The totals then show whether all rows are there.
#[test]
fn without_its_heading_the_total_counts() {
    let text = String::from_utf8(sample("cyclictest/cyclictest-2.4-h-2threads.hist")).unwrap();
    let whole = read(text.as_bytes(), "").unwrap();
    let (head, rows) = text.split_once("# Histogram\n").unwrap();
    let bare = format!("[    3.141592] random: crng init done\n{head}{rows}");
    let told = read(bare.as_bytes(), "").unwrap();
    assert_eq!(told.series, whole.series);
    assert!(told.notes.iter().any(|note| note.contains("`# Histogram` is missing")), "{:?}", told.notes);
    // If the rows up to and including the first one with a sample are missing too, the rest is not a complete histogram.
    let counted = rows.lines().position(|row| row.split('\t').skip(1).any(|count| count != "000000")).unwrap();
    let late: String = rows.lines().skip(counted + 1).map(|line| format!("{line}\n")).collect();
    assert!(read(late.as_bytes(), "").is_err_and(|error| format!("{error:#}").contains("its total")));
    let (cut, _) = rows.split_once("# Total").unwrap();
    assert!(latido_import::recognised(cut.as_bytes()).is_empty(), "no total");
}

/// Byte order marks, line ends and escape sequences of other systems.
#[test]
fn text_of_other_systems_reads_alike() {
    let text = String::from_utf8(sample("cyclictest/cyclictest-2.4-h-2threads.hist")).unwrap();
    let whole = read(text.as_bytes(), "").unwrap();
    let dressed = format!("\u{feff}# lab 7, board 3\n\x1b[2K{}", text.replace('\n', " \r\n"));
    let read = read(dressed.as_bytes(), "").unwrap();
    assert_eq!(read.series, whole.series);
    assert!(read.notes.iter().any(|note| note == "lab 7, board 3"), "{:?}", read.notes);
}
