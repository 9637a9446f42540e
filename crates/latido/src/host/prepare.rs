//! What is settled before the first cell: a run that cannot succeed leaves nothing in the store.

use super::options::How;
use super::{
    outcome,
    screen::Screen,
    sessions::{BootBlock, Readiness, Sessions},
};
use crate::{durable, stop::StopRequests, store, target::is_local};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::catalogue::Installed;
use latido_model::{
    catalogue::Catalogue,
    cell::Cell,
    check::{Point, Remedy},
    cpus::CpuSet,
    protocol::LeftOut,
    quantity::Measurand,
    run::{Run, StoredCell, parts::MeasuredOn},
};
use std::{collections::BTreeSet, path::Path};

/// What cells measure that no target was asked about.
const CATALOGUE: &dyn Catalogue = &Installed;

/// What the targets say of the cells, each in their order.
#[derive(Debug, Default)]
pub struct Known {
    /// Why a cell is skipped, if it is.
    pub skips: Vec<Option<String>>,
    /// What the probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// Index in `measurands` for each cell.
    pub measurand: Vec<usize>,
    /// The CPUs that each cell leaves for everything else.
    pub housekeeping: Vec<Option<CpuSet>>,
    /// Where each cell would be measured, as far as its target tells.
    pub places: Vec<Option<MeasuredOn>>,
    /// The CPUs that cells which name none do not measure, each said once, with its target where that is not this machine.
    pub left_out: Vec<String>,
    /// The texts of the targets' kernel configurations.
    pub kernel_configs: BTreeSet<String>,
}

