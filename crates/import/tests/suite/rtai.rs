//! RTAI's latency, preempt and switches. The rows in `xenomai/rtai-kernel.txt` are of a real run. The files in `rtai` have the exact form
//! of what the programs print, with other numbers.

use crate::{
    common::{doubts, import},
    others::{ns, of, text},
};
use latido_import::{Ending, Interval, Severity, recognised};

/// The heading of RTAI's latency, and that of preempt.
const LATENCY: &str = "RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns\n";
const PREEMPT: &str = "RTH|     lat min|     lat avg|     lat max|    jit fast|    jit slow\n";
/// The heading of Xenomai's latency.
const XENOMAI: &str = "RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst\n";

/// The names of the formats that recognise a text.
fn formats(text: &str) -> Vec<&'static str> {
    recognised(text.as_bytes()).iter().map(|format| format.name).collect()
}

/// The error of a text, in one line.
fn refused(text: &str) -> String {
    format!("{:#}", of(text.as_bytes(), None, None).unwrap_err())
}

/// RTAI's table has whole ns and other columns. The last line has the extremes of the run, but its mean covers only one second.
#[test]
fn the_last_line_has_the_extremes_of_the_run() {
    let all = import("xenomai/rtai-kernel.txt", "");
    let own = &all.series[0];
    assert_eq!((all.tool.as_str(), own.min, own.max, own.mean), ("RTAI latency", ns(-35_125), ns(63_125), None));
    assert_eq!((own.count, own.facts["period_ns"], own.facts["overruns"]), (None, 1_000_000, 0));
    assert_eq!((own.bins.len(), own.labels["context"].as_str(), all.findings.len()), (0, "kernel", 0));
    assert!(all.notes.iter().any(|note| note.contains("below 0")), "{:?}", all.notes);
    let text = text("xenomai/rtai-kernel.txt");
    // The RTD lines alone, as in a bug report.
    let lines: String = text.lines().filter(|line| line.starts_with("RTD")).map(|line| format!("> {line}\n")).collect();
    assert_eq!(of(lines.as_bytes(), None, None).unwrap().series[0].max, own.max);
    let cut = of(&text.as_bytes()[..text.len() - 3], None, None).unwrap();
    assert_eq!(cut.series[0].max, ns(24_400));
    assert!(matches!(cut.ending, Ending::Interrupted(_)));
}

/// The titles, dates and notes of the versions: user space with its date lines, a terminal's `^C`, kernel threads, RTAI 5.3.
#[test]
fn the_titles_of_all_versions() {
    let user = import("rtai/latency-user-3.txt", "");
    let own = &user.series[0];
    assert_eq!((own.min, own.max, own.facts["period_ns"]), (ns(-2078), ns(6558), 100_000));
    assert_eq!((own.labels["context"].as_str(), user.times[0].as_deref()), ("user", Some("2026/11/9 08:05:00")));
    let threads = import("rtai/latency-kthreads-5.1.txt", "");
    let own = &threads.series[0];
    assert_eq!((own.min, own.max, own.facts["period_ns"]), (ns(95), ns(2131), 100_000));
    assert_eq!((own.labels["context"].as_str(), threads.notes.len()), ("kernel thread", 1));
    let table = format!("{LATENCY}RTD|         60|         60|        141|       1040|       1040|          0\n");
    for (title, context) in [
        ("RTAI Testsuite - KERNEL latency (all data in nanoseconds)", "kernel"),
        ("RTAI Testsuite - KERNEL threads latency (all data in nanoseconds)", "kernel thread"),
        ("RTAI Testsuite - USER latency (all data in nanoseconds)", "user"),
        ("RTAI testsuite and calibration tool (all data in nanoseconds)", "user"),
    ] {
        let all = of(format!("{title}\n{table}").as_bytes(), None, None).unwrap();
        assert_eq!((all.series[0].max, all.series[0].labels["context"].as_str()), (ns(1040), context), "{title}");
        let twice = refused(&format!("{title}\n{table}{title}\n{table}"));
        assert_eq!(twice, "line 4: a second run: keep one run per file");
    }
    assert!(of(table.as_bytes(), None, None).unwrap().series[0].labels.is_empty());
}

