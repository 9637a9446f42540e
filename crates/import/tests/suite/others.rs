//! Real outputs of jitterdebugger, rteval, HdrHistogram, hwlatdetect and stress-ng, and of any program.

use crate::common::{doubts, import, sample};
use latido_import::{Asked, Ending, Imported, Interval, Severity, Unit, recognised};

pub fn of(bytes: &[u8], unit: Option<Unit>, args: Option<&str>) -> anyhow::Result<Imported> {
    let formats = recognised(bytes);
    let names: Vec<_> = formats.iter().map(|format| format.name).collect();
    let [format] = formats[..] else { anyhow::bail!("recognised as {names:?}") };
    format.import(bytes, &Asked { unit, args: args.map(Into::into), ..Asked::default() })
}

pub fn text(name: &str) -> String {
    String::from_utf8(sample(name)).unwrap()
}

fn us(value: i64) -> Option<Interval> {
    Some(Interval::between(value * 1000, value * 1000 + 999))
}

pub fn ns(value: i64) -> Option<Interval> {
    Some(Interval::exactly(value))
}

fn sum(imported: &Imported, at: usize) -> u64 {
    imported.series[at].bins.iter().map(|bin| bin.count).sum()
}

/// Raw records and the CSV made of them give the same series; the JSON of the run also has the values that the writer left out.
#[test]
fn jitterdebugger() {
    let (raw, csv) = (import("jitterdebugger/samples.raw", ""), import("jitterdebugger/samples.csv", ""));
    assert_eq!(raw.series, csv.series);
    let lines = text("jitterdebugger/samples.csv");
    assert_eq!(sum(&raw, 0) + sum(&raw, 1), lines.lines().count() as u64);
    assert_eq!((raw.series[0].min, raw.series[0].max, raw.series[1].max), (us(25), us(93), us(90)));
    // 5457.507117074 to 5457.519566250.
    assert_eq!(raw.series[1].samples[0].at_ns, Some(12_449_176));
    let json = import("jitterdebugger/results.json", "");
    let of_json: Vec<_> = json.series.iter().map(|one| (one.count, one.min, one.max, one.cpu)).collect();
    assert_eq!(of_json, [(Some(80), us(25), us(93), None), (Some(80), us(27), us(7145), None)]);
    let over = json.series[1].bins.last().unwrap();
    assert_eq!((over.low, over.high, over.count), (1_000_000, Some(7_145_999), 1));
    let exact = import("jitterdebugger/results-N.json", "");
    assert_eq!((exact.series[0].width, exact.series[0].count), (None, Some(500)));
    let datagrams = import("jitterdebugger/udp-3-packets.bin", "");
    assert_eq!(sum(&datagrams, 0) + sum(&datagrams, 1), 150);
    // The same records as a 32-bit machine writes them.
    let short: Vec<u8> = sample("jitterdebugger/samples.raw")
        .chunks(28)
        .flat_map(|one| [&one[..8], &one[12..16], &one[20..]].concat())
        .collect();
    assert_eq!(of(&short, None, None).unwrap().series, raw.series);
    let screen = import("jitterdebugger/screen-v.txt", "");
    let of_screen: Vec<_> = screen.series.iter().map(|one| (one.count, one.min, one.max)).collect();
    assert_eq!(of_screen, [(Some(306), us(16), us(47)), (Some(303), us(17), us(46))]);
    let fine = import("jitterdebugger/screen-v.txt", "jitterdebugger -v -l 400 -N -a 0,1");
    assert_eq!((fine.series[0].max, fine.findings.len(), screen.findings.len()), (ns(47), 0, 1));
    assert!(screen.notes.iter().any(|note| note.contains("live screen")), "{:?}", screen.notes);
    let hdf5 = of(b"\x89HDF\r\n\x1a\n....", None, None).unwrap_err();
    assert!(hdf5.to_string().contains("samples.raw"));
}

