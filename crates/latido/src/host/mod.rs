//! Runs a plan: measures cell by cell on its targets and stores each record before the next cell starts; then table, verdict, report.

mod conduct;
pub mod exports;
mod foretell;
mod kernels;
mod known;
pub mod load_alone;
pub mod options;
pub mod outcome;
mod patience;
mod prepare;
mod screen;
mod sessions;
pub mod trace_alone;
mod traced_program;
mod verdict;

use crate::{
    machines,
    stop::StopRequests,
    store::{self, Contents, Draft, New, Todo},
};
use anyhow::{Context, Result};
use conduct::Place;
use foretell::foretell;
use known::Known;
use latido_agent::{catalogue::Installed, measure::assignment::stay_on};
use latido_judge::title;
use latido_model::{
    catalogue::{Catalogue, Kind},
    cell::{Cell, Item, LAB},
    cpus::CpuSet,
    exit::Exit,
    plan::{
        self, Order, Plan,
        around::{Around, Like},
        extent::Extent,
    },
    quantity::Measurand,
    run::{Planned, Run},
};
use latido_sys::clock::Clock;
use options::How;
use screen::Screen;
use sessions::{BootBlock, Sessions};
use std::{collections::HashMap, path::Path, sync::OnceLock};
use verdict::Ended;

static STARTED: OnceLock<u64> = OnceLock::new();

/// Notes the start of the process: the time to the first armed timer counts from here.
pub fn started() {
    STARTED.get_or_init(|| Clock::Monotonic.now());
}

/// Returns when the process started, on CLOCK_MONOTONIC in ns.
fn started_ns() -> u64 {
    *STARTED.get_or_init(|| Clock::Monotonic.now())
}

/// What a run needs while it lasts.
struct Tools<'a> {
    how: &'a How,
    sessions: Sessions,
    stops: StopRequests,
    screen: Screen,
    /// The CPUs that this process may use.
    allowed: CpuSet,
}

impl<'a> Tools<'a> {
    fn new(how: &'a How) -> Result<Self> {
        Ok(Self {
            how,
            sessions: Sessions::new(how.wait),
            stops: StopRequests::watch()?,
            screen: Screen::new(how.quiet),
            allowed: latido_agent::machine::own_cpus(),
        })
    }

    fn prepare(&mut self, plan: &Plan, cells: &[Cell], begun: Option<&Run>) -> Result<Known> {
        // In a resumed run, a target whose cells are all done may be unreachable.
        let is_left =
            |place: usize| begun.and_then(|run| run.cells.get(place)).is_none_or(|cell| !store::is_done(cell));
        let left: Vec<&Cell> = (0..).zip(cells).filter(|(place, _)| is_left(*place)).map(|(_, cell)| cell).collect();
        self.sessions.recognise(plan, &left, &self.stops, &mut self.screen)?;
        prepare::all(cells, begun, self.how, &mut self.sessions, &self.stops, &mut self.screen)
    }

    /// Ends a run that Ctrl-C reached before the first cell. What an earlier crash left is restored; nothing is started or stored.
    fn too_early(&mut self) -> Option<u8> {
        (self.stops.count() > 0).then(|| {
            self.sessions.close_all();
            self.screen.note("interrupted before the first cell: nothing was started");
            Exit::Interrupted.code()
        })
    }
}

/// Runs a plan: measures, stores, judges and prints. Returns the exit status.
///
/// # Errors
/// The store cannot be written.
pub fn run(plan: &Plan, how: &How) -> Result<u8> {
    // latido measures exactly the cells that it stores. So a cell measured again from the stored run is the same cell, byte for byte.
    let cells: Vec<Cell> = plan::expand(plan).into_iter().map(resolved).collect();
    let root = store::root(how.store.as_deref())?;
    let mut tools = Tools::new(how)?;
    let known = tools.prepare(plan, &cells, None);
    if let Some(exit) = tools.too_early() {
        return Ok(exit);
    }
    let known = known?;
    let machine = tools.sessions.machines().join(", ");
    let toml = plan::print::plan(plan);
    let command = how.command.clone();
    let contents = contents(plan, &cells, &known, &places(plan, &cells));
    let draft = Draft::create(
        &root,
        New { plan: &plan.name, toml: &toml, contents, command, machine, label: how.label.clone() },
    )?;
    latido_agent::fault::point("host");
    let todo = (1..=cells.len()).collect();
    carry_out(draft, &cells, todo, &known, tools)
}

