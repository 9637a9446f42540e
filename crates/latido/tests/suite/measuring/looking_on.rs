//! Probes that watch passively, with the tracefs of this machine: they count what other tools find in the same trace, they start, follow
//! and end programs, and they report what does not exist.

use crate::common::attacker;
use crate::common::behind;
use crate::common::{self, Need};

use behind::Behind;
use common::{Background, World, ended, installed, root, skip, stderr, until};
use latido_agent::machine::{Root, tracefs::Tracefs};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Whether root can record traces on this machine; if not, the test is noted as skipped.
pub(super) fn traced(what: &str) -> bool {
    if !root(what) {
        return false;
    }
    match Tracefs::find(&Root::default()) {
        Ok(_) => true,
        Err(error) => {
            skip(what, Need::Tracefs, &format!("{error:#}"));
            false
        }
    }
}

/// Runs a cell and returns its record.
fn record<'a>(world: &World, line: impl IntoIterator<Item = &'a str>) -> Value {
    let output = world.run(line);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    document["records"][0].clone()
}

/// The error of a run that measures nothing.
fn complaint<'a>(world: &World, line: impl IntoIterator<Item = &'a str>) -> String {
    let output = world.run(line);
    assert!(!output.status.success(), "{}", stderr(&output));
    stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn series<'a>(record: &'a Value, quantity: &str, label: &str, value: &str) -> &'a Value {
    let all = record["series"].as_array().unwrap_or_else(|| panic!("{record}"));
    let found = all.iter().find(|one| one["quantity"] == quantity && one["labels"][label] == value);
    found.unwrap_or_else(|| panic!("no {quantity} of {value}: {}", record["series"]))
}

/// The sum of a series, rounded to a whole number.
fn sum(series: &Value) -> u64 {
    (series["mean"].as_f64().unwrap_or(0.0) * series["count"].as_u64().unwrap() as f64).round() as u64
}

/// A line of `trace-cmd report`.
enum Line {
    /// A waking or a wake-up: whether it is the first, and the pid of the task.
    Woken(bool, i32),
    /// A switch: the pid that leaves, whether it would go on, the pid that comes, and its priority.
    Switch(i32, bool, i32, i32),
}

