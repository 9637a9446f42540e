//! The slots of a watched program with a known period: one that overruns and catches up, and one with a period other than stated.

use super::looking_on::traced;
use crate::common::{self, World, alone, installed, json, realtime, stderr};
use serde_json::Value;

/// A program overruns and catches up by clock_nanosleep with times in the past. Each slot has its job: latido reports no slot as missed,
/// except where it counts another job as surplus (a wake-up that came almost a period late). The program ends right after jobs with which
/// it catches up, so no slot passes without a job at the end, however late the machine is.
#[test]
fn jobs_that_catch_up_are_not_missed() {
    if !traced("a program that catches up") || !installed("python3", "a program that catches up") {
        return;
    }
    let world = World::new();
    let script = world.file("periodic.py", PERIODIC);
    let script = script.to_str().unwrap();
    let words = [
        "run",
        "task",
        "period=20ms",
        "-d60s",
        "--warmup=100ms",
        "--no-report",
        "--json",
        "--",
        "python3",
        script,
        "205",
        "70",
    ];
    let document: Value = serde_json::from_slice(&world.run(words).stdout).unwrap();
    let series = document["records"][0]["series"].as_array().unwrap();
    let slots = series.iter().find(|one| one["quantity"] == "completion").unwrap_or_else(|| panic!("{document}"));
    let of = |name: &str| slots["facts"][name].as_i64().unwrap();
    let missed = slots["slots"]["missed"].as_i64().unwrap();
    // If the interval starts while the program catches up, its first jobs belong to slots before the interval, and are surplus.
    assert!(missed <= of("extra") + of("unclear"), "{slots}");
    // If latido ignored these calls, a third of the slots would have no job.
    assert!((of("seen") + of("extra")) * 10 >= of("expected") * 9, "{slots}");
    assert!(
        slots["slots"]["late"].as_i64().unwrap() + of("extra") > 0,
        "each seventh job lasts three periods: {slots}"
    );
}

/// The user states a period of 25 ms for a program of 20 ms: latido's counts are right for slots of 25 ms, and it reports that the program
/// has another period.
#[test]
fn a_period_that_is_not_the_program_s_is_named() {
    if !traced("a program of another period") || !installed("python3", "a program of another period") {
        return;
    }
    let world = World::new();
    let script = world.file("periodic.py", PERIODIC);
    let measure = ["run", "task", "period=25ms", "-d2s", "--no-report", "--json"];
    // At a real-time priority the program wakes when its timer is due, whatever else runs.
    let program = ["--", "chrt", "-f", "60", "python3", script.to_str().unwrap(), "1000", "0"];
    let document: Value = serde_json::from_slice(&world.run(measure.into_iter().chain(program)).stdout).unwrap();
    let slots = document["records"][0]["series"].as_array().unwrap().iter().find(|one| one["quantity"] == "completion");
    let every = slots.unwrap()["facts"]["woken_every"].as_u64().unwrap();
    assert!((19_000_000..21_000_000).contains(&every), "{every}");
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("but latido counted slots of 25.0 ms; if"), "{told}");
    // latido reads the program's policy from the kernel, and reports it.
    assert!(told.contains("policy the program's own: python3 fifo 60"), "{told}");
}

/// latido names what makes the jobs of a program late: its own work, its page faults, its sleep, the task that wakes it, the task
/// that holds its lock, the task that keeps that one off the CPU, the task that preempts it. Other tasks may also make some jobs late: only
/// the planted ones count.
#[test]
fn what_makes_jobs_late_is_named() {
    let what = "late jobs explained";
    let (_turn, world) = (alone(), World::new());
    if !traced(what) || !realtime(what) || !installed("python3", what) {
        return;
    }
    let plant = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/plant");
    for (cause, deadline, reason) in [
        ("own", "4ms", "its own execution beyond its median"),
        ("faults", "4ms", "its own execution, with page faults, beyond its median"),
        ("sleep", "4ms", "asleep until its own timer"),
        ("waker", "4ms", "waiting until feeder-"),
        ("lock", "4ms", "waiting until holder-"),
        ("invert", "4ms", "which middle-"),
        ("rival", "4ms", "rival-"),
    ] {
        let deadline = format!("deadline={deadline}");
        let measure = ["run", "task", "thread=control", "period=20ms", &deadline, "-c0", "-d60s", "--explain"];
        let program = ["--no-report", "--", "chrt", "-f", "60", "python3", plant, "job", cause, "110"];
        let output = world.run(measure.into_iter().chain(program));
        assert!(matches!(output.status.code(), Some(0..=3)), "{cause}: {}", stderr(&output));
        let told = json(&world.run(["trace", "explain", "last", "--json"]), 0);
        let spikes = told["cells"][0]["spikes"].as_array().unwrap();
        let causes = |spike: &Value| -> Vec<String> {
            let all = spike["causes"].as_array().unwrap().iter();
            let sum: u64 = all.clone().map(|piece| piece["ns"].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), spike["ns"].as_u64(), "causes add up: {spike}");
            all.map(|piece| piece["cause"].as_str().unwrap().to_owned()).collect()
        };
        let first = |spike: &Value| causes(spike).into_iter().find(|name| name != "its own execution");
        let named = spikes.iter().filter_map(first).filter(|name| name.contains(reason)).count();
        assert!(named >= 5, "{cause}: {named} of {}: {:#?}", spikes.len(), told["cells"][0]["jobs"]);
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(" periods ") && said.contains(reason), "{said}");
    }
}

