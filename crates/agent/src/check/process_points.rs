//! What makes a program unfit for real-time work, and how to fix it.

use super::Answer;
use crate::machine::Root;
use crate::machine::group_limits;
use latido_model::{
    check::{Point, Process, Severity, Thread},
    machine::Machine,
};
use std::collections::BTreeMap;

/// One question about a program.
struct ProgramQuestion {
    name: &'static str,
    why: &'static str,
    decides: bool,
    look: fn(&ProgramView) -> Answer,
}

struct ProgramView<'a> {
    root: &'a Root,
    machine: &'a Machine,
    process: &'a Process,
}

impl ProgramView<'_> {
    fn realtime(&self) -> impl Iterator<Item = &Thread> {
        self.process.threads.iter().filter(|thread| thread.realtime == Some(true))
    }
}

const QUESTIONS: &[ProgramQuestion] = &[
    ProgramQuestion {
        name: "policy",
        why: "A thread without a real-time policy shares the CPU with all other threads.",
        decides: true,
        look: policy,
    },
    ProgramQuestion {
        name: "priority",
        why: "At 99 a thread competes with essential threads of the kernel.",
        decides: false,
        look: priority,
    },
    ProgramQuestion {
        name: "memory locking",
        why: "A page fault costs microseconds to milliseconds.",
        decides: false,
        look: memory,
    },
    ProgramQuestion {
        name: "page faults",
        why: "Each page fault delays the thread; after the start there must be none.",
        decides: false,
        look: faults,
    },
    ProgramQuestion {
        name: "swap",
        why: "Reading a page back from the swap device takes milliseconds.",
        decides: false,
        look: swap,
    },
    ProgramQuestion {
        name: "affinity",
        why: "A thread that migrates loses its caches; a thread alone on a CPU competes with no other.",
        decides: false,
        look: affinity,
    },
    ProgramQuestion {
        name: "preemptions",
        why: "A real-time thread is only preempted by more urgent work, or by the throttle.",
        decides: false,
        look: preemptions,
    },
    ProgramQuestion {
        name: "timer slack",
        why: "The timers of a time-sharing thread may be late by it.",
        decides: false,
        look: slack,
    },
    ProgramQuestion {
        name: "group limits",
        why: "The kernel stops the time-sharing threads of a control group that has used up its quota.",
        decides: false,
        look: limits,
    },
];

/// Asks everything.
pub fn points(root: &Root, machine: &Machine, process: &Process) -> Vec<Point> {
    let asked = ProgramView { root, machine, process };
    let ask = |question: &ProgramQuestion| {
        let Answer { severity, state, remedies } = (question.look)(&asked);
        Point {
            check: question.name.into(),
            severity,
            state,
            why: question.why.into(),
            remedies,
            decides: question.decides,
            rules_out: None,
        }
    };
    QUESTIONS.iter().map(ask).collect()
}

/// Formats some threads as `12 (name)`.
fn named<'a>(threads: impl IntoIterator<Item = &'a Thread>) -> String {
    const MOST: usize = 4;
    let all: Vec<String> = threads.into_iter().map(|thread| format!("{} ({})", thread.tid, thread.name)).collect();
    match all.len().saturating_sub(MOST) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ")),
    }
}

fn policy(asked: &ProgramView) -> Answer {
    let (count, all) = (asked.realtime().count(), asked.process.threads.len());
    if count > 0 {
        return Answer::ok(format!("real-time in {count} of {all}: {}", named(asked.realtime())));
    }
    if asked.process.threads.iter().any(|thread| thread.realtime.is_none()) {
        return Answer::unknown("the policies cannot be read");
    }
    Answer::new(Severity::Unfit, "no thread has a real-time policy")
        .run(format!("sudo chrt -f -p 80 {}", asked.process.pid))
        .advise("the command takes the number of a thread; use it only for threads that have deadlines")
}

fn priority(asked: &ProgramView) -> Answer {
    let top: Vec<&Thread> = asked.realtime().filter(|thread| thread.priority == Some(99)).collect();
    match (top.first(), asked.realtime().filter_map(|thread| thread.priority).max()) {
        (Some(first), _) => Answer::new(Severity::Warning, format!("99 in {}", named(top.iter().copied())))
            .run(format!("sudo chrt -f -p 90 {}", first.tid)),
        (None, Some(highest)) => Answer::ok(format!("at most {highest}")),
        (None, None) => Answer::ok("none"),
    }
}

fn memory(asked: &ProgramView) -> Answer {
    let remedy = "call mlockall(MCL_CURRENT | MCL_FUTURE) at the start of the program";
    match (asked.process.locked_kib, asked.process.resident_kib) {
        (None, _) if asked.process.kernel => Answer::ok("the kernel's memory always stays present"),
        (None, _) => Answer::unknown("its memory is not readable, or it has none"),
        (Some(0), _) => Answer::new(Severity::Warning, "nothing is locked").advise(remedy),
        // Some pages, such as those of devices, are never counted as locked.
        (Some(locked), Some(resident)) if locked < resident / 2 => {
            Answer::new(Severity::Advice, format!("{locked} KiB of {resident} KiB present are locked")).advise(remedy)
        }
        (Some(locked), _) => Answer::ok(format!("{locked} KiB are locked")),
    }
}

