use super::*;
use crate::{
    sample,
    tree::{Section, sections},
};
use latido_judge::configuration::Configuration;

fn fitting(all: &[Configuration]) -> Vec<Section<'_>> {
    sections(all)
}

/// Every row is as wide as its head. A refused tail has its reasons below the table and no level in the table. latido analyses no more
/// series than it shows.
#[test]
fn refused_tails_have_reasons_and_no_levels() {
    let all = sample::configurations(10);
    for section in fitting(&all) {
        let sheet = sheet(&section).unwrap();
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{sheet:?}");
        assert_eq!((section.extremes().len(), section.threads()), (10, 20));
        assert!(sheet.caption().contains("10 of 20 series"), "{}", sheet.caption());
        assert_eq!(sheet.rows.len(), 10);
        assert!(section.extremes().iter().any(|one| !one.extremes.tail.reasons().is_empty()), "none is refused");
        let levels = sheet.head.iter().position(|head| head.name == "gate").unwrap() + 1;
        for (one, row) in section.extremes().iter().zip(&sheet.rows) {
            let refused = !one.extremes.tail.reasons().is_empty();
            let none = row[levels..].iter().all(|cell| *cell == Datum::Text("none".into()));
            assert_eq!(refused, none, "{row:?}");
            let told = sheet.notes.iter().any(|note| note.starts_with("No levels of ") && note.contains(&place(one)));
            assert_eq!(refused, told, "{:?}", sheet.notes);
        }
        assert!(sheet.notes.last().unwrap().starts_with("A once-a-day event"), "{:?}", sheet.notes);
    }
}

/// A single configuration has all of its series shown, and a configuration without samples has no table.
#[test]
fn few_series_are_all_shown_and_none_has_no_table() {
    let one = sample::configurations(1);
    assert_eq!(fitting(&one)[0].extremes().len(), 2);
    assert_eq!(all(&fitting(&one)[0]).unwrap().rows.len(), 2);
    assert!(sheet(&fitting(&[sample::empty("idle")])[0]).is_none());
}
