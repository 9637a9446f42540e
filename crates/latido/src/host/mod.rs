//! Runs a plan: cell by cell to a target, each record stored before the next cell starts, then table, verdict, report.

mod conduct;
mod interrupt;
pub mod outcome;
mod preflight;
mod screen;
mod study;

use crate::store::{self, Contents};
use crate::{
    cli::{how::How, known::CATALOGUE},
    store::{Draft, New},
};
use anyhow::{Context, Result};
use conduct::{Ended, Place};
pub use interrupt::Interrupts;
use latido_agent::{machine, measure::assignment::stay_on};
use latido_model::{
    cell::{Cell, Item},
    plan::{self, Order, Plan},
    run::{Planned, Run},
};
use latido_report::judge::label;
use latido_sys::clock::Clock;
use preflight::Ready;
use screen::Screen;
use std::{collections::HashMap, path::Path, sync::OnceLock};

/// The exit status of an interrupted run.
pub const INTERRUPTED: u8 = 130;

static STARTED: OnceLock<u64> = OnceLock::new();

/// Notes that the process begins its work: the time to the first armed timer counts from here.
pub fn started() {
    STARTED.get_or_init(|| Clock::Monotonic.now());
}

/// When the process began, on CLOCK_MONOTONIC in ns.
fn started_ns() -> u64 {
    *STARTED.get_or_init(|| Clock::Monotonic.now())
}