/// RTAI enters 0 for an overrun: then nobody knows the largest value, and a smallest value of 0 may not be one.
#[test]
fn overruns_leave_the_largest_open() {
    let all = import("rtai/latency-5.3-overruns.txt", "");
    let own = &all.series[0];
    let open = |low| Some(Interval { low, high: None });
    assert_eq!((own.min, own.max, own.facts["overruns"]), (open(0), open(6579), 3));
    let [finding] = &all.findings[..] else { panic!("{:?}", all.findings) };
    assert_eq!((finding.severity, finding.name.as_str()), (Severity::Note, "overruns"));
    assert_eq!(
        finding.text,
        "3 overruns: RTAI enters 0 for the latency of an overrun, so the largest may be above 6579 ns"
    );
    // A value below 0 is no overrun.
    let row = format!("{LATENCY}RTD|        -60|        -60|        141|       1040|       1040|          1\n");
    let below = of(row.as_bytes(), None, None).unwrap();
    assert_eq!((below.series[0].min, below.series[0].max), (ns(-60), open(1040)));
    assert!(below.findings[0].text.starts_with("1 overrun: "), "{:?}", below.findings);
}

/// With a periodic timer the values are no latencies.
#[test]
fn a_periodic_timer_gives_another_quantity() {
    let text = text("xenomai/rtai-kernel.txt").replace("timer_mode is oneshot", "timer_mode is periodic");
    let all = of(text.as_bytes(), None, None).unwrap();
    assert_eq!((all.series[0].quantity.as_str(), all.series[0].max), ("jitter", ns(63_125)));
    assert_eq!(all.notes.len(), 1);
}

/// Each line that is no row, and each row that cannot follow, is refused with its number.
#[test]
fn a_wrong_line_is_named() {
    let begin = format!("{LATENCY}RTD|         60|         60|        141|       1040|       1040|          4\n");
    for (row, why) in [
        ("RTD|     60|     60|    141|   1040|   1040|", "line 3: not 6 whole numbers"),
        ("RTD|     60|     60|    141|   1040|   1040", "line 3: not 6 whole numbers"),
        ("RTD|     60|  0.060|    141|   1040|   1040|    4", "line 3: not 6 whole numbers"),
        ("RTD|     60|     60|    141|   1040|   1040|    4|    4", "line 3: not 6 whole numbers"),
        ("RTD|     60|     61|    141|   1040|   1040|    4", "line 3: the smallest value is above the largest"),
        ("RTD|     60|     60|    141|   1041|   1040|    4", "line 3: the smallest value is above the largest"),
        ("RTD|     70|     70|    141|   1040|   1040|    4", "line 3: a second run: keep one run per file"),
        ("RTD|     60|     60|    141|   1000|   1000|    4", "line 3: a second run: keep one run per file"),
        ("RTD|     60|     60|    141|   1040|   1040|    3", "line 3: a second run: keep one run per file"),
        ("RTD|     60|     60|    141|   1040|   1040|   -1", "line 3: a negative number of overruns"),
        ("RTH|    lat min|    lat avg|    lat max|    ovl max|   overruns|  freq.cntr", "line 3: latido does not know"),
    ] {
        let error = refused(&format!("{begin}{row}\n"));
        assert!(error.starts_with(why), "{row}: {error}");
    }
    assert!(refused(LATENCY).contains("no line RTD with figures"));
    let begin = format!("{PREEMPT}RTD|        -60|         14|       1040|         20|         30\n");
    for (row, why) in [
        ("RTD|    -60|     14|   1040|     20", "line 3: not 5 whole numbers"),
        ("RTD|     60|     14|     40|     20|     30", "line 3: the smallest value is above the largest"),
        ("RTD|    -60|     14|   1040|     -1|     30", "line 3: a negative jitter"),
        ("RTD|    -60|     14|   1040|     20|     29", "line 3: a second run: keep one run per file"),
        ("RTD|    -59|     14|   1040|     20|     30", "line 3: a second run: keep one run per file"),
    ] {
        let error = refused(&format!("{begin}{row}\n"));
        assert!(error.starts_with(why), "{row}: {error}");
    }
}

