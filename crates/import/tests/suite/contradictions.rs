//! Outputs of cyclictest whose figures contradict each other: which figure the reader does not believe, and which files it refuses.

use crate::common::{doubts, figures, read};
use latido_import::{Ending, Interval};

/// The reader names the wrong figure in one line, leaves it out, and keeps the other figures.
#[test]
fn a_figure_that_others_contradict_is_left_out() {
    let good = "# Histogram\n000001 000002\t000003\n000002 000001\t000000\n# Min Latencies: 00001 00001\n\
                # Avg Latencies: 00001 00001\n# Max Latencies: 00002 00001\n# Histogram Overflows: 00000 00000\n";
    let whole = read(good.as_bytes(), "").unwrap().series;
    assert_eq!(whole[0].mean, Some([1333.3333333333333, 2332.333333333333]));
    for (from, to, told) in [
        (
            "# Min",
            "# Total: 000000004 000000003\n# Min",
            "the histogram and its count, latency of thread 0: its rows have 3 samples, but its total is 4",
        ),
        (
            "00002 00001\n# Histogram O",
            "00007 00001\n# Histogram O",
            "the largest value, latency of thread 0: it is 7, but its rows end at 2",
        ),
        (
            "00002 00001\n# Histogram O",
            "00001 00001\n# Histogram O",
            "the largest value, latency of thread 0: it is 1, but its rows end at 2",
        ),
        (
            "Min Latencies: 00001",
            "Min Latencies: 00000",
            "the smallest value, latency of thread 0: it is 0, but its rows begin at 1",
        ),
        (
            "Avg Latencies: 00001",
            "Avg Latencies: 00002",
            "the mean, latency of thread 0: it is from 2.00 to 3.00, but its rows allow 1.33 to 1.33",
        ),
        (
            "Avg Latencies: 00001",
            "Avg Latencies: 00000",
            "the mean, latency of thread 0: it is from 0.00 to 1.00, but its rows allow 1.33 to 1.33",
        ),
        (
            "00002 00001\n# Histogram O",
            "00002 00009\n# Histogram O",
            "the largest value, latency of thread 1: it is 9, but its rows end at 1",
        ),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let other = read(text.as_bytes(), "").unwrap_or_else(|error| panic!("{to:?}: {error:#}"));
        assert_eq!(doubts(&other), [told], "{to:?}");
        for (own, sound) in other.series.iter().zip(&whole) {
            // What is left agrees with the correct file.
            assert!(own.max.is_none() || own.max == sound.max, "{to:?}");
            assert!(own.min.is_none() || own.min == sound.min, "{to:?}");
            assert!(own.bins.is_empty() || own.bins == sound.bins, "{to:?}");
            assert!(own.count.is_none() || own.count == sound.count, "{to:?}");
            let figures = [own.max.is_none(), own.min.is_none(), own.mean.is_none(), own.bins.is_empty()];
            let lost = figures.iter().filter(|lost| **lost).count();
            assert_eq!(lost, own.doubts.len(), "{to:?}: {own:?}");
            assert_eq!(own.cut, own.max.is_none(), "no quantile where the rows may lack their end: {to:?}");
        }
    }
    // The same fault in several threads gives one line.
    let both = good.replace("# Avg Latencies: 00001 00001", "# Avg Latencies: 00003 00003");
    let one = "the mean, latency of thread 0: it is from 3.00 to 4.00, but its rows allow 1.33 to 1.33 (and 1 more of its kind)";
    assert_eq!(doubts(&read(both.as_bytes(), "").unwrap()), [one]);
    // A mean beyond the extremes of a screen.
    let screen =
        |avg: i64| format!("T: 0 (12345) P:80 I:1000 C:   5000 Min:     16 Act:   25 Avg:{avg:5} Max:     724\n");
    assert!(doubts(&read(screen(39).as_bytes(), "").unwrap()).is_empty());
    for avg in [5, 725_000] {
        let other = read(screen(avg).as_bytes(), "").unwrap();
        assert!(doubts(&other)[0].starts_with("the mean, latency of thread 0: it is from "), "{:?}", other.findings);
        assert_eq!((other.series[0].mean, other.series[0].max.unwrap().low), (None, 724_000));
    }
}