/// The scheduler's events that trace-cmd reads from a trace, with their times in ns.
fn by_trace_cmd(file: &Path) -> Vec<(u64, Line)> {
    let output = Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<(u64, Line)> {
    let rest = text.get(text.find("] ")? + 2..)?.trim_start();
    let (time, rest) = rest.split_once(": ")?;
    let (seconds, ns) = time.split_once('.')?;
    let time = seconds.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?;
    let (event, rest) = rest.split_once(':')?;
    // `name with spaces:12 [120]`, perhaps followed by a state.
    let side = |side: &str| -> Option<(i32, i32)> {
        let (name, priority) = side.rsplit_once(" [")?;
        Some((name.rsplit_once(':')?.1.parse().ok()?, priority.split(']').next()?.parse().ok()?))
    };
    Some((
        time,
        match event.trim() {
            "sched_waking" => Line::Woken(true, rest.rsplit_once(" pid=")?.1.split(' ').next()?.parse().ok()?),
            "sched_wakeup" | "sched_wakeup_new" => Line::Woken(false, side(rest)?.0),
            "sched_switch" => {
                let (from, to) = rest.split_once(" ==> ")?;
                let (to, priority) = side(to)?;
                Line::Switch(
                    side(from)?.0,
                    from.trim_end().ends_with('R') || from.trim_end().ends_with("R+"),
                    to,
                    priority,
                )
            }
            _ => return None,
        },
    ))
}

/// The state of a task, according to the text.
#[derive(Clone, Copy, Default, PartialEq)]
enum At {
    #[default]
    Idle,
    Woken(u64),
    Preempted,
    Runs,
    RunsWoken,
}

/// The waits after wake-ups in a span of time: start, end, pid, priority.
fn wakeups(lines: &[(u64, Line)], from: u64, until: u64) -> Vec<(u64, u64, i32, i32)> {
    let (mut at, mut found) = (BTreeMap::<i32, At>::new(), Vec::new());
    for (time, line) in lines {
        match *line {
            Line::Woken(first, pid) => {
                let at = at.entry(pid).or_default();
                *at = match (*at, first) {
                    (At::Idle, _) => At::Woken(*time),
                    (At::Runs, true) => At::RunsWoken,
                    (At::RunsWoken, false) => At::Runs,
                    (other, _) => other,
                };
            }
            Line::Switch(leaves, would_go_on, comes, priority) => {
                if leaves != 0 {
                    let at = at.entry(leaves).or_default();
                    *at = match (would_go_on, *at) {
                        (true, _) => At::Preempted,
                        (false, At::RunsWoken) => At::Woken(*time),
                        (false, _) => At::Idle,
                    };
                }
                if comes != 0
                    && let At::Woken(begin) = at.insert(comes, At::Runs).unwrap_or_default()
                    && begin >= from
                    && *time <= until
                {
                    found.push((begin, *time, comes, priority));
                }
            }
        }
    }
    found
}

/// The span in which a record's samples were counted, on the trace's clock.
fn counted(record: &Value) -> (u64, u64) {
    let from = record["anchors"]["monotonic_ns"].as_u64().unwrap();
    (from, from + record["elapsed_ns"].as_u64().unwrap())
}

/// Under a load, the counts, sums and maxima of wake-ups per class agree with trace-cmd's reading of the same trace.
#[test]
fn waits_are_those_that_trace_cmd_s_text_tells() {
    let what = "scheduling against trace-cmd";
    if !traced(what) || !installed("trace-cmd", what) || !installed("stress-ng", what) {
        return;
    }
    let world = World::new();
    // Eight threads at most: in this time they make fewer events than a ring can contain (16 MiB per CPU), so that none is lost, however
    // late latido reads the rings.
    let load = "--load=stress-ng:sleep=2,sleep-max=4";
    let line = ["run", "scheduling", "-d500ms", "--trace=sched_switch", load, "--json"];
    let record = record(&world, line);
    let trace = &record["quality"]["trace"];
    let lost: u64 = trace["cpus"].as_array().unwrap().iter().map(|cpu| cpu["lost"].as_u64().unwrap()).sum();
    assert_eq!(lost, 0, "{trace}");
    let (from, until) = counted(&record);
    let all = wakeups(&by_trace_cmd(&world.runs()[0].join("cells/001/trace.dat")), from, until);
    assert!(!all.is_empty(), "no wake-up in half a second beside a load: the test proves nothing");
    for (class, priorities) in [("fair", 100..140), ("real-time", 0..100)] {
        let waits: Vec<u64> =
            all.iter().filter(|(.., prio)| priorities.contains(prio)).map(|(begin, end, ..)| end - begin).collect();
        if waits.is_empty() {
            continue;
        }
        // The series of the class, not of a single task.
        let of_class = |one: &&Value| {
            one["quantity"] == "wakeup" && one["labels"]["class"] == class && one["labels"].get("task").is_none()
        };
        let own = record["series"].as_array().unwrap().iter().find(of_class).unwrap();
        let (count, max) = (own["count"].as_u64().unwrap(), own["max"].as_u64().unwrap());
        assert_eq!((count, max), (waits.len() as u64, *waits.iter().max().unwrap()), "{class}");
        assert_eq!(sum(own), waits.iter().sum::<u64>(), "{class}");
    }
    // This probe has no measuring threads, so `show` reports nothing about them.
    let shown = world.run(["show", "--full", "last"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("scheduling") && !shown.contains("page faults"), "{shown}");
}

/// Each activation of a program has its wake-up as in trace-cmd's text, no wake-up is longer than the largest that the program itself
/// measured, slots add up, and latido keeps what the program printed.
#[test]
fn a_program_is_watched_from_its_start_to_its_end() {
    let what = "cyclictest watched";
    if !traced(what) || !installed("cyclictest", what) || !installed("trace-cmd", what) {
        return;
    }
    let world = World::new();
    let line = ["run", "task", "period=2ms", "-d5m", "--warmup=300ms", "--trace", "--json", "--", "cyclictest"];
    let record = record(&world, line.into_iter().chain(["-p", "80", "-i", "2000", "-D", "2", "-q"]));
    let cell = world.runs()[0].join("cells/001");
    let said = fs::read_to_string(cell.join("program.txt")).unwrap();
    let most = said.split("Max:").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let most: u64 = most.parse().unwrap_or_else(|_| panic!("{said}"));
    let (from, until) = counted(&record);
    assert!(until - from < 300_000_000_000, "the cell ends with the program, and not with its 5 minutes");
    // The real-time thread is the measuring one.
    let all = record["series"].as_array().unwrap();
    let completion = all.iter().find(|one| one["quantity"] == "completion").unwrap();
    let name = completion["labels"]["task"].as_str().unwrap();
    let of = |quantity| series(&record, quantity, "task", name);
    let response = of("response");
    let facts = &completion["facts"];
    let slots = &completion["slots"];
    let slot = |key: &str| slots[key].as_u64().unwrap();
    assert_eq!(slot("met") + slot("late") + slot("missed"), facts["expected"].as_u64().unwrap());
    assert_eq!(slot("met") + slot("late"), facts["seen"].as_u64().unwrap());
    assert_eq!(facts["exit_status"], 0);
    // The wake-ups of one thread and its neighbours in a second fill only a small part of a ring.
    assert_eq!((&facts["lost"], &facts["voided"]), (&0.into(), &0.into()), "{facts}");
    if facts["unseen"] != 0 {
        biased_parts_are_not_told(
            &record,
            name,
            facts["unseen"].as_u64().unwrap(),
            response["count"].as_u64().unwrap(),
        );
        return skip(what, Need::Tracefs, "this kernel keeps some of its switches out of traces");
    }
    let wakeup = of("wakeup");
    assert!(wakeup["max"].as_u64().unwrap() / 1000 <= most + 1, "{said}: {wakeup}");
    let parts = ["wakeup", "running", "preempted"].map(|quantity| sum(of(quantity))).iter().sum::<u64>();
    assert!(parts.abs_diff(sum(response)) <= 3, "{parts} {response}");
    // Exactly one task has these wake-ups. The last one may end with the thread, and has no response.
    let mut by_task = BTreeMap::<i32, Vec<u64>>::new();
    for (begin, end, pid, _) in wakeups(&by_trace_cmd(&cell.join("trace.dat")), from, until) {
        by_task.entry(pid).or_default().push(end - begin);
    }
    let (count, unfinished) = (response["count"].as_u64().unwrap(), facts["unfinished"].as_u64().unwrap());
    let same = by_task.values().filter(|waits| {
        let without = waits.len() as u64 - count.min(waits.len() as u64);
        without <= unfinished && waits.len() as u64 >= count && waits.contains(&wakeup["max"].as_u64().unwrap())
    });
    assert_eq!(same.count(), 1, "{count} {unfinished}");
}

/// If the kernel left out the switch to the thread in more than one activation in a hundred, the few with a switch would give a biased
/// measurement: latido reports only the responses, and says why.
fn biased_parts_are_not_told(record: &Value, name: &str, unseen: u64, count: u64) {
    let parts = record["series"].as_array().unwrap().iter().filter(|one| {
        one["labels"]["task"] == name && ["wakeup", "running", "preempted"].iter().any(|part| one["quantity"] == *part)
    });
    let said = format!("wakeup, running and preempted of `{name}`");
    let is_said = record["skipped"].as_array().unwrap().iter().any(|skip| skip["what"] == said.as_str());
    let biased = unseen > count / 100;
    assert_eq!((parts.count(), is_said), if biased { (0, true) } else { (3, false) }, "{unseen} of {count}: {record}");
}

/// latido ends a program that goes on at the end of its run, with everything that the program started; also if latido is killed.
#[test]
fn no_program_outlives_its_run() {
    if !traced("programs are ended") {
        return;
    }
    let world = World::new();
    let marked = world.path("marked-sleep");
    fs::copy("/bin/sleep", &marked).unwrap();
    let (path, loops) = (marked.display().to_string(), "while :; do sleep 0.02; done");
    let script = format!("{path} 600 & {loops}");
    let there = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|one| fs::read(one.path().join("cmdline")).unwrap_or_default().starts_with(path.as_bytes())).count()
    };
    let record = record(&world, ["run", "task", "-d400ms", "--json", "--", "chrt", "-f", "10", "sh", "-c", &script]);
    assert_eq!(record["outcome"]["kind"], "complete");
    assert_eq!(there(), 0);
    let mut run = world.latido(["run", "task", "-d60s", "--", "sh", "-c", &script]).spawn().unwrap();
    common::meanwhile(&mut run, "the program", || (there() > 0).then_some(()));
    run.kill().unwrap();
    ended(run, "a killed run");
    until("the end of the program", || (there() == 0).then_some(()));
}

