//! The summary table of a section: one row per configuration.

use crate::{tree::{Datum, Section, Series, Sheet}, words::{Unit, round_value}};
use latido_model::record::QUANTILES;

/// The quantiles of the table: those of every summary without p90, which says little of a tail.
fn quantiles() -> impl Iterator<Item = &'static str> {
    QUANTILES.iter().map(|(key, _)| *key).filter(|key| *key != "0.9")
}

/// The name of a quantile key: `p99.9` for `0.999`.
pub fn quantile_name(key: &str) -> String {
    let digits = key.strip_prefix("0.").unwrap_or(key);
    match digits.len() {
        0 | 1 => format!("p{digits}0"),
        2 => format!("p{digits}"),
        _ => format!("p{}.{}", &digits[..2], &digits[2..]),
    }
}

/// The quantiles that some series has samples enough for; all where nothing was measured.
fn supported(section: &Section) -> Vec<&'static str> {
    let (some, none): (Vec<_>, Vec<_>) =
        quantiles().partition(|key| section.series.iter().any(|series| series.quantile(key).is_some()));
    if some.is_empty() { none } else { some }
}

/// The quantiles of which there is no column because no series supports them: `p99.99, p99.999`.
pub fn unsupported(section: &Section) -> String {
    let supported = supported(section);
    quantiles().filter(|key| !supported.contains(key)).map(quantile_name).collect::<Vec<_>>().join(", ")
}

/// The table.
pub fn sheet(section: &Section) -> Sheet {
    let typical = section.series.iter().flat_map(|s| [s.quantile("0.5"), s.quantile("0.99"), s.max()]).flatten();
    let unit = Unit::fitting(section.unit, typical);
    let slots = section.series.iter().any(|s| s.pooled.slots.is_some());
    let limits = section.series.iter().any(|s| s.limit().is_some());

    let supported = supported(section);
    let mut head = vec!["configuration".to_owned(), format!("{}s", section.noun()), "min".into()];
    for key in &supported {
        head.push(quantile_name(key));
        if *key == "0.5" {
            head.extend(["mean".to_owned(), "sd".into()]);
        }
    }
    head.push("max".into());
    if limits {
        head.push(match section.limits()[..] {
            [one] if section.series.iter().filter_map(Series::limit).all(|l| l == one) => {
                format!("> {}", round_value(one, section.unit))
            }
            _ => "> limit".into(),
        });
    }
    if slots {
        head.extend(["late".to_owned(), "missed".into()]);
    }

    let row = |series: &Series| {
        let summary = &series.pooled.summary;
        let mut row = vec![Datum::Text(series.name.clone()), Datum::Count(summary.count), Datum::value(series.min())];
        for key in &supported {
            row.push(match series.quantile(key) {
                Some(v) => Datum::Value(v),
                None if summary.count > 0 => Datum::TooFew,
                None => Datum::Absent,
            });
            if *key == "0.5" {
                row.extend([Datum::value(summary.mean), spread(summary.sd, summary.count)]);
            }
        }
        row.push(Datum::value(series.max()));
        if limits {
            row.push(series.pooled.above_limit.map_or(Datum::Absent, Datum::Count));
        }
        if slots {
            row.extend(
                series
                    .pooled
                    .slots
                    .map_or([Datum::Absent, Datum::Absent], |s| [Datum::Count(s.late), Datum::Count(s.missed)]),
            );
        }
        row
    };
    Sheet {
        caption: format!("{} {}", section.title(), unit.about()),
        head,
        rows: section.series.iter().map(row).collect(),
        unit,
    }
}

fn spread(sd: Option<f64>, count: u64) -> Datum {
    match sd.filter(|v| v.is_finite()) {
        Some(v) => Datum::Value(v),
        None if count > 0 => Datum::TooFew,
        None => Datum::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    #[test]
    fn quantiles_read_as_percentiles() {
        assert_eq!(["0.5", "0.9", "0.99", "0.99999"].map(quantile_name), ["p50", "p90", "p99", "p99.999"]);
    }

    #[test]
    fn every_row_is_as_wide_as_its_head() {
        for data in [sample::configurations(3), vec![sample::empty("idle")]] {
            for section in sections(&data) {
                let sheet = sheet(&section);
                assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{sheet:?}");
            }
        }
    }
}
