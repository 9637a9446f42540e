//! Figures under names that stay the same from run to run, for services that plot them over time and know no verdicts.
//!
//! A cell that was disturbed, refused or broken gets no figures. These services only learn that it did not pass: a point in a curve would
//! suggest that the cell was measured like the others.

use super::{
    cells::{Figure, OneCell, OneSeries},
    format::Exported,
    state::State,
    text::Names,
};

/// One value of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The index of its run.
    pub run: usize,
    /// The cell: `wakeup, busy`.
    pub title: String,
    /// The thread: `cpu 0`; empty for a point about the cell.
    pub place: String,
    /// The quantity; empty for a point about the cell.
    pub quantity: String,
    /// `max`; or `not_pass`, which is 0 for a pass and 1 for every other state.
    pub key: String,
    /// The value in its stored unit.
    pub value: f64,
    /// The stored unit; empty for a point about the cell.
    pub unit: String,
    /// The standard deviation of the samples, only with a mean.
    pub sd: Option<f64>,
    /// The state of the cell or figure.
    pub state: State,
}

/// Returns the points of all runs, and what is left out.
pub fn points(exported: &Exported) -> (Vec<Point>, Vec<String>) {
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for (run, judged) in exported.runs.iter().enumerate() {
        let mut names = Names::default();
        for cell in super::cells::of_run(judged, None) {
            let title = names.unique(cell.title.clone());
            points.extend(not_pass(run, &title, cell.state()));
            if cell.state().is_trusted() {
                points.extend(cell.series().iter().flat_map(|one| of_series(run, &title, one)));
            } else if cell.record().is_some() {
                left_out.push(untrusted(&cell));
            }
        }
    }
    (points, left_out)
}

fn untrusted(cell: &OneCell) -> String {
    format!("{}: {}: its figures are left out", cell.listed(), cell.state().words().word)
}

fn not_pass(run: usize, title: &str, state: State) -> Option<Point> {
    let value = f64::from(state.not_pass()?);
    let (key, title) = ("not_pass".to_owned(), title.to_owned());
    let (place, quantity, unit) = Default::default();
    Some(Point { run, title, place, quantity, key, value, unit, sd: None, state })
}

fn of_series<'a>(run: usize, title: &'a str, one: &'a OneSeries<'a>) -> impl Iterator<Item = Point> + use<'a> {
    let point = move |Figure { key, value, state }: Figure| Point {
        run,
        title: title.to_owned(),
        place: one.place.clone(),
        quantity: one.series.quantity.clone(),
        sd: one.summary.sd.filter(|_| key == "mean"),
        key,
        value,
        unit: one.series.unit.clone(),
        state,
    };
    one.figures().into_iter().map(point)
}