/// Behind sudo a program runs as the person.
#[test]
fn behind_sudo_the_program_is_the_person_s() {
    if !traced("a program behind sudo") {
        return;
    }
    let Some(behind) = Behind::new("a program behind sudo") else { return };
    // The run ends when the program ends.
    let script = "id -u; id -g; cat /etc/shadow; for nap in $(seq 100); do sleep 0.02; done";
    let output = behind.run(["run", "task", "-d9m", "--warmup=0ns", "--no-report", "--", "sh", "-c", script]);
    assert!(output.status.success(), "{}", stderr(&output));
    let run = fs::read_dir(behind.store().join("runs")).unwrap().flatten().next().unwrap().path();
    let said = fs::read_to_string(run.join("cells/001/program.txt")).unwrap();
    assert!(said.starts_with(&format!("{0}\n{0}\n", attacker::UID)) && !said.contains("root:"), "{said}");
}

/// latido names what does not exist, and suggests what the user may mean.
#[test]
fn what_is_not_there_is_said_to_be_so() {
    if !traced("complaints of probes that look on") {
        return;
    }
    let world = World::new();
    let run = |words: &[&str]| complaint(&world, ["run", "-d300ms"].iter().chain(words).copied());
    let to_its_end = |words: &[&str]| complaint(&world, ["run", "-d9m"].iter().chain(words).copied());
    assert!(run(&["task", "pid=4194305"]).contains("there is no process 4194305"));
    fs::copy("/bin/sleep", world.path("control-loop")).unwrap();
    let there = Background::shell(&format!("exec {} 600", world.path("control-loop").display()));
    let comm = format!("/proc/{}/comm", there.pid());
    until("the program under its name", || {
        fs::read_to_string(&comm).is_ok_and(|name| name == "control-loop\n").then_some(())
    });
    let why = run(&["task", "name=contrl-loop"]);
    assert!(why.contains("no process named `contrl-loop` (did you mean `control-loop`?)"), "{why}");
    let why = run(&["task", "name=control-loop"]);
    assert!(why.contains("no activation of process"), "{why}");
    let why = to_its_end(&["task", "--", "sh", "-c", "echo broken; exit 3"]);
    assert!(why.contains("ended with status 3 before latido counted an activation; it printed: broken"), "{why}");
    let why = run(&["task", "--", "chrt", "-f", "10", "sh", "-c", "while :; do :; done"]);
    assert!(why.contains("without waiting") && why.contains("`latido help command`"), "{why}");
    assert!(run(&["task", "--", "./no-such-program"]).contains("there is no executable program `./no-such-program`"));
    let why = run(&["syscall", "name=clock_nanoslep"]);
    assert!(why.contains("sys_enter_clock_nanosleep"), "{why}");
    assert!(run(&["task"]).contains("pid=N, name=PATTERN, or -- CMD"));
    let why = run(&["scheduling", "--", "sleep", "1"]);
    assert!(why.contains("starts no program"), "{why}");
    assert!(run(&["interrupt", "task=no-such-task"]).contains("no timer woke a thread named `no-such-task`"));
}