/// The program of docs/my-program.md, with fewer loops, is late for the reason that the page gives: each pause of its garbage collector is
/// its own execution beyond the median, as long as the program itself counted it. Other programs may make that job even later, and other
/// jobs late.
#[test]
fn the_program_of_the_page_is_late_by_itself() {
    let what = "the program of docs/my-program.md";
    let (_turn, world) = (alone(), World::new());
    if !traced(what) || !installed("python3", what) {
        return;
    }
    let page = include_str!("../../../../../docs/my-program.md");
    let program = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let pauses = world.file("pauses", "");
    let written = format!("open({:?}, 'w').write(' '.join(map(str, pauses)))", pauses.to_str().unwrap());
    let program = [PAUSES, &program.replace("range(1500)", "range(700)"), &written].concat();
    let script = world.file("loop.py", &program);
    let measure = ["run", "task", "period=10ms", "deadline=2ms", "-d60s", "--explain", "--no-report", "--"];
    let output = world.run(measure.into_iter().chain(["python3", script.to_str().unwrap()]));
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    let told = json(&world.run(["trace", "explain", "last", "--json"]), 0);
    let spikes = told["cells"][0]["spikes"].as_array().unwrap();
    let own_ns = |spike: &Value| -> u64 {
        let causes = spike["causes"].as_array().unwrap().iter();
        let is_own = |name: &str| name.starts_with("its own execution") && name.contains("beyond its median");
        causes.filter(|piece| is_own(piece["cause"].as_str().unwrap())).map(|piece| piece["ns"].as_u64().unwrap()).sum()
    };
    let mut found: Vec<u64> = spikes.iter().map(own_ns).collect();
    let counted = std::fs::read_to_string(&pauses).unwrap();
    let long_ns = counted.split(' ').map(|word| word.parse::<u64>().unwrap()).filter(|ns| *ns > 5_000_000);
    let (mut alike, mut other) = (0, Vec::new());
    for ns in long_ns {
        match found.iter().position(|own| (ns / 5 * 4..=ns / 4 * 5).contains(own)) {
            Some(place) => {
                found.remove(place);
                alike += 1;
            }
            None => other.push(ns),
        }
    }
    // A hypervisor may stop the machine in a pause: the program counts that time, and latido does not.
    assert!(alike >= 2 && other.len() <= 1, "{other:?} of {counted}: {found:?}: {:#}", told["cells"][0]["jobs"]);
}

/// Counts the thread's CPU time in each pause of the garbage collector, in ns. It leaves out the first loops, in which latido looks for the
/// period.
const PAUSES: &str = "\
import gc, time
pauses, began = [], 0
def count(phase, _):
    global began
    now = time.thread_time_ns()
    if phase == 'stop' and globals().get('turn', 0) > 150:
        pauses.append(now - began)
    began = now
gc.callbacks.append(count)
";

/// Sleeps until absolute times 20 ms apart. Its arguments: after how many jobs it ends, and for how many ms it works in each seventh job.
const PERIODIC: &str = "\
import ctypes, sys, time
class Time(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('ns', ctypes.c_long)]
sleep = ctypes.CDLL(None).clock_nanosleep
due, job, (last, long) = time.monotonic_ns(), 0, map(int, sys.argv[1:])
while job != last:
    due, job = due + 20_000_000, job + 1
    sleep(1, 1, ctypes.byref(Time(*divmod(due, 10**9))), None)
    end = time.monotonic_ns() + (long * 10**6 if job % 7 == 0 else 0)
    while time.monotonic_ns() < end: pass
";

/// Each 20th job waits 15 ms for a lock, beyond the time of the next slot, and the program then catches up.
const WAITS: &str = "\
import threading, time
lock, ask, held = threading.Lock(), threading.Event(), threading.Event()
def hold():
    while True:
        ask.wait()
        ask.clear()
        with lock:
            held.set()
            time.sleep(.015)
threading.Thread(target=hold, daemon=True).start()
due = time.monotonic() + .01
for turn in range(300):
    time.sleep(max(0, due - time.monotonic()))
    if turn % 20 == 7:
        held.clear()
        ask.set()
        held.wait()
    with lock:
        pass
    due += .01
";

/// A job that waits beyond the next slot's time is late, by the whole wait: the waking that ends the wait starts no job of the next slot.
/// The thread that holds the lock has no slots, although it has real-time priority too.
#[test]
fn a_job_that_waits_beyond_its_slot_is_late() {
    let what = "jobs that wait beyond their slots";
    let (_turn, world) = (alone(), World::new());
    if !traced(what) || !realtime(what) || !installed("python3", what) {
        return;
    }
    let script = world.file("waits.py", WAITS);
    let measure = ["run", "task", "period=10ms", "-d30s", "--no-report", "--", "chrt", "-f", "60", "python3"];
    let output = world.run(measure.into_iter().chain([script.to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&common::records(&world.runs()[0])[0].1).unwrap();
    let slots: Vec<&Value> =
        record["series"].as_array().unwrap().iter().filter(|one| one["quantity"] == "completion").collect();
    let [own] = slots.as_slice() else { panic!("{slots:#?}") };
    let of = |fact: &str| own["facts"][fact].as_u64().unwrap();
    let late = own["slots"]["late"].as_u64().unwrap();
    assert!(late >= of("expected") / 20 - 1 && late > 5, "{own}");
    assert!(own["max"].as_i64().unwrap() > 14_000_000, "{own}");
}