/// Resumes a run that was cut off. Finished cells stay; if all are finished, latido only judges and prints.
///
/// # Errors
/// There is no such run, it is damaged, or the store cannot be written.
pub fn resume(name: &str, how: &How) -> Result<u8> {
    let root = store::root(how.store.as_deref())?;
    let run = read(&store::find(&root, name)?)?;
    let mut cells: Vec<Cell> = run.cells.iter().map(|cell| cell.cell.clone()).collect();
    // Checked before `reopen`, which deletes the verdict.
    if !run.damaged && run.meta.finished.is_some() && run.cells.iter().all(store::is_done) {
        let mut screen = Screen::new(how.quiet);
        screen.say(&format!("note: run {} is finished: nothing is left to measure", run.meta.id));
        return outcome::present(outcome::judged(&run.dir)?, how, &mut screen);
    }
    let mut tools = Tools::new(how)?;
    let known = tools.prepare(&run.plan, &cells, Some(&run));
    if let Some(exit) = tools.too_early() {
        return Ok(exit);
    }
    let known = known?;
    if how.keep_checkpoints {
        prepare::parts_fit(&run, &known).inspect_err(|_| tools.sessions.close_all())?;
    }
    let places: Vec<usize> = run.cells.iter().map(|cell| cell.written).collect();
    let contents = contents(&run.plan, &cells, &known, &places);
    let (draft, todo) = Draft::reopen(&run, contents, how.keep_checkpoints)?;
    for Todo { number, rest, anew } in &todo {
        let said = match (rest, how.keep_checkpoints) {
            (Some(_), _) => {
                format!("cell {number}: latido keeps what it measured as a part, and measures the rest now")
            }
            (None, true) if *anew => {
                format!("cell {number}: latido cannot tell what is left of it, and measures it again")
            }
            (None, _) => continue,
        };
        tools.screen.note(&said);
        // latido measures only the rest; the run keeps the whole cell.
        if let (Some(rest), Some(cell)) = (rest, number.checked_sub(1).and_then(|index| cells.get_mut(index))) {
            cell.clone_from(rest);
        }
    }
    carry_out(draft, &cells, todo.iter().map(|one| one.number).collect(), &known, tools)
}

/// Reads a stored run.
///
/// # Errors
/// The directory contains no run.
pub fn read(dir: &Path) -> Result<Run> {
    store::read(dir)
}

/// Returns the position of each cell in the order in which the plan writes them.
fn places(plan: &Plan, cells: &[Cell]) -> Vec<usize> {
    let as_written = plan::expand(&Plan { order: Order::AsWritten, ..plan.clone() });
    // Seed, boot and repeat together identify one position in the plan.
    let place = |cell: &Cell| (cell.seed, cell.boot, cell.repeat);
    let places: HashMap<(u64, u32, u32), usize> = as_written.iter().map(place).zip(0..).collect();
    cells.iter().map(|cell| places.get(&place(cell)).copied().unwrap_or(usize::MAX)).collect()
}

/// Returns the parts of the plan that the run stores.
fn contents(plan: &Plan, cells: &[Cell], known: &Known, places: &[usize]) -> Contents {
    let planned = cells.iter().zip(&known.measurand).zip(places).zip(&known.skips);
    let cells = planned.map(|(((cell, measurand), written), skipped)| Planned {
        cell: cell.clone(),
        measurand: *measurand,
        written: *written,
        skipped: skipped.clone(),
    });
    Contents { plan: plan.clone(), measurands: known.measurands.clone(), cells: cells.collect() }
}

/// Completes a cell with the defaults of every option, so that a reader of a stored run needs no defaults. Its CPUs stay as requested: the
/// target chooses the actual CPUs, and the record contains them.
fn resolved(mut cell: Cell) -> Cell {
    let complete = |kind: Kind, item: &mut Item| {
        if let Ok(options) = Installed.read(kind, item) {
            item.options = options;
        }
    };
    complete(Kind::Probe, &mut cell.probe);
    let own_limit = || Installed.measurand(&cell.probe).ok()?.own_limit;
    cell.conditions.limit = cell.conditions.limit.or_else(own_limit);
    cell.load.items.iter_mut().for_each(|item| complete(Kind::Load, item));
    cell.tuning.items.iter_mut().for_each(|item| complete(Kind::Tuning, item));
    cell
}

