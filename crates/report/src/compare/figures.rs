//! The shift function of each deciding row as a picture of its own, with its data.

use super::{Compared, Row};
use crate::{
    figures::{
        ratios::{self, Ratio},
        svg::Drawing,
    },
    tree::{Datum, Head, Sheet},
};
use latido_model::plan::Statistic;
use latido_statistics::two::shift::Shift;

impl Compared {
    /// A name for files, the picture and its data, for each shift that the text shows.
    pub fn figures(&self) -> Vec<(String, Drawing, Sheet)> {
        let shifted = self.rows.iter().filter(|row| row.decides && !row.shift.is_empty());
        shifted.map(|row| (format!("shift-{}-{}", row.name(), row.arm), row.picture(), row.shifts())).collect()
    }
}

impl Row {
    fn title(&self) -> String {
        format!("{}: quantiles of all samples of {} over those of {}", self.name(), self.arm, self.base)
    }

    fn picture(&self) -> Drawing {
        let ratio = |shift: &Shift| Some(Ratio { name: name(shift), value: shift.ratio?, interval: shift.ratio_band });
        let rows: Vec<Ratio> = self.shift.iter().filter_map(ratio).collect();
        let rows = if rows.is_empty() { Err("No ratios: a quantile is zero or below".into()) } else { Ok(rows) };
        ratios::picture(&self.title(), &format!("{} as a multiple of {}, with 95 % bands", self.arm, self.base), rows)
    }

    fn shifts(&self) -> Sheet {
        let number =
            |v: Option<f64>| v.filter(|v| v.is_finite()).map_or(Datum::Absent, |v| Datum::Text(format!("{v:.4}")));
        let row = |shift: &Shift| {
            vec![
                Datum::Text(name(shift)),
                Datum::Value(shift.a as f64),
                Datum::Value(shift.b as f64),
                number(shift.ratio),
                number(shift.ratio_band.map(|band| band.0)),
                number(shift.ratio_band.map(|band| band.1)),
            ]
        };
        let typical: Vec<f64> = self.shift.iter().flat_map(|shift| [shift.a as f64, shift.b as f64]).collect();
        let head = ["quantile", &self.base, &self.arm, "ratio", "from", "to"].map(Head::from).into();
        Sheet::new(self.title(), head, self.shift.iter().map(row).collect(), &self.samples_in, &typical)
    }
}

/// `p99.9`.
fn name(shift: &Shift) -> String {
    Statistic::Quantile(shift.p).to_string()
}
