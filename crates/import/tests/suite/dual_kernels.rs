//! Real outputs of Xenomai's latency and EVL's latmus.

use crate::{
    common::{doubts, import, sample},
    others::{ns, of, text},
};
use latido_import::{Ending, Severity};

/// The summary is exact. Buckets are numbers, and the reader takes those of `avg` alone. Each row of the plot has one hit too many.
#[test]
fn xenomai() {
    let plain = import("xenomai/latency-3.2.5.txt", "");
    let own = &plain.series[0];
    assert_eq!((own.min, own.max, own.count, own.facts["samples_at_most"]), (ns(18_076), ns(927_819), None, 5000));
    assert_eq!(
        (plain.elapsed_ns, plain.policy.as_deref(), plain.ending),
        (Some(6_000_000_000), Some("fifo 99"), Ending::Complete)
    );
    assert_eq!(import("xenomai/latency-3.2.5-q.txt", "").series[0].max, ns(902_097));
    let histogram = import("xenomai/latency-3.2.5-h.txt", "latency -T 4 -p 500 -h -s -H 150 -B 2000");
    let plot = import("xenomai/latency-3.2.5-g.plot", "");
    assert_eq!(histogram.series[0].bins, plot.series[0].bins);
    assert_eq!((histogram.series[0].count, histogram.series[0].width), (Some(7927), Some(2000)));
    let bins = &histogram.series[0].bins;
    assert_eq!((bins[0].low, bins[0].count), (14_000, 1));
    assert_eq!((bins.last().unwrap().low, bins.last().unwrap().high), (298_000, Some(18_054_472)));
    let other = of(&sample("xenomai/latency-3.2.5-h.txt"), None, None).unwrap_err();
    assert!(format!("{other:#}").contains("-B"), "{other:#}");
    let cut = text("xenomai/latency-3.2.5.txt");
    let cut = of(&cut.as_bytes()[..cut.find("---|--").unwrap()], None, None).unwrap();
    assert!(matches!(cut.ending, Ending::Interrupted(_)));
    assert_eq!((cut.series[0].max, cut.series[0].mean), (ns(927_819), None));
    let switched = text("xenomai/latency-3.2.5-q.txt").replace("33|     0|", "33|     2|");
    assert_eq!(of(switched.as_bytes(), None, None).unwrap().findings[0].severity, Severity::Contaminated);
}

/// klatency does not count switches to secondary mode.
#[test]
fn xenomai_without_mode_switches() {
    let head = "RTT|  00:00:00  (in-kernel periodic task, 100 us period, priority 99)\n\
                RTH|-----lat min|-----lat avg|-----lat max|-overrun|----lat best|---lat worst\n\
                RTD|      -0.917|      -0.800|       4.041|       0|      -4.250|       5.167\n";
    let cut = of(head.as_bytes(), None, None).unwrap();
    assert_eq!((cut.series[0].min, cut.series[0].max), (ns(-4250), ns(5167)));
    assert!(matches!(cut.ending, Ending::Interrupted(_)) && !cut.series[0].facts.contains_key("mode_switches"));
    let summary = "RTS|      -4.250|      -0.810|       5.167|       3|    00:00:02/00:00:02\n";
    let whole = of(format!("{head}{summary}").as_bytes(), None, None).unwrap();
    assert_eq!((whole.ending, whole.series[0].facts["overruns"]), (Ending::Complete, 3));
    assert_eq!(whole.elapsed_ns, Some(2_000_000_000));
}

/// If the smallest value is negative, the values that were folded onto its bucket are one bin.
#[test]
fn xenomai_folds() {
    let all = "RTD|     -1.500|      0.500|      3.200|       0|     0|     -1.500|      3.200\n\
               HSD|    avg|   0 -  1 |        4\nHSD|    avg|   1 -  2 |        3\nHSD|    avg|   3 -  4 |        1\n\
               RTS|     -1.500|      0.500|      3.200|       0|     0|    00:00:01/00:00:01\n";
    let bins = of(all.as_bytes(), None, None).unwrap().series.remove(0).bins;
    let bins: Vec<_> = bins.iter().map(|bin| (bin.low, bin.high, bin.count)).collect();
    assert_eq!(bins, [(-1500, Some(1999), 7), (3000, Some(3999), 1)]);
}

