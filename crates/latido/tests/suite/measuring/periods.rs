//! The slots of a watched program whose period is known: one that overruns and catches up, and one whose period is another.

use super::looking_on::traced;
use crate::common::{World, installed};
use serde_json::Value;

/// A program overruns and catches up by clock_nanosleep with times that have passed. Each slot has its job: latido tells no slot
/// as missed, but where it tells another job as surplus (a wake-up that came almost a period late). The program ends right after
/// jobs that it catches up with: no slot passes unserved at the end, however late the machine is.
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
    // Where the interval begins while the program catches up, the first jobs are of slots before it, and surplus.
    assert!(missed <= of("extra") + of("unclear"), "{slots}");
    // Were the calls not heeded, a third of the slots would have no job.
    assert!((of("seen") + of("extra")) * 10 >= of("expected") * 9, "{slots}");
    assert!(
        slots["slots"]["late"].as_i64().unwrap() + of("extra") > 0,
        "each seventh job lasts three periods: {slots}"
    );
}

/// A program of 20 ms is asked for slots of 25 ms: its counts are right for those, and latido says that its period is another.
#[test]
fn a_period_that_is_not_the_program_s_is_named() {
    if !traced("a program of another period") || !installed("python3", "a program of another period") {
        return;
    }
    let world = World::new();
    let script = world.file("periodic.py", PERIODIC);
    let measure = ["run", "task", "period=25ms", "-d2s", "--no-report", "--json"];
    // At a real-time priority the program's wakings come when its timer is due, whatever else runs.
    let program = ["--", "chrt", "-f", "60", "python3", script.to_str().unwrap(), "1000", "0"];
    let document: Value = serde_json::from_slice(&world.run(measure.into_iter().chain(program)).stdout).unwrap();
    let slots = document["records"][0]["series"].as_array().unwrap().iter().find(|one| one["quantity"] == "completion");
    let every = slots.unwrap()["facts"]["woken_every"].as_u64().unwrap();
    assert!((19_000_000..21_000_000).contains(&every), "{every}");
    let shown = String::from_utf8(world.run(["show", "last"]).stdout).unwrap();
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("and its slots are those of 25.0 ms: where"), "{told}");
}

/// Asks for absolute times 20 ms apart. Its words: after how many jobs it ends, and for how many ms it works in each seventh.
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
