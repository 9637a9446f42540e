//! What earlier cells took beside their measurements: the store knows when each began and when its record was stored.

use super::{
    files::{bounded, json},
    runs,
};
use jiff::Timestamp;
use latido_model::{
    plan::{
        around::{Around, Like},
        extent::Extent,
    },
    record::HostFacts,
    run::{Manifest, Planned, SCHEMA, bounds, cell_dir},
    units::Ns,
};
use std::path::Path;

/// So many runs, the one begun last first, and so many of their cells tell enough.
const RUNS: usize = 12;
const CELLS: usize = 300;

/// A longer pause between two cells is one in which latido did not run.
const BREAK_NS: i128 = 10_000_000_000;

/// What the newest runs of a store took beside their measurements; a store that cannot be read tells nothing.
pub fn around(root: &Path) -> Around {
    let mut around = Around::default();
    let newest = runs::in_order(root).unwrap_or_default().into_iter().rev().take(RUNS);
    newest.flat_map(|id| of_run(&runs::runs_dir(root).join(id))).take(CELLS).for_each(|(like, took)| {
        around.learn(like, took);
    });
    around
}

/// What each cell of a finished run was like, and took beside what was planned.
fn of_run(dir: &Path) -> Vec<(Like, Ns)> {
    let Ok(manifest) = bounded::<Manifest>(&dir.join("run.json"), SCHEMA, &mut Vec::new(), bounds::manifest) else {
        return Vec::new();
    };
    if manifest.meta.finished.is_none() {
        return Vec::new();
    }
    let spans = (1..).zip(&manifest.cells).take(CELLS).filter_map(|(number, planned)| {
        let facts: HostFacts = json(&cell_dir(dir, number).join("host.json"), 0, &mut Vec::new()).ok()?;
        let [started, stored] = [facts.started, facts.stored].map(|text| text.parse::<Timestamp>().ok());
        Some((started?, stored?, planned))
    });
    let mut spans: Vec<(Timestamp, Timestamp, &Planned)> = spans.collect();
    spans.sort_by_key(|(started, ..)| *started);
    let ends = spans.iter().skip(1).map(|(started, ..)| Some(*started)).chain([None]);
    let each = spans.iter().zip(ends).filter_map(|((started, stored, planned), next)| {
        let measurand = manifest.measurands.get(planned.measurand)?;
        let extent = Extent::of_cell(&planned.cell.conditions, measurand);
        // A run that was resumed has a break there.
        let next = next.filter(|next| next.as_nanosecond() - stored.as_nanosecond() < BREAK_NS);
        let took = u64::try_from(next.unwrap_or(*stored).as_nanosecond() - started.as_nanosecond()).ok()?;
        // Of a probe that ends after its own number of samples nobody knows what it should take; who was interrupted took less.
        let beside = took.checked_sub(extent.time.0).filter(|_| extent.open == 0)?;
        Some((Like::of(&planned.cell), Ns(beside)))
    });
    each.collect()
}