/// Published outputs: their number of samples, and the largest value in ns.
#[test]
fn published_outputs_are_what_their_lines_say() {
    for (file, count, largest) in [
        ("cyclictest/cyclictest-2.x-N-q.txt", 200, (290_236, 290_236)),
        ("cyclictest/cyclictest-2.4-N-q.txt", 514, (424_329, 424_329)),
        ("cyclictest/cyclictest-2.4-N-screen-live.txt", 300, (358_194, 358_194)),
        ("cyclictest/cyclictest-2.4-screen-live.txt", 505, (149_000, 149_999)),
        ("cyclictest/cyclictest-2.4-N-h-screen.txt", 200, (62_700, 62_700)),
        ("cyclictest/cyclictest-2.4-h-screen.txt", 200, (34_000, 34_999)),
        ("cyclictest/cyclictest-2.x-q.txt", 200, (1_750_000, 1_750_999)),
        ("cyclictest/cyclictest-0.7-q.txt", 16_667, (99_000, 99_999)),
        ("cyclictest/cyclictest-128-threads-q.txt", 733_760, (133_000, 133_999)),
        ("cyclictest/cyclictest-overflows.hist", 1_000_000, (821_199_000, 821_199_999)),
        ("rt-tests/hwlatdetect-old-blanks.txt", 3, (21_000, 21_999)),
        ("rtla/rtla-6.1-osnoise-hist-mean-0.txt", 6_993, (2_955_000, 2_955_999)),
    ] {
        let told = import(file, "");
        let counted: u64 = told.series.iter().filter_map(|one| one.count).sum();
        let most = told.series.iter().filter_map(|one| one.max).max().unwrap();
        assert_eq!((counted, (most.low, most.high.unwrap())), (count, largest), "{file}");
        assert_eq!(told.ending, Ending::Complete, "{file}");
        assert!(told.findings.iter().all(|one| one.severity == Severity::Note), "{file}: {:?}", told.findings);
    }
    let old = import("rt-tests/hwlatdetect-old-blanks.txt", "");
    let of: Vec<_> = old.series[0].samples.iter().map(|one| (one.value, one.at_ns)).collect();
    // 286324723, 296881126 and 300332889 ns into seconds ...107, ...180 and ...212.
    assert_eq!(of, [(18_000, Some(0)), (21_000, Some(73_010_556_403)), (18_000, Some(105_014_008_166))]);
    let stopped = import("rtla/rtla-timerlat-top-stopped.txt", "");
    let of: Vec<_> = stopped.series.iter().filter(|one| one.cpu == Some(0)).map(|one| one.max).collect();
    assert_eq!(of, [us(24), us(1035)]);
    assert_eq!(stopped.ending, Ending::Stopped { value: Interval::between(1_035_525, 1_035_535), thread: Some(0) });
}

/// The reader takes each core once and never the line of the system. It refuses files that lack statistics, mix quantities or are cut.
#[test]
fn rteval() {
    let all = import("rteval/rteval-3.8-summary.xml", "");
    let own = &all.series[0];
    assert_eq!((all.series.len(), own.cpu, own.count), (1, Some(1), Some(142)));
    assert_eq!((own.min, own.max, sum(&all, 0)), (us(83), us(3099), 142));
    assert_eq!((all.policy.as_deref(), all.machine["realtime"].as_str()), (Some("fifo 95"), "1"));
    assert_eq!(all.times[0].as_deref(), Some("2026-11-22 07:35:34.018572"));
    let none = of(&sample("rteval/rteval-3.8-max-above-buckets.xml"), None, None).unwrap_err();
    assert!(format!("{none:#}").contains("beyond the buckets"), "{none:#}");
    let timerlat = text("rteval/rteval-3.8-summary.xml").replace("cyclictest", "timerlat");
    assert!(format!("{:#}", of(timerlat.as_bytes(), None, None).unwrap_err()).contains("user threads"));
    // The nesting of rteval 2 and 1.
    let text = text("rteval/rteval-3.8-summary.xml");
    let [begin, end] = ["<Measurements measurecpus=\"1\">", "</Measurements>"];
    let two = text
        .replace(begin, "<Measurements><Profile loads=\"1\" parallel=\"1\">")
        .replace(end, "</Profile></Measurements>");
    let one = text.replace(begin, "").replace(end, "");
    for older in [two, one] {
        assert_eq!(of(older.as_bytes(), None, None).unwrap().series, all.series);
    }
    let broken = text.replace(
        "<system ",
        "<abort_report reason=\"breaktrace\"><breaktrace latency_threshold=\"3000\" measured_latency=\"3099\"/></abort_report><system ",
    );
    let stopped = of(broken.as_bytes(), None, None).unwrap().ending;
    assert_eq!(stopped, Ending::Stopped { value: us(3099).unwrap(), thread: None });
    let whole = sample("rteval/rteval-3.8-summary.xml");
    assert!((0..whole.len()).step_by(7).all(|end| of(&whole[..end], None, None).is_err()));
}

