//! A real-time core beside the kernel (EVL, Cobalt): its state, its CPUs, and what takes its threads back to the kernel. latido asks these
//! questions only where the kernel has a core.

use super::{Answer, MachineView, Question};
use crate::setting::knob;
use latido_model::{check::Severity, cpus::CpuSet, machine::CoreKind};
use latido_sys::evl;

/// The questions, in the order of the table.
pub const QUESTIONS: [Question; 5] = [CORE, CPUS, CLOCK, GRAVITY, DEBUGGING];

const CORE: Question = Question {
    name: "real-time core",
    why: "With `--policy evl` or `--policy cobalt` it schedules the threads. The throttle, the fair server, PREEMPT_RT and the threads of \
          interrupts concern the kernel's own threads alone.",
    decides: true,
    rules_out: None,
    look: core,
};

/// The versions of Cobalt whose calls latido knows.
const KNOWN_COBALT: [&str; 2] = ["3.2", "3.3"];

fn core(view: &MachineView) -> Answer {
    let Some(core) = &view.machine.core else { return Answer::ok("none") };
    let version = core.version.as_deref().unwrap_or_default();
    let (is_known, known) = match core.kind {
        CoreKind::Evl => (version.parse().is_ok_and(|abi| evl::spoken((abi, abi)).is_ok()), "ABI 27 to 36"),
        CoreKind::Cobalt => (KNOWN_COBALT.iter().any(|one| version.starts_with(one)), "3.2 and 3.3"),
    };
    let (file, running, start) = match core.kind {
        CoreKind::Evl => {
            let file = "/sys/devices/virtual/evl/control/state";
            (file, ["running", "warmup"], "echo start | sudo tee /sys/devices/virtual/evl/control/state")
        }
        CoreKind::Cobalt => ("/sys/module/xenomai/parameters/state", ["enabled", "enabled"], "sudo corectl --start"),
    };
    if !is_known {
        let state = format!("{core}; latido speaks with {known}, which this core may no longer support");
        return Answer::new(Severity::Warning, state)
            .advise("measure with the core's own programs and import their output");
    }
    match view.root.read(file) {
        Some(state) if running.contains(&state.as_str()) => Answer::ok(format!("{core}, {state}")),
        Some(state) => Answer::new(Severity::Warning, format!("{core}, {state}")).run(start),
        None => Answer::unknown(format!("{core}; {file} is not readable")),
    }
}

const CPUS: Question = Question {
    name: "CPUs of the core",
    why: "The core schedules threads on these CPUs alone.",
    decides: false,
    rules_out: None,
    look: cpus,
};

/// Returns the CPUs that the core uses: EVL lists them, Cobalt writes a mask.
fn usable(view: &MachineView) -> Option<CpuSet> {
    match view.machine.core.as_ref()?.kind {
        CoreKind::Evl => view.root.value("/sys/devices/virtual/evl/control/cpus"),
        CoreKind::Cobalt => knob::unmask(&view.root.read("/proc/xenomai/affinity")?).ok(),
    }
}

fn cpus(view: &MachineView) -> Answer {
    let Some(usable) = usable(view) else { return Answer::unknown("the core does not list them") };
    let missing = view.cpus.as_ref().map(|asked| asked.without(&usable)).unwrap_or_default();
    match missing.is_empty() {
        true => Answer::ok(format!("CPUs {usable}")),
        false => Answer::new(Severity::Warning, format!("CPUs {usable}, without CPU {missing}"))
            .advise(format!("measure with --cpus {usable}, or boot with these CPUs for the core")),
    }
}

const CLOCK: Question = Question {
    name: "clock of the core",
    why: "A thread out of band reads the TSC, or the system counter of ARM, without a call. Another clock takes longer, and where a reading \
          is a call, it takes the thread back to the kernel.",
    decides: false,
    rules_out: None,
    look: clock,
};

fn clock(view: &MachineView) -> Answer {
    let Some(current) = view.machine.clock.current.as_deref() else {
        return Answer::unknown("/sys/devices/system/clocksource is not readable");
    };
    match current {
        "tsc" | "tsc-early" | "arch_sys_counter" => Answer::ok(current),
        other => Answer::new(
            Severity::Warning,
            format!("{other}: the check `core` of a run shows whether a reading is a call"),
        )
        .boot("tsc=reliable clocksource=tsc"),
    }
}

const GRAVITY: Question = Question {
    name: "gravity",
    why: "The core sets a program's timers early by this time, so that a latency can be below zero.",
    decides: false,
    rules_out: None,
    look: gravity,
};

