//! The table in every format, and that nothing unmeasured looks measured.

use super::*;
use crate::{
    formats::FORMATS,
    input::ReportInput,
    judge::configuration::Configuration,
    sample::{SampleRun, calls},
    study::{NotMeasured, PublishedColumn, PublishedRow},
    tree::{TableForm, chapters, sections},
};

/// The table of the first chapter of these configurations.
fn table(all: &[Configuration], change: impl Fn(&mut ReportInput)) -> Option<Characterisation> {
    let judged = SampleRun::of(all);
    let mut input = judged.input(all);
    change(&mut input);
    let sections = sections(all);
    characterisation(&chapters(&sections)[0], &input)
}

/// A mutex table with a gap, a system that could not be measured, and the study's numbers, one of them impossible.
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

/// The table in the format of this name.
fn written(name: &str, table: &Characterisation) -> String {
    match FORMATS.iter().find(|format| format.name == name).and_then(|format| format.table) {
        Some(TableForm::Print(write)) => write(&table.sheet()),
        Some(TableForm::Data(write)) => write(&table.data()).unwrap(),
        None => panic!("{name} has no tables"),
    }
}

#[test]
fn as_latex() {
    insta::assert_snapshot!(written("latex", &full()));
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(written("markdown", &full()));
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

/// Means of batches are stored in picoseconds and read in nanoseconds, beside calls timed one by one.
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
    assert_eq!(table.notes, [("†", "mean above maximum, as printed".to_owned())]);
    let line = |name: &str| table.rows.iter().find(|line| line.name == name).unwrap();
    let text = |name: &str| line(name).entries[3].text(&line(name).unit);
    assert_eq!(text("trylock, normal"), "156 / 500 / 300 †");
    assert_eq!(text("lock, normal").replace('\u{202f}', " "), "156 / 230 / 437 389");
    assert_eq!(table.columns.len(), 4, "a published system without a number here has no column");
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
