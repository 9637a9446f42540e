//! What latido does before the first cell: it locks the machine, repairs what a crash left, and finds out what is possible here.

use super::{Serving, admission, assign::assign, traced};
use crate::{
    capture,
    catalogue::Installed,
    check, journal,
    journal::lock,
    load::{self, LOADS},
    loading::{Surroundings, running::is_own},
    machine::{self, Root},
    measure::{Wanted, out_of_band},
    probe::{self, PROBES},
    program,
    setting::{Tuning, apply::possible},
    tuning::TUNINGS,
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    catalogue::Catalogue,
    cell::{Cell, Item, Scheduling},
    check::{Point, Severity},
    cpus::CpuSet,
    protocol::{Phase, Ready, Reply},
    registry,
    run::parts::MeasuredOn,
    units::Ns,
};
use std::{cell::RefCell, time::Duration};

impl Serving {
    /// Locks the machine for these cells. It skips cells whose tuning is not possible here. What the machine refuses outright is an error.
    pub(super) fn prepare(&mut self, cells: &[Cell], wait: Option<Ns>) -> Result<()> {
        // Between two cells of another run latido must change nothing, so it takes the run's lock first.
        let pulse = RefCell::new(self.pulse());
        let stop = || {
            pulse.borrow_mut().beat(Phase::Waiting);
            self.is_unwanted()
        };
        let mut tell = |holder: &lock::Holder| {
            self.voice.say(Reply::Note { message: format!("waiting for another latido ({})", holder.words) });
        };
        let mut patience = lock::Patience::of(wait.map_or(Duration::ZERO, Ns::as_duration), &stop, Some(&mut tell));
        let taken = if self.run.is_none() { Some(turn(cells, &mut patience)?) } else { None };
        // latido must not mistake the remains of a crash for another program's settings.
        let told = journal::recover_now(&mut self.pulse(), &mut patience)?;
        let passed = patience.passed();
        if taken.is_some() {
            self.run = taken;
        }
        let told = told.into_iter().map(|told| format!("after an earlier crash: {told}"));
        passed.into_iter().chain(told).for_each(|told| self.voice.note(told));
        let mut ready = Ready { skips: skips(cells), ..Ready::default() };
        measurands(cells, &mut ready)?;
        // latido tests nothing for skipped cells.
        let wanted: Vec<&Cell> =
            cells.iter().zip(&ready.skips).filter(|(_, skip)| skip.is_none()).map(|(cell, _)| cell).collect();
        ready.refusals = admission::refusals(&wanted);
        if ready.refusals.is_empty() {
            places(cells, &mut ready)?;
            programs(&wanted)?;
            traces(&wanted)?;
        }
        ready.permission = permission(&wanted);
        ready.kernel_config = machine::config_text(&Root::default());
        self.voice.say(Reply::Ready(Box::new(ready)));
        Ok(())
    }
}

/// Takes the run's lock and the machine's lock, after those that wait already.
fn turn(cells: &[Cell], patience: &mut lock::Patience<'_>) -> Result<Turn> {
    let purpose = format!("running `{}`", cells.first().map_or("nothing", |cell| &cell.plan));
    let run = lock::take_patiently("run", &purpose, patience)?;
    let wanted = if cells.iter().any(changes) { lock::Use::Change } else { lock::Use::Measure };
    Ok(Turn { _run: run, _machine: lock::machine(wanted, &purpose, patience)? })
}

/// The locks that a session keeps between its cells.
pub(super) struct Turn {
    _run: lock::Lock,
    _machine: lock::MachineTurn,
}

/// Tells whether a cell changes settings of this machine. If so, no other latido may measure meanwhile.
fn changes(cell: &Cell) -> bool {
    let probe = registry::build("probe", PROBES, &cell.probe).ok();
    let tracer = probe.as_ref().and_then(|probe| probe.wants()?.tracer);
    let told = tracer.is_some_and(|tracer| capture::changes(&tracer, cell.conditions.cpus.is_some()));
    told || probe.is_some_and(|probe| probe.changes())
        || cell.tuning.items.iter().any(|item| {
            let wanted = registry::build("tuning", TUNINGS, item).and_then(|tuning| tuning.wanted(&Root::default()));
            // An impossible tuning is skipped.
            wanted.is_ok_and(|wanted| !wanted.steps.is_empty() || wanted.pursuit.is_some())
        })
}

/// Returns for each cell why its tunings, or the recording for its probe, are not possible on this machine; `None` if they are possible.
fn skips(cells: &[Cell]) -> Vec<Option<String>> {
    let mut asked: Vec<(&Item, Option<String>)> = Vec::new();
    let mut refused = |item| match asked.iter().find(|(known, _)| *known == item) {
        Some((_, refused)) => refused.clone(),
        None => {
            let refused = refusal(item);
            asked.push((item, refused.clone()));
            refused
        }
    };
    let mut probes: Vec<(&Item, Option<String>)> = Vec::new();
    let mut lacking = |item| match probes.iter().find(|(known, _)| *known == item) {
        Some((_, lack)) => lack.clone(),
        None => {
            let lack = lack(item);
            probes.push((item, lack.clone()));
            lack
        }
    };
    let each = cells.iter().map(|cell| {
        let tuning = cell.tuning.items.iter().find_map(&mut refused);
        tuning.or_else(|| lacking(&cell.probe)).or_else(|| core(cell.scheduling))
    });
    each.collect()
}

