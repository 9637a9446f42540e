//! The scheduler: what takes time from real-time tasks, and what else runs.

use super::{Answer, MachineView, Question};
use crate::machine::isolated;
use latido_model::{
    check::{Purpose, Severity},
    cpus::CpuSet,
    machine::{FairServer, Layer},
    units::many,
};

pub const THROTTLE: Question = Question {
    name: "real-time throttle",
    why: "It stops real-time tasks that exceed this share, for tens of milliseconds each second.",
    decides: false,
    rules_out: None,
    look: throttle,
};

fn throttle(view: &MachineView) -> Answer {
    let limits = &view.machine.realtime;
    let (Some(runtime), Some(period)) = (limits.runtime_us, limits.period_us) else {
        return Answer::unknown("/proc/sys/kernel/sched_rt_runtime_us is not readable");
    };
    // Without debugfs the other half of this tuning would be refused.
    let server = if matches!(limits.fair_server, FairServer::Unknown { .. }) { ",server=as-is" } else { "" };
    let off = format!("throttle:off{server}");
    let share = format!("{} ms of {} ms", runtime as f64 / 1e3, period as f64 / 1e3);
    match limits.throttles(&view.machine.kernel) {
        Some(false) if runtime < 0 || runtime >= period => Answer::ok("off"),
        Some(false) => Answer::ok(format!("{share}, which this kernel (6.12 or newer) no longer enforces")),
        Some(true) => Answer::new(Severity::Advice, format!("{share}; it affects busy loops, not periodic tasks"))
            .tune_for_busy(off),
        None => Answer::unknown(format!("{share}; whether this kernel enforces it is not readable")).tune_for_busy(off),
    }
}

pub const FAIR_SERVER: Question = Question {
    name: "fair server",
    why: "Since Linux 6.12 it takes time from busy real-time tasks when other tasks starve.",
    decides: false,
    rules_out: None,
    look: fair_server,
};

fn fair_server(view: &MachineView) -> Answer {
    match &view.machine.realtime.fair_server {
        FairServer::Unknown { reason } => {
            let answer = Answer::unknown(reason.clone());
            match reason.as_str() {
                FairServer::NOT_MOUNTED => answer.run("sudo mount -t debugfs debugfs /sys/kernel/debug"),
                FairServer::ONLY_ROOT => answer.run("sudo latido check"),
                _ => answer,
            }
        }
        known if known.is_active() == Some(true) => {
            Answer::new(Severity::Advice, format!("{known}; it affects busy loops, not periodic tasks"))
                .tune_for_busy("throttle:off")
        }
        known => Answer::ok(known.to_string()),
    }
}

pub const ISOLATION: Question = Question {
    name: "isolated CPUs",
    why: "On an isolated CPU a real-time task meets no other tasks and few interrupts.",
    decides: false,
    rules_out: None,
    look: isolation,
};

fn isolation(view: &MachineView) -> Answer {
    let isolation = &view.machine.isolation;
    if isolation.isolated.is_none() && isolation.partitions.is_none() {
        return Answer::unknown("/sys/devices/system/cpu/isolated is not readable");
    }
    let isolated = isolation.cpus();
    if !isolated.is_empty() {
        // CPUs of a partition are in no cpuset except the partition's. But a thread can enter CPUs that latido isolated through an
        // [`isolated::Entry`].
        let doors = isolated::entries(view.root);
        let behind: CpuSet = doors.iter().flat_map(|door| door.cpus.iter()).collect();
        let shut = match &view.machine.cpu.usable {
            Some(usable) => isolated.without(usable).without(&behind),
            None => CpuSet::default(),
        };
        let open = isolated.without(&shut);
        let measure = if open.is_empty() { String::new() } else { format!("; measure them with --cpus {open}") };
        if shut.is_empty() {
            return Answer::ok(format!("{isolated}{measure}"));
        }
        return Answer::new(Severity::Advice, format!("{isolated}; latido's cpuset does not allow {shut}{measure}"))
            .advise(format!("to measure CPU {shut}, start latido in the control group that owns it"));
    }
    let online = view.machine.cpu.online.clone().unwrap_or_default();
    match online.iter().last() {
        Some(last) if online.len() > 1 => {
            // Kernels built without full tickless complain about its parameter.
            let tickless = view.machine.config.as_ref().and_then(|config| config.is_on("NO_HZ_FULL")) != Some(false);
            let tickless = if tickless { format!(" nohz_full={last} rcu_nocbs={last}") } else { String::new() };
            Answer::new(Severity::Advice, "none")
                .tune(format!("isolate:{last}"))
                .boot(format!("isolcpus=domain,managed_irq,{last}{tickless}"))
        }
        _ => Answer::ok("none; this machine has only one CPU"),
    }
}