/// Opens the targets of the cells and asks each what it can have. Cells that cannot be had are skipped, unless that
/// leaves none. Of a run that goes on, `begun`, no target is asked that has nothing left to do.
///
/// # Errors
/// What cannot be had, and what to do.
pub fn all(
    cells: &[Cell],
    begun: Option<&Run>,
    how: &How,
    sessions: &mut Sessions,
    stops: &StopRequests,
    screen: &mut Screen,
) -> Result<Known> {
    if let Some(path) = outcome::report_path(how).filter(|_| how.output.is_some()) {
        writable(&path)?;
    }
    let mut known = Known {
        skips: vec![None; cells.len()],
        measurands: Vec::new(),
        measurand: vec![0; cells.len()],
        housekeeping: vec![None; cells.len()],
        places: vec![None; cells.len()],
        left_out: Vec::new(),
        kernel_configs: BTreeSet::new(),
    };
    let mut blocks: Vec<BootBlock> = Vec::new();
    for cell in cells {
        let block = BootBlock::of(cell);
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    for (turn, block) in blocks.iter().enumerate() {
        let of_block = |(_, cell): &(usize, &Cell)| BootBlock::of(cell) == *block;
        let (places, own): (Vec<usize>, Vec<Cell>) =
            cells.iter().enumerate().filter(of_block).map(|(place, cell)| (place, cell.clone())).unzip();
        let stored = |place: &usize| begun.and_then(|run| run.cells.get(*place));
        if places.iter().all(|place| stored(place).is_some_and(store::is_done)) {
            for (place, stored) in places.iter().filter_map(|place| Some((*place, stored(place)?))) {
                put(&mut known.skips, place, stored.skipped().map(str::to_owned));
                put(&mut known.measurand, place, among(&mut known.measurands, stored.measurand.clone()));
            }
            continue;
        }
        match sessions.prepare(block, &own, stops, screen)? {
            Readiness::NotHad(reason) => {
                for place in &places {
                    put(&mut known.skips, *place, Some(reason.clone()));
                }
                // What such cells would measure is known all the same.
                for (place, cell) in places.iter().zip(&own) {
                    let measurand = CATALOGUE.measurand(&cell.probe)?;
                    put(&mut known.measurand, *place, among(&mut known.measurands, measurand));
                }
            }
            Readiness::Ready(ready) => {
                ensure!(
                    ready.refusals.is_empty(),
                    "the machine refuses what the plan asks for, so nothing was started:\n  {}",
                    ready.refusals.join("\n  ")
                );
                if let Some(point) = &ready.permission {
                    screen.warn(&banner(point));
                }
                known.kernel_configs.extend(ready.kernel_config);
                for LeftOut { cpus, why } in &ready.left_out {
                    let there = if is_local(&block.target) { String::new() } else { format!(" of {}", block.target) };
                    let told = format!("CPU {cpus}{there} ({why})");
                    if !known.left_out.contains(&told) {
                        known.left_out.push(told);
                    }
                }
                for (index, place) in places.iter().enumerate() {
                    put(&mut known.skips, *place, ready.skips.get(index).cloned().flatten());
                    put(&mut known.housekeeping, *place, ready.housekeeping.get(index).cloned().flatten());
                    put(&mut known.places, *place, ready.places.get(index).cloned().flatten());
                    let measurand = ready.measurand.get(index).and_then(|index| ready.measurands.get(*index));
                    let measurand = measurand.context("the agent did not say what a cell measures")?.clone();
                    put(&mut known.measurand, *place, among(&mut known.measurands, measurand));
                }
            }
        }
        // The machine of the first block waits for its cells; others are taken again when their turn comes.
        if turn > 0 {
            sessions.close(block);
        }
        if stops.count() > 0 {
            break;
        }
    }
    something_left(&known.skips)?;
    Ok(known)
}

/// Refuses to measure the rest of cells elsewhere than what is kept of them: that would be no part of them.
///
/// # Errors
/// Both places of each such cell, and what to do.
pub fn parts_fit(run: &Run, known: &Known) -> Result<()> {
    let stray = |(cell, place): (&StoredCell, &Option<MeasuredOn>)| {
        let begun = MeasuredOn::of(cell.record().filter(|_| store::is_kept(cell))?);
        let now = place.as_ref().filter(|now| **now != begun)?;
        Some(format!("cell {}: begun on {begun}; now {now}", cell.number))
    };
    let strays: Vec<String> = run.cells.iter().zip(&known.places).filter_map(stray).collect();
    ensure!(
        strays.is_empty(),
        "what was measured of a cell can only be kept where the rest is measured in the same way, so nothing was started \
         and nothing is lost:\n  {}\nGo on there, or measure from zero here: latido run --resume {}",
        strays.join("\n  "),
        run.meta.id
    );
    Ok(())
}

fn put<T>(list: &mut [T], place: usize, value: T) {
    if let Some(slot) = list.get_mut(place) {
        *slot = value;
    }
}

/// The index of a measurand, which is added if it is not there yet.
fn among(all: &mut Vec<Measurand>, one: Measurand) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// Refuses a plan of which nothing can be measured.
fn something_left(skips: &[Option<String>]) -> Result<()> {
    let mut reasons: Vec<&str> = Vec::new();
    for skip in skips {
        let Some(reason) = skip else { return Ok(()) };
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    bail!("nothing of the plan can be measured, so nothing was started: {}", reasons.join("; "))
}

/// What is missing for real-time measurement, with the commands that grant it.
fn banner(point: &Point) -> String {
    let mut lines = vec![format!("NOT REAL-TIME: {}. The run goes on as far as it can; to grant it:", point.state)];
    lines.extend(point.remedies.iter().map(|remedy| match remedy {
        Remedy::Tune(word) | Remedy::TuneForBusy(word) => format!("  sudo latido tune apply {word}"),
        Remedy::Run(command) => format!("  {command}"),
        Remedy::Boot(parameter) => format!("  boot with {parameter}"),
        Remedy::Do(words) => format!("  {words}"),
    }));
    lines.join("\n")
}

/// Whether a file may be written there, without writing it.
fn writable(path: &Path) -> Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    // It is replaced by a new file: the directory must be writable, by those whose files are written (behind sudo not us).
    let place = durable::parent(path);
    durable::replaceable(path)
        .and_then(|()| Ok(accessat(CWD, place, Access::WRITE_OK, AtFlags::EACCESS)?))
        .with_context(|| format!("the report cannot go to {}; nothing was measured yet", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        plan::Plan,
        record::Outcome,
        run::{CellState, Meta, StoredCell},
        sample,
    };
    use std::path::PathBuf;

    /// A board that has been given back needs not be there for the rest of the run.
    #[test]
    fn a_target_that_has_nothing_left_to_do_is_not_asked() {
        let cell = Cell { target: "fake:/nowhere/to/be/found".into(), ..sample::cell() };
        let measurand = sample::measurand(&cell);
        let state = |outcome: Option<Outcome>| match outcome {
            Some(outcome) => {
                CellState::Measured(Box::new(latido_model::record::Record { outcome, ..sample::record() }))
            }
            None => CellState::Skipped("no such thing".into()),
        };
        let asked = |outcomes: [Option<Outcome>; 2]| {
            let stored = |(number, outcome): (usize, Option<Outcome>)| StoredCell {
                number,
                dir: PathBuf::new(),
                cell: cell.clone(),
                measurand: measurand.clone(),
                written: number,
                state: state(outcome),
                host: None,
                parts: Vec::new(),
            };
            let cells = (1..).zip(outcomes).map(stored).collect();
            let (dir, meta, plan) = (PathBuf::new(), Meta::default(), Plan::default());
            let run = Run { dir, meta, plan, cells, problems: Vec::new(), damaged: false };
            let stops = StopRequests::watch().unwrap();
            let (mut sessions, mut screen) = (Sessions::new(None), Screen::new(true));
            all(&[cell.clone(), cell.clone()], Some(&run), &How::default(), &mut sessions, &stops, &mut screen)
        };
        let known = asked([Some(Outcome::Complete), None]).unwrap();
        assert_eq!(known.skips, [None, Some("no such thing".to_owned())]);
        assert_eq!((known.measurands, known.measurand), (vec![measurand.clone()], vec![0, 0]));
        let error = format!("{:#}", asked([Some(Outcome::Complete), Some(Outcome::Checkpoint)]).unwrap_err());
        assert!(error.contains("/nowhere/to/be/found"), "{error}");
    }
}