/// Returns why no core of this machine can schedule a cell's threads; `None` if one can, or if the kernel schedules them.
fn core(scheduling: Scheduling) -> Option<String> {
    let error = out_of_band::installed(scheduling.core()?).err()?;
    Some(format!("policy `{scheduling}`: {error:#}"))
}

/// Returns what a probe needs that this kernel lacks.
fn lack(item: &Item) -> Option<String> {
    let probe = registry::build("probe", PROBES, item).ok()?;
    if let Err(error) = probe.lacks(&Root::default()) {
        return Some(format!("probe `{}`: {error:#}", item.name));
    }
    let wanted = probe.wants()?;
    // A recording in addition to a loop is optional.
    if wanted.beside {
        return None;
    }
    capture::possible(None, false, &wanted).err().map(|error| format!("probe `{}`: {error:#}", item.name))
}

/// Returns why a tuning is not possible here. It only reads.
fn refusal(item: &Item) -> Option<String> {
    let possible = |tuning: Box<dyn Tuning>| possible(tuning.as_ref(), &Root::default());
    let wanted = registry::build("tuning", TUNINGS, item).and_then(possible);
    wanted.err().map(|error| format!("tuning `{}`: {error:#}", item.name))
}

/// Finds out what the probes measure.
fn measurands(cells: &[Cell], ready: &mut Ready) -> Result<()> {
    let mut items: Vec<&Item> = Vec::new();
    for cell in cells {
        let known = items.iter().position(|item| **item == cell.probe);
        if known.is_none() {
            items.push(&cell.probe);
            ready.measurands.push(Installed.measurand(&cell.probe)?);
        }
        ready.measurand.push(known.unwrap_or(items.len() - 1));
    }
    Ok(())
}

/// Finds where each cell is measured, which CPUs it leaves alone, and which CPUs are left out without being named. Refuses CPUs that are
/// not there.
fn places(cells: &[Cell], ready: &mut Ready) -> Result<()> {
    type Place<'a> = (&'a Item, Option<&'a CpuSet>, Vec<&'a Item>);
    // The CPUs that it measures, and those that it leaves alone.
    type Places = (Option<CpuSet>, Option<CpuSet>);
    let mut known: Vec<(Place<'_>, Places)> = Vec::new();
    let of_kernel = |name| Root::default().read(&format!("proc/sys/kernel/{name}")).unwrap_or_default();
    let (hostname, kernel) = (of_kernel("hostname"), of_kernel("osrelease"));
    for (cell, skip) in cells.iter().zip(&ready.skips) {
        if skip.is_some() {
            ready.housekeeping.push(None);
            ready.places.push(None);
            continue;
        }
        let place: Place<'_> = (&cell.probe, cell.conditions.cpus.as_ref(), cell.tuning.items.iter().collect());
        let found = known.iter().find(|(other, _)| *other == place).map(|(_, cpus)| cpus.clone());
        let (cpus, left) = match found {
            Some(cpus) => cpus,
            None => {
                let assigned = assign(cell.clone())?;
                let new =
                    assigned.left_out.into_iter().filter(|left| !ready.left_out.contains(left)).collect::<Vec<_>>();
                ready.left_out.extend(new);
                let both = (assigned.cell.conditions.cpus, assigned.housekeeping);
                known.push((place, both.clone()));
                both
            }
        };
        ready.housekeeping.push(left);
        ready.places.push(Some(MeasuredOn { hostname: hostname.clone(), kernel: kernel.clone(), cpus }));
    }
    Ok(())
}

/// Refuses loads whose programs do not exist here.
fn programs(cells: &[&Cell]) -> Result<()> {
    let mut known: Vec<&Item> = Vec::new();
    for item in cells.iter().flat_map(|cell| &cell.load.items) {
        if !known.contains(&item) {
            known.push(item);
            let allowed = machine::own_cpus();
            let around = Surroundings { counted: allowed.clone(), allowed, seed: 0 };
            let parts = load::parts(std::slice::from_ref(item), &around)?;
            parts.items.iter().try_for_each(|item| program(item, &around))?;
        }
    }
    Ok(())
}

/// Refuses traces that cannot be recorded here.
fn traces(cells: &[&Cell]) -> Result<()> {
    let mut known = Vec::new();
    for conditions in cells.iter().map(|cell| &cell.conditions) {
        if let Some(what) = conditions.recorded().filter(|what| !known.contains(what)) {
            known.push(what);
            let (events, explaining) = what;
            capture::possible(Some(events), explaining, &Wanted::default()).context(traced::asked(conditions))?;
        }
    }
    Ok(())
}

fn program(item: &Item, around: &Surroundings) -> Result<()> {
    let launch = registry::build("load", LOADS, item)?.launch(around)?;
    let Some(program) = launch.as_ref().and_then(|launch| launch.argv.first()) else { return Ok(()) };
    let found = is_own(program) || program::find(program)?.is_some();
    ensure!(found, "load `{}`: there is no program `{program}` that latido may run here", item.name);
    Ok(())
}

/// Returns which permission is missing here for real-time measurement, if a cell needs it; `None` if nothing is missing.
fn permission(cells: &[&Cell]) -> Option<Point> {
    if !cells.iter().any(|cell| cell.scheduling.is_realtime() && probe::asks(&cell.probe)) {
        return None;
    }
    let root = Root::default();
    Some(check::realtime_permission(&root, &machine::read(&root))).filter(|point| point.severity >= Severity::Warning)
}
