//! The readers take real outputs of rtla as they print their figures.

use crate::common::{doubts, import, read, sample};
use latido_import::{Ending, Imported, Interval, Series, Severity, recognised};

fn column(series: &Series) -> String {
    match (series.quantity.as_str(), series.labels.get("thread").map(String::as_str)) {
        ("irq-latency", None) => format!("IRQ-{:03}", series.cpu.unwrap()),
        ("latency", Some("kernel")) => format!("Thr-{:03}", series.cpu.unwrap()),
        ("latency", Some("user")) => format!("Usr-{:03}", series.cpu.unwrap()),
        ("gap", None) => format!("CPU-{:03}", series.cpu.unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Each column of each histogram has the counts and extremes that a plain reading of the table by columns finds.
#[test]
fn histograms_have_the_numbers_of_their_tables() {
    for file in [
        "6.1-timerlat-hist",
        "6.1-timerlat-hist-n",
        "6.1-timerlat-hist-stopped",
        "6.1-osnoise-hist",
        "6.12-timerlat-hist",
        "6.12-timerlat-hist-n",
        "6.12-timerlat-hist-no-thread",
        "6.12-timerlat-hist-stopped",
        "6.12-osnoise-hist",
    ] {
        let name = format!("rtla/rtla-{file}.txt");
        let text = String::from_utf8(sample(&name)).unwrap();
        let unit = if text.contains("(ns)") { 1 } else { 1000 };
        let table: Vec<Vec<&str>> = text
            .lines()
            .take_while(|line| !line.starts_with("ALL:"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let header = table.iter().find(|words| words[0] == "Index").unwrap();
        let imported = import(&name, "");
        assert_eq!(imported.series.len(), header.len() - 1, "{file}");
        for (at, series) in (1..).zip(&imported.series) {
            assert_eq!(column(series), header[at], "{file}");
            let of =
                |name: &str| table.iter().find(|words| words[0] == name).unwrap()[at].parse::<f64>().unwrap() as i64;
            assert_eq!(series.count, Some(of("count:") as u64), "{file}");
            assert_eq!(series.min.unwrap().low, of("min:") * unit, "{file}");
            assert_eq!(series.max.unwrap().low, of("max:") * unit, "{file}");
            let rows: Vec<(i64, u64)> =
                table.iter().filter_map(|words| Some((words[0].parse().ok()?, words[at].parse().ok()?))).collect();
            let last = rows.last().unwrap().0;
            let over = of("over:") as u64;
            let below: Vec<_> =
                rows.iter().filter(|(value, count)| *count > 0 && (over == 0 || *value < last)).collect();
            let kept: Vec<_> = series.bins.iter().filter(|bin| over == 0 || bin.low < last * unit).collect();
            assert_eq!(below.len(), kept.len(), "{file}");
            for ((value, count), bin) in below.into_iter().zip(kept) {
                assert_eq!((bin.low, bin.count), (value * unit, *count), "{file}");
                assert_eq!(Some(bin.high.unwrap() - bin.low + 1), series.width.map(|width| width as i64), "{file}");
            }
            assert_eq!(series.bins.iter().map(|bin| bin.count).sum::<u64>(), of("count:") as u64, "{file}");
            if over > 0 {
                assert_eq!(series.bins.last().unwrap().high, series.max.unwrap().high, "{file}");
            }
        }
    }
}

/// The reader keeps units, widths, durations, endings and the analysis of a stop.
#[test]
fn what_stands_beside_the_table_is_kept() {
    let ns = import("rtla/rtla-6.1-timerlat-hist-n.txt", "");
    assert_eq!((ns.series[0].width, ns.series[0].max), (Some(20_000), Some(Interval::exactly(143_836_890))));
    assert_eq!((ns.elapsed_ns, ns.ending), (Some(4_000_000_000), Ending::Complete));
    let stopped = import("rtla/rtla-6.12-timerlat-hist-stopped.txt", "");
    assert_eq!(stopped.ending, Ending::Stopped { value: Interval::between(5_580_975, 5_580_985), thread: Some(0) });
    assert!(stopped.notes.iter().any(|note| note.contains("Blocking thread stack trace")));
    let old = import("rtla/rtla-6.1-timerlat-hist-stopped.txt", "");
    assert!(matches!(old.ending, Ending::Stopped { thread: None, .. }), "{:?}", old.ending);
    let noise = import("rtla/rtla-6.12-osnoise-hist.txt", "rtla osnoise hist -T 7");
    assert_eq!(
        (noise.series[0].above, noise.series[0].max),
        (Some(7000), Some(Interval::between(4_050_000, 4_099_999)))
    );
    for file in ["6.1", "6.12"] {
        let none = import(&format!("rtla/rtla-{file}-osnoise-hist-empty.txt"), "");
        assert_eq!(
            (none.series[0].count, none.series[0].max, none.ending),
            (Some(0), None, Ending::Complete),
            "{file}"
        );
        // The threshold decides what is known: a limit above it is met.
        let bounded = import(&format!("rtla/rtla-{file}-osnoise-hist-empty.txt"), "rtla osnoise hist -T 7");
        let own = &bounded.series[0];
        assert_eq!((own.count, own.max, own.above), (None, Some(Interval::between(0, 7000)), Some(7000)), "{file}");
    }
}

/// The reader refuses a table without its header, which loses units and columns, a negative count, which has wrapped, and rows that do not
/// fit.
#[test]
fn what_cannot_be_known_is_refused() {
    let error = read(&sample("rtla/rtla-6.1-timerlat-hist-no-irq-no-header.txt"), "").unwrap_err();
    assert!(format!("{error:#}").contains("--no-header"), "{error:#}");
    let text = String::from_utf8(sample("rtla/rtla-6.1-timerlat-hist.txt")).unwrap();
    for (from, to, why) in [
        ("Index ", "", "--no-index"),
        ("725 ", "-725 ", "wrapped"),
        ("        35        90 ", "        35 ", "3 columns"),
        ("40          978", "20          978", "does not follow"),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(text, other, "{from}");
        let error = read(other.as_bytes(), "").map(|_| ()).unwrap_err();
        assert!(format!("{error:#}").contains(why), "{to}: {error:#}");
    }
    let missed = format!("{text}12 (0.36%) events missed, results might not be accurate\n");
    let imported = read(missed.as_bytes(), "").unwrap();
    assert_eq!(imported.findings[0].severity, Severity::Contaminated);
}

/// A figure that contradicts the others of its column gives one line, and the reader uses the rest.
#[test]
fn a_figure_that_its_column_contradicts_is_left_out() {
    let text = String::from_utf8(sample("rtla/rtla-6.1-timerlat-hist.txt")).unwrap();
    let whole = read(text.as_bytes(), "").unwrap().series;
    assert!(doubts(&read(text.as_bytes(), "").unwrap()).is_empty());
    for (from, to, why) in [
        ("725 ", "726 ", "the histogram and its count"),
        ("34270", "300", "the largest value"),
        ("min:          3", "min:         20", "the smallest value"),
        ("avg:        192", "avg:       1920", "the mean"),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(text, other, "{from}");
        let told = read(other.as_bytes(), "").unwrap();
        assert!(matches!(doubts(&told)[..], [one] if one.starts_with(why)), "{to}: {:?}", told.findings);
        let changed = told.series.iter().zip(&whole).filter(|(own, sound)| own != sound);
        assert_eq!(changed.count(), 1, "{to}: the other columns stay");
    }
}

/// rtla up to 6.1 divides a sum that it does not count, so the mean of osnoise is 0. The reader leaves out the mean and uses the rest.
#[test]
fn the_mean_of_osnoise_up_to_6_1_is_not_believed() {
    let told = import("rtla/rtla-6.1-osnoise-hist-mean-0.txt", "");
    let us = |low: i64, high: i64| Some(Interval::between(low * 1000, high * 1000 + 999));
    let own: Vec<_> = told.series.iter().map(|one| (one.count, one.min, one.max, one.mean)).collect();
    assert_eq!(own, [(Some(5629), us(1, 1), us(2955, 2955), None), (Some(1364), us(1, 1), us(56, 56), None)]);
    let [one] = doubts(&told)[..] else { panic!("{:?}", told.findings) };
    assert!(one.starts_with("the mean, gap on CPU 0: it is from 0.00 to 1.00, but its rows allow 1."), "{one}");
    assert!(one.contains("rtla 6.1.1 and older") && one.ends_with("(and 1 more of its kind)"), "{one}");
    assert_eq!(told.ending, Ending::Complete);
    // A mean that its rows allow stays.
    assert!(import("rtla/rtla-6.1-osnoise-hist.txt", "").series.iter().all(|one| one.mean.is_some()));
}

/// Up to 6.9 a column without samples prints 2^64 - 1 as its smallest value. The reader leaves out such a column.
#[test]
fn columns_without_samples_are_left_out() {
    let table = |over: &str, min: &str| {
        format!(
            "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:01\n\
             Index   IRQ-002   Thr-002   Usr-002\n49            1         0         0\n52            0         1         0\n\
             over:         0         0         {over}\ncount:        1         1         0\n\
             min:         49        52 {min}\navg:         49        52         -\nmax:         49        52         0\n"
        )
    };
    for none in ["18446744073709551615", "-"] {
        let imported = read(table("0", none).as_bytes(), "").unwrap();
        assert_eq!(imported.series.iter().map(column).collect::<Vec<_>>(), ["IRQ-002", "Thr-002"]);
        assert_eq!(imported.ending, Ending::Complete);
    }
    let error = read(table("3", "-").as_bytes(), "").unwrap_err();
    assert!(error.to_string().contains("Usr-002: its rows have samples, but it counts 0"), "{error}");
}

/// A shell's prompt and the output of a script may precede the title. The reader keeps lines there that start with `#`.
#[test]
fn lines_before_the_title_are_passed_over() {
    let text = String::from_utf8(sample("rtla/rtla-6.12-timerlat-hist.txt")).unwrap();
    let whole = read(text.as_bytes(), "").unwrap();
    for lead in ["Warning: something\n", "[root@a ~]# rtla timerlat hist\n", "$ rtla\n# board 3\n7 apples\n"] {
        let led = read(format!("{lead}{text}[root@a ~]# \n").as_bytes(), "").unwrap();
        assert_eq!((&led.series, &led.ending), (&whole.series, &whole.ending), "{lead}");
        assert_eq!(led.notes.iter().any(|note| note == "board 3"), lead.contains("board 3"), "{lead}");
    }
    let dented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    assert_eq!(read(dented.as_bytes(), "").unwrap().series, whole.series);
}

/// Screens: the colours of 6.1, the last of several blocks, and the line for all CPUs, which the reader skips.
#[test]
fn tops_have_the_numbers_of_their_last_block() {
    let us = |low: i64| Some(Interval::between(low * 1000, low * 1000 + 999));
    let old = import("rtla/rtla-6.1-timerlat-top.txt", "");
    let of = |one: &Imported| one.series.iter().map(|one| (column(one), one.min, one.max)).collect::<Vec<_>>();
    assert_eq!(
        of(&old),
        [
            ("IRQ-000".into(), us(33), us(9682)),
            ("Thr-000".into(), us(46), us(12811)),
            ("IRQ-001".into(), us(10), us(72109)),
            ("Thr-001".into(), us(24), us(72180)),
        ]
    );
    assert_eq!((old.series[0].count, old.series[1].count), (Some(2650), None));
    let new = import("rtla/rtla-6.12-timerlat-top.txt", "");
    assert_eq!((new.series.len(), new.series[5].max), (6, us(7278)));
    // An earlier state of the same run, as a terminal shows it.
    let last = String::from_utf8(sample("rtla/rtla-6.12-timerlat-top.txt")).unwrap();
    let earlier = last.replace("#2751", "#1751").replace("#2921", "#1921").replace("62692", "60692");
    assert_ne!(earlier, last);
    assert_eq!(read(format!("{earlier}\x1bc{last}").as_bytes(), "").unwrap(), new);
    let stopped = import("rtla/rtla-6.12-timerlat-top-stopped.txt", "");
    assert_eq!(stopped.ending, Ending::Stopped { value: Interval::between(3_700_595, 3_700_605), thread: Some(0) });
    for (file, single, counters) in [
        ("6.1-osnoise-top", [16054, 81607], 5),
        ("6.12-osnoise-top", [138_620, 137_702], 5),
        ("6.12-hwnoise", [20070, 32821], 2),
    ] {
        let imported = import(&format!("rtla/rtla-{file}.txt"), "");
        assert_eq!(imported.series.iter().map(|one| one.max).collect::<Vec<_>>(), single.map(us), "{file}");
        assert_eq!(imported.series[0].facts.len(), 4 + counters, "{file}");
    }
}

/// Signs of a second run: a count or a largest value that falls, a smallest value that rises, another kind of noise.
#[test]
fn tops_of_two_runs_are_refused() {
    for (file, from, to) in [
        ("timerlat-top", "#2751", "#2750"),
        ("timerlat-top", "62732", "62731"),
        ("timerlat-top", "      26 ", "      27 "),
        ("osnoise-top", "138620", "138619"),
        ("hwnoise", "32821", "32820"),
    ] {
        let run = String::from_utf8(sample(&format!("rtla/rtla-6.12-{file}.txt"))).unwrap();
        let other = run.replacen(from, to, 1);
        assert_ne!(run, other, "{file}: {from}");
        read(format!("{run}{run}").as_bytes(), "").unwrap();
        let error = format!("{:#}", read(format!("{run}{other}").as_bytes(), "").unwrap_err());
        assert!(error.contains("a second run: keep one run per file") && error.contains("line "), "{to}: {error}");
    }
    let kinds = ["osnoise-top", "hwnoise"].map(|file| sample(&format!("rtla/rtla-6.12-{file}.txt"))).concat();
    assert!(format!("{:#}", read(&kinds, "").unwrap_err()).contains("one run per file"));
}

/// A file that is cut anywhere is refused, or counts as ended early, or has no number that the whole file does not have.
#[test]
fn torn_files_tell_no_wrong_number() {
    let mut taken = 0;
    for entry in std::fs::read_dir(crate::samples::folder().join("rtla")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Ok(whole) = read(&bytes, "") else { continue };
        for end in 0..bytes.len() {
            let part = &bytes[..end];
            let [format] = recognised(part)[..] else { continue };
            let Ok(torn) = format.import(part, &Default::default()) else { continue };
            taken += 1;
            for series in torn.series {
                let own = whole
                    .series
                    .iter()
                    .find(|own| (own.cpu, &own.quantity, &own.labels) == (series.cpu, &series.quantity, &series.labels))
                    .unwrap();
                assert!(series.min.is_none() || series.min == own.min, "{end}");
                assert!(series.max.is_none() || series.max == own.max, "{end}");
                assert!(series.count.is_none() || series.count == own.count, "{end}");
                assert!(!series.bins.is_empty() || own.bins.is_empty() || series.cut || own.count == Some(0), "{end}");
            }
            let unended = bytes[end - 1] != b'\n' && bytes[end..].iter().any(|byte| !byte.is_ascii_whitespace());
            let inside = unended && !part.rsplit(|byte| *byte == b'\n').next().unwrap().trim_ascii().is_empty();
            assert!(!inside || !matches!(torn.ending, Ending::Complete), "{end}");
        }
    }
    assert!(taken > 100, "{taken}");
}