/// The reader takes the cumulative counts of the table, adds the intervals of a log, keeps tags apart, and refuses other cookies.
#[test]
fn hdr_histograms() {
    let table = of(&sample("hdr/hdr-python.hgrm"), Some(Unit::Us), None).unwrap();
    let own = &table.series[0];
    assert_eq!((own.count, own.bins[0].high, own.max.unwrap().high), (Some(5002), Some(2983), Some(1_200_127)));
    assert_eq!(sum(&table, 0), 5002);
    assert!(format!("{:#}", of(&sample("hdr/hdr-python.hgrm"), None, None).unwrap_err()).contains("--unit"));
    // The footer states the largest value and the mean, as exactly as the writer counts. It may contradict the rows.
    let small = |mean: &str, max: &str| {
        let text = format!(
            "       Value     Percentile TotalCount 1/(1-Percentile)\n\n      10.000 0.000000000000          5           1.00\n      \
             20.000 0.500000000000          8           2.00\n    1000.000 0.900000000000          9          10.00\n    \
             1000.000 1.000000000000          9\n#[Mean    = {mean}, StdDeviation   =      310.000]\n#[Max     = {max}, \
             Total count    =            9]\n#[Buckets =           22, SubBuckets     =         2048]\n"
        );
        of(text.as_bytes(), Some(Unit::Us), None).unwrap()
    };
    let both = small("123.333", "1000.000");
    let (max, [from, to]) = (both.series[0].max.unwrap(), both.series[0].mean.unwrap());
    assert!(max.low >= 999_000 && max.high == Some(1_000_000), "{max:?}");
    assert!(from <= 123_333.3 && to >= 123_333.3 && to - from < 300.0, "{from} to {to}");
    assert!(doubts(&both).is_empty(), "{:?}", doubts(&both));
    for (mean, max, what) in [("123.333", "5.000", "the largest value"), ("999.333", "1000.000", "the mean")] {
        let one = small(mean, max);
        let told = doubts(&one);
        assert!(told.len() == 1 && told[0].starts_with(what), "{told:?}");
    }
    let log = import("hdr/hdr-python.hlog", "");
    assert_eq!((log.series.len(), log.elapsed_ns), (1, Some(3_000_000_000)));
    let tagged = import("hdr/rust-tagged.hlog", "");
    let own = &tagged.series[0];
    assert_eq!((own.count, own.labels["tag"].as_str()), (Some(3000), "cpu0"));
    assert!(own.max.unwrap().low <= 420_351 && own.max.unwrap().high >= Some(420_351));
    let line = |cookie: &str| format!("#[Histogram log format version 1.2]\n0.0,1.0,1.0,{cookie}\n");
    for (cookie, why) in
        [("HISTEgAAAAA=", "V1"), ("HISTGQAAAAA=", "V0"), ("HISTFAAA!", "base64"), ("HISTFAAAAAE=", "length")]
    {
        let error = format!("{:#}", of(line(cookie).as_bytes(), None, None).unwrap_err());
        assert!(error.contains(why) && error.contains("line 2"), "{cookie}: {error}");
    }
}

/// Gaps with times, above a threshold. If one line stands for several gaps, the others have no value.
#[test]
fn gaps_of_hardware() {
    let old = import("rt-tests/hwlatdetect-2.4.txt", "");
    let own = &old.series[0];
    assert_eq!((own.count, own.max, own.above, own.min), (Some(8), us(1316), Some(20_000), None));
    assert_eq!((own.samples.len(), own.bins.len(), old.ending), (8, 8, Ending::Complete));
    assert_eq!(import("rt-tests/hwlatdetect-2.4-watch.txt", "").series[0].max, us(197));
    let new = import("rt-tests/hwlatdetect-2.10.txt", "");
    let own = &new.series[0];
    assert_eq!((own.count, own.max, sum(&new, 0), own.bins.len()), (Some(2005), us(11_092), 2005, 1));
    let smis =
        text("rt-tests/hwlatdetect-2.4.txt") + "2 SMIs occured on cpu 0\n1 SMIs occured on cpu 1\nSMIs during run: 3\n";
    let found = of(smis.as_bytes(), None, None).unwrap().findings;
    assert!(found.iter().any(|one| one.name == "SMIs" && one.text.ends_with(": 3")), "{found:?}");
    let none = text("rt-tests/hwlatdetect-2.4.txt");
    let none = format!(
        "{}Max Latency: Below threshold\nSamples recorded: 0\nSamples exceeding threshold: 0\n",
        &none[..none.find("Max Lat").unwrap()]
    );
    // No gap above 20 us: a limit above that is met, and the file does not decide one below it.
    let below = of(none.as_bytes(), None, None).unwrap();
    let own = &below.series[0];
    assert_eq!((own.count, own.max, own.above), (None, Some(Interval::between(0, 20_999)), Some(20_000)));
    assert_eq!((below.ending, own.cut), (Ending::Complete, false));
}