fn gravity(view: &MachineView) -> Answer {
    let Some(core) = &view.machine.core else { return Answer::ok("none") };
    match crate::machine::gravity_ns(view.root, core.kind) {
        Some(0) => Answer::ok("0"),
        Some(ns) => Answer::new(Severity::Advice, format!("{ns} ns")).tune("gravity"),
        None => Answer::unknown("the core does not tell it"),
    }
}

const DEBUGGING: Question = Question {
    name: "debugging of the core",
    why: "These options check each call of the core while it runs.",
    decides: false,
    rules_out: None,
    look: debugging,
};

/// Options that check calls of a core: kernel/evl/Kconfig, kernel/xenomai/Kconfig. The watchdogs end a thread that never sleeps.
const OPTIONS: [&str; 6] = [
    "EVL_DEBUG_CORE",
    "EVL_DEBUG_MEMORY",
    "EVL_DEBUG_WOLI",
    "XENO_OPT_DEBUG_COBALT",
    "XENO_OPT_DEBUG_CONTEXT",
    "XENO_OPT_DEBUG_LOCKING",
];

fn debugging(view: &MachineView) -> Answer {
    let Some(config) = &view.machine.config else {
        return Answer::unknown("the kernel's configuration is not readable");
    };
    let on: Vec<String> = OPTIONS
        .iter()
        .filter(|option| config.is_on(option) == Some(true))
        .map(|option| format!("CONFIG_{option}"))
        .collect();
    match on.is_empty() {
        true => Answer::ok("none"),
        false => Answer::new(Severity::Advice, on.join(", ")).advise("measure with a kernel built without them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::points,
        fixture::trees::{self, Tree},
        machine,
    };
    use latido_model::check::Point;

    fn told(tree: &Tree, cpus: &str, name: &str) -> Option<Point> {
        let machine = machine::read(&tree.root);
        points(&tree.root, &machine, cpus.parse().ok().as_ref()).into_iter().find(|point| point.check == name)
    }

    #[test]
    fn the_recorded_cores_are_told() {
        for (tree, name, gravity) in
            [(trees::evl(), "EVL (ABI 36), running", "3000 ns"), (trees::cobalt(), "Cobalt 3.3.1, enabled", "2000 ns")]
        {
            let state = |check: &str| told(&tree, "0", check).map(|point| (point.severity, point.state)).unwrap();
            assert_eq!(state("real-time core"), (Severity::Ok, name.into()));
            assert_eq!(state("CPUs of the core"), (Severity::Ok, "CPUs 0".into()));
            assert_eq!(state("gravity"), (Severity::Advice, gravity.into()));
            let missing = told(&tree, "0-1", "CPUs of the core").unwrap();
            assert_eq!((missing.severity, missing.state.as_str()), (Severity::Warning, "CPUs 0, without CPU 1"));
        }
    }

    #[test]
    fn a_slow_clock_and_a_stopped_core_are_warnings() {
        let clock = |name: &str| {
            let tree = trees::by_hand(&[
                ("sys/devices/virtual/evl/control/abi", "36\n"),
                ("sys/devices/virtual/evl/control/state", "stopped\n"),
                ("sys/devices/system/clocksource/clocksource0/current_clocksource", name),
                ("sys/devices/system/clocksource/clocksource0/available_clocksource", name),
            ]);
            (told(&tree, "0", "clock of the core").unwrap().severity, told(&tree, "0", "real-time core").unwrap())
        };
        assert_eq!(clock("tsc\n").0, Severity::Ok);
        let (severity, core) = clock("hpet\n");
        assert_eq!(
            (severity, core.severity, core.state.as_str()),
            (Severity::Warning, Severity::Warning, "EVL (ABI 36), stopped")
        );
    }

    #[test]
    fn another_abi_is_not_guessed() {
        let tree = trees::by_hand(&[("sys/devices/virtual/evl/control/abi", "43\n")]);
        let point = told(&tree, "0", "real-time core").unwrap();
        assert_eq!(
            (point.severity, point.state.as_str()),
            (Severity::Warning, "EVL (ABI 43); latido speaks with ABI 27 to 36, which this core may no longer support")
        );
    }

    #[test]
    fn an_ordinary_kernel_is_not_asked() {
        let tree = trees::by_hand(&[]);
        let machine = machine::read(&tree.root);
        let all = points(&tree.root, &machine, None);
        assert!(all.iter().all(|point| !point.check.contains("core") && point.check != "gravity"));
    }
}
