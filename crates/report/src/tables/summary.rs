//! The summary table: a row for each configuration of a section, for each configuration of a quantity, or for each thread of a cell.

use crate::{
    tree::{Curve, Datum, Head, Section, Sheet, worth},
    words,
};
use latido_judge::extremes::seen;
use latido_model::record::{self, Between, Bounds, QUANTILES, Slots, Summary};

/// Returns the quantiles of the table: those of every summary except p90, which is not informative about a tail.
fn quantiles() -> impl Iterator<Item = &'static str> {
    QUANTILES.iter().map(|(key, _)| *key).filter(|key| *key != "0.9")
}

/// Returns the name of a quantile's key: `p99.9` for `0.999`.
pub fn quantile_name(key: &str) -> String {
    let digits = key.strip_prefix("0.").unwrap_or(key);
    match digits.len() {
        0 | 1 => format!("p{digits}0"),
        2 => format!("p{digits}"),
        _ => format!("p{}.{}", &digits[..2], &digits[2..]),
    }
}

/// Returns one of the stated quantiles, by its key.
fn quantile(summary: &Summary, key: &str) -> Option<f64> {
    summary.quantiles.get(key).copied().flatten().map(|v| v as f64)
}

/// Returns the quantiles for which some row has enough samples; all of them if nothing was measured.
fn supported(rows: &[Summarised]) -> Vec<&'static str> {
    let (some, none): (Vec<_>, Vec<_>) =
        quantiles().partition(|key| rows.iter().any(|row| quantile(&row.summary, key).is_some()));
    if some.is_empty() { none } else { some }
}

/// Returns the quantiles that have no column because no series supports them: `p99.99, p99.999`.
pub fn unsupported(section: &Section) -> String {
    let supported = supported(&rows(section).collect::<Vec<_>>());
    quantiles().filter(|key| !supported.contains(key)).map(quantile_name).collect::<Vec<_>>().join(", ")
}

/// A row before it is written.
struct Summarised {
    name: String,
    summary: Summary,
    /// The limit and the number of samples above it, if a limit judged the row.
    limit: Option<(f64, u64)>,
    slots: Option<Slots>,
    /// Samples above the histogram's range.
    overflow: u64,
}

fn rows<'r>(section: &'r Section<'_>) -> impl Iterator<Item = Summarised> + 'r {
    section.series.iter().map(|series| Summarised::of(series, series.name.clone()))
}

impl Summarised {
    fn of(series: &Curve, name: String) -> Self {
        let limit = series.limit().zip(series.pooled.above_limit);
        Self { name, summary: series.pooled.summary.clone(), limit, slots: series.pooled.slots, overflow: 0 }
    }

    /// Returns the number of samples.
    fn samples(&self) -> Datum {
        let count = self.summary.count;
        if self.summary.bounds.as_ref().is_some_and(|all| all.uncounted) {
            Datum::AtLeast(count)
        } else {
            Datum::Count(count)
        }
    }

    /// Returns the least or the greatest sample: the exact one, or its range where another tool counted.
    fn extreme(&self, exact: Option<i64>, counted: fn(&Bounds) -> Option<Between>) -> Datum {
        match &self.summary.bounds {
            Some(all) => between(counted(all)),
            None => Datum::value(exact.map(|v| v as f64)),
        }
    }

    /// Returns one of the stated quantiles, by its key.
    fn quantile(&self, key: &str) -> Datum {
        match &self.summary.bounds {
            Some(all) => between(all.quantiles.get(key).copied().flatten()),
            None => supporting(quantile(&self.summary, key), self.summary.count),
        }
    }

    /// Returns the mean and the standard deviation. Another tool's bins do not give the latter.
    fn mean_and_sd(&self) -> [Datum; 2] {
        let Summary { count, mean, sd, .. } = &self.summary;
        match &self.summary.bounds {
            Some(all) => [all.mean.map_or(Datum::Absent, |(a, b)| Datum::Between(a, Some(b))), Datum::Absent],
            None => [Datum::value(*mean), supporting(*sd, *count)],
        }
    }
}

/// Returns the table of a section.
pub fn sheet(section: &Section) -> Sheet {
    let rows = rows(section).collect::<Vec<_>>();
    write(section.title(), "configuration", section.noun(), section.unit, &rows, false)
        .remark(in_parts(section.series.iter()))
        .notes(section.worth())
}

/// Returns the table of sections that differ only in their labels: the rows' names contain these.
pub fn of_quantity(sections: &[Section]) -> Option<Sheet> {
    let first = sections.first()?;
    let series: Vec<&Curve> = sections.iter().flat_map(|section| &section.series).collect();
    let rows: Vec<Summarised> = series
        .iter()
        .map(|series| {
            let labels = words::labels(&series.pooled.labels);
            let name = if labels.is_empty() { series.name.clone() } else { format!("{}, {labels}", series.name) };
            Summarised::of(series, name)
        })
        .collect();
    Some(
        write(first.name(), "configuration", first.noun(), first.unit, &rows, false)
            .remark(in_parts(series.iter().copied()))
            .notes(worth(series.iter().copied())),
    )
}

/// Returns the remark on cells that were interrupted and continued later: `; busy: repeat 1 is pooled: part 1 of 2: ...`.
fn in_parts<'a, 'b: 'a>(series: impl Iterator<Item = &'a Curve<'b>>) -> String {
    let mut told: Vec<String> = Vec::new();
    for one in series {
        let own = one.configuration.in_parts().into_iter().map(|text| format!("; {}: {text}", one.name));
        told.extend(own.filter(|text| !told.contains(text)).collect::<Vec<_>>());
    }
    told.concat()
}