fn faults(asked: &ProgramView) -> Answer {
    let sum = |count: fn(&Thread) -> Option<u64>| asked.realtime().filter_map(count).fold(0, u64::saturating_add);
    let (minor, major) = (sum(|thread| thread.minor_faults), sum(|thread| thread.major_faults));
    if asked.realtime().next().is_none() {
        return Answer::ok("no real-time thread");
    }
    let state = format!("{minor} minor and {major} major so far in the real-time threads");
    match major {
        0 => Answer::ok(format!("{state}; check again later, they must not grow")),
        _ => Answer::new(Severity::Advice, format!("{state}; check again later, they must not grow"))
            .advise("lock the memory at the start of the program, and touch the whole stack once"),
    }
}

fn swap(asked: &ProgramView) -> Answer {
    match asked.process.swapped_kib {
        None if asked.process.kernel => Answer::ok("the kernel's memory always stays present"),
        None => Answer::unknown("its memory is not readable, or it has none"),
        Some(0) => Answer::ok("nothing is swapped out"),
        Some(kib) => Answer::new(Severity::Warning, format!("{kib} KiB are swapped out")).run("sudo swapoff -a"),
    }
}

fn affinity(asked: &ProgramView) -> Answer {
    let isolated = asked.machine.isolation.cpus();
    let online = asked.machine.cpu.online.as_ref().map_or(0, |cpus| cpus.len());
    let loose: Vec<&Thread> = asked
        .realtime()
        .filter(|thread| {
            let Some(cpus) = &thread.cpus else { return false };
            cpus.len() > 1 || !(isolated.is_empty() || cpus.without(&isolated).is_empty())
        })
        .collect();
    match loose.first() {
        None if asked.realtime().next().is_none() => Answer::ok("no real-time thread to pin"),
        None => match crowd(asked) {
            Some((cpu, threads)) if online > 1 => {
                Answer::new(Severity::Advice, format!("all bound to CPU {cpu}: {}", named(threads)))
                    .advise("only the most urgent thread on a CPU runs; bind each thread to a different CPU")
            }
            _ => Answer::ok("each real-time thread is bound to one CPU"),
        },
        Some(_) if online == 1 => Answer::ok("there is only one CPU"),
        Some(first) => {
            let free = isolated.iter().next().or_else(|| asked.machine.cpu.online.as_ref()?.iter().last());
            let free = free.map_or_else(|| "N".into(), |cpu| cpu.to_string());
            let whose = named(loose.iter().copied());
            let state = match isolated.is_empty() {
                true => format!("not bound to one CPU: {whose}"),
                false => format!("not bound to one of the isolated CPUs {isolated}: {whose}"),
            };
            // A deadline thread must keep all CPUs of its root domain (sched(7)).
            let deadline = loose.iter().all(|thread| thread.priority.is_none());
            let answer = Answer::new(Severity::Advice, state);
            match deadline {
                true => answer.advise("a deadline thread cannot be pinned, except by an exclusive cpuset"),
                false => answer.run(format!("sudo taskset -cp {free} {}", first.tid)),
            }
        }
    }
}

/// Returns the CPU to which the most real-time threads are pinned, if there are several threads.
fn crowd<'a>(asked: &'a ProgramView) -> Option<(u32, Vec<&'a Thread>)> {
    let mut of_cpu: BTreeMap<u32, Vec<&Thread>> = BTreeMap::new();
    for thread in asked.realtime() {
        let cpus = thread.cpus.iter().filter(|cpus| cpus.len() == 1).flat_map(|cpus| cpus.iter());
        cpus.for_each(|cpu| of_cpu.entry(cpu).or_default().push(thread));
    }
    of_cpu.into_iter().filter(|(_, threads)| threads.len() > 1).max_by_key(|(_, threads)| threads.len())
}

fn preemptions(asked: &ProgramView) -> Answer {
    let preempted: Vec<&Thread> =
        asked.realtime().filter(|thread| thread.involuntary_switches.is_some_and(|count| count > 0)).collect();
    let most = preempted.iter().filter_map(|thread| thread.involuntary_switches).max();
    match most {
        None => Answer::ok("no real-time thread was preempted so far"),
        Some(most) => Answer::new(Severity::Advice, format!("up to {most} per thread so far: {}", named(preempted)))
            .run("ps -eLo rtprio,policy,psr,tid,comm --sort=-rtprio | head")
            .advise("check again while the program runs; each new preemption is a delay by more urgent work"),
    }
}

