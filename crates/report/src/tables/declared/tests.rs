use super::*;
use crate::{
    formats::FORMATS,
    input::ReportInput,
    sample::{SampleRun, declared},
    tree::Report,
};
use latido_judge::configuration::Configuration;
use latido_model::plan::Plan;

fn with<T>(all: &[Configuration], plan: &Plan, then: impl Fn(&Report) -> T) -> T {
    let sample = SampleRun::of(all);
    let input = ReportInput { declared: Some(declared::declared(plan)), ..sample.input(all) };
    then(&Report::new(&input, FORMATS))
}

fn tables(all: &[Configuration], plan: &Plan) -> Vec<DeclaredTable> {
    with(all, plan, |report| super::all(Lookup::of(report).unwrap()))
}

fn cells(table: &DeclaredTable, row: usize) -> Vec<[&str; 3]> {
    table.rows[row].cells.iter().map(|cell| [cell.ours.as_str(), &cell.printed, &cell.ratio]).collect()
}

/// A cell has latido's number, the study's number with all its digits, and the ratio. A cell that was not measured keeps the study's
/// number.
#[test]
fn the_printed_number_stands_under_ours() {
    let tables = tables(&declared::measured(), &declared::plan());
    let [table] = tables.as_slice() else { panic!("{tables:?}") };
    assert_eq!(table.heading, "Table 1. Latencies");
    assert_eq!(table.rows.iter().map(|row| row.unit.as_str()).collect::<Vec<_>>(), ["µs", "µs"]);
    assert_eq!(
        cells(table, 0),
        [
            ["11.9 / 17.8", "8.9 / 18.4", "×1.33 / ×0.967"],
            ["32.5 / 45.1", "21.5 / 45.1", "×1.51 / ×1.00"],
            ["not measured", "9 / 11.1", ""]
        ]
    );
    assert_eq!(cells(table, 1)[0], ["not measured", "4.6 / 16.2", ""]);
}

/// Emulated instructions are not microseconds: both kinds of numbers have separate tables, and no ratio compares them.
#[test]
fn emulated_numbers_stand_apart_from_the_printed_ones() {
    let mut all = declared::measured();
    all.iter_mut().for_each(|one| one.machine.emulated = Some(latido_model::sample::emulated()));
    let tables = tables(&all, &declared::plan());
    let [ours, printed] = tables.as_slice() else { panic!("{tables:?}") };
    assert_eq!(cells(ours, 0)[0], ["11.9 / 17.8", "", ""]);
    assert!(ours.notes.iter().any(|note| note == NO_TIMES), "{:?}", ours.notes);
    assert_eq!(printed.heading, "Table 1. Latencies, as the study printed it");
    assert_eq!(cells(printed, 0), [["8.90 / 18.4", "", ""], ["21.5 / 45.1", "", ""], ["9.00 / 11.1", "", ""]]);
    assert_eq!((ours.stem.as_str(), printed.stem.as_str()), ("table-1", "table-1-published"));
}

/// The median over repeats is like a single run; pooled counts include all repeats; each repeat may contribute one number.
#[test]
fn repeats_become_what_the_table_says() {
    let mut all = vec![declared::measured().remove(0)];
    for values in [[1_000, 2_000, 3_000], [5_000, 6_000, 7_000]] {
        all[0].repeats.extend(crate::sample::of("std", &values, None).repeats);
    }
    for one in all[0].repeats.iter_mut().flat_map(|repeat| &mut repeat.quantities) {
        let summary = one.pooled.summary.clone();
        one.tracks.iter_mut().for_each(|track| track.summary = summary.clone());
    }
    all[0].pool();
    let told = |over: Over, statistics: &[Statistic]| {
        let mut plan = declared::plan();
        let table = &mut plan.tables[0];
        (table.over, table.statistics) = (over, statistics.to_vec());
        let table = tables(&all, &plan).remove(0);
        (table.rows[0].cells[0].ours.clone(), table.about.clone())
    };
    let (median, about) = told(Over::Median, &[Statistic::Min, Statistic::Max, Statistic::Count]);
    assert_eq!(median.replace('\u{202f}', ""), "5000 / 7000 / 3");
    assert!(about.contains("median over 3 repeats"), "{about}");
    let (pooled, about) = told(Over::Pooled, &[Statistic::Max, Statistic::Count]);
    assert!(pooled.ends_with(" / 9") && about.contains("3 repeats pooled"), "{pooled}, {about}");
    let each = Over::Each(Statistic::Max);
    let (each, about) = told(each, &[Statistic::Mean, Statistic::Max, Statistic::Min, Statistic::Sd]);
    assert_eq!(each.replace('\u{202f}', ""), "9267 / 17800 / 3000 / 7656");
    assert!(about.contains("over 3 repeats, with the max of each"), "{about}");
}