pub const LOAD: Question = Question {
    name: "load now",
    why: "Other running tasks change the result of the measurement.",
    decides: false,
    rules_out: Some(Purpose::SoftDeadlines),
    look: load,
};

fn load(view: &MachineView) -> Answer {
    let text = view.root.read("proc/loadavg").unwrap_or_default();
    let average: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    let (Some(average), Some(online)) = (average, &view.machine.cpu.online) else {
        return Answer::unknown("/proc/loadavg or the list of CPUs is not readable");
    };
    let cpus = online.len();
    let host = if matches!(view.machine.container, Some(Layer::Present(_))) { ", of the whole host" } else { "" };
    // proc_loadavg(5): running and existing tasks. The task that reads is running too.
    let running = text.split_whitespace().nth(3).and_then(|word| word.split_once('/')?.0.parse::<u64>().ok());
    let now = running.map_or_else(String::new, |count| format!("; {} now", count.saturating_sub(1)));
    let state = format!("{average:.2} tasks on {} in the last minute{now}{host}", many(cpus, "CPU"));
    let each = average / cpus as f64;
    let severity = match each {
        ..0.25 => return Answer::ok(state),
        ..0.75 => Severity::Advice,
        _ => Severity::Warning,
    };
    Answer::new(severity, state).run("ps -eo pcpu,pid,comm --sort=-pcpu | head").advise("stop tasks that need not run")
}

pub const GROUPS: Question = Question {
    name: "RT group scheduling",
    why: "Each control group needs its own real-time budget, and most groups have none.",
    decides: false,
    rules_out: None,
    look: groups,
};

fn groups(view: &MachineView) -> Answer {
    let limits = &view.machine.realtime;
    match (limits.group_scheduling, &limits.group_budget) {
        (None, _) => Answer::unknown("neither the control groups nor the kernel's configuration is readable"),
        (Some(false), _) => Answer::ok("off"),
        (Some(true), Some(budget)) => {
            // If a group has less than all tasks together, its budget stops it before the throttle stops any task. Without a throttle no
            // group is stopped.
            let less = budget.runtime_us == 0 || limits.runtime_us.is_some_and(|all| budget.runtime_us < all);
            let severity = if less { Severity::Warning } else { Severity::Advice };
            let state = format!("on; this group has {} µs of each period ({})", budget.runtime_us, budget.group);
            let answer =
                Answer::new(severity, state).boot("rt_group_sched=0").advise("the parameter needs Linux 6.16 or newer");
            match less {
                true => answer.advise("or move the shell to the root group, which has the full budget"),
                false => answer,
            }
        }
        (Some(true), None) => {
            Answer::new(Severity::Advice, "on; this group has the full budget").boot("rt_group_sched=0")
        }
    }
}

pub const SLACK: Question = Question {
    name: "timer slack",
    why: "Timers of time-sharing threads may be late by this time; real-time threads have no slack.",
    decides: false,
    rules_out: None,
    look: slack,
};

/// The kernel's default (PR_SET_TIMERSLACK(2const)).
const USUAL_SLACK_NS: u64 = 50_000;

fn slack(view: &MachineView) -> Answer {
    match view.machine.realtime.timer_slack_ns {
        None => Answer::unknown("/proc/self/timerslack_ns is not readable"),
        Some(ns) if ns > USUAL_SLACK_NS => {
            let state = format!("{} µs, more than the usual 50", ns / 1000);
            Answer::new(Severity::Advice, state).run("echo 50000 | sudo tee /proc/$$/timerslack_ns")
        }
        Some(ns) => Answer::ok(format!("{} µs, for time-sharing threads only", ns as f64 / 1e3)),
    }
}

pub const INHERITANCE: Question = Question {
    name: "priority inheritance",
    why: "Without it a low-priority task that holds a lock delays a high-priority task without bound.",
    decides: false,
    rules_out: Some(Purpose::HardDeadlines),
    look: inheritance,
};

fn inheritance(view: &MachineView) -> Answer {
    let Some(config) = &view.machine.config else {
        return Answer::unknown("the kernel's configuration is not readable");
    };
    // FUTEX_PI is a separate option since Linux 4.14. Before, RT_MUTEXES alone implies it.
    match config.is_on("FUTEX_PI") == Some(true) || config.is_on("RT_MUTEXES") == Some(true) {
        true => Answer::ok("available to programs (PTHREAD_PRIO_INHERIT)"),
        false => {
            Answer::new(Severity::Warning, "not in this kernel").advise("use a kernel built with CONFIG_FUTEX_PI=y")
        }
    }
}
