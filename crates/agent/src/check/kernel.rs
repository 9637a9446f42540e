//! The kernel: preemption model, timers, clock source, debugging options.

use super::{Answer, MachineView, Question};
use crate::machine::parameter;
use latido_model::{
    check::{Purpose, Severity},
    machine::{Cost, Layer, Model},
};
use latido_sys::clock::{self, Grain};

pub const PREEMPTION: Question = Question {
    name: "preemption model",
    why: "It bounds how long kernel work for other tasks delays a real-time task.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: preemption,
};

fn preemption(view: &MachineView) -> Answer {
    let Some(found) = &view.machine.preemption else {
        return Answer::unknown("the kernel's version and configuration are not readable");
    };
    let severity = match found.model {
        Model::Rt => Severity::Ok,
        Model::Full | Model::Lazy => Severity::Advice,
        Model::None | Model::Voluntary | Model::NoneOrVoluntary => Severity::Warning,
        Model::Dynamic => Severity::Unknown,
    };
    let mut answer = Answer::new(severity, format!("{}, says {}", found.model, found.source));
    if found.model == Model::Rt {
        return answer;
    }
    if found.dynamic && matches!(severity, Severity::Warning | Severity::Unknown) {
        answer = answer.boot("preempt=full");
        // Some hosts of virtual machines refuse the file even to root; the tuning would then be refused too.
        if view.root.read("sys/kernel/debug/sched/preempt").is_some() {
            answer = answer.tune("preempt:full");
        }
    }
    // A container's packages bring no kernel.
    let contained = matches!(view.machine.container, Some(Layer::Present(_)));
    let debian = view.machine.distribution.as_deref().is_some_and(|name| name.contains("Debian")) && !contained;
    match view.machine.architecture.as_deref() {
        Some("x86_64") if debian => answer.run("sudo apt-get install linux-image-rt-amd64"),
        Some("aarch64") if debian => answer.run("sudo apt-get install linux-image-rt-arm64"),
        _ => answer.advise("use a kernel built with CONFIG_PREEMPT_RT, which has the lowest bounds"),
    }
}

pub const TIMERS: Question = Question {
    name: "high-resolution timers",
    why: "Without them every timer waits for the next tick, 1 to 10 ms.",
    decides: true,
    rules_out: None,
    look: timers,
};

fn timers(view: &MachineView) -> Answer {
    let off = |state: String| Answer::new(Severity::Unfit, state);
    if let Some(clock) = view.root.asked(|kernel| kernel.clock()) {
        // The kernel reports the tick as resolution while timers wait for it (hrtimer_get_res).
        return match clock.resolution_ns() {
            1 => Answer::ok("on, resolution 1 ns"),
            ns => off(format!("off: the clock's resolution is {ns} ns"))
                .advise("use a kernel built with CONFIG_HIGH_RES_TIMERS=y, booted without highres=off"),
        };
    }
    let line = view.machine.command_line.as_deref().unwrap_or_default();
    if parameter(line, "highres") == Some("off") {
        return off("off by the boot parameter highres=off".into()).advise("remove highres=off");
    }
    match view.machine.config.as_ref().map(|config| (config.is_on("HIGH_RES_TIMERS"), &config.source)) {
        Some((Some(true), source)) => Answer::ok(format!("on, says {source}")),
        Some((Some(false), source)) => {
            off(format!("off, says {source}")).advise("use a kernel built with CONFIG_HIGH_RES_TIMERS=y")
        }
        _ => Answer::unknown("the kernel's configuration is not readable"),
    }
}

pub const CLOCK: Question = Question {
    name: "clock source",
    why: "Every sample takes two readings of this clock; a slow or coarse clock affects all samples.",
    decides: true,
    rules_out: None,
    look: clock,
};

/// A clock with a larger step cannot distinguish a good latency from a bad one. A reading that costs more is itself a bad latency.
const COARSE_NS: f64 = 10_000.0;
const SLOW_NS: f64 = 500.0;

/// Measures the cost and the step of a clock reading on the running machine.
fn measured(view: &MachineView) -> Option<Grain> {
    view.root.asked(|kernel| kernel.clock()).map(|clock| clock::grain(1.0, || clock.now()))
}

fn clock(view: &MachineView) -> Answer {
    let clock = &view.machine.clock;
    let Some(current) = clock.current.as_deref() else {
        return Answer::unknown("/sys/devices/system/clocksource is not readable");
    };
    let has_tsc = clock.available.iter().any(|name| name == "tsc");
    let switch = |answer: Answer| {
        if has_tsc {
            answer.run("echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
        } else {
            answer
                .run("sudo dmesg | grep -iE 'tsc|clocksource'")
                .advise("read in this log why the kernel rejected the TSC")
        }
    };
    match current {
        "jiffies" | "refined-jiffies" => {
            switch(Answer::new(Severity::Unfit, format!("{current}, as coarse as a tick")))
        }
        "hpet" | "acpi_pm" => switch(Answer::new(Severity::Warning, format!("{current}, a microsecond per reading"))),
        "kvm-clock" | "xen" if has_tsc => {
            switch(Answer::new(Severity::Advice, format!("{current}, although tsc is available")))
        }
        _ => match measured(view) {
            None => Answer::ok(current),
            Some(grain) => {
                let state = format!("{current}, {:.0} ns per reading, step {:.0} ns", grain.cost_ns, grain.step_ns);
                if grain.step_ns > COARSE_NS {
                    switch(Answer::new(Severity::Unfit, format!("{state}: too coarse")))
                } else if grain.cost_ns > SLOW_NS {
                    switch(Answer::new(Severity::Warning, format!("{state}: too slow")))
                } else {
                    Answer::ok(state)
                }
            }
        },
    }
}

pub const DEBUGGING: Question = Question {
    name: "kernel debugging",
    why: "Lock and memory debugging lengthens exactly the sections that decide latencies.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: debugging,
};

fn debugging(view: &MachineView) -> Answer {
    let Some(config) = &view.machine.config else {
        return Answer::unknown("neither /proc/config.gz nor the configuration in /boot is readable")
            .run("sudo modprobe configs");
    };
    let on: Vec<_> = config.debugging().collect();
    if on.is_empty() {
        return Answer::ok(format!("no costly option, says {}", config.source));
    }
    let heavy = on.iter().any(|(_, cost)| *cost == Cost::Heavy);
    let names: Vec<String> = on.iter().map(|(name, _)| format!("CONFIG_{name}")).collect();
    let severity = if heavy { Severity::Unfit } else { Severity::Warning };
    Answer::new(severity, names.join(" ")).advise("measure on a kernel built without these options")
}