/// A report whose gaps are in another file has its figures. Lines of old versions are gaps too.
#[test]
fn gaps_of_hardware_without_their_lines() {
    let report = |output: &str, lines: &str| {
        format!(
            "hwlatdetect:  test duration 60 seconds\n   parameters:\n        Latency threshold: 10us\n        \
             Output File:       {output}\n\nStarting test\ntest finished\nMax Latency: 33us\nSamples recorded: 2\n\
             Samples exceeding threshold: 2\n{lines}"
        )
    };
    let read = |output: &str, lines: &str| of(report(output, lines).as_bytes(), None, None);
    let kept = read("smi.txt", "sample data (2 samples) written to smi.txt\n").unwrap();
    let own = &kept.series[0];
    assert_eq!((&kept.ending, own.count, own.max, own.cut), (&Ending::Complete, Some(2), us(33), false));
    assert!(own.bins.is_empty());
    // Without that file the report may have been cut before its lines; its figures for the whole test stay.
    let lost = read("None", "").unwrap();
    assert!(matches!(lost.ending, Ending::Interrupted(_)));
    assert_eq!((lost.series[0].count, lost.series[0].max), (Some(2), us(33)));
    let old = read("None", "1274925387.0000000000\t24\t33\n1274925388.5000000000\t21\t3\n").unwrap();
    let own = &old.series[0];
    assert_eq!((old.ending.clone(), own.count, own.max, own.bins.len()), (Ending::Complete, Some(2), us(33), 2));
    assert_eq!((own.samples[1].value, own.samples[1].at_ns), (21_000, Some(1_500_000_000)));
    // Lines copied from a terminal, and a largest gap that contradicts the lines.
    let blanks = read("None", "1274925387.0000000000   24      33\n1274925388.5000000000 21 3\n").unwrap();
    assert_eq!((&blanks.ending, &blanks.series), (&old.ending, &old.series));
    let wrong = read("None", "1.0\t24\t34\n2.0\t21\t3\n").unwrap();
    assert_eq!(
        doubts(&wrong),
        ["the largest value, gap of thread 0: it is 33 us, but the lines of the gaps state 34 us"]
    );
    assert_eq!((wrong.series[0].count, wrong.series[0].max, wrong.series[0].bins.len()), (Some(2), None, 2));
    for (lines, why) in [
        ("1.0\t24\t33\n2.0\t21\t3\n3.0\t21\t3\n", "3 gaps have a line, but it counts 2"),
        (&report("None", ""), "line 11: a second run: keep one run per file"),
    ] {
        let error = format!("{:#}", read("None", lines).unwrap_err());
        assert!(error.contains(why), "{error}");
    }
}

/// Figures in ns, rows of a fixed width.
#[test]
fn stress_ng() {
    let all = import("other/stress-ng-cyclic.txt", "");
    let own = &all.series[0];
    assert_eq!((own.min, own.max, own.count, own.width), (ns(14_060), ns(373_191), Some(2000), Some(20_000)));
    let lost = all.findings.iter().find(|one| one.name == "lost samples").unwrap();
    assert!(lost.severity == Severity::Contaminated && lost.text.contains("--cyclic-samples"));
    let older = text("other/stress-ng-cyclic.txt").replace("] cyclic:", "] stress-ng-cyclic:");
    assert_eq!(of(older.as_bytes(), None, None).unwrap().series, all.series);
}

