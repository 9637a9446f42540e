//! Summaries and figures as CSV (RFC 4180): integer ns, no grouping of digits, empty where nothing was measured. A text that a spreadsheet
//! would read as a formula starts with an apostrophe.

use crate::{
    tables::{quantiles, summary::quantile_name},
    tree::{Datum, Format, Report, Section, Sheet, TableForm},
    words::uncomputed as word,
};
use anyhow::{Context, Result};
use latido_model::record::QUANTILES;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "csv",
    title: "CSV",
    ending: "csv",
    about: "one row for each configuration and quantity, in the stored units, for programs",
    report: |report: &Report| summary(&report.sections),
    table: Some(TableForm::Data(sheet)),
};

/// Returns one row per configuration and quantity.
fn summary(sections: &[Section]) -> Result<String> {
    let mut head = vec!["configuration", "probe", "quantity", "labels", "unit", "count", "min"];
    let names: Vec<String> = QUANTILES.iter().map(|(key, _)| quantile_name(key)).collect();
    head.extend(names.iter().map(String::as_str));
    head.extend(["max", "mean", "sd", "limit", "above_limit", "met", "late", "missed", "elapsed_ns"]);
    head.extend(["plain_count", "plain_max"]);
    let limits: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}_lower"), format!("{name}_upper")]).collect();
    head.extend(limits.iter().map(String::as_str));
    head.push("missed_once_a_day");

    let mut rows = Vec::new();
    for section in sections {
        for series in &section.series {
            let (pooled, summary) = (series.pooled, &series.pooled.summary);
            let labels: Vec<String> = pooled.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let mut row = vec![
                word(&series.configuration.label),
                word(section.probe),
                word(section.quantity),
                word(&labels.join(";")),
                word(section.unit),
                summary.count.to_string(),
                text(summary.min),
            ];
            row.extend(QUANTILES.iter().map(|(key, _)| text(summary.quantiles.get(*key).copied().flatten())));
            row.extend([text(summary.max), text(summary.mean), text(summary.sd)]);
            row.extend([text(series.limit()), text(pooled.above_limit)]);
            row.extend([text(pooled.slots.map(|s| s.met)), text(pooled.slots.map(|s| s.late))]);
            row.extend([text(pooled.slots.map(|s| s.missed)), pooled.elapsed_ns.to_string()]);
            row.extend([pooled.plain.count.to_string(), text(pooled.plain.max)]);
            let estimates = QUANTILES.iter().map(|(key, _)| quantiles::estimate(pooled, key));
            row.extend(
                estimates.flat_map(|one| [text(one.and_then(|one| one.lower)), text(one.and_then(|one| one.upper))]),
            );
            row.push(text(series.seen().map(|seen| seen.missed_once_a_day)));
            rows.push(row);
        }
    }
    write(&head, rows)
}

/// Returns the data of a figure or table.
fn sheet(sheet: &Sheet) -> Result<String> {
    let rows = sheet.rows.iter().map(|row| row.iter().map(cell).collect());
    let head: Vec<String> = sheet.head.iter().map(|head| word(&head.name)).collect();
    write(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows)
}

/// Returns the text of a cell. A number stays as it is, also a negative one.
fn cell(datum: &Datum) -> String {
    match datum {
        Datum::Text(text) => word(text),
        number => number.raw(),
    }
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn write(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<String> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head).context("writing CSV")?;
    for row in rows {
        writer.write_record(row).context("writing CSV")?;
    }
    let bytes = writer.into_inner().map_err(|e| e.into_error()).context("writing CSV")?;
    String::from_utf8(bytes).context("writing CSV")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    #[test]
    fn the_summary_is_one_row_per_configuration() {
        insta::assert_snapshot!(summary(&sections(&sample::configurations(3))).unwrap(), @r#"
        configuration,probe,quantity,labels,unit,count,min,p50,p90,p99,p99.9,p99.99,p99.999,max,mean,sd,limit,above_limit,met,late,missed,elapsed_ns,plain_count,plain_max,p50_lower,p50_upper,p90_lower,p90_upper,p99_lower,p99_upper,p99.9_lower,p99.9_upper,p99.99_lower,p99.99_upper,p99.999_lower,p99.999_upper,missed_once_a_day
        "6.12.48, none",wakeup,latency,,ns,117660,1100,4091,8503,14759,21103,48511,306431,510346,4883.893736189019,3627.101393995795,100000,9,117660,0,0,117660000000,117660,510346,4075,4107,8455,8535,14575,14799,20815,21103,27631,168319,212863,,0.9993057966262922
        "6.12.48, full",wakeup,latency,,ns,117853,1100,3571,5895,9431,12175,17631,64255,70139,3885.7470747456578,1614.1157282540687,100000,0,117853,0,0,117853000000,117853,70139,3565,3583,5879,5927,9375,9655,12175,12175,15983,23247,26319,,0.9993057966262922
        "6.12.48, rt",wakeup,latency,,ns,117601,1341,3317,4847,6487,8511,14207,17551,20278,3466.2213246486,1038.0028591597554,100000,0,117601,0,0,117601000000,117601,20278,3313,3323,4823,4859,6487,6507,8007,8511,13463,15151,15231,,0.9993057966262922
        "#);
    }

    /// No name, label, head or cell is a formula, and numbers stay numbers.
    #[test]
    fn no_text_is_a_formula() {
        let mut hostile = sample::of("=1+1", &[1_000, 2_000], None);
        hostile.quantities[0].labels = [("@SUM(A1)".to_owned(), "x".to_owned())].into();
        hostile.quantities[0].summary.min = Some(-5);
        let text = summary(&sections(&[hostile])).unwrap();
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let row = reader.records().next().unwrap().unwrap();
        assert_eq!((&row[0], &row[3], &row[6]), ("'=1+1", "'@SUM(A1)=x", "-5"), "{text}");
        let cells = [Datum::Text("\tx".into()), Datum::Text("-".into()), Datum::Value(-7.5), Datum::Text("a=b".into())];
        let head = ["+1", "\r", "@", "plain"].map(Into::into).to_vec();
        let table = Sheet::new(String::new(), head, vec![cells.to_vec()], "ns", &[]);
        assert_eq!(sheet(&table).unwrap(), "'+1,'\\u000d,'@,plain\n'\\u0009x,'-,-7.5,a=b\n");
    }

    #[test]
    fn what_was_not_measured_is_empty_and_quotes_survive() {
        let text = summary(&sections(&[sample::empty("a \"b\", c")])).unwrap();
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let row = reader.records().next().unwrap().unwrap();
        assert_eq!((&row[0], &row[5], &row[6]), ("a \"b\", c", "0", ""));
    }
}
