//! `latido check`: is this machine fit for real-time measurement, and what to change. It changes nothing itself.

mod hardware;
mod interrupts;
mod kernel;
mod permission;
mod power;
mod process;
mod process_points;
mod render;
mod render_process;
mod scheduler;
mod surroundings;
#[cfg(test)]
mod tests;
mod tick;

use crate::{
    cpus::CpuSet,
    machine::{Machine, Root},
    report::terminal::Style,
};
use serde::Serialize;

/// Every check, in the order in which a machine is understood: kernel, permission, power, scheduler, surroundings.
pub const CHECKS: &[Check] = &[
    kernel::PREEMPTION,
    kernel::TIMERS,
    kernel::CLOCK,
    kernel::DEBUGGING,
    tick::PREEMPTIBLE,
    scheduler::INHERITANCE,
    interrupts::THREADING,
    permission::REALTIME,
    permission::MEMORY,
    power::FREQUENCY,
    power::TURBO,
    power::IDLE,
    scheduler::THROTTLE,
    scheduler::FAIR_SERVER,
    scheduler::GROUPS,
    scheduler::SLACK,
    scheduler::ISOLATION,
    tick::TICKLESS,
    tick::CALLBACKS,
    interrupts::PLACEMENT,
    scheduler::LOAD,
    surroundings::HYPERVISOR,
    surroundings::STEAL,
    surroundings::CONTAINER,
    surroundings::LIMITS,
    surroundings::SMT,
    surroundings::SWAP,
    surroundings::HUGE_PAGES,
    hardware::SMI,
    hardware::HEAT,
];

/// One question to the machine.
pub struct Check {
    /// The name in tables.
    pub name: &'static str,
    /// Why it matters, in one line.
    pub why: &'static str,
    /// Whether the machine's fitness cannot be told without its answer.
    pub decides: bool,
    look: fn(&View) -> Finding,
}

/// What the checks look at.
pub struct View<'a> {
    /// The files.
    pub root: &'a Root,
    /// The snapshot.
    pub machine: &'a Machine,
    /// The CPUs to be measured, where they were named.
    pub cpus: Option<CpuSet>,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Could be better.
    Advice,
    /// Could not be read.
    Unknown,
    /// Will show in the results.
    Warning,
    /// Results would not be those of a real-time system.
    Unfit,
}

/// One thing to do. A point's list begins with the best; what follows are alternatives and notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A tuning of latido's, as a word: `throttle:off`.
    Tune(String),
    /// A shell command.
    Run(String),
    /// A kernel boot parameter.
    Boot(String),
    /// Anything else, in words.
    Do(String),
}

/// The answer to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    severity: Severity,
    state: String,
    remedies: Vec<Remedy>,
}

impl Finding {
    fn new(severity: Severity, state: impl Into<String>) -> Self {
        Self { severity, state: state.into(), remedies: Vec::new() }
    }

    fn ok(state: impl Into<String>) -> Self {
        Self::new(Severity::Ok, state)
    }

    fn unknown(reason: impl Into<String>) -> Self {
        Self::new(Severity::Unknown, reason)
    }

    fn tune(mut self, word: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Tune(word.into()));
        self
    }

    fn run(mut self, command: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Run(command.into()));
        self
    }

    fn boot(mut self, parameter: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Boot(parameter.into()));
        self
    }

    fn advise(mut self, what: impl Into<String>) -> Self {
        self.remedies.push(Remedy::Do(what.into()));
        self
    }
}

/// A check with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The check's name.
    pub check: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What was found.
    pub state: String,
    /// Why it matters.
    pub why: &'static str,
    /// What to do, the best first.
    pub remedies: Vec<Remedy>,
    /// Whether the verdict cannot be told without it.
    pub decides: bool,
}

/// Whether the machine is fit for real-time measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// It is; warnings still show in the results.
    Fit,
    /// It is not.
    Unfit,
    /// A point that decides could not be read.
    Unknown,
}

impl Fitness {
    /// Of these points.
    pub fn of(points: &[Point]) -> Self {
        if points.iter().any(|point| point.severity == Severity::Unfit) {
            Self::Unfit
        } else if points.iter().any(|point| point.decides && point.severity == Severity::Unknown) {
            Self::Unknown
        } else {
            Self::Fit
        }
    }

    /// 0 fit, 2 unfit, 3 cannot tell.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fit => 0,
            Self::Unfit => 2,
            Self::Unknown => 3,
        }
    }
}

/// Asks every check.
pub fn points(root: &Root, machine: &Machine, cpus: Option<&CpuSet>) -> Vec<Point> {
    CHECKS.iter().map(|check| check.ask(&View { root, machine, cpus: cpus.cloned() })).collect()
}

/// Whether real-time policies are granted, by which limit not, and the command that grants them.
pub fn realtime_permission(root: &Root, machine: &Machine) -> Point {
    permission::REALTIME.ask(&View { root, machine, cpus: None })
}

impl Check {
    fn ask(&self, view: &View) -> Point {
        let Finding { severity, state, remedies } = (self.look)(view);
        Point { check: self.name, severity, state, why: self.why, remedies, decides: self.decides }
    }
}

/// The whole command: the text for stdout (one JSON document, or a table) and the exit status.
pub fn run(root: &Root, cpus: Option<&CpuSet>, json: bool, style: Style) -> (String, u8) {
    let machine = Machine::read(root);
    let points = points(root, &machine, cpus);
    let exit = Fitness::of(&points).exit_code();
    let text = if json {
        render::json(render::Subject::Machine(&machine), &points)
    } else {
        render::table(&machine, &points, style)
    };
    (text, exit)
}

/// The same for a program at work, named by its number or name.
///
/// # Errors
/// There is no such process, or several.
pub fn run_process(root: &Root, word: &str, json: bool, style: Style) -> anyhow::Result<(String, u8)> {
    let process = process::Process::read(root, process::find(root, word)?)?;
    let points = process_points::points(root, &Machine::read(root), &process);
    let exit = Fitness::of(&points).exit_code();
    let text = if json {
        render::json(render::Subject::Process(&process), &points)
    } else {
        render_process::table(&process, &points, style)
    };
    Ok((text, exit))
}
