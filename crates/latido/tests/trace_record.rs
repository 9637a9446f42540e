//! Traces recorded with the tracefs of this machine: alone, beside a measurement, behind sudo, and ended in every way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

#[path = "common/attacker.rs"]
mod attacker;
#[path = "common/behind.rs"]
mod behind;
mod common;

use behind::Behind;
use common::{World, installed, root, skip, stderr};
use latido_trace::{file::Trace, merge::Merge, page::Event};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

static ONE: Mutex<()> = Mutex::new(());

thread_local! {
    /// Held until the thread of the test ends.
    static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Whether this machine lets root record; if not, the test is noted as skipped.
fn tracefs(what: &str) -> bool {
    if !root(what) {
        return false;
    }
    // One after the other: they count what latido does to a CPU, and another one's work there is latido's too.
    TURN.with(|turn| *turn.borrow_mut() = Some(ONE.lock().unwrap_or_else(PoisonError::into_inner)));
    let probe = Path::new(INSTANCES).join(format!("latido-test-{}", std::process::id()));
    let made = fs::create_dir(&probe).and_then(|()| {
        let enabled = fs::write(probe.join("events/sched/sched_switch/enable"), "1");
        fs::remove_dir(&probe).and(enabled)
    });
    if let Err(error) = &made {
        skip(what, &format!("no trace can be made in {INSTANCES}: {error}"));
    }
    made.is_ok()
}

/// The instances of the process with this number.
fn instances_of(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(INSTANCES).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("latido-{pid}-"))).collect()
}

