//! The jobs for which the laboratory boots guests.

use super::{brought::Brought, image::Member};
use anyhow::{Context, Result, bail, ensure};
use latido_agent::{load, load::LOADS, loading::Surroundings, loading::running::is_own, probe::PROBES};
use latido_model::{cell::Cell, cpus::CpuSet, protocol::Request, registry, units::Ns};
use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, Instant},
};

/// How much processor time a guest may take besides its cell, s, and how much per second of the cell. Emulation takes five to fifty.
const PATIENCE: (u64, u64) = (300, 120);

/// How much processor time a guest that only answers may take for each cell of the question, s. It measures nothing, so that the
/// length of the cells does not matter.
const PATIENCE_ANSWER: u64 = 5;

/// The guests to boot, in the order of their requests.
#[derive(Default)]
pub(super) struct Jobs {
    pub(super) waiting: VecDeque<Job>,
    pub(super) running: Vec<Vec<Request>>,
    pub(super) done: Vec<(Vec<Request>, Answered)>,
    /// The cells of the session, in the order of their requests.
    pub(super) cells: Vec<Cell>,
    /// When the first guest of a cell started. `ended` counts the guests that have ended.
    pub(super) begun: Option<Instant>,
    pub(super) ended: u32,
    pub(super) over: bool,
}

/// A guest's answer, or why there is none.
pub(super) type Answered = Result<Vec<u8>, String>;

pub(super) struct Job {
    pub(super) requests: Vec<Request>,
    pub(super) member: Member,
    pub(super) programs: Vec<Brought>,
    pub(super) within: Duration,
}

/// Refuses a cell for CPUs that its guest does not have.
pub(super) fn within(cell: &Cell, cpus: u32) -> Result<()> {
    let asked = cell.conditions.cpus.iter().flat_map(|cpus| cpus.iter()).find(|cpu| *cpu >= cpus);
    let Some(asked) = asked else { return Ok(()) };
    ensure!(cpus == 1, "the laboratory's guest has {cpus} CPUs, and CPU {asked} was requested");
    bail!(
        "the laboratory's guests have one CPU, 0, and CPU {asked} was requested: where instructions are the clock, \
         several CPUs take turns and show waits of milliseconds that no kernel causes (--multi-cpu gives two CPUs, \
         for a functional test)"
    );
}

pub(super) fn is_measuring(requests: &[Request]) -> bool {
    requests.iter().any(|request| matches!(request, Request::Measure { .. }))
}

/// The longest cell that a guest measures in about a minute. The user then waits no longer than for a guest that only answers.
const SHORT: Ns = Ns::from_millis(500);

/// Returns whether a guest with this cell ends soon. For a cell that ends after a number of samples this is not known.
pub(super) fn is_short(cell: &Cell) -> bool {
    let probe = registry::build("probe", PROBES, &cell.probe);
    let ends_in_time = probe.is_ok_and(|probe| !probe.measurand().counts_samples);
    ends_in_time && cell.conditions.duration <= SHORT && cell.conditions.warmup <= SHORT
}

/// Returns the job that measures a cell.
pub(super) fn measuring(cell: &Cell, cpus: u32) -> Result<Job> {
    let alone = Request::Prepare { cells: vec![cell.clone()], wait: None };
    job(vec![alone, Request::Measure { cell: Box::new(cell.clone()) }], &[cell], cpus)
}

/// Returns whether a program is a compiler. Its parts and headers are spread over the system, and latido does not put them into a guest.
fn is_compiler(name: &str) -> bool {
    ["cc", "gcc", "clang"].contains(&name)
}