/// The last line has the extremes of the run: of the latency, and of the jitter of the two other tasks.
#[test]
fn preempt() {
    for (file, context, min, max, jitter) in [
        ("rtai/preempt-user.txt", "user", -1791, 7699, [33_841, 85_782]),
        ("rtai/preempt-kern.txt", "kernel", -1671, 4385, [2910, 3109]),
    ] {
        let all = import(file, "");
        let [latency, fast, slow] = &all.series[..] else { panic!("{:?}", all.series) };
        assert_eq!((all.tool.as_str(), latency.quantity.as_str()), ("RTAI preempt", "latency"));
        assert_eq!((latency.min, latency.max, latency.mean, latency.count), (ns(min), ns(max), None, None));
        for (series, task, largest) in [(fast, "fast", jitter[0]), (slow, "slow", jitter[1])] {
            assert_eq!((series.quantity.as_str(), series.labels["task"].as_str()), ("jitter", task));
            assert_eq!((series.min, series.max, series.mean), (None, ns(largest), None));
        }
        assert!(all.series.iter().all(|series| series.labels["context"] == context && series.bins.is_empty()));
        assert_eq!((all.ending, all.notes.len()), (Ending::Complete, 3), "{file}");
    }
}

/// Each line is the mean of many switches. The system's log puts its own words before a line of the kernel.
#[test]
fn switches() {
    let log = import("rtai/switches-kern-log.txt", "");
    let of_log: Vec<_> = log.series.iter().map(|one| (one.labels["by"].as_str(), one.count, one.mean)).collect();
    let mean = |ns: f64| Some([ns - 1.0, ns + 1.0]);
    let count = Some(40_000);
    let expected = [("suspend", count, mean(151.0)), ("semaphore", count, mean(163.0)), ("rpc", count, mean(198.0))];
    assert_eq!(of_log, expected);
    assert!(log.series.iter().all(|one| one.min.is_none() && one.max.is_none() && one.facts["tasks"] == 10));
    assert_eq!(log.notes, ["each switch saved the floating-point registers"]);
    let user = import("rtai/switches-user.txt", "");
    assert_eq!((user.series[2].mean, user.ending.clone(), user.notes.len()), (mean(1686.0), Ending::Complete, 0));
    // A real line.
    let one = "FOR 10 TASKS: TIME 772 (ms), SUSP/RES SWITCHES 40000, SWITCH TIME 19316 (ns)\n";
    let cut = of(one.as_bytes(), None, None).unwrap();
    assert_eq!((cut.series[0].mean, cut.findings.len()), (mean(19_316.0), 0));
    assert!(matches!(cut.ending, Ending::Interrupted(_)));
    assert_eq!(refused(&format!("{one}{one}")), "line 2: a second run: keep one run per file");
    assert!(refused(&format!("{one}FOR 10 TASKS: TIME 8 (ms)\n")).starts_with("line 2: `FOR 10 TASKS"));
    assert!(refused(&one.replace("SUSP/RES", "OTHER")).starts_with("line 1"));
    // Its own total contradicts a mean.
    let false_mean = one.replace("19316", "29316");
    assert!(refused(&false_mean).contains("it is 29316 ns, but the time of all switches allows 19275 to 19325"));
    let both = format!("{false_mean}{}", one.replace("SUSP/RES", "SEM SIG/WAIT"));
    let told = of(both.as_bytes(), None, None).unwrap();
    assert_eq!((told.series.len(), doubts(&told).len()), (1, 1), "{:?}", told.findings);
}

