//! The table in every format; nothing unmeasured may look measured.

use super::*;
use crate::{
    formats::FORMATS,
    input::ReportInput,
    sample::{self, SampleRun, calls},
    study::{NotMeasured, PublishedColumn, PublishedRow},
    tree::{TableForm, chapters, sections},
};
use latido_judge::configuration::Configuration;
use latido_model::{
    plan::{Distribution, Statistic},
    record::Slots,
};

/// Returns the table of the first chapter of these configurations.
fn table(all: &[Configuration], change: impl Fn(&mut ReportInput)) -> Option<Characterisation> {
    let judged = SampleRun::of(all);
    let mut input = judged.input(all);
    change(&mut input);
    let sections = sections(all);
    characterisation(&chapters(&sections)[0], &input)
}

/// Returns a mutex table with a gap, a system that could not be measured, and the study's numbers, one of them impossible.
fn full() -> Characterisation {
    let mut all = calls::mutex(&["idle", "busy"]);
    all[1].quantities.retain(|pooled| pooled.quantity != "unlock");
    all.extend(calls::mutex_batch(&["idle"]));
    table(&all, |input| {
        input.not_measured =
            vec![NotMeasured { label: "rt & isolated".into(), reason: "needs another kernel".into(), cells: 3 }];
        let row = |quantity: &str, mean, max| PublishedRow {
            probe: "mutex".into(),
            quantity: quantity.into(),
            labels: [("kind".to_owned(), "normal".to_owned()), ("shared".to_owned(), "no".to_owned())].into(),
            min: Some(156.0),
            mean,
            max,
            ..PublishedRow::default()
        };
        let rows = vec![row("lock", Some(230.0), Some(437_389.0)), row("trylock", Some(500.0), Some(300.0))];
        input.published = vec![
            PublishedColumn { system: "stock, published".into(), rows },
            PublishedColumn { system: "of another probe".into(), rows: Vec::new() },
        ];
    })
    .unwrap()
}

/// Returns the table in the format of this name.
fn written(name: &str, table: &Characterisation) -> String {
    match FORMATS.iter().find(|format| format.name == name).and_then(|format| format.table) {
        Some(TableForm::Print(write)) => write(&table.sheet()),
        Some(TableForm::Data(write)) => write(&table.data()).unwrap(),
        None => panic!("{name} has no tables"),
    }
}

/// Returns the table as LaTeX, in its two parts. One blank line separates them.
fn latex() -> [String; 2] {
    let text = written("latex", &full());
    let (first, second) = text.split_once("\n\n").unwrap();
    assert!(second.starts_with('%'), "{text}");
    [first.to_owned(), second.to_owned()]
}