/// Measures the cells in `todo` and holds the run's lock until the last one is stored.
fn carry_out(mut draft: Draft, cells: &[Cell], todo: Vec<usize>, known: &Known, mut tools: Tools<'_>) -> Result<u8> {
    known.kernel_configs.iter().try_for_each(|text| draft.keep_config(text))?;
    let before = todo.len();
    let skipped = |number: &usize| known.skips.get(number - 1).is_some_and(Option::is_some);
    let todo: Vec<usize> = todo.into_iter().filter(|number| !skipped(number)).collect();
    announce(&draft, (todo.len(), cells.len(), before), known, &mut tools.screen);
    // For one cell the first line already states the time.
    let earlier = match (todo.len(), draft.store()) {
        (0 | 1, _) | (_, None) => Around::default(),
        (_, Some(root)) => store::earlier::around(root),
    };
    foretell(draft.plan(), cells, &todo, known, &earlier, &mut tools.screen);
    let titles = title::Titles::among(cells.iter());
    let mut interrupted = false;
    for (done, &number) in todo.iter().enumerate() {
        let Some(cell) = number.checked_sub(1).and_then(|index| cells.get(index)) else { continue };
        let after = todo.iter().skip(done + 1).filter_map(|number| Some((*number, cells.get(number - 1)?)));
        let after_ns = after.map(|(number, cell)| takes(cell, known.measurand_of(number), &earlier));
        let after_ns = after_ns.fold(0, u64::saturating_add);
        let label = titles.of(cell);
        let nothing = Measurand::default();
        let measurand = known.measurand_of(number);
        let place =
            Place { number, cells: cells.len(), label: &label, measurand: measurand.unwrap_or(&nothing), after_ns };
        let housekeeping = known.housekeeping.get(number - 1).and_then(Option::as_ref);
        match one(&mut draft, cell, place, (cells, housekeeping), &mut tools)? {
            Ended::Measured if cell.target == LAB => tools.screen.measured(number, cells.len(), &label),
            Ended::Measured => {}
            Ended::Infra(reason) => tools.screen.error(&format!("cell {number} ({label}): {reason}")),
            Ended::Interrupted => {
                interrupted = true;
                break;
            }
        }
    }
    let Tools { how, mut sessions, mut screen, allowed, .. } = tools;
    stay_on(Some(&allowed));
    screen.clear();
    sessions.close_all();
    let dir = draft.dir.clone();
    let judged = outcome::finish(draft, interrupted, how, &mut screen)
        .with_context(|| format!("the cells are stored in {}", dir.display()))?;
    Ok(if interrupted { Exit::Interrupted.code() } else { judged })
}

/// Returns how long a cell takes, ns, including the time around its measurement.
fn takes(cell: &Cell, measurand: Option<&Measurand>, earlier: &Around) -> u64 {
    let extent = measurand.map_or(Extent::default(), |measurand| Extent::of_cell(&cell.conditions, measurand));
    extent.learned(&Like::of(cell), earlier).total().0
}

/// Measures one cell in the session of its block. A broken session is reopened for the next cell.
fn one(
    draft: &mut Draft,
    cell: &Cell,
    place: Place<'_>,
    (cells, housekeeping): (&[Cell], Option<&CpuSet>),
    tools: &mut Tools<'_>,
) -> Result<Ended> {
    draft.start_cell(place.number)?;
    latido_agent::fault::point("host");
    let Tools { sessions, stops, screen, allowed, .. } = tools;
    let block = BootBlock::of(cell);
    sessions.only(&block);
    // An agent inherits this process's CPUs and needs them all. Afterwards the screen and the store stay off the measured CPUs.
    stay_on(Some(&*allowed));
    let session = match sessions.of(&block, cells, stops, screen) {
        Ok(session) => session,
        Err(_) if stops.count() > 0 => return Ok(Ended::Interrupted),
        Err(error) => {
            let reason = format!("{error:#}");
            draft.fail_cell(place.number, &reason)?;
            return Ok(Ended::Infra(reason));
        }
    };
    if machines::is_local(&cell.target) {
        stay_on(housekeeping);
    }
    let ended = conduct::cell(draft, cell, place, session, stops, screen);
    sessions.mend(&block, stops, screen);
    ended
}

/// Announces the measurement: `left` of `all` cells; `before` counts the unfinished cells including the skipped ones.
fn announce(draft: &Draft, (left, all, before): (usize, usize, usize), known: &Known, screen: &mut Screen) {
    let count = match (left, all) {
        (1, 1) => "1 cell".into(),
        (left, all) if left == all => format!("{all} cells"),
        (left, all) => format!("{left} of {all} cells"),
    };
    let runs = draft.dir.parent().unwrap_or(&draft.dir);
    let skipped = match before - left {
        0 => String::new(),
        skipped => format!(" ({skipped} skipped)"),
    };
    let left_out = match known.left_out.join(", ") {
        none if none.is_empty() => none,
        some => format!(", without {some}"),
    };
    screen.say(&format!("run {}: {count}{skipped}{left_out}, stored in {}", draft.meta.id, runs.display()));
    if before > left {
        let mut reasons: Vec<&String> = known.skips.iter().flatten().collect();
        reasons.sort();
        reasons.dedup();
        reasons.iter().for_each(|reason| screen.note(&format!("skipped: {reason}")));
    }
}
