//! Power saving: frequency, turbo, idle states.

use super::{Answer, MachineView, Question};
use latido_model::{
    check::Severity,
    machine::{FrequencyPolicy, Layer},
};

pub(super) fn is_guest(view: &MachineView) -> bool {
    matches!(view.machine.hypervisor, Some(Layer::Present(_)))
}

/// Where a guest's kernel manages no power saving, the host may do so.
fn left_to_others(view: &MachineView) -> Answer {
    Answer::ok(if is_guest(view) { "left to the host of this virtual machine" } else { "none in this kernel" })
}

pub const FREQUENCY: Question = Question {
    name: "frequency scaling",
    why: "A CPU that reduced its frequency while idle runs its first instructions slowly.",
    decides: false,
    rules_out: None,
    look: frequency,
};

fn frequency(view: &MachineView) -> Answer {
    let Some(policies) = &view.machine.frequency.policies else {
        return Answer::unknown("/sys/devices/system/cpu is not readable");
    };
    if policies.is_empty() {
        return left_to_others(view);
    }
    let state = view.machine.frequency_summary();
    if fixed(policies) {
        return Answer::ok(state);
    }
    if policies.iter().any(|policy| policy.governor.is_none()) {
        return Answer::unknown(state);
    }
    Answer::new(Severity::Warning, state).tune("frequency:performance")
}

/// Whether the frequency is fixed. A range of one frequency is as good as the governor.
fn fixed(policies: &[FrequencyPolicy]) -> bool {
    policies.iter().all(|policy| {
        policy.governor.as_deref() == Some("performance")
            || (policy.min_khz.is_some() && policy.min_khz == policy.max_khz)
    })
}

pub const TURBO: Question = Question {
    name: "turbo",
    why: "Frequencies above the nominal one depend on the temperature and on the load of other cores.",
    decides: false,
    rules_out: None,
    look: turbo,
};

fn turbo(view: &MachineView) -> Answer {
    let frequency = &view.machine.frequency;
    match (frequency.boost, &frequency.policies) {
        (Some(false), _) => Answer::ok("off"),
        // The tuning that changes the governor also switches turbo off.
        (Some(true), Some(policies)) if !fixed(policies) => {
            Answer::new(Severity::Advice, "on").tune("frequency:performance")
        }
        (Some(true), _) => Answer::new(Severity::Advice, "on").tune("frequency:as-is,turbo=off"),
        (None, Some(policies)) if policies.is_empty() => left_to_others(view),
        (None, Some(_)) => Answer::ok("this machine has no switch for it"),
        (None, None) => Answer::unknown("/sys/devices/system/cpu is not readable"),
    }
}

pub const IDLE: Question = Question {
    name: "idle states",
    why: "Leaving a deep idle state delays the first wake-up by its exit latency.",
    decides: false,
    rules_out: None,
    look: idle,
};

/// The exit latency in µs up to which an idle state is light: it disappears in the cost of a wake-up.
const LIGHT_US: u64 = 2;

fn idle(view: &MachineView) -> Answer {
    let idle = &view.machine.idle;
    let Some((name, us)) = idle.deepest() else {
        return match (&idle.driver, idle.states.is_empty()) {
            (None, true) => Answer::unknown("/sys/devices/system/cpu/cpuidle is not readable"),
            (_, true) => left_to_others(view),
            _ if idle.states.iter().all(|state| state.disabled == Some(true)) => Answer::ok("all states are off"),
            _ => Answer::unknown("the exit latencies are not readable"),
        };
    };
    let deepest = format!("{name} takes {us} µs to leave");
    if us <= LIGHT_US {
        return Answer::ok(deepest);
    }
    match view.root.writable("dev/cpu_dma_latency") {
        Some(true) => Answer::ok(format!("{deepest}; a run avoids it unless you pass --tune cstates:as-is")),
        Some(false) => Answer::new(Severity::Warning, format!("{deepest}; /dev/cpu_dma_latency is not writable"))
            .run("sudo setfacl -m u:$USER:rw /dev/cpu_dma_latency")
            .advise("run latido with sudo"),
        None => Answer::new(Severity::Warning, format!("{deepest}; there is no /dev/cpu_dma_latency"))
            .advise("start a container with --device=/dev/cpu_dma_latency")
            .tune("cstates:disable"),
    }
}
