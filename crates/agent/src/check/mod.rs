//! `latido check`: tells whether this machine is fit for real-time measurement, and what to change. It changes nothing itself.

mod cores;
mod hardware;
mod interrupts;
mod kernel;
mod permission;
mod power;
pub(crate) mod process;
mod process_points;
mod scheduler;
mod surroundings;
#[cfg(test)]
mod tests;
mod tick;

use crate::machine::{self, Root};
use latido_model::{
    check::{Point, Process, Purpose, Remedy, Severity},
    cpus::CpuSet,
    machine::Machine,
};

/// Every question, in the order in which a machine is understood: kernel, permission, power, scheduler, surroundings.
pub const QUESTIONS: &[Question] = &[
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
    surroundings::COMPACTION,
    hardware::SMI,
    hardware::HEAT,
];

/// One question about the machine.
pub struct Question {
    /// The name in tables.
    pub name: &'static str,
    /// Why it matters, in one line.
    pub why: &'static str,
    /// Whether latido needs the answer to judge the machine's fitness.
    pub decides: bool,
    /// The least demanding use that a warning here rules out.
    pub rules_out: Option<Purpose>,
    look: fn(&MachineView) -> Answer,
}

/// What the questions examine.
pub struct MachineView<'a> {
    /// The files.
    pub root: &'a Root,
    /// The snapshot.
    pub machine: &'a Machine,
    /// The CPUs to be measured, where they were named.
    pub cpus: Option<CpuSet>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    severity: Severity,
    state: String,
    remedies: Vec<Remedy>,
}

impl Answer {
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

    fn tune_for_busy(mut self, word: impl Into<String>) -> Self {
        self.remedies.push(Remedy::TuneForBusy(word.into()));
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

/// Asks every question.
pub fn points(root: &Root, machine: &Machine, cpus: Option<&CpuSet>) -> Vec<Point> {
    let of_core: &[Question] = if machine.core.is_some() { &cores::QUESTIONS } else { &[] };
    let view = MachineView { root, machine, cpus: cpus.cloned() };
    QUESTIONS.iter().chain(of_core).map(|question| question.ask(&view)).collect()
}

/// Tells whether real-time policies are granted, which limit refuses them, and which command grants them.
pub fn realtime_permission(root: &Root, machine: &Machine) -> Point {
    permission::REALTIME.ask(&MachineView { root, machine, cpus: None })
}

impl Question {
    fn ask(&self, view: &MachineView) -> Point {
        let Answer { severity, state, remedies } = (self.look)(view);
        let (check, why) = (self.name.into(), self.why.into());
        Point { check, severity, state, why, remedies, decides: self.decides, rules_out: self.rules_out }
    }
}

/// Examines a running program, given its number or name.
///
/// # Errors
/// There is no such process, or several have the name.
pub fn process(root: &Root, word: &str) -> anyhow::Result<(Process, Vec<Point>)> {
    let process = process::read(root, process::find(root, word)?)?;
    let points = process_points::points(root, &machine::read(root), &process);
    Ok((process, points))
}
