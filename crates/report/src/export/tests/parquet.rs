//! The two tables of Parquet, read back: exact, in order, null where nothing was measured, whatever the names contain.

use super::*;
use crate::export::parquet::{BUCKETS, SERIES};
use ::parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use latido_model::{
    record::{Between, Bounds, Quantized, Series},
    run::codec,
    verdict::Verdict,
};
use std::collections::BTreeMap;

type Row = BTreeMap<String, Field>;

/// Returns the rows of both tables, and what is left out.
fn tables(exported: &Exported) -> (Vec<Row>, Vec<Row>, Vec<String>) {
    let Writer::Directory(write) = named("parquet").unwrap().write else { panic!("it is a directory") };
    let files: BTreeMap<&str, Written> = write(exported).unwrap().into_iter().collect();
    let rows = |name: &str| {
        let reader = SerializedFileReader::new(::bytes::Bytes::from(files[name].bytes.clone())).unwrap();
        let row = |row: ::parquet::record::Row| row.get_column_iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect::<Vec<Row>>()
    };
    (rows(SERIES), rows(BUCKETS), files[SERIES].left_out.clone())
}

fn of(mut fixture: Fixture) -> (Vec<Row>, Vec<Row>, Vec<String>) {
    let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
    let runs = [judged(&fixture, run)];
    tables(&Exported { runs: &runs, source: &fixture, options: options() })
}

fn whole(row: &Row, key: &str) -> i64 {
    match row[key] {
        Field::Long(value) => value,
        ref other => panic!("{key} is {other:?}"),
    }
}

fn text<'a>(row: &'a Row, key: &str) -> &'a str {
    match &row[key] {
        Field::Str(value) => value,
        other => panic!("{key} is {other:?}"),
    }
}

/// The buckets of each series add up to its count, include its extremes and are in order. Both tables have the same keys.
#[test]
fn buckets_are_the_series_exactly() {
    let (series, buckets, left_out) = of(fixture("quick"));
    let key = |row: &Row| (text(row, "run_id").to_owned(), whole(row, "cell"), whole(row, "series"));
    assert_eq!(series.len(), 5);
    assert!(series.is_sorted_by_key(key) && buckets.is_sorted_by_key(key));
    for row in &series {
        let own: Vec<&Row> = buckets.iter().filter(|bucket| key(bucket) == key(row)).collect();
        assert_eq!(own.iter().map(|bucket| whole(bucket, "n")).sum::<i64>(), whole(row, "n"));
        let (first, last) = (own.first().unwrap(), own.last().unwrap());
        assert!((whole(first, "low")..=whole(first, "high")).contains(&whole(row, "min_v")));
        assert!((whole(last, "low")..=whole(last, "high")).contains(&whole(row, "max_v")));
        assert!(own.is_sorted_by_key(|bucket| whole(bucket, "low")));
    }
    assert_eq!(buckets.len(), {
        let keys: std::collections::BTreeSet<_> = series.iter().map(key).collect();
        buckets.iter().filter(|bucket| keys.contains(&key(bucket))).count()
    });
    let spike = &series[2];
    assert_eq!((whole(spike, "cell"), whole(spike, "series"), whole(spike, "max_v")), (2, 1, 420_181));
    assert_eq!((whole(spike, "met"), whole(spike, "late"), whole(spike, "missed")), (993, 7, 0));
    assert_eq!((text(spike, "verdict"), text(spike, "unit"), text(spike, "labels")), ("fail", "ns", "{}"));
    // Four samples are too few for a tail.
    assert_eq!((&series[3]["p99"], &series[3]["quantized_width"]), (&Field::Null, &Field::Null));
    assert_eq!(series[0]["started"], Field::TimestampMicros(1_795_291_207_250_000));
    let gone = [
        "005 wakeup, broken, cpus 0,1: infra: it has no samples, and no row",
        "006 wakeup, elsewhere, cpus 0,1: skipped",
    ];
    assert!(
        left_out.len() == 2 && left_out.iter().zip(gone).all(|(told, gone)| told.starts_with(gone)),
        "{left_out:?}"
    );
}