/// Returns the table of one quantity of a cell: a row for each thread, with the outcomes of its slots. A note states what a measurement of
/// `watched_ns` nanoseconds may have missed.
pub fn threads(
    name: &str,
    noun: &str,
    unit: &str,
    threads: &[(String, &record::Series)],
    watched_ns: Option<u64>,
) -> Sheet {
    let row = |(name, one): &(String, &record::Series)| Summarised {
        name: name.clone(),
        summary: one.decisive(),
        limit: None,
        slots: one.slots,
        overflow: one.overflow,
    };
    write(name.to_owned(), name, noun, unit, &threads.iter().map(row).collect::<Vec<_>>(), true)
        .notes(seen::note(watched_ns.into_iter()))
}

/// Returns how early a quantile's column goes if there is not enough room: the most informative ones about a tail stay.
fn spare(key: &str) -> u8 {
    match key {
        "0.99" => 3,
        "0.9999" => 4,
        "0.99999" => 5,
        _ => 0,
    }
}

fn write(title: String, first: &str, noun: &str, unit: &str, rows: &[Summarised], by_thread: bool) -> Sheet {
    let columns = Columns::of(rows, unit, by_thread);
    let typical = rows.iter().flat_map(|row| {
        let summary = &row.summary;
        [quantile(summary, "0.5"), quantile(summary, "0.99"), summary.max.map(|v| v as f64)]
    });
    let typical: Vec<f64> = typical.flatten().collect();
    Sheet::new(title, columns.head(first, noun), rows.iter().map(|one| columns.row(one)).collect(), unit, &typical)
}

/// The columns that a table has only if its rows need them.
struct Columns {
    /// The keys of the quantiles.
    quantiles: Vec<&'static str>,
    /// The name of the column for samples above the limit, if a limit judged a row.
    above: Option<String>,
    /// Whether a row has slots.
    slots: bool,
    /// Whether a row has samples above the histogram's range.
    overflow: bool,
    /// Whether each row is a thread: then the slots include those that were met.
    by_thread: bool,
}

impl Columns {
    /// Returns the columns that these rows need.
    fn of(rows: &[Summarised], unit: &str, by_thread: bool) -> Self {
        let mut limits: Vec<f64> = rows.iter().filter_map(|row| Some(row.limit?.0)).collect();
        limits.dedup();
        let above = match limits[..] {
            [] => None,
            [one] => Some(format!("> {}", words::round_value(one, unit))),
            _ => Some("> limit".into()),
        };
        Self {
            quantiles: supported(rows),
            above,
            slots: rows.iter().any(|row| row.slots.is_some()),
            overflow: rows.iter().any(|row| row.overflow > 0),
            by_thread,
        }
    }

    /// Returns the heads of all columns.
    fn head(&self, first: &str, noun: &str) -> Vec<Head> {
        let mut head: Vec<Head> = vec![first.into(), words::plural(noun).into(), Head::from("min").spare(1)];
        for key in &self.quantiles {
            head.push(Head::from(quantile_name(key)).spare(spare(key)));
            if *key == "0.5" {
                head.extend([Head::from("mean").spare(2), Head::from("sd").spare(6)]);
            }
        }
        head.push("max".into());
        head.extend(self.above.clone().map(|name| Head::from(name).alarm()));
        if self.slots {
            head.extend(self.by_thread.then(|| Head::from("met").spare(7)));
            let late = Head::from("late").alarm();
            // The column of the limit shows nearly the same as `late`.
            let late = if self.by_thread || self.above.is_none() { late } else { late.spare(7) };
            head.extend([late, Head::from("missed").alarm()]);
        }
        head.extend(self.overflow.then(|| Head::from("> 60 s").alarm()));
        head
    }

    /// Returns a row with a cell for each column.
    fn row(&self, one: &Summarised) -> Vec<Datum> {
        let Summary { min, max, .. } = &one.summary;
        let mut row = vec![Datum::Text(one.name.clone()), one.samples(), one.extreme(*min, |all| all.min)];
        for key in &self.quantiles {
            row.push(one.quantile(key));
            if *key == "0.5" {
                row.extend(one.mean_and_sd());
            }
        }
        row.push(one.extreme(*max, |all| all.max));
        if self.above.is_some() {
            row.push(one.limit.map_or(Datum::Absent, |(_, above)| Datum::Count(above)));
        }
        if self.slots {
            let counts = one.slots.map(|slots| [slots.met, slots.late, slots.missed]);
            let counts = counts.map_or([Datum::Absent, Datum::Absent, Datum::Absent], |all| all.map(Datum::Count));
            row.extend(counts.into_iter().skip(if self.by_thread { 0 } else { 1 }));
        }
        row.extend(self.overflow.then_some(Datum::Count(one.overflow)));
        row
    }
}

/// Returns a figure that another tool counted.
fn between(bounds: Option<Between>) -> Datum {
    bounds.map_or(Datum::Absent, |Between(low, high)| Datum::Between(low as f64, high.map(|high| high as f64)))
}

/// Returns a figure that needs enough samples.
fn supporting(v: Option<f64>, count: u64) -> Datum {
    match v.filter(|v| v.is_finite()) {
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
            let sections = sections(&data);
            assert_eq!(sections.len(), 1);
            for section in &sections {
                let sheet = sheet(section);
                assert_eq!(sheet.rows.len(), data.len(), "{sheet:?}");
                assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{sheet:?}");
            }
        }
    }
}