/// latido finds system calls by name and by thread, and divides their time into running, asleep, and without a CPU.
#[test]
fn system_calls_are_taken_apart() {
    if !traced("system calls") {
        return;
    }
    let world = World::new();
    let copying = "--load=command:dd if=/dev/zero of=/dev/null bs=1M";
    // Only the calls of `dd`: the probe distinguishes the threads with the most time, and others may sleep longer than it copies.
    let whose = "task=dd";
    let record = record(&world, ["run", "syscall", "name=read,clock_nanosleep", whose, "-d400ms", copying, "--json"]);
    let all = record["series"].as_array().unwrap();
    let own = |quantity: &str| {
        let found = all.iter().find(|one| {
            one["quantity"] == quantity && one["labels"]["name"] == "read" && one["labels"]["task"] == "dd"
        });
        found.unwrap_or_else(|| panic!("{quantity}: {}", record["series"]))
    };
    assert!(own("call")["count"].as_u64().unwrap() > 10);
    let parts = ["running", "blocked", "waiting"].map(|quantity| sum(own(quantity))).iter().sum::<u64>();
    // A call without a recorded switch back to the thread has no parts. Each such call takes at most the longest time.
    let [whole, known] = ["call", "running"].map(|quantity| own(quantity)["count"].as_u64().unwrap());
    let without = (whole - known) * own("call")["max"].as_u64().unwrap();
    assert!(known * 10 > whole * 9, "{known} of {whole} calls have parts");
    assert!((parts - 3..=parts + 3 + without).contains(&sum(own("call"))), "{parts} {}", own("call"));
    assert!(all.iter().all(|one| ["read", "clock_nanosleep"].contains(&one["labels"]["name"].as_str().unwrap())));
}