#[test]
fn as_latex_the_first_part_has_what_was_measured() {
    let [first, _] = latex();
    insta::assert_snapshot!(first, @r#"
    % Mutex calls: min / mean / max; second line p99.9 (samples); [1] mean above maximum, as printed, part 1 of 2; needs \usepackage{booktabs}
    \begin{tabular}{lrrr}
    \toprule
    call & unit & idle & busy \\
    \midrule
    lock, normal & ns & 40 / 56.0 / 3\,999 & 39 / 225 / 88\,034 \\
    -- p99.9 & ns & 1\,693 (4\,000) & 73\,919 (4\,000) \\
    lock, inherit & ns & 117 / 167 / 3\,951 & 123 / 263 / 82\,732 \\
    -- p99.9 & ns & 2\,425 (4\,000) & 42\,879 (4\,000) \\
    lock, ceiling & ns & 324 / 443 / 4\,405 & 340 / 542 / 82\,776 \\
    -- p99.9 & ns & 3\,875 (4\,000) & 56\,383 (4\,000) \\
    lock, normal, shared & ns & 43 / 61.5 / 4\,039 & 43 / 238 / 80\,077 \\
    -- p99.9 & ns & 2\,279 (4\,000) & 57\,727 (4\,000) \\
    trylock, normal & ns & 36 / 52.7 / 3\,366 & 37 / 120 / 75\,195 \\
    -- p99.9 & ns & 2\,383 (4\,000) & 25\,999 (4\,000) \\
    trylock, inherit & ns & 113 / 151 / 3\,384 & 112 / 293 / 87\,391 \\
    -- p99.9 & ns & 198 (4\,000) & 66\,559 (4\,000) \\
    trylock, ceiling & ns & 305 / 409 / 4\,284 & 307 / 523 / 77\,975 \\
    -- p99.9 & ns & 1\,809 (4\,000) & 57\,599 (4\,000) \\
    trylock, normal, shared & ns & 40 / 53.8 / 2\,515 & 38 / 116 / 65\,089 \\
    -- p99.9 & ns & 70 (4\,000) & 29\,231 (4\,000) \\
    unlock, normal & ns & 46 / 62.5 / 3\,392 & not measured \\
    -- p99.9 & ns & 393 (4\,000) & -- \\
    unlock, inherit & ns & 144 / 190 / 3\,939 & not measured \\
    -- p99.9 & ns & 1\,624 (4\,000) & -- \\
    unlock, ceiling & ns & 386 / 508 / 4\,374 & not measured \\
    -- p99.9 & ns & 655 (4\,000) & -- \\
    unlock, normal, shared & ns & 52 / 69.7 / 3\,354 & not measured \\
    -- p99.9 & ns & 2\,215 (4\,000) & -- \\
    empty & ns & 35 / 41.8 / 1\,357 & 35 / 68.6 / 29\,653 \\
    -- p99.9 & ns & 619 (4\,000) & 13\,055 (4\,000) \\
    lock in batches, normal & ns & 5.83 / 6.33 / 7.34 & not measured \\
    -- p99.9 & ns & too few (300) & -- \\
    unlock in batches, normal & ns & 6.46 / 7.07 / 10.1 & not measured \\
    -- p99.9 & ns & too few (300) & -- \\
    \bottomrule
    \end{tabular}
    "#);
}

#[test]
fn as_latex_the_second_part_has_what_was_not_measured_and_what_was_published() {
    let [_, second] = latex();
    insta::assert_snapshot!(second, @r#"
    % Mutex calls: min / mean / max; second line p99.9 (samples); [1] mean above maximum, as printed, part 2 of 2; needs \usepackage{booktabs}
    \begin{tabular}{lrrr}
    \toprule
    call & unit & rt \& isolated & stock, published \\
    \midrule
    lock, normal & ns & not measured & 156 / 230 / 437\,389 \\
    -- p99.9 & ns & -- & -- \\
    lock, inherit & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    lock, ceiling & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    lock, normal, shared & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    trylock, normal & ns & not measured & 156 / 500 / 300 {[}1] \\
    -- p99.9 & ns & -- & -- \\
    trylock, inherit & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    trylock, ceiling & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    trylock, normal, shared & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    unlock, normal & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    unlock, inherit & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    unlock, ceiling & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    unlock, normal, shared & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    empty & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    lock in batches, normal & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    unlock in batches, normal & ns & not measured & not published \\
    -- p99.9 & ns & -- & -- \\
    \bottomrule
    \end{tabular}
    "#);
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(written("markdown", &full()), @r#"
    **Mutex calls: min / mean / max; second line p99.9 (samples); \[1\] mean above maximum, as printed**

    | call | unit | idle | busy | rt &amp; isolated | stock, published |
    | :-- | --: | --: | --: | --: | --: |
    | lock, normal | ns | 40 / 56.0 / 3 999 | 39 / 225 / 88 034 | not measured | 156 / 230 / 437 389 |
    | – p99.9 | ns | 1 693 (4 000) | 73 919 (4 000) | – | – |
    | lock, inherit | ns | 117 / 167 / 3 951 | 123 / 263 / 82 732 | not measured | not published |
    | – p99.9 | ns | 2 425 (4 000) | 42 879 (4 000) | – | – |
    | lock, ceiling | ns | 324 / 443 / 4 405 | 340 / 542 / 82 776 | not measured | not published |
    | – p99.9 | ns | 3 875 (4 000) | 56 383 (4 000) | – | – |
    | lock, normal, shared | ns | 43 / 61.5 / 4 039 | 43 / 238 / 80 077 | not measured | not published |
    | – p99.9 | ns | 2 279 (4 000) | 57 727 (4 000) | – | – |
    | trylock, normal | ns | 36 / 52.7 / 3 366 | 37 / 120 / 75 195 | not measured | 156 / 500 / 300 \[1\] |
    | – p99.9 | ns | 2 383 (4 000) | 25 999 (4 000) | – | – |
    | trylock, inherit | ns | 113 / 151 / 3 384 | 112 / 293 / 87 391 | not measured | not published |
    | – p99.9 | ns | 198 (4 000) | 66 559 (4 000) | – | – |
    | trylock, ceiling | ns | 305 / 409 / 4 284 | 307 / 523 / 77 975 | not measured | not published |
    | – p99.9 | ns | 1 809 (4 000) | 57 599 (4 000) | – | – |
    | trylock, normal, shared | ns | 40 / 53.8 / 2 515 | 38 / 116 / 65 089 | not measured | not published |
    | – p99.9 | ns | 70 (4 000) | 29 231 (4 000) | – | – |
    | unlock, normal | ns | 46 / 62.5 / 3 392 | not measured | not measured | not published |
    | – p99.9 | ns | 393 (4 000) | – | – | – |
    | unlock, inherit | ns | 144 / 190 / 3 939 | not measured | not measured | not published |
    | – p99.9 | ns | 1 624 (4 000) | – | – | – |
    | unlock, ceiling | ns | 386 / 508 / 4 374 | not measured | not measured | not published |
    | – p99.9 | ns | 655 (4 000) | – | – | – |
    | unlock, normal, shared | ns | 52 / 69.7 / 3 354 | not measured | not measured | not published |
    | – p99.9 | ns | 2 215 (4 000) | – | – | – |
    | empty | ns | 35 / 41.8 / 1 357 | 35 / 68.6 / 29 653 | not measured | not published |
    | – p99.9 | ns | 619 (4 000) | 13 055 (4 000) | – | – |
    | lock in batches, normal | ns | 5.83 / 6.33 / 7.34 | not measured | not measured | not published |
    | – p99.9 | ns | too few (300) | – | – | – |
    | unlock in batches, normal | ns | 6.46 / 7.07 / 10.1 | not measured | not measured | not published |
    | – p99.9 | ns | too few (300) | – | – | – |
    "#);
}

#[test]
fn as_csv() {
    insta::assert_snapshot!(written("csv", &full()));
}

#[test]
fn no_cell_is_blank_or_zero() {
    let table = full();
    for line in &table.rows {
        assert_eq!(line.entries.len(), table.columns.len());
        for entry in &line.entries {
            let text = entry.text(&line.unit);
            assert!(!text.is_empty() && text != "0", "{line:?}");
        }
    }
    let unlock = table.rows.iter().find(|line| line.name == "unlock, normal").unwrap();
    let texts: Vec<String> = unlock.entries.iter().map(|entry| entry.text(&unlock.unit)).collect();
    assert_eq!(texts[1..], ["not measured", "not measured", "not published"]);
}

/// Means of batches are stored in picoseconds and shown in nanoseconds, together with calls timed one by one.
#[test]
fn batches_are_rows_in_nanoseconds() {
    let table = full();
    let batch = table.rows.iter().find(|line| line.name.starts_with("lock in batches")).unwrap();
    assert_eq!((batch.stored.as_str(), batch.unit.name.as_str()), ("ps", "ns"));
    let CallFigures::Measured { mean, .. } = batch.entries[0] else { panic!("{batch:?}") };
    assert!((5.0..9.0).contains(&batch.unit.text(mean).parse::<f64>().unwrap()));
}

#[test]
fn an_impossible_published_row_is_flagged() {
    let table = full();
    assert_eq!(table.notes, ["mean above maximum, as printed".to_owned()]);
    let line = |name: &str| table.rows.iter().find(|line| line.name == name).unwrap();
    let text = |name: &str| line(name).entries[3].text(&line(name).unit);
    assert_eq!(text("trylock, normal"), "156 / 500 / 300 [1]");
    assert_eq!(text("lock, normal").replace('\u{202f}', " "), "156 / 230 / 437 389");
    assert_eq!(table.columns.len(), 4, "a published system without a number here has no column");
}

/// Notes have different numbers, however many there are.
#[test]
fn every_note_has_a_number_of_its_own() {
    let all = calls::mutex(&["idle"]);
    let table = table(&all, |input| {
        let column = |i: usize| {
            let row = PublishedRow {
                probe: "mutex".into(),
                quantity: "lock".into(),
                max: Some(1_000.0),
                // Two systems share one note.
                note: Some(format!("remark {}", if i == 6 { 1 } else { i })),
                ..PublishedRow::default()
            };
            PublishedColumn { system: format!("system {i}"), rows: vec![row] }
        };
        input.published = (0..7).map(column).collect();
    });
    let table = table.unwrap();
    let line = &table.rows[0];
    let marks: Vec<String> = line.entries[1..].iter().map(|entry| entry.text(&line.unit)).collect();
    let marks: Vec<&str> = marks.iter().map(|text| text.split_once(" [").unwrap().1).collect();
    assert_eq!(marks, ["1]", "2]", "3]", "4]", "5]", "6]", "2]"]);
    assert_eq!(table.notes.len(), 6);
    assert!(table.sheet().caption().ends_with("; [5] remark 4; [6] remark 5"), "{}", table.sheet().caption());
}

/// Returns a table of a periodic probe with published numbers.
fn beside(of: Distribution, change: impl Fn(&mut PublishedRow)) -> Characterisation {
    let mut all = vec![sample::of("idle", &[1_000, 3_000, 9_000], None)];
    sample::change(&mut all[0], 0, |own| {
        own.slots = Some(Slots { met: 3, late: 0, missed: 2 });
        own.summary.mean = Some(2_484_000.0);
        own.plain.mean = Some(149_000.0);
    });
    table(&all, |input| {
        let mut row =
            PublishedRow { probe: "wakeup".into(), quantity: "latency".into(), of, ..PublishedRow::default() };
        change(&mut row);
        input.published = vec![PublishedColumn { system: "stock, published".into(), rows: vec![row] }];
    })
    .unwrap()
}

/// The mean of cyclictest, which omits missed periods, is compared with latido's mean of wake-ups alone.
#[test]
fn a_published_mean_stands_beside_the_same_mean_of_ours() {
    let means = |of| {
        let table = beside(of, |row| (row.mean, row.max) = (Some(149_000.0), Some(16_256_000.0)));
        let text = |line: &Call| {
            let texts: Vec<String> = line.entries.iter().map(|entry| entry.text(&line.unit)).collect();
            (line.name.clone(), texts)
        };
        table.rows.iter().map(text).collect::<Vec<_>>()
    };
    let plain = means(Distribution::Plain);
    assert_eq!(plain.len(), 2);
    assert!(plain[0].1[0].contains("2\u{202f}484") && plain[0].1[1] == "not published", "{plain:?}");
    assert!(plain[1].0.ends_with("wake-ups alone"), "{plain:?}");
    assert!(plain[1].1[0].contains("/ 149 /") && plain[1].1[1].contains("/ 149 /"), "{plain:?}");
    let corrected = means(Distribution::Corrected);
    assert_eq!(corrected.len(), 1);
    assert!(corrected[0].1[1].contains("149"), "{corrected:?}");
}

/// A system for which only a share or a count was printed keeps its column, and is compared with the same figure of latido.
#[test]
fn a_share_or_a_count_alone_keeps_its_column() {
    let table = beside(Distribution::Corrected, |row| {
        row.other = vec![(Statistic::Share(5_000), 0.9989), (Statistic::Above(5_000), 264.0)];
    });
    assert_eq!(table.columns.len(), 2);
    let texts = |line: &Call| {
        let texts = line.entries.iter().map(|entry| (entry.text(&line.unit), entry.tail(&line.unit)));
        (line.name.split_once(", ").map(|(_, rest)| rest.to_owned()), line.unit.name.clone(), texts.collect::<Vec<_>>())
    };
    let rows: Vec<_> = table.rows.iter().map(texts).collect();
    assert_eq!(rows[0].2[1].0, "not published");
    let told = |text: &str, tail: Option<&str>| (text.to_owned(), tail.map(str::to_owned));
    assert_eq!(rows[1], (Some("up to 5 µs".into()), "%".into(), vec![told("66.7", Some("3")), told("99.89", None)]));
    assert_eq!(rows[2], (Some("above 5 µs".into()), "wake-ups".into(), vec![told("1", Some("3")), told("264", None)]));
    let csv = written("csv", &table);
    assert!(
        csv.contains("max,figure,note") && csv.contains(",0.9989,published") && csv.contains(",264,published"),
        "{csv}"
    );
}

/// Printed numbers for a probe with one option are not compared with those for another option.
#[test]
fn a_published_maximum_of_threads_stands_beside_no_processes() {
    let mut all = calls::switch(&["idle"], &["semaphore", "futex"]);
    for (one, between) in all.iter_mut().zip(["threads", "processes"]) {
        one.cell.probe.options.insert("between".into(), between.into());
    }
    let table = table(&all, |input| {
        let row = PublishedRow {
            probe: "switch".into(),
            quantity: "switch".into(),
            options: [("between".to_owned(), "threads".to_owned())].into(),
            max: Some(208_000.0),
            ..PublishedRow::default()
        };
        input.published = vec![PublishedColumn { system: "no-preempt, published".into(), rows: vec![row] }];
    });
    let table = table.unwrap();
    let last: Vec<String> = table.rows.iter().map(|line| line.entries[1].text(&line.unit)).collect();
    assert_eq!(last.len(), 2);
    assert!(last[0].split_whitespace().any(|word| word == "208"), "{last:?}");
    assert_eq!(last[1], "not published");
}

#[test]
fn many_systems_that_were_not_measured_are_named_in_one_line() {
    let all = calls::mutex(&["idle"]);
    let table = table(&all, |input| {
        let one = |i: usize| NotMeasured { label: format!("kernel {i}"), reason: "none here".into(), cells: 1 };
        input.not_measured = (0..7).map(one).collect();
    });
    let table = table.unwrap();
    assert_eq!((table.columns.len(), table.missing.len()), (1, 7));
    assert!(
        table
            .sheet()
            .caption()
            .ends_with("not measured: kernel 0, kernel 1, kernel 2, kernel 3, kernel 4, kernel 5, kernel 6")
    );
}

#[test]
fn one_call_alone_has_no_table() {
    assert!(table(&[crate::sample::of("idle", &[1_000], None)], |_| ()).is_none());
}