/// A header of keys, plain rows, and overflows.
#[test]
fn latmus() {
    let head = "# libevl version: evl.0.47\n# sampling period: 1000 microseconds\n# clock gravity: 0i 3000k 3000u\n\
                # context: user\n# thread priority: 89\n# thread affinity: CPU2\n# C-state restricted\n\
                # duration (hhmmss): 00:00:10\n# min latency: 2.179\n# avg latency: 4.042\n# max latency: 20.997\n# sample count: 12\n";
    let all = of(format!("{head}2 5\n4 6\n10+ 1\n").as_bytes(), None, None).unwrap();
    let own = &all.series[0];
    assert_eq!((own.min, own.max, own.count, own.cpu), (ns(2179), ns(20_997), Some(12), Some(2)));
    assert_eq!(
        own.bins.iter().map(|bin| (bin.low, bin.high)).collect::<Vec<_>>(),
        [(2000, Some(2999)), (4000, Some(4999)), (10_000, Some(20_997))]
    );
    assert_eq!((all.policy.as_deref(), all.ending), (Some("fifo 89"), Ending::Complete));
    let cut = of(format!("{head}2 5\n4 6\n10+ 1").as_bytes(), None, None).unwrap();
    assert!(matches!(cut.ending, Ending::Interrupted(_)) && cut.series[0].cut);
    let more = of(format!("{head}2 5\n4 9\n").as_bytes(), None, None).unwrap();
    assert_eq!(
        doubts(&more),
        ["the histogram and its count, latency on CPU 2: its rows have 14 samples, but it counts 12"]
    );
    assert_eq!((more.series[0].count, more.series[0].bins.len(), more.series[0].max), (None, 0, ns(20_997)));
    for (from, to, why) in [
        ("2.179", "1.999", "the smallest value, latency on CPU 2: it is 1999, but the first row is 2000 to 2999"),
        ("20.997", "9.0", "the largest value, latency on CPU 2: it is 9000, but the last row is 10000 on"),
        (
            "4.042",
            "9.9",
            "the mean, latency on CPU 2: it is from 9899.00 to 9901.00, but its rows allow 3666.67 to 5498.83",
        ),
    ] {
        let text = format!("{}2 5\n4 6\n10+ 1\n", head.replace(from, to));
        let told = of(text.as_bytes(), None, None).unwrap();
        assert_eq!(doubts(&told), [why]);
        assert!(told.series[0].bins == own.bins || told.series[0].max.is_none(), "{to}");
    }
}

/// Old versions state no count, the reader skips what the console shows before the file, and the kernel's name contains a time of day.
#[test]
fn latmus_of_old_and_on_a_console() {
    let head = "# test started on: Fri Jan 24 15:36:34 2020\n# Linux version 5.5 #45 Wed Jan 22 12:24:03 CET 2020\n\
                # libevl version: evl.0\n# min latency: 2.179\n# avg latency: 4.042\n# max latency: 10.100\n";
    let file = format!("{head}2 5\n4 6\n10 1\n");
    let screen = "warming up on CPU1...\nRTT|  00:00:01  (user, 1000 us period, priority 90, CPU1)\n\
                  RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst\n\
                  RTD|      2.179|      4.042|     10.100|       0|     0|      2.179|     10.100\n^C\n";
    let all = of(file.as_bytes(), None, None).unwrap();
    assert_eq!((all.series[0].count, all.series[0].max, all.ending.clone()), (Some(12), ns(10_100), Ending::Complete));
    assert!(all.notes.iter().any(|note| note.contains("12:24:03")), "{:?}", all.notes);
    assert_eq!(of(format!("{screen}{file}").as_bytes(), None, None).unwrap().series, all.series);
    // A file without its last row may be cut, so the count is unknown.
    let cut = of(format!("{head}2 5\n4 6\n").as_bytes(), None, None).unwrap();
    assert!(matches!(cut.ending, Ending::Interrupted(_)) && cut.series[0].count.is_none(), "{cut:?}");
    // The screen alone has the table of Xenomai's latency. It was cut, because its RTS line is missing.
    let alone = of(screen.as_bytes(), None, None).unwrap();
    assert_eq!((alone.tool.as_str(), alone.series[0].max, alone.series[0].cpu), ("latmus", ns(10_100), Some(1)));
    assert!(matches!(alone.ending, Ending::Interrupted(_)) && alone.policy.as_deref() == Some("fifo 90"));
}

/// A console of latmus with its summary, and one with a second run below it.
#[test]
fn latmus_on_a_console_with_its_summary() {
    let all = import("xenomai/latmus-console.txt", "");
    let own = &all.series[0];
    assert_eq!((own.max, own.min, own.mean, own.cpu), (ns(3_398), ns(175), Some([353.0, 355.0]), Some(1)));
    assert_eq!((all.ending.clone(), all.policy.as_deref()), (Ending::Complete, Some("fifo 98")));
    let text = text("xenomai/latmus-console.txt");
    let twice = of(format!("{text}{text}").as_bytes(), None, None).unwrap_err();
    assert!(format!("{twice:#}").contains("a second run: keep one run per file"), "{twice:#}");
}
