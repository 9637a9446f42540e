//! The shift function of each deciding row, as lines for a terminal and as a picture with its data.

use super::{Estimates, name as name_of};
use crate::{
    figures::{
        frame::WIDTH,
        ratios::{self, Ratio},
        svg::Drawing,
    },
    numbers::{between, number},
    terminal::{
        Paint, Style, paint,
        table::{self, TextColumn},
    },
    tree::{Datum, Head, Sheet},
};
use latido_judge::{
    compare::{Compared, Row},
    observed::Measure,
};
use latido_model::plan::Statistic;
use latido_statistics::two::{Scale, shift::Shift};

/// Returns a file name, the picture and its data for each shift function in the text.
pub fn figures(compared: &Compared) -> Vec<(String, Drawing, Sheet)> {
    let shifted = compared.rows.iter().filter(|row| row.decides && !row.shift.is_empty());
    shifted.map(|row| (format!("shift-{}-{}", name_of(row), row.arm), picture(row), shifts(row))).collect()
}

fn title(row: &Row) -> String {
    format!("{}: quantiles of all samples of {} over those of {}", name_of(row), row.arm, row.base)
}

fn picture(row: &Row) -> Drawing {
    let ratio = |shift: &Shift| Some(Ratio { name: name(shift), value: shift.ratio?, interval: shift.ratio_band });
    let rows: Vec<Ratio> = row.shift.iter().filter_map(ratio).collect();
    let rows = if rows.is_empty() { Err("No ratios: a quantile is zero or below".into()) } else { Ok(rows) };
    ratios::picture(&title(row), &format!("{} as a multiple of {}, with 95 % bands", row.arm, row.base), WIDTH, rows)
}

fn shifts(row: &Row) -> Sheet {
    let number = |v: Option<f64>| v.filter(|v| v.is_finite()).map_or(Datum::Absent, |v| Datum::Text(format!("{v:.4}")));
    let line = |shift: &Shift| {
        vec![
            Datum::Text(name(shift)),
            Datum::Value(shift.a as f64),
            Datum::Value(shift.b as f64),
            number(shift.ratio),
            number(shift.ratio_band.map(|band| band.0)),
            number(shift.ratio_band.map(|band| band.1)),
        ]
    };
    let typical: Vec<f64> = row.shift.iter().flat_map(|shift| [shift.a as f64, shift.b as f64]).collect();
    let head = ["quantile", &row.base, &row.arm, "ratio", "from", "to"].map(Head::from).into();
    Sheet::new(title(row), head, row.shift.iter().map(line).collect(), &row.samples_in, &typical)
}

/// Returns the shift function as lines for a terminal.
pub(super) fn shifted(row: &Row, style: Style) -> Vec<String> {
    let unit = Measure::In(row.samples_in.clone());
    let column = |head: &str, of: &dyn Fn(&Shift) -> String| TextColumn {
        name: head.into(),
        cells: row.shift.iter().map(of).collect(),
        ..TextColumn::default()
    };
    let title = format!("{}: all samples of {} compared with those of {}", name_of(row), row.arm, row.base);
    let ratio = |shift: &Shift| match shift.ratio {
        Some(ratio) => number(ratio),
        None => unit.text(shift.difference as f64),
    };
    let band = |shift: &Shift| {
        let of_ratio = shift.ratio.and(shift.ratio_band).and_then(|band| between(Some(band), number));
        let of_difference = || between(shift.band.map(|(a, b)| (a as f64, b as f64)), |value| unit.text(value));
        of_ratio.or_else(of_difference).unwrap_or_else(|| "too few repeats".into())
    };
    let of = Estimates::of(row.shift.iter().map(|shift| shift.ratio.map_or(Scale::Difference, |_| Scale::Ratio)));
    let mut lines = vec![paint(&title, Paint::Dim, style)];
    lines.extend(table::render(
        vec![
            TextColumn { left: true, ..column("quantile", &name) },
            column(&row.base, &|shift| unit.text(shift.a as f64)),
            column(&row.arm, &|shift| unit.text(shift.b as f64)),
            column(of.head(), &ratio),
            column("95 % band", &band),
        ],
        style,
    ));
    lines
}

/// Returns the name of the quantile: `p99.9`.
fn name(shift: &Shift) -> String {
    Statistic::Quantile(shift.p).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::{
        compare::{Arms, Asked, of},
        observed::{Metric, Wanted, of_run},
    };
    use latido_model::{
        cell::Cell,
        sample::{Fixture, cell},
    };

    /// A table for a paper names its test, and a table for programs has numbers with their unit.
    fn tables_are_whole(found: &Compared) {
        let table = super::super::sheet(found);
        let latex = crate::formats::of_sheet("latex", &table, "compare", true).unwrap();
        for words in ["\\label{tab:compare}", "Mann-Whitney test on the max of each repeat, at 5 \\%", " higher \\\\"] {
            assert!(latex.contains(words), "{words}: {latex}");
        }
        let data = crate::formats::of_sheet("csv", &super::super::data(found), "compare", false).unwrap();
        assert!(
            data.starts_with("quantity,base,arm,unit,") && data.contains(",a,b,ns,6,6,53500,93500,ratio,"),
            "{data}"
        );
    }

    /// The shift function is drawn as a picture with a mark for each quantile that has a ratio, and with its data. Six thousand samples
    /// support five quantiles: p50, p75, p90, p99 and p99.9.
    #[test]
    fn shifts_are_drawn() {
        let arm = |least: i64| {
            let samples = |repeat: i64| (0..1_000).map(|k| 2_000 + k % 7).chain([(least + repeat) * 1_000]).collect();
            let cells = (1..7).map(|repeat| (Cell { repeat, ..cell() }, vec![samples(i64::from(repeat))]));
            let fixture = Fixture::new(cells.collect());
            let wanted = Wanted { statistic: Statistic::Max, samples: true };
            of_run(&fixture.run, wanted, &fixture, &mut Vec::new()).unwrap()
        };
        let names = ["a", "b"].map(String::from).to_vec();
        let arms = Arms { names, observed: vec![arm(50), arm(90)], factor: None };
        let asked = Asked { metric: Metric::default(), margin: None, despite: Vec::new(), load_margin: 0.25 };
        let found = of(&arms, &asked).unwrap();
        tables_are_whole(&found);
        let figures = figures(&found);
        let [(name, picture, table)] = figures.as_slice() else { panic!("{figures:?}") };
        let row = &found.rows[0];
        assert_eq!((name.as_str(), table.rows.len(), row.shift.len()), ("shift-wakeup latency-b", 5, 5));
        assert!(row.shift.iter().all(|one| one.ratio.is_some()), "{:?}", row.shift);
        assert_eq!(picture.body.matches("<use").count(), 5);
        let files = crate::formats::files::of_figures(figures).unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert!(
            names.contains(&"shift-wakeup-latency-b.svg") && names.contains(&"shift-wakeup-latency-b.csv"),
            "{names:?}"
        );
    }
}