/// Runs a plan, stores, judges and prints. Returns the exit status.
///
/// # Errors
/// The store cannot be written.
pub fn run(plan: &Plan, how: &How) -> Result<u8> {
    let cells = plan::expand(plan);
    let root = store::root(how.store.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let ready = preflight::check(&cells, how)?;
    if interrupts.count() > 0 {
        return Ok(too_early(how));
    }
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let toml = plan::print::plan(plan);
    let command = how.command.clone();
    let contents = contents(plan, &cells, &ready.skips)?;
    let draft = Draft::create(&root, New { plan: &plan.name, toml: &toml, contents, command, machine })?;
    latido_agent::fault::point("host");
    let todo = (1..=cells.len()).collect();
    carry_out(draft, &cells, todo, how, ready, &interrupts)
}

/// What an earlier crash had left is put back, and no cell was begun: nothing is stored.
fn too_early(how: &How) -> u8 {
    Screen::new(how.quiet).note("interrupted before the first cell: nothing was started");
    INTERRUPTED
}

/// Goes on with a run that was cut off: finished cells are kept, and a run without any left is judged and printed.
///
/// # Errors
/// There is no such run, it is damaged, or the store cannot be written.
pub fn resume(name: &str, how: &How) -> Result<u8> {
    let root = store::root(how.store.as_deref())?;
    let run = read(&store::find(&root, name)?)?;
    let cells: Vec<Cell> = run.cells.iter().map(|cell| cell.cell.clone()).collect();
    // Asked before it is taken up: that takes back the verdict.
    if !run.damaged && run.meta.finished.is_some() && run.cells.iter().all(store::is_done) {
        let mut screen = Screen::new(how.quiet);
        screen.say(&format!("note: run {} is finished: nothing is left to measure", run.meta.id));
        return outcome::present(outcome::judged(&run.dir)?, how, &mut screen);
    }
    let interrupts = Interrupts::watch()?;
    let ready = preflight::check(&cells, how)?;
    if interrupts.count() > 0 {
        return Ok(too_early(how));
    }
    let contents = contents(&run.plan, &cells, &ready.skips)?;
    let (draft, todo) = Draft::reopen(&run, contents)?;
    carry_out(draft, &cells, todo, how, ready, &interrupts)
}

/// Reads a stored run.
///
/// # Errors
/// No run lies there.
pub fn read(dir: &Path) -> Result<Run> {
    store::read(dir)
}

/// What the run keeps of its plan.
fn contents(plan: &Plan, cells: &[Cell], skips: &[Option<String>]) -> Result<Contents> {
    let mut measurands = Vec::new();
    let mut items: Vec<&Item> = Vec::new();
    let mut planned = Vec::new();
    let as_written = plan::expand(&Plan { order: Order::AsWritten, ..plan.clone() });
    // Seed, boot and repeat together belong to one place of the plan.
    let place = |cell: &Cell| (cell.seed, cell.boot, cell.repeat);
    let places: HashMap<(u64, u32, u32), usize> = as_written.iter().map(place).zip(0..).collect();
    for (cell, skipped) in cells.iter().zip(skips) {
        let measurand = match items.iter().position(|item| **item == cell.probe) {
            Some(known) => known,
            None => {
                measurands.push(CATALOGUE.measurand(&cell.probe)?);
                items.push(&cell.probe);
                items.len() - 1
            }
        };
        let written = places.get(&place(cell)).copied().unwrap_or(usize::MAX);
        planned.push(Planned { cell: cell.clone(), measurand, written, skipped: skipped.clone() });
    }
    Ok(Contents { plan: plan.clone(), measurands, cells: planned })
}

/// Measures what is to do; holds the run's lock until the last cell is stored.
fn carry_out(
    mut draft: Draft,
    cells: &[Cell],
    todo: Vec<usize>,
    how: &How,
    ready: Ready,
    interrupts: &Interrupts,
) -> Result<u8> {
    let mut screen = Screen::new(how.quiet);
    let before = todo.len();
    let todo: Vec<usize> =
        todo.into_iter().filter(|number| ready.skips.get(number - 1).is_some_and(Option::is_none)).collect();
    let count = match (todo.len(), cells.len()) {
        (1, 1) => "1 cell".into(),
        (left, all) if left == all => format!("{all} cells"),
        (left, all) => format!("{left} of {all} cells"),
    };
    let runs = draft.dir.parent().unwrap_or(&draft.dir);
    let skipped = match before - todo.len() {
        0 => String::new(),
        skipped => format!(" ({skipped} skipped)"),
    };
    screen.say(&format!("run {}: {count}{skipped}, stored in {}", draft.meta.id, runs.display()));
    if before > todo.len() {
        let mut reasons: Vec<&String> = ready.skips.iter().flatten().collect();
        reasons.sort();
        reasons.dedup();
        reasons.iter().for_each(|reason| screen.note(&format!("skipped: {reason}")));
    }
    if let Some(banner) = outcome::permission_banner(cells) {
        screen.warn(&banner);
    }
    let allowed = machine::allowed_cpus();
    let mut interrupted = false;
    for (done, &number) in todo.iter().enumerate() {
        let Some(cell) = number.checked_sub(1).and_then(|index| cells.get(index)) else { continue };
        let after = todo.iter().skip(done + 1).filter_map(|number| cells.get(number - 1));
        let after_ns =
            after.map(|cell| cell.conditions.duration.0 + cell.conditions.warmup.0).fold(0, u64::saturating_add);
        let label = label::title_among(cell, cells);
        let measurand = CATALOGUE.measurand(&cell.probe)?;
        let place =
            Place { number, cells: cells.len(), label: &label, measurand: &measurand, allowed: &allowed, after_ns };
        match conduct::cell(&mut draft, cell, place, interrupts, &mut screen)? {
            Ended::Measured => {}
            Ended::Infra(reason) => screen.error(&format!("cell {number} ({label}): {reason}")),
            Ended::Interrupted => {
                interrupted = true;
                break;
            }
        }
    }
    stay_on(Some(&allowed));
    screen.clear();
    drop(ready.lock);
    let dir = draft.dir.clone();
    let judged = outcome::finish(draft, interrupted, how, &mut screen)
        .with_context(|| format!("the cells are stored in {}", dir.display()))?;
    Ok(if interrupted { INTERRUPTED } else { judged })
}