/// Returns the job that answers these requests, with the programs that the probes and loads of the cells start.
pub(super) fn job(requests: Vec<Request>, cells: &[&Cell], cpus: u32) -> Result<Job> {
    let mut programs = BTreeSet::new();
    let cpus: CpuSet = (0..cpus).collect();
    for cell in cells {
        let around = Surroundings { allowed: cpus.clone(), counted: cpus.clone(), seed: cell.seed };
        for item in load::parts(&cell.load.items, &around)?.items {
            let launch = registry::build("load", LOADS, &item)?.launch(&around)?;
            let Some(launch) = launch else { continue };
            if let Some(word) = launch.argv.first().filter(|word| !is_own(word)) {
                programs.extend(Brought::found(word)?);
            }
            let starts = launch.programs.iter().map(|program| program.record().name).filter(|name| !is_compiler(name));
            for name in starts {
                programs.extend(Brought::found(&name)?);
            }
        }
        if let Some(word) = registry::build("probe", PROBES, &cell.probe)?.starts() {
            programs.insert(
                Brought::found(word)?
                    .with_context(|| format!("this machine has no program `{word}` to put into the guest"))?,
            );
        }
    }
    let member = cells.first().map_or(Member { offset_ns: 0, padding: 0 }, |cell| Member::of(cell.seed));
    let within = latido_agent::fault::guest_patience().unwrap_or_else(|| patience(is_measuring(&requests), cells));
    Ok(Job { requests, member, programs: programs.into_iter().collect(), within })
}

/// Returns how much processor time a guest may take that measures these cells, or only answers what it can measure of them.
fn patience(measures: bool, cells: &[&Cell]) -> Duration {
    let each = |cell: &&Cell| match measures {
        true => PATIENCE.1.saturating_mul(cell.conditions.duration.0 / 1_000_000_000 + 1),
        false => PATIENCE_ANSWER,
    };
    Duration::from_secs(cells.iter().map(each).fold(PATIENCE.0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        cell::Item,
        needs::{Need, skip},
        sample,
    };

    /// A cell is short if warm-up and measurement end within half a second each: its guest then also answers what the cell can have.
    #[test]
    fn a_cell_that_ends_within_half_a_second_is_short() {
        let short = |probe: &str, duration_ms: u64, warmup_ms: u64| {
            let mut cell = sample::cell();
            cell.probe = Item { name: probe.into(), options: toml::Table::new() };
            cell.conditions.duration = Ns::from_millis(duration_ms);
            cell.conditions.warmup = Ns::from_millis(warmup_ms);
            is_short(&cell)
        };
        assert!(short("wakeup", 500, 100));
        assert!(!short("wakeup", 501, 100) && !short("wakeup", 500, 501));
        assert!(!short("compute", 500, 100), "it ends after a number of samples");
    }

    /// A guest that hangs ends after a bounded time. Before it measures, the length of the cells does not count: an agent that hangs there
    /// ends after minutes also where the plan measures for hours.
    #[test]
    fn a_guest_that_only_answers_has_little_time() {
        let mut cell = sample::cell();
        cell.conditions.duration = Ns::from_millis(3_600_000);
        let cells = vec![&cell; 20];
        assert_eq!(patience(false, &cells), Duration::from_secs(300 + 20 * 5));
        assert_eq!(patience(false, &[]), Duration::from_secs(300));
        assert_eq!(patience(true, &cells[..1]), Duration::from_secs(300 + 120 * 3_601));
    }

    /// A guest contains the programs that the load itself starts, but no compiler.
    #[test]
    fn a_guest_has_the_programs_of_its_loads() {
        let brought = |name: &str, with: &[&str]| {
            if with.iter().any(|word| !matches!(Brought::found(word), Ok(Some(_)))) {
                return None;
            }
            let mut cell = sample::cell();
            (cell.target, cell.conditions.cpus) = ("lab".into(), None);
            cell.load.items = vec![Item { name: name.into(), options: toml::Table::new() }];
            let job = measuring(&cell, 1).unwrap();
            Some(job.programs.into_iter().map(|program| program.at).collect::<Vec<_>>())
        };
        for (load, with, expected) in [
            ("archive", &["tar", "gzip"][..], &["bin/gzip", "bin/tar"][..]),
            ("tree", &["find", "grep"], &["bin/find", "bin/grep"]),
            ("compile", &["cc"], &[]),
            ("messaging", &[], &[]),
        ] {
            let Some(found) = brought(load, with) else {
                let what = format!("the programs of {load} in a guest");
                skip(&what, Need::Program, &format!("one of {with:?} is missing"));
                continue;
            };
            assert_eq!(found, expected, "{load}");
        }
    }
}