/// The same samples as CSV and as NDJSON agree to the ns. The reader refuses missing units, decimal commas and wrong fields, and takes a
/// torn line as an interruption.
#[test]
fn samples_of_any_program() {
    let (csv, ndjson) = (import("other/samples.csv", ""), import("other/samples.ndjson", ""));
    assert_eq!(csv.series, ndjson.series);
    let [zero, one] = &csv.series[..] else { panic!() };
    assert_eq!((zero.count, zero.cpu, one.count, one.cpu), (Some(20), Some(0), Some(20), Some(1)));
    assert_eq!((zero.samples[0].value, zero.samples[0].at_ns, one.samples[0].at_ns), (89_204, Some(0), Some(943_233)));
    assert_eq!((zero.min, zero.max), (ns(74_300), ns(89_204)));
    for (bytes, why) in [
        ("value\n1\n", "no unit"),
        ("value_us\n1,5\n", "2 fields"),
        ("value_us\n\"1,5\"\n", "decimal"),
        ("value_us\n0.0001\n", "decimal"),
        ("value_us,cpu\n1\n", "1 fields"),
        ("value_min\n1\n", "not a unit"),
        ("{\"value_us\":[1]}\n", "neither a number"),
        ("{\"value\":1,\"unit\":\"furlong\"}\n", "not a unit"),
        ("{\"value_us\":1,\"value_us\":2}\n", "twice"),
    ] {
        let error = format!("{:#}", of(bytes.as_bytes(), None, None).unwrap_err());
        assert!(error.contains(why) && error.contains("line "), "{bytes}: {error}");
    }
    let exact = of(b"{\"value\":9007199254740993,\"unit\":\"ns\",\"node\":\"a\"}", None, None).unwrap();
    assert_eq!((exact.series[0].max, exact.series[0].labels["node"].as_str()), (ns(9_007_199_254_740_993), "a"));
    let cut = of(b"value_us\n80.087\n80.0", None, None).unwrap();
    assert!(matches!(cut.ending, Ending::Interrupted(_)) && cut.series[0].max == ns(80_087));
}

/// A file that is cut at any byte causes no panic, has no extreme and no count beyond those of the whole file, and is not complete if it
/// ends within a line.
#[test]
fn torn_files_tell_no_wrong_number() {
    let mut taken = 0;
    for (name, args) in [
        ("jitterdebugger/samples.raw", ""),
        ("jitterdebugger/samples.csv", ""),
        ("jitterdebugger/results.json", ""),
        ("xenomai/latency-3.2.5.txt", ""),
        ("xenomai/latency-3.2.5-h.txt", "latency -B 2000"),
        ("xenomai/latency-3.2.5-g.plot", ""),
        ("hdr/hdr-python.hgrm", ""),
        ("hdr/hdr-python.hlog", ""),
        ("rt-tests/hwlatdetect-2.10.txt", ""),
        ("rt-tests/hwlatdetect-2.4.txt", ""),
        ("other/stress-ng-cyclic.txt", ""),
        ("other/samples.csv", ""),
        ("other/samples.ndjson", ""),
    ] {
        let bytes = sample(name);
        let unit = name.ends_with("hgrm").then_some(Unit::Us);
        let whole = of(&bytes, unit, Some(args)).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        // The reader decompresses the histograms of a log anew for each cut.
        let step = if name.ends_with("hlog") { 13 } else { 1 };
        for end in (0..bytes.len()).step_by(step) {
            let Ok(torn) = of(&bytes[..end], unit, Some(args)) else { continue };
            taken += 1;
            for series in &torn.series {
                let least = whole.series.iter().filter_map(|one| Some(one.min?.low)).min().unwrap_or(i64::MIN);
                assert!(series.min.is_none_or(|min| min.low >= least), "{name} {end}");
                let most = whole.series.iter().filter_map(|one| one.max?.high).max();
                assert!(series.max.is_none_or(|max| max.high <= most), "{name} {end}");
                let count = whole.series.iter().filter_map(|one| one.count).max();
                assert!(count.is_none() || series.count <= count, "{name} {end}: {:?}", series.count);
            }
            let rest = bytes[..end].rsplit(|byte| *byte == b'\n').next().unwrap();
            let line = !name.ends_with("raw") && !rest.trim_ascii().is_empty();
            let done = bytes[end..].trim_ascii().is_empty() || rest.ends_with(b"}");
            assert!(!line || done || torn.ending != Ending::Complete, "{name} {end}");
        }
    }
    assert!(taken > 1_000, "{taken}");
}
