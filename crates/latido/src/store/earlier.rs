//! How long earlier cells took. The store contains when each cell started and when its record was stored.

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
    record::{HostFacts, Outcome, Record},
    run::{Manifest, Planned, SCHEMA, bounds, cell_dir},
    units::Ns,
};
use std::path::Path;

/// The number of newest runs that latido reads, and the most of their cells.
const RUNS: usize = 12;
const CELLS: usize = 300;

/// A longer pause than this between two cells, ns, means that latido did not run meanwhile.
const BREAK_NS: i128 = 10_000_000_000;

/// Returns the times that cells of the newest runs took. An unreadable store gives none.
pub fn around(root: &Path) -> Around {
    let mut around = Around::default();
    let newest = runs::in_order(root).unwrap_or_default().into_iter().rev().take(RUNS);
    newest.flat_map(|id| of_run(&runs::runs_dir(root).join(id))).take(CELLS).for_each(|(like, planned, took)| {
        around.learn(like, planned, took);
    });
    around
}

/// Whether a cell took all its samples. A person, or a sample above `stop_on`, may have ended it.
fn is_complete(dir: &Path, number: usize) -> bool {
    let record =
        json::<Record>(&cell_dir(dir, number).join("record.json"), latido_model::record::SCHEMA, &mut Vec::new());
    record.is_ok_and(|record| record.outcome == Outcome::Complete)
}

/// Returns the properties of each cell of a finished run, its planned time, and how long it took.
fn of_run(dir: &Path) -> Vec<(Like, Ns, Ns)> {
    let Ok(manifest) = bounded::<Manifest>(&dir.join("run.json"), SCHEMA, &mut Vec::new(), bounds::manifest) else {
        return Vec::new();
    };
    if manifest.meta.finished.is_none() {
        return Vec::new();
    }
    let spans = (1..).zip(&manifest.cells).take(CELLS).filter_map(|(number, planned)| {
        let facts: HostFacts = json(&cell_dir(dir, number).join("host.json"), 0, &mut Vec::new()).ok()?;
        let [started, stored] = [facts.started, facts.stored].map(|text| text.parse::<Timestamp>().ok());
        Some((started?, stored?, number, planned))
    });
    let mut spans: Vec<(Timestamp, Timestamp, usize, &Planned)> = spans.collect();
    spans.sort_by_key(|(started, ..)| *started);
    let ends = spans.iter().skip(1).map(|(started, ..)| Some(*started)).chain([None]);
    let each = spans.iter().zip(ends).filter_map(|((started, stored, number, planned), next)| {
        let measurand = manifest.measurands.get(planned.measurand)?;
        let extent = Extent::of_cell(&planned.cell.conditions, measurand);
        // A resumed run has such a break.
        let next = next.filter(|next| next.as_nanosecond() - stored.as_nanosecond() < BREAK_NS);
        let took = u64::try_from(next.unwrap_or(*stored).as_nanosecond() - started.as_nanosecond()).ok()?;
        // The expected time of a probe that ends after its own number of samples may be unknown, or estimated for another machine. A cell
        // with a duration took less than planned if somebody interrupted it.
        let is_whole = took >= extent.time.0 || (measurand.counts_samples && is_complete(dir, *number));
        (extent.open == 0 && is_whole).then(|| (Like::of(&planned.cell), extent.time, Ns(took)))
    });
    each.collect()
}