/// Samples that no histogram can store, below zero and above 60 s, have separate buckets.
#[test]
fn what_a_histogram_lacks_has_a_bucket() {
    let mut fixture = Fixture::new(vec![(probing("gap"), vec![vec![25, 31, 1_250]])]);
    let Series { count, negative, overflow, min, max, .. } = &mut fixture.record(1).series[0];
    (*count, *negative, *overflow, *min, *max) = (6, 2, 1, Some(-7), Some(70_000_000_000));
    let (series, buckets, _) = of(fixture);
    let ends = |row: &Row| (whole(row, "low"), whole(row, "high"), whole(row, "n"));
    let found: Vec<_> = buckets.iter().map(ends).collect();
    let beyond = (codec::HIGHEST + 1, 70_000_000_000, 1);
    assert_eq!(found, [(-7, -1, 2), (25, 25, 1), (31, 31, 1), (1_250, 1_250, 1), beyond]);
    assert_eq!(whole(&series[0], "n"), 6);
}

/// A series that another tool counted has the tool's bin width and its bins, and null where the file states no count or no minimum.
#[test]
fn what_was_imported_is_null_where_it_is_not_known() {
    let mut fixture = Fixture::new(vec![(probing("gap"), vec![vec![25, 31, 1_250]])]);
    let series = &mut fixture.record(1).series[0];
    let max = Some(Between(1_000, Some(1_999)));
    (series.count, series.min, series.max) = (1, None, Some(1_999));
    series.quantized = Some(Quantized { width: Some(1_000), ..Quantized::default() });
    series.bounds = Some(Bounds { max, uncounted: true, ..Bounds::default() });
    let (series, buckets, _) = of(fixture);
    let [row] = &series[..] else { panic!("{series:?}") };
    assert_eq!((&row["n"], &row["min_v"], whole(row, "max_v")), (&Field::Null, &Field::Null, 1_999));
    assert_eq!((whole(row, "quantized_width"), buckets.len()), (1_000, 0), "its histogram is no truth");
}

/// Every verdict has its word, and only a pass has the word of a pass.
#[test]
fn nothing_but_a_pass_looks_like_one() {
    use Verdict::*;
    for verdict in [Pass, Fail, Inconclusive, Contaminated, Infra, Skipped] {
        let mut fixture = Fixture::new(vec![(of_a_second(cell()), vec![second(0)])]);
        let run = std::mem::replace(&mut fixture.run, Fixture::new(Vec::new()).run);
        let mut runs = [judged(&fixture, run)];
        runs[0].judgement.cells[0].verdict = verdict;
        let (series, ..) = tables(&Exported { runs: &runs, source: &fixture, options: options() });
        assert_eq!(text(&series[0], "verdict") == "pass", verdict == Pass, "{verdict}");
    }
    let (series, ..) = of(fixture("quick"));
    assert_eq!(text(&series[3], "verdict"), "measured", "without a limit");
}

/// Names come back unchanged except for escaped control characters; labels are a JSON object.
#[test]
fn no_name_breaks_a_table() {
    for name in ["a\"b' <c>&\\ #\n\u{1b}[2J\u{0}", "日本 größer 🙂", "   ", &"very long ".repeat(2_000)] {
        let mut fixture = fixture(name);
        fixture.record(2).series[0].labels = BTreeMap::from([(name.to_owned(), name.to_owned())]);
        let (series, buckets, _) = of(fixture);
        let clean = latido_model::clean::line(name);
        assert_eq!((series.len(), text(&series[1], "load")), (5, &*clean));
        let labels: BTreeMap<String, String> = serde_json::from_str(text(&series[1], "labels")).unwrap();
        assert_eq!(labels, BTreeMap::from([(clean.clone().into_owned(), clean.into_owned())]));
        assert!(!buckets.is_empty());
    }
}
