//! The kernel's own work on a CPU: its tick, its RCU callbacks, its read-side sections.

use super::{Answer, MachineView, Question};
use latido_model::check::Severity;

/// Whether only one CPU is online: it must do all work.
fn alone(view: &MachineView) -> bool {
    view.machine.cpu.online.as_ref().is_some_and(|online| online.len() == 1)
}

/// Returns the CPUs that a parameter should name: the isolated ones, else the last one.
fn wanted(view: &MachineView) -> String {
    let isolated = view.machine.isolation.cpus();
    let last = || view.machine.cpu.online.as_ref().and_then(|online| online.iter().last());
    match isolated.is_empty() {
        false => isolated.to_string(),
        true => last().map_or_else(|| "N".into(), |cpu| cpu.to_string()),
    }
}

fn is_on(view: &MachineView, option: &str) -> Option<bool> {
    view.machine.config.as_ref()?.is_on(option)
}

pub const TICKLESS: Question = Question {
    name: "full tickless",
    why: "On other CPUs the tick interrupts a busy task 100 to 1000 times per second.",
    decides: false,
    rules_out: None,
    look: tickless,
};

fn tickless(view: &MachineView) -> Answer {
    let isolation = &view.machine.isolation;
    match (&isolation.nohz_full, is_on(view, "NO_HZ_FULL")) {
        (Some(cpus), _) if !cpus.is_empty() => Answer::ok(format!("CPUs {cpus}, while one task runs there")),
        (None, None) => Answer::unknown("neither /proc/cmdline nor the kernel's configuration is readable"),
        _ if alone(view) => Answer::ok("no CPU; the only CPU keeps its tick"),
        (_, Some(false)) => Answer::new(Severity::Advice, "not in this kernel; it hardly affects periodic tasks")
            .advise("for busy loops use a kernel built with CONFIG_NO_HZ_FULL=y"),
        _ => Answer::new(Severity::Advice, "no CPU; it hardly affects periodic tasks")
            .boot(format!("nohz_full={}", wanted(view))),
    }
}

pub const CALLBACKS: Question = Question {
    name: "RCU callbacks",
    why: "They run in soft interrupts of the CPU that queued them, unless they are offloaded.",
    decides: false,
    rules_out: None,
    look: callbacks,
};

fn callbacks(view: &MachineView) -> Answer {
    let isolation = &view.machine.isolation;
    let Some(offloaded) = &isolation.rcu_nocbs else { return Answer::unknown("/proc/cmdline is not readable") };
    // The kernel offloads tickless CPUs even if no parameter names them (Documentation/timers/no_hz.rst).
    match (offloaded.as_str(), &isolation.nohz_full) {
        ("", Some(tickless)) if !tickless.is_empty() => {
            Answer::ok(format!("offloaded from CPUs {tickless}, by nohz_full"))
        }
        ("", _) if alone(view) => Answer::ok("on the only CPU"),
        ("", _) if is_on(view, "RCU_NOCB_CPU") == Some(false) => {
            Answer::new(Severity::Advice, "on every CPU; this kernel cannot offload them")
                .advise("use a kernel built with CONFIG_RCU_NOCB_CPU=y")
        }
        ("", _) => Answer::new(Severity::Advice, "on every CPU").boot(format!("rcu_nocbs={}", wanted(view))),
        (cpus, _) => Answer::ok(format!("offloaded from CPUs {cpus}")),
    }
}

pub const PREEMPTIBLE: Question = Question {
    name: "preemptible RCU",
    why: "Without it the kernel cannot preempt a task in a section that RCU protects.",
    decides: false,
    rules_out: None,
    look: preemptible,
};

fn preemptible(view: &MachineView) -> Answer {
    match is_on(view, "PREEMPT_RCU") {
        None => Answer::unknown("the kernel's configuration is not readable"),
        Some(true) => Answer::ok("yes"),
        Some(false) => {
            Answer::new(Severity::Advice, "no").advise("use a preemptible kernel, which has CONFIG_PREEMPT_RCU=y")
        }
    }
}