/// Every format has latido's number, the study's and the ratio; JSON and CSV have the unrounded numbers.
#[test]
fn every_format_has_the_table() {
    let (all, plan) = (declared::measured(), declared::plan());
    with(&all, &plan, |report| {
        for format in ["html", "text", "latex", "markdown"] {
            let text = report.in_format(format).unwrap().unwrap();
            let text = text.replace("$\\times$", "×");
            for wanted in ["Table 1. Latencies", "11.9 / 17.8", "8.9 / 18.4", "×1.33 / ×0.967", "4.6 / 16.2"] {
                assert!(text.contains(wanted), "{format} lacks {wanted}");
            }
            assert!(!text.contains("NaN"), "{format}");
        }
        let json: serde_json::Value = serde_json::from_str(&report.in_format("json").unwrap().unwrap()).unwrap();
        let figure = &json["declared"]["tables"][0]["rows"][0]["cells"][0]["figures"][1];
        assert_eq!((figure["ours"].as_f64(), figure["published"].as_f64()), (Some(17_800.0), Some(18_400.0)));
        assert_eq!((figure["statistic"].as_str(), figure["unit"].as_str()), (Some("max"), Some("ns")));
        let files = crate::formats::files::all(report.input).unwrap();
        let csv = &files.iter().find(|(name, _)| name == "table-1.csv").unwrap().1;
        assert!(csv.contains("activation latency,rt,max,ns,,9400,,"), "{csv}");
        assert!(files.iter().any(|(name, _)| name == "table-1.tex"));
    });
}

/// Figures with separate columns are below their system, and a split to the width of a page happens between systems.
#[test]
fn columns_apart_are_grouped_and_split_between_groups() {
    let mut plan = declared::plan();
    let table = &mut plan.tables[0];
    table.layout = Layout::Apart;
    table.statistics = vec![Statistic::Mean, Statistic::Max, Statistic::Min, Statistic::Sd];
    let table = tables(&declared::measured(), &plan).remove(0);
    assert_eq!((table.columns[0].1, table.statistics.len(), table.rows[0].cells.len()), (4, 4, 12));
    let sheet = table.sheet();
    assert_eq!(sheet.headings()[2..4], ["std: mean", "std: max"]);
    let pieces = sheet.pieces(60, 2);
    assert!(pieces.len() > 1, "{pieces:?}");
    let mut columns = 0;
    for piece in &pieces {
        let [first, second, others @ ..] = piece.head.as_slice() else { panic!("{piece:?}") };
        assert_eq!((first.name.as_str(), second.name.as_str(), others.len() % 4), ("", "unit", 0));
        columns += others.len();
    }
    assert_eq!(columns, 12);
    let latex = (FORMATS.iter().find(|format| format.name == "latex")).and_then(|format| format.table);
    let Some(crate::tree::TableForm::Print(write)) = latex else { panic!("LaTeX prints tables") };
    assert!(write(&sheet).contains("\\multicolumn{4}{c}{std}"), "{}", write(&sheet));
}

/// A printed number keeps its digits in any unit.
#[test]
fn printed_numbers_are_not_rounded() {
    assert_eq!([whole(1059.6), whole(35.5123), whole(18.0)], ["1\u{202f}059.6", "35.5123", "18"]);
    assert_eq!([times(1.0), times(0.000_071), times(0.0)], ["×1.00", "×7.1e-5", "×0"]);
}