/// latido divides the way from a timer to its task into stages that add up, and names interrupts by kind and name.
#[test]
fn the_way_from_a_timer_to_its_task_adds_up() {
    if !traced("interrupts") {
        return;
    }
    let world = World::new();
    fs::copy("/bin/sleep", world.path("napper")).unwrap();
    let _naps = Background::shell(&format!("while :; do chrt -f 10 {} 0.01; done", world.path("napper").display()));
    let record = record(&world, ["run", "interrupt", "task=napp*", "-d500ms", "--json"]);
    let all = record["series"].as_array().unwrap();
    let total = |quantity: &str| {
        let of = all.iter().filter(|one| one["quantity"] == quantity);
        of.fold((0, 0), |(count, ns), one| (count + one["count"].as_u64().unwrap(), ns + sum(one)))
    };
    let whole = total("latency");
    let stages = ["expiry", "handler", "waking", "switch"].map(total);
    // Each nap is a separate process: on a busy machine few of them start and end during the measurement.
    assert!(whole.0 > 0, "{whole:?} of {} series", all.len());
    assert!(stages.iter().all(|(count, _)| *count == whole.0), "{stages:?} {whole:?}");
    let slack = 5 * all.len() as u64;
    assert!(stages.iter().map(|(_, ns)| ns).sum::<u64>().abs_diff(whole.1) <= slack, "{stages:?} {whole:?}");
    assert!(all.iter().any(|one| one["quantity"] == "duration" && one["labels"]["kind"] == "soft"), "{all:?}");
}
