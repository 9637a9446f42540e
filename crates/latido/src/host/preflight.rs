//! What can be known before the first cell: a run that cannot succeed here leaves nothing in the store.

use super::{outcome, screen::Screen};
use crate::cli::how::How;
use anyhow::{Context, Result, bail, ensure};
use latido_agent::{
    journal::{
        self,
        lock::{self, Lock},
    },
    load::{self, LOADS},
    loading::Surroundings,
    machine,
    setting::{Tuning, apply::possible},
    supervise::{admission, assign::assign},
    tuning::TUNINGS,
};
use latido_model::{
    cell::{Cell, Item, RUNNING},
    registry,
};
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// What is settled before the first cell.
pub struct Ready {
    /// The run's: held until the run is over, or another run could slip in between two cells.
    pub lock: Lock,
    /// For each cell why it is skipped, if it is.
    pub skips: Vec<Option<String>>,
}

/// Checks CPUs, probes, tunings, load programs and the report's place on this machine, and that no other latido is at
/// work. Cells whose kernel, load or tuning cannot be had here are skipped, unless that leaves none.
///
/// # Errors
/// What cannot be had, and what to do.
pub fn check(cells: &[Cell], how: &How) -> Result<Ready> {
    something_left(&cells.iter().map(unbootable).collect::<Vec<_>>())?;
    if let Some(path) = outcome::report_path(how).filter(|_| how.output.is_some()) {
        writable(&path)?;
    }
    // Between two cells of another run nothing may be touched, so the run's lock comes first.
    let lock = lock::take("run", &format!("running `{}`", cells.first().map_or("nothing", |cell| &cell.plan)))?;
    // What a crash left behind must not look like somebody's setting.
    for told in journal::recover_now()? {
        Screen::new(how.quiet).warn(&format!("after an earlier crash: {told}"));
    }
    let skips = skips(cells)?;
    // Nothing is asked for what is skipped.
    let left = || cells.iter().zip(&skips).filter(|(_, skip)| skip.is_none()).map(|(cell, _)| cell);
    let refused = admission::refusals(&left().cloned().collect::<Vec<_>>());
    ensure!(
        refused.is_empty(),
        "this machine refuses what the plan asks for, so nothing was started:\n  {}",
        refused.join("\n  ")
    );
    let mut seen: Vec<(&Item, Option<&latido_model::cpus::CpuSet>)> = Vec::new();
    let mut loads: Vec<&Item> = Vec::new();
    for cell in left() {
        let kind = (&cell.probe, cell.conditions.cpus.as_ref());
        if !seen.contains(&kind) {
            seen.push(kind);
            assign(cell.clone())?;
        }
        for item in &cell.load.items {
            if !loads.contains(&item) {
                loads.push(item);
                program_exists(item)?;
            }
        }
    }
    Ok(Ready { lock, skips })
}

/// Why each cell cannot be measured, if it cannot: by this version, or with its tunings on this machine.
fn skips(cells: &[Cell]) -> Result<Vec<Option<String>>> {
    let mut asked: Vec<(&Item, Option<String>)> = Vec::new();
    let mut skips = Vec::new();
    for cell in cells {
        let mut reason = unbootable(cell);
        for item in &cell.tuning.items {
            // Never asked of what is skipped anyway: it may not be in this version.
            if reason.is_none() && !asked.iter().any(|(known, _)| known == &item) {
                asked.push((item, refusal(item)));
            }
            let refused = asked.iter().find(|(known, _)| known == &item).and_then(|(_, refused)| refused.clone());
            reason = reason.or(refused);
        }
        skips.push(reason);
    }
    something_left(&skips)?;
    Ok(skips)
}

/// Why this machine cannot have the kernel of a cell.
fn unbootable(cell: &Cell) -> Option<String> {
    let kernel = &cell.kernel;
    (kernel != RUNNING).then(|| format!("kernel `{kernel}`: this version measures the running kernel alone"))
}

/// What a tuning lacks here, found by reading alone.
fn refusal(item: &Item) -> Option<String> {
    let possible = |tuning: Box<dyn Tuning>| possible(tuning.as_ref(), &machine::Root::default());
    let wanted = registry::build("tuning", TUNINGS, item).and_then(possible);
    wanted.err().map(|error| format!("tuning `{}`: {error:#}", item.name))
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

fn program_exists(item: &Item) -> Result<()> {
    let around = Surroundings { allowed: machine::allowed_cpus(), seed: 0 };
    let parts = load::parts(std::slice::from_ref(item), &around)?;
    parts.items.iter().try_for_each(|item| part_exists(item, &around))
}

fn part_exists(item: &Item, around: &Surroundings) -> Result<()> {
    let launch = registry::build("load", LOADS, item)?.launch(around)?;
    let Some(program) = launch.as_ref().and_then(|launch| launch.argv.first()) else { return Ok(()) };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = match program.contains('/') {
        true => is_executable(Path::new(program)),
        false => std::env::split_paths(&search).any(|dir| is_executable(&dir.join(program))),
    };
    ensure!(found, "load `{}`: there is no program `{program}` that may be run here", item.name);
    Ok(())
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether a file may be written there, without writing it.
fn writable(path: &Path) -> Result<()> {
    use rustix::fs::{Access, access};
    ensure!(!path.is_dir(), "the report cannot go to {}: it is a directory", path.display());
    let place = match path.exists() {
        true => path.to_path_buf(),
        false => path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .map_or_else(|| PathBuf::from("."), Path::to_path_buf),
    };
    access(&place, Access::WRITE_OK)
        .with_context(|| format!("the report cannot go to {}; nothing was measured yet", path.display()))
}