/// A column of sums that does not add up: the totals of the threads decide whether the sums or a row is wrong.
#[test]
fn sums_that_do_not_add_up_are_not_believed() {
    let file = |sum: &str, total: &str| {
        format!(
            "# Histogram\n000001 000002\t000003\t{sum}\n000002 000001\t000000\t000001\n{total}# Min Latencies: 00001 00001\n\
             # Avg Latencies: 00001 00001\n# Max Latencies: 00002 00001 00002\n# Histogram Overflows: 00000 00000 00000\n"
        )
    };
    let total = "# Total: 000000003 000000003 000000006\n";
    let whole = read(file("000005", total).as_bytes(), "").unwrap();
    assert!(doubts(&whole).is_empty());
    assert_eq!(read(file("000005", "").as_bytes(), "").unwrap().series, whole.series);
    let wrong = read(file("000004", total).as_bytes(), "").unwrap();
    assert_eq!(wrong.series, whole.series);
    assert_eq!(
        doubts(&wrong),
        ["in 1 row the last column is not the sum of the others: the totals of the threads fit their rows"]
    );
    // Without totals the wrong number may be in the column of a thread.
    let lone = read(file("000004", "").as_bytes(), "").unwrap();
    assert_eq!(
        doubts(&lone),
        [
            "in 1 row the last column is not the sum of the others: the file does not show which is right, so latido uses no row"
        ]
    );
    assert!(lone.series.iter().all(|one| one.bins.is_empty() && one.count.is_none()));
    assert_eq!(lone.series.iter().map(|one| one.max).collect::<Vec<_>>(), [whole.series[0].max, whole.series[1].max]);
}

/// The reader refuses rows, columns and counts that it cannot read, and names the line.
#[test]
fn contradictions_are_refused() {
    let good = "# Histogram\n000001 000002\t000003\n000002 000001\t000000\n# Min Latencies: 00001 00001\n\
                # Avg Latencies: 00001 00001\n# Max Latencies: 00002 00001\n# Histogram Overflows: 00000 00000\n";
    assert_eq!(figures(&read(good.as_bytes(), "").unwrap())[0].0, Some(3));
    for (from, to, told) in [
        ("000002 000001\t000000", "000002 000001", "line 3"),
        ("000002 000001\t000000", "000002 000001\t000000\t000001\t1", "line 3"),
        ("000002 000001", "000001 000001", "line 3"),
        ("000001\t000000", "1,5\t000000", "line 3"),
        ("00001 00001\n# Avg", "00001 00001 00001\n# Avg", "columns"),
        ("000003", "9223372036854775808", "line 2"),
        ("# Histogram Overflows: 00000 00000\n", "# Histogram Overflows: 00000 00000", "no end"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = format!("{:#}", read(text.as_bytes(), "").unwrap_err());
        assert!(error.contains(told), "{to:?}: {error}");
    }
    // Complete rows without a footer are what an interrupted run leaves.
    let cut = good.split("# Min").next().unwrap();
    let cut = read(cut.as_bytes(), "").unwrap();
    assert!(matches!(cut.ending, Ending::Interrupted(_)) && cut.series[0].cut && cut.series[0].max.is_none());
}

/// The footer's line and the rows together bound the mean; overflows reach up to the largest value.
#[test]
fn rows_and_footer_bound_the_mean() {
    let file = |avg: i64, max: i64, over: i64| {
        format!(
            "# Histogram\n000004 000001\n000005 000003\n# Min Latencies: 00004\n# Avg Latencies: {avg:05}\n\
             # Max Latencies: {max:05}\n# Histogram Overflows: {over:05}\n"
        )
    };
    let mean = |avg, max, over| read(file(avg, max, over).as_bytes(), "").map(|all| all.series[0].mean.unwrap());
    // The rows give 4.75 us, of values whose fractions were cut off.
    assert_eq!(mean(4, 5, 0).unwrap(), [4750.0, 5749.0]);
    // Two values lie from 6 to 30 and one of them is 30: the mean is from 9.17 to 13.17 us.
    let [low, high] = mean(9, 30, 2).unwrap();
    assert!((low - 55_000.0 / 6.0).abs() < 0.01 && high == 10_999.0, "{low} {high}");
    let doubted = |avg, max, over| {
        let imported = read(file(avg, max, over).as_bytes(), "").unwrap();
        imported.series[0].mean.is_none() && doubts(&imported)[0].starts_with("the mean")
    };
    assert!(
        [(3, 5, 0), (5, 5, 0), (15, 5, 0), (8, 30, 2), (14, 30, 2)]
            .iter()
            .all(|(avg, max, over)| doubted(*avg, *max, *over))
    );
    // latido's own export rounds finer bins up.
    let up = file(4, 4, 0).replace("Min Latencies: 00004", "Min Latencies: 00003");
    assert_eq!(doubts(&read(up.as_bytes(), "").unwrap()).len(), 2, "the smallest and the largest");
    let own = format!("# latido 0.1.0 run 20260101T000000Z-ci-0000 cell 001 wakeup, measured\n{up}");
    assert_eq!(read(own.as_bytes(), "").unwrap().series[0].max, Some(Interval::between(4_000, 4_999)));
}
