//! Traces recorded with the tracefs of this machine: alone, with a measurement, and behind sudo.

use crate::common::attacker;
use crate::common::behind;
use crate::common::recording;
use crate::common::{self, Need};

use behind::Behind;
use common::{World, installed, skip, stderr};
use latido_sys::sched;
use latido_trace::file::Trace;
use recording::{events, status, tracefs};
use std::{collections::BTreeMap, fs, path::Path, process::Command, thread};

/// The same counts by trace-cmd.
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

/// The file contains what a program did; trace-cmd, latido's decoder and latido's output agree on the number of events. latido exits with
/// the program's status and leaves no journal.
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
    // The kernel's own count of `read events`.
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

/// The trace has only the requested events, for the requested time, and none of latido itself on a CPU that it avoids.
#[test]
fn events_and_cpus_are_those_that_were_named() {
    if !tracefs("events and CPUs of a trace") {
        return;
    }
    let world = World::new();
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    // latido starts on another CPU, so nothing of it needs to leave the recorded one.
    sched::set_affinity(0, [u32::from(cpus > 1)]).unwrap();
    let output =
        world.run(["trace", "record", "-e", "sched_switch,irq:softirq_entry", "--for=2s", "--cpus=0", "-o", "b.dat"]);
    let told = stderr(&output);
    assert_eq!(status(&output), 0, "{told}");
    let bytes = fs::read(world.path("b.dat")).unwrap();
    let trace = Trace::open(&bytes).unwrap();
    let own = trace.formats.iter().filter(|one| one.system != "ftrace").map(|one| one.format.name.as_str());
    assert_eq!(own.collect::<Vec<_>>(), ["softirq_entry", "sched_switch"]);
    assert_eq!(events(&world.path("b.dat")).keys().copied().collect::<Vec<_>>(), [0]);
    if cpus > 1 {
        let own = told.split("of latido itself on CPU 0: ").nth(1).and_then(|rest| rest.split(' ').next());
        let own: u32 = own.and_then(|own| own.parse().ok()).unwrap_or_else(|| panic!("{told}"));
        assert!(own == 0 && told.contains("while they were written"), "{told}");
    } else {
        assert!(told.contains("read afterwards"), "{told}");
    }
    let wrong = world.run(["trace", "record", "-e", "sched_swtich", "-o", "c.dat"]);
    assert!(status(&wrong) == 64 && stderr(&wrong).contains("`sched_switch`"), "{}", stderr(&wrong));
    assert!(!world.path("c.dat").exists());
    // latido does not replace a file of the user, named or not.
    for name in ["trace.dat", "program.c"] {
        fs::write(world.path(name), "mine").unwrap();
        let foreign = world.run(["trace", "record", "--for=1ms", "-o", name]);
        assert!(status(&foreign) == 1 && stderr(&foreign).contains("is not a trace"), "{}", stderr(&foreign));
        assert_eq!(fs::read_to_string(world.path(name)).unwrap(), "mine");
    }
    let foreign = world.run(["trace", "record", "--for=1ms"]);
    assert!(status(&foreign) == 1 && stderr(&foreign).contains("is not a trace"), "{}", stderr(&foreign));
    for output in ["--html", "--perfetto"] {
        let foreign = world.run(["trace", "analyze", "b.dat", output, "program.c"]);
        assert!(status(&foreign) == 1 && stderr(&foreign).contains("leaves it as it is"), "{}", stderr(&foreign));
        assert_eq!(fs::read_to_string(world.path("program.c")).unwrap(), "mine");
    }
}

/// If a ring is too small for the events, latido counts and reports the lost ones.
#[test]
fn what_a_small_ring_loses_is_told() {
    if !tracefs("events lost") {
        return;
    }
    let world = World::new();
    let cpus = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    // latido must stay off every CPU, so it reads nothing before the end.
    let busy = "i=0; while [ $i -lt 600 ]; do true | true; i=$((i+1)); done";
    let all = format!("--cpus={}", cpus.trim());
    let output = world.run(["trace", "record", "--size=16K", &all, "-o", "d.dat", "--", "sh", "-c", busy]);
    let told = stderr(&output);
    assert!(status(&output) == 0 && told.contains("were lost") && told.contains("--size"), "{told}");
    assert!(told.contains("read afterwards"), "{told}");
    assert!(!events(&world.path("d.dat")).is_empty());
}

/// If tracefs is not mounted, and no debugfs that would mount it, latido reaches it without a mount that other processes see.
#[test]
fn tracefs_need_not_be_mounted() {
    if !tracefs("a trace without a mounted tracefs") {
        return;
    }
    let world = World::new();
    let latido = env!("CARGO_BIN_EXE_latido");
    let script = format!(
        "mount --make-rprivate /; awk '$3 ~ /^(tracefs|debugfs)$/ {{ print $2 }}' /proc/self/mounts | sort -r | while read -r one; do umount \"$one\"; done; \
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
        skip("a trace without a mounted tracefs", Need::Namespaces, "it cannot be unmounted in a namespace here");
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(!events(&world.path("g.dat")).is_empty());
}

/// Behind sudo root traces, and the program and the file belong to the person.
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

/// A measured cell contains its trace: a file next to the record. The record and `latido show` state its counts.
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
    let show = world.run(["show", "--full", "last"]);
    let text = String::from_utf8_lossy(&show.stdout).into_owned();
    assert!(text.contains("trace.dat: ") && text.contains("on CPU 0 latido itself caused"), "{text}");
    let plan = common::text(&world.run(["run", "wakeup", "--trace=sched_switch,irq", "--print-plan"]));
    assert!(plan.contains("trace = [\"sched_switch\", \"irq\"]"), "{plan}");
    let wrong = world.run(["run", "wakeup", "--trace=sched_swtich", "-d1s"]);
    assert!(status(&wrong) == 1 && stderr(&wrong).contains("`sched_switch`"), "{}", stderr(&wrong));
}