/// Events of each CPU in a file, by our own decoder.
fn events(file: &Path) -> BTreeMap<u32, u64> {
    let bytes = fs::read(file).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    assert!(trace.lost.is_empty(), "{:?}", trace.lost);
    assert_eq!(trace.options.clock.as_deref(), Some("mono"));
    let [buffer] = &trace.buffers[..] else { panic!("{:?}", trace.buffers) };
    let mut merge = Merge::of(&trace, buffer);
    let mut counts = BTreeMap::new();
    merge.each(&mut |cpu: u32, _: Event<'_>| *counts.entry(cpu).or_default() += 1);
    assert_eq!((merge.backwards(), merge.unread().count()), (0, 0));
    counts
}

/// The same by trace-cmd.
fn by_trace_cmd(file: &Path) -> BTreeMap<u32, u64> {
    let output = Command::new("trace-cmd").args(["report", "-i"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut counts = BTreeMap::new();
    // `   comm-12  [001] 40300.068897: sched_switch: …`: the first bracket with three digits before a time.
    for line in text.lines() {
        let cpu = line.split('[').skip(1).find_map(|rest| {
            let (digits, rest) = rest.split_once("] ")?;
            (digits.len() == 3 && rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
                .then(|| digits.parse::<u32>().ok())?
        });
        if let Some(cpu) = cpu {
            *counts.entry(cpu).or_default() += 1;
        }
    }
    counts
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{}", stderr(output)))
}

/// What a program did is in the file, with as many events for trace-cmd as for our decoder and as are told; the program's
/// exit status is ours, and no instance is left.
#[test]
fn a_program_is_recorded_and_others_read_the_same() {
    if !tracefs("latido trace record") {
        return;
    }
    let world = World::new();
    let output = world.run(["trace", "record", "-o", "a.dat", "--", "sh", "-c", "sleep 0.3; echo said; exit 7"]);
    let told = stderr(&output);
    assert_eq!((status(&output), &output.stdout[..]), (7, &b"said\n"[..]), "{told}");
    let file = world.path("a.dat");
    let counted = events(&file);
    assert!(counted.values().sum::<u64>() > 10, "{counted:?}");
    for (cpu, count) in &counted {
        let line = told.lines().find(|line| line.trim_start().starts_with(&format!("CPU {cpu}: "))).unwrap();
        let digits: String = line.split_once(": ").unwrap().1.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(digits, count.to_string(), "{line}");
    }
    let bytes = fs::read(&file).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    assert!(trace.format("sched_switch").is_some() && trace.comms.iter().any(|(_, name)| name == "latido"));
    // `read events` of the kernel's own count.
    let kernel: u64 = trace
        .options
        .statistics
        .iter()
        .flat_map(|text| {
            text.lines().filter_map(|line| line.strip_prefix("read events: ")?.parse::<u64>().ok()).collect::<Vec<_>>()
        })
        .sum();
    assert_eq!(kernel, counted.values().sum::<u64>());
    if installed("trace-cmd", "traces read by trace-cmd") {
        assert_eq!(by_trace_cmd(&file), counted);
    }
    assert!(!world.state().join("journal.jsonl").exists());
}

/// Only what was asked for, for as long as was asked for; of latido's own nothing on a CPU that it stays off.
#[test]
fn events_and_cpus_are_those_that_were_named() {
    if !tracefs("events and CPUs of a trace") {
        return;
    }
    let world = World::new();
    let output =
        world.run(["trace", "record", "-e", "sched_switch,irq:softirq_entry", "--for=2s", "--cpus=0", "-o", "b.dat"]);
    let told = stderr(&output);
    assert_eq!(status(&output), 0, "{told}");
    let bytes = fs::read(world.path("b.dat")).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    let own = trace.formats.iter().filter(|one| one.system != "ftrace").map(|one| one.format.name.as_str());
    assert_eq!(own.collect::<Vec<_>>(), ["softirq_entry", "sched_switch"]);
    assert_eq!(events(&world.path("b.dat")).keys().copied().collect::<Vec<_>>(), [0]);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if cpus > 1 {
        // On its way off the CPU, at the begin, it may be seen there.
        let own = told.split("of latido itself on CPU 0: ").nth(1).and_then(|rest| rest.split(' ').next());
        let own: u32 = own.and_then(|own| own.parse().ok()).unwrap_or_else(|| panic!("{told}"));
        assert!(own <= 4 && told.contains("while they were written"), "{told}");
    } else {
        assert!(told.contains("read afterwards"), "{told}");
    }
    let wrong = world.run(["trace", "record", "-e", "sched_swtich", "-o", "c.dat"]);
    assert!(status(&wrong) == 64 && stderr(&wrong).contains("`sched_switch`"), "{}", stderr(&wrong));
    assert!(!world.path("c.dat").exists());
    // Somebody's file is not replaced, named or not.
    for name in ["trace.dat", "program.c"] {
        fs::write(world.path(name), "mine").unwrap();
        let foreign = world.run(["trace", "record", "--for=1ms", "-o", name]);
        assert!(status(&foreign) == 1 && stderr(&foreign).contains("is no trace"), "{}", stderr(&foreign));
        assert_eq!(fs::read_to_string(world.path(name)).unwrap(), "mine");
    }
    let foreign = world.run(["trace", "record", "--for=1ms"]);
    assert!(status(&foreign) == 1 && stderr(&foreign).contains("is no trace"), "{}", stderr(&foreign));
    for output in ["--html", "--perfetto"] {
        let foreign = world.run(["trace", "analyze", "b.dat", output, "program.c"]);
        assert!(status(&foreign) == 1 && stderr(&foreign).contains("left as it is"), "{}", stderr(&foreign));
        assert_eq!(fs::read_to_string(world.path("program.c")).unwrap(), "mine");
    }
}

/// Where a ring cannot hold what came, what was lost is counted and told.
#[test]
fn what_a_small_ring_loses_is_told() {
    if !tracefs("events lost") {
        return;
    }
    let world = World::new();
    let cpus = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    // Every CPU is to be left alone, so that nothing is read before the end.
    let busy = "i=0; while [ $i -lt 600 ]; do true | true; i=$((i+1)); done";
    let all = format!("--cpus={}", cpus.trim());
    let output = world.run(["trace", "record", "--size=16K", &all, "-o", "d.dat", "--", "sh", "-c", busy]);
    let told = stderr(&output);
    assert!(status(&output) == 0 && told.contains("were lost") && told.contains("--size"), "{told}");
    assert!(told.contains("read afterwards"), "{told}");
    assert!(!events(&world.path("d.dat")).is_empty());
}

/// Ctrl-C keeps the file; the program hears it too, and nothing is left.
#[test]
fn an_interrupt_keeps_the_file() {
    if !tracefs("a trace that is interrupted") {
        return;
    }
    let world = World::new();
    for (more, expected) in [(&["--for=60s"][..], 130), (&[][..], 0), (&["--", "sleep", "60"][..], 143)] {
        let line = ["trace", "record", "-o", "e.dat"].iter().chain(more).copied();
        let mut child = world.latido(line).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while instances_of(pid).is_empty() {
            assert!(std::time::Instant::now() < until && child.try_wait().unwrap().is_none());
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(status(&output), expected, "{more:?}: {}", stderr(&output));
        assert!(!events(&world.path("e.dat")).is_empty() && instances_of(pid).is_empty());
        fs::remove_file(world.path("e.dat")).unwrap();
        world.nothing_left("after an interrupt");
    }
}

/// Killed at every step and at moments between them: what guards it removes the instance, nobody else is needed, and no file
/// was written.
#[test]
fn a_kill_leaves_no_instance_behind() {
    if !tracefs("a trace that is killed") {
        return;
    }
    let world = World::new();
    let journal = world.state().join("journal.jsonl");
    let after = |pid: u32, when: &str| {
        // Looked at for as long as a starved machine may need.
        for _ in 0..600 {
            if instances_of(pid).is_empty() && !journal.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(instances_of(pid), Vec::<String>::new(), "{when}");
        assert!(!journal.exists() && !world.path("f.dat").exists(), "{when}");
    };
    for point in 1.. {
        let line = ["trace", "record", "--wait=1m", "--for=20ms", "-o", "f.dat"];
        let mut command = world.latido(line);
        let mut child = command.env("LATIDO_FAULT", format!("agent:{point}")).stderr(Stdio::null()).spawn().unwrap();
        if child.wait().unwrap().success() {
            assert!(point > 4, "only {point} points: the test proves nothing");
            fs::remove_file(world.path("f.dat")).unwrap();
            break;
        }
        after(child.id(), &format!("point {point}"));
    }
    for wait in [3u64, 17, 40, 77, 120] {
        let words = ["trace", "record", "--wait=1m", "-o", "f.dat"];
        let mut child = world.latido(words).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        after(child.id(), &format!("after {wait} ms"));
    }
}

/// Killed with its guard, the next latido removes the instance.
#[test]
fn a_kill_of_both_leaves_it_to_the_next_latido() {
    if !tracefs("a trace that is killed with its guard") {
        return;
    }
    let world = World::new();
    let words = ["trace", "record", "--wait=1m", "-o", "f.dat"];
    let mut child = world.latido(words).stderr(Stdio::null()).spawn().unwrap();
    while instances_of(child.id()).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id();
    let guards = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let guards: Vec<i32> = guards.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(guards.len(), 1, "{guards:?}");
    for guard in guards {
        kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(instances_of(pid).len(), 1);
    let status = String::from_utf8(world.run(["tune", "status"]).stdout).unwrap();
    assert!(status.contains("not there -> recording, in force"), "{status}");
    let told = world.run(["tune", "undo"]);
    assert!(told.status.success(), "{}", stderr(&told));
    assert_eq!(instances_of(pid), Vec::<String>::new());
}

/// Where tracefs is mounted nowhere, it is had without a mount that anybody sees.
#[test]
fn tracefs_need_not_be_mounted() {
    if !tracefs("a trace without a mounted tracefs") {
        return;
    }
    let world = World::new();
    let latido = env!("CARGO_BIN_EXE_latido");
    let script = format!(
        "mount --make-rprivate / && umount -R /sys/kernel/tracing; umount -R /sys/kernel/debug/tracing 2>/dev/null; \
         test ! -e /sys/kernel/tracing/tracing_on || exit 99; \
         {latido} trace record -e sched_switch --for=100ms -o g.dat; status=$?; \
         grep -q ' - tracefs ' /proc/self/mountinfo && exit 98; exit $status"
    );
    let (state, dir) = (world.state(), world.dir.path().to_owned());
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .current_dir(dir)
        .env("LATIDO_STATE", state)
        .env_remove("SUDO_UID")
        .output()
        .unwrap();
    if output.status.code() == Some(99) || stderr(&output).contains("unshare:") {
        skip("a trace without a mounted tracefs", "it cannot be unmounted in a namespace here");
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(!events(&world.path("g.dat")).is_empty());
}

/// Behind sudo root traces, the program and the file are the person's.
#[test]
fn behind_sudo_the_program_and_the_file_are_the_persons() {
    if !tracefs("a trace behind sudo") {
        return;
    }
    let Some(behind) = Behind::new("a trace behind sudo") else { return };
    let output = behind.run([
        "trace",
        "record",
        "-e",
        "sched_switch",
        "-o",
        "h.dat",
        "--",
        "sh",
        "-c",
        "id -u; id -g; cat /etc/shadow",
    ]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, format!("{0}\n{0}\n", attacker::UID), "{}", stderr(&output));
    let file = behind.home().join("h.dat");
    assert!(file.exists(), "{}", stderr(&output));
    assert_eq!(behind::owner(&file), (attacker::UID, attacker::UID));
    assert!(!events(&file).is_empty());
}

/// A measured cell carries its trace: a file beside the record, whose counts the record and `latido show` tell.
#[test]
fn a_cell_carries_its_trace() {
    if !tracefs("a cell with a trace") {
        return;
    }
    let world = World::new();
    let line = ["run", "wakeup", "period=1ms", "--policy=other", "-c0", "-d300ms", "--trace", "--json"];
    let output = world.run(line);
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let trace = &document["records"][0]["quality"]["trace"];
    let counted = events(&world.runs()[0].join("cells/001/trace.dat"));
    let told: BTreeMap<u32, u64> = trace["cpus"]
        .as_array()
        .unwrap_or_else(|| panic!("{document}"))
        .iter()
        .map(|cpu| (cpu["cpu"].as_u64().unwrap() as u32, cpu["events"].as_u64().unwrap()))
        .filter(|(_, events)| *events > 0)
        .collect();
    assert_eq!(told, counted);
    assert!(counted[&0] > 600, "300 slots have a timer, a waking and switches each: {counted:?}");
    if thread::available_parallelism().map_or(1, usize::from) > 1 {
        assert_eq!(trace["caused"]["own_events"], 0, "{trace}");
    }
    let show = world.run(["show", "last"]);
    let text = String::from_utf8_lossy(&show.stdout).into_owned();
    assert!(text.contains("trace.dat: ") && text.contains("of latido itself on CPU 0"), "{text}");
    let plan = common::text(&world.run(["run", "wakeup", "--trace=sched_switch,irq", "--print-plan"]));
    assert!(plan.contains("trace = [\"sched_switch\", \"irq\"]"), "{plan}");
    let wrong = world.run(["run", "wakeup", "--trace=sched_swtich", "-d1s"]);
    assert!(status(&wrong) == 1 && stderr(&wrong).contains("`sched_switch`"), "{}", stderr(&wrong));
}

/// An agent that is killed while a cell is traced leaves no instance: its host has it removed.
#[test]
fn a_killed_agent_leaves_no_instance_behind() {
    if !tracefs("an agent that traces and is killed") {
        return;
    }
    let mut seen = 0;
    for point in (4..40).step_by(5) {
        let world = World::new();
        let line = [
            "run",
            "null",
            "samples=100",
            "hold=100ms",
            "--policy=other",
            "--trace=sched_switch",
            "--no-report",
            "--quiet",
        ];
        let mut command = world.latido(line);
        let mut child = command
            .env("LATIDO_FAULT", format!("agent:{point}"))
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut agents = Vec::new();
        while child.try_wait().unwrap().is_none() {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
            agents.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            agents.dedup();
            seen += usize::from(agents.iter().any(|agent| !instances_of(*agent).is_empty()));
            thread::sleep(Duration::from_millis(2));
        }
        world.nothing_left(&format!("after point {point}"));
        for agent in agents {
            assert_eq!(instances_of(agent), Vec::<String>::new(), "point {point}");
        }
        assert!(!world.state().join("journal.jsonl").exists(), "point {point}");
    }
    assert!(seen > 0, "no instance was ever there: the test proves nothing");
}