/// Xenomai's reader takes each text with a line of Xenomai's, and no text of RTAI's alone; RTAI's readers take the opposite.
#[test]
fn rtai_and_xenomai_are_told_apart() {
    let rtd = "RTD|         60|         60|        141|       1040|       1040|          0\n";
    let xenomai = "RTD|      0.723|      2.302|      3.740|       0|     0|      0.723|      3.740\n";
    let title = "RTAI Testsuite - KERNEL latency (all data in nanoseconds)\n";
    let fusion = "RTH|-----lat min|-----lat avg|-----lat max|-overrun|----lat best|---lat worst\n";
    for text in [
        format!("{XENOMAI}{xenomai}"),
        format!("{title}{XENOMAI}{xenomai}"),
        format!("{LATENCY}{rtd}{XENOMAI}{xenomai}"),
        format!("{XENOMAI}{rtd}"),
        // RTAI's former branch, from which Xenomai came, printed whole ns.
        format!("{fusion}{rtd}"),
        format!("{LATENCY}{xenomai}"),
    ] {
        assert_eq!(formats(&text), ["xenomai-latency"], "{text}");
    }
    assert!(refused(&format!("{XENOMAI}{xenomai}{LATENCY}{rtd}")).starts_with("line 4"));
    let old = "RTH|    lat min|    lat avg|    lat max|    ovl max|   overruns|  freq.cntr\n";
    for (text, format) in [
        (format!("{title}{LATENCY}{rtd}"), "rtai-latency"),
        (format!("{LATENCY}{rtd}"), "rtai-latency"),
        (rtd.into(), "rtai-latency"),
        (title.into(), "rtai-latency"),
        (old.into(), "rtai-latency"),
        (PREEMPT.into(), "rtai-preempt"),
        ("RTAI Testsuite - UP preempt (all data in nanoseconds)\n".into(), "rtai-preempt"),
        ("RTD|        -60|         14|       1040|         20|         30\n".into(), "rtai-preempt"),
    ] {
        assert_eq!(formats(&text), [format], "{text}");
    }
    for file in ["latency-user-3", "latency-kthreads-5.1", "latency-5.3-overruns", "preempt-user", "switches-user"] {
        let all = formats(&text(&format!("rtai/{file}.txt")));
        assert!(matches!(all[..], [only] if only.starts_with("rtai-")), "{file}: {all:?}");
    }
}

/// A file of makertaikernel.sh has a summary and the outputs of several tests: `--format` chooses one of them.
#[test]
fn one_of_several_tests_in_a_file() {
    let summary = "RTH| general                 | kern latencies  | kern switches\n\
                   RTH| description   | progress|  ovlmax|  avgmax\n\
                   RTD| plain-idle    | hsmk    |    2131|     695\n\n";
    assert_eq!(formats(summary), Vec::<&str>::new());
    let names = ["latency-user-3", "switches-kern-log", "preempt-kern"].map(|name| format!("rtai/{name}.txt"));
    let all = names.iter().fold(summary.to_owned(), |all, name| all + &text(name));
    let formats = recognised(all.as_bytes());
    assert_eq!(
        formats.iter().map(|one| one.name).collect::<Vec<_>>(),
        ["rtai-latency", "rtai-preempt", "rtai-switches"]
    );
    for (format, alone, skipped) in [
        (formats[0], &names[0], "latido left out 5 rows of other tests"),
        (formats[1], &names[2], "latido left out 25 rows of other tests"),
        (formats[2], &names[1], "each switch saved the floating-point registers"),
    ] {
        let told = format.import(all.as_bytes(), &latido_import::Asked::default()).unwrap();
        let alone = import(alone, "");
        // The title and the dates of one test say nothing of another.
        assert_eq!((told.series, told.times), (alone.series, alone.times), "{}", format.name);
        assert!(told.notes.iter().any(|note| note == skipped), "{:?}", told.notes);
    }
}