fn slack(asked: &ProgramView) -> Answer {
    if asked.realtime().count() == asked.process.threads.len() {
        return Answer::ok("real-time threads have none");
    }
    let others = asked.process.threads.iter().filter(|thread| thread.realtime != Some(true));
    match others.filter_map(|thread| Some((thread.timer_slack_ns?, thread))).max_by_key(|(slack, _)| *slack) {
        None => Answer::unknown("only its owner and root may read it")
            .run(format!("sudo latido check --pid {}", asked.process.pid)),
        Some((slack, thread)) if slack > 1 => {
            let state = format!("{} µs in time-sharing threads", slack as f64 / 1e3);
            let severity = if asked.realtime().next().is_some() { Severity::Ok } else { Severity::Advice };
            Answer::new(severity, state).run(format!("echo 1 | sudo tee /proc/{}/timerslack_ns", thread.tid))
        }
        Some(_) => Answer::ok("none"),
    }
}

fn limits(asked: &ProgramView) -> Answer {
    let Some(groups) = asked.process.threads.first().and_then(|thread| thread.cgroup.as_deref()) else {
        return Answer::unknown("its control groups are not readable");
    };
    let found = group_limits(asked.root, groups);
    let text: Vec<String> = found.quotas.iter().map(ToString::to_string).collect();
    match found.quotas.as_slice() {
        [] => Answer::ok("no limit on processor time"),
        quotas => quotas.iter().fold(Answer::new(Severity::Advice, text.join("; ")), |answer, quota| {
            answer.run(format!("echo {} | sudo tee {}", quota.off(), quota.file))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::process,
        check::process::tests::write,
        fixture::machine::{self as fixture, FakeMachine},
        machine,
    };
    use latido_model::check::Fitness;

    fn ask(tree: &FakeMachine) -> Vec<Point> {
        points(&tree.root, &machine::read(&tree.root), &process::read(&tree.root, 77).unwrap())
    }

    fn severity(points: &[Point], name: &str) -> Severity {
        points.iter().find(|point| point.check == name).unwrap().severity
    }

    #[test]
    fn a_program_without_real_time_threads_is_unfit_and_told_how() {
        let tree = fixture::desktop();
        write(&tree, 77, "motor", 0, 0, "0-3");
        let points = ask(&tree);
        assert_eq!(Fitness::of(&points), Fitness::Unfit);
        let policy = &points[0];
        assert_eq!(policy.remedies[0], latido_model::check::Remedy::Run("sudo chrt -f -p 80 77".into()));
        assert_eq!(severity(&points, "timer slack"), Severity::Advice);
    }

    #[test]
    fn each_fault_of_a_real_time_thread_is_found() {
        let tree = fixture::desktop();
        write(&tree, 77, "motor", 0, 0, "0-3");
        write(&tree, 78, "loop", 1, 99, "0-3");
        tree.write("proc/77/status", "Name:\tmotor\nVmLck:\t0 kB\nVmRSS:\t100 kB\nVmSwap:\t8 kB\n");
        tree.write("proc/77/task/77/cgroup", "0::/slow\n");
        tree.write("sys/fs/cgroup/slow/cpu.max", "1000 100000\n");
        let points = ask(&tree);
        assert_eq!(Fitness::of(&points), Fitness::Fit, "warnings, but it is real-time");
        for (name, expected) in [
            ("policy", Severity::Ok),
            ("priority", Severity::Warning),
            ("memory locking", Severity::Warning),
            ("page faults", Severity::Advice),
            ("swap", Severity::Warning),
            ("affinity", Severity::Advice),
            ("preemptions", Severity::Advice),
            ("group limits", Severity::Advice),
        ] {
            assert_eq!(severity(&points, name), expected, "{name}");
        }
        let text = |name: &str| format!("{:?}", points.iter().find(|point| point.check == name).unwrap());
        assert!(text("affinity").contains("sudo taskset -cp 3 78"), "{}", text("affinity"));
    }

    #[test]
    fn isolated_cpus_are_where_it_should_be() {
        let tree = fixture::board();
        write(&tree, 77, "motor", 1, 80, "3");
        assert_eq!(severity(&ask(&tree), "affinity"), Severity::Ok);
        write(&tree, 78, "second", 1, 70, "3");
        let shared = ask(&tree).into_iter().find(|point| point.check == "affinity").unwrap();
        assert_eq!(shared.state, "all bound to CPU 3: 77 (motor), 78 (second)");
        write(&tree, 77, "motor", 1, 80, "1");
        assert_eq!(severity(&ask(&tree), "affinity"), Severity::Advice);
    }

    #[test]
    fn what_cannot_be_read_is_not_judged() {
        let tree = fixture::empty();
        tree.write("proc/77/status", "Name:\tx\n");
        tree.write("proc/77/task/77/stat", "77 (x) S 1\n");
        let points = ask(&tree);
        assert_eq!(Fitness::of(&points), Fitness::Unknown);
        assert_eq!(severity(&points, "memory locking"), Severity::Unknown);
        assert_eq!(severity(&points, "timer slack"), Severity::Unknown);
    }
}
