//! What latido settles before the first cell: a run that cannot succeed leaves nothing in the store.

use super::options::How;
use super::{
    known::{self, Known},
    outcome,
    screen::Screen,
    sessions::{Readiness, Sessions},
};
use crate::{durable, stop::StopRequests, store};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::catalogue::Installed;
use latido_model::{
    catalogue::Catalogue,
    cell::Cell,
    check::{Point, Remedy},
    run::{Run, StoredCell, parts::MeasuredOn},
};
use std::path::Path;

/// What cells measure where no target was asked.
const CATALOGUE: &dyn Catalogue = &Installed;

/// Opens the targets of the cells and requests from each what it can offer. Skips cells that are not available, unless no cell is left. In
/// a resumed run, `begun`, latido asks no target whose cells are all done.
///
/// # Errors
/// What is not available, and what to do.
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
    let mut known = Known::nothing(cells.len());
    for (turn, (block, places)) in known::blocks(cells).iter().enumerate() {
        if let Some(stored) = begun.and_then(|run| finished(run, places)) {
            for (place, stored) in stored {
                known.note(place, stored.skipped().map(str::to_owned), stored.measurand.clone());
            }
            continue;
        }
        let own: Vec<Cell> = places.iter().filter_map(|place| cells.get(*place)).cloned().collect();
        match sessions.prepare(block, &own, stops, screen)? {
            Readiness::NotHad(reason) => {
                // latido knows what such cells would measure even so.
                for (place, cell) in places.iter().zip(&own) {
                    known.note(*place, Some(reason.clone()), CATALOGUE.measurand(&cell.probe)?);
                }
            }
            Readiness::Ready(ready) => {
                known::granted(&ready)?;
                if let Some(point) = &ready.permission {
                    screen.warn(&banner(point));
                }
                known.take(&block.target, places, &ready)?;
            }
        }
        // The machine of the first block stays taken for its cells. latido releases the others and takes each again when its block comes.
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

/// Returns these cells of a resumed run, if all of them are done.
fn finished<'a>(run: &'a Run, places: &[usize]) -> Option<Vec<(usize, &'a StoredCell)>> {
    let stored = |place: &usize| run.cells.get(*place).filter(|cell| store::is_done(cell)).map(|cell| (*place, cell));
    places.iter().map(stored).collect()
}

/// Refuses to measure the rest of a cell under other conditions than its kept part: the two would not be one measurement.
///
/// # Errors
/// The conditions of both, for each such cell, and what to do.
pub fn parts_fit(run: &Run, known: &Known) -> Result<()> {
    let stray = |(cell, place): (&StoredCell, &Option<MeasuredOn>)| {
        let begun = MeasuredOn::of(cell.record().filter(|_| store::is_kept(cell))?);
        let now = place.as_ref().filter(|now| **now != begun)?;
        Some(format!("cell {}: started on {begun}; now {now}", cell.number))
    };
    let strays: Vec<String> = run.cells.iter().zip(&known.places).filter_map(stray).collect();
    ensure!(
        strays.is_empty(),
        "latido can keep the measured part of a cell only if it measures the rest in the same way, so it started \
         nothing; nothing is lost:\n  {}\nContinue there, or measure from the start here: latido run --resume {}",
        strays.join("\n  "),
        run.meta.id
    );
    Ok(())
}

/// Refuses a plan in which no cell can be measured.
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

/// Words what is missing for real-time measurement, with the commands that grant it.
fn banner(point: &Point) -> String {
    let mut lines = vec![format!("NOT REAL-TIME: {}. The run continues as far as it can; to allow it:", point.state)];
    lines.extend(point.remedies.iter().map(|remedy| match remedy {
        Remedy::Tune(word) | Remedy::TuneForBusy(word) => format!("  sudo latido tune apply {word}"),
        Remedy::Run(command) => format!("  {command}"),
        Remedy::Boot(parameter) => format!("  boot with {parameter}"),
        Remedy::Do(words) => format!("  {words}"),
    }));
    lines.join("\n")
}

/// Checks whether a file may be written there, without writing it.
fn writable(path: &Path) -> Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    // The report replaces the file, so the directory must be writable, for the user who will own the file (behind sudo not root).
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

    /// A board that was given back may be unreachable for the rest of the run.
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
            let run = Run { dir, meta, plan, cells, problems: Vec::new(), damaged: false, at_work: false };
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
    /// One cell that can be measured is enough. Otherwise the error contains every reason once.
    #[test]
    fn a_plan_of_which_nothing_can_be_measured_is_refused() {
        let why = |reason: &str| Some(reason.to_owned());
        assert!(something_left(&[why("no knob"), None]).is_ok());
        let error = something_left(&[why("no knob"), why("no ssh"), why("no knob")]).unwrap_err().to_string();
        assert!(error.ends_with("nothing was started: no knob; no ssh"), "{error}");
    }

    #[test]
    fn what_is_missing_is_told_with_its_commands() {
        let point = Point {
            check: "real-time permission".into(),
            severity: latido_model::check::Severity::Warning,
            state: "no right".into(),
            why: String::new(),
            remedies: vec![Remedy::Run("ulimit -r 99".into())],
            decides: true,
            rules_out: None,
        };
        let told = banner(&point);
        assert!(told.starts_with("NOT REAL-TIME: no right."), "{told}");
        assert!(told.ends_with("\n  ulimit -r 99"), "{told}");
    }
}
