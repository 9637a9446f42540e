//! Real runs of the probe `wakeup` with every way in which a periodic thread can wait: FIFO and deadline threads on this machine. No test
//! asserts how fast the machine is.

use crate::common::{self, Need};

use common::{World, faults, realtime, stderr};
use serde_json::Value;

/// The met, late and missed slots of a series, and its samples.
fn slots(series: &Value) -> (u64, u64, u64, u64) {
    let n = |key: &str| series["slots"][key].as_u64().unwrap();
    (n("met"), n("late"), n("missed"), series["count"].as_u64().unwrap())
}

fn measured(world: &World, words: &[&str]) -> Value {
    let common = ["--warmup=50ms", "--no-report", "--json"];
    let output = world.run(["run", "wakeup", "period=1ms", "cycles=400"].iter().chain(words).chain(&common).copied());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    document["records"][0].clone()
}

#[test]
fn every_means_and_phase_counts_every_slot() {
    if !realtime("timers of every kind as FIFO") {
        return;
    }
    let world = World::new();
    for by in ["nanosleep", "timerfd", "posix-timer"] {
        for phase in ["fixed", "random"] {
            let (by, phase) = (format!("by={by}"), format!("phase={phase}"));
            let record = measured(&world, &["-c0", "--seed=7", &by, &phase]);
            let (met, late, missed, count) = slots(&record["series"][0]);
            assert_eq!(met + late + missed, 400, "{by} {phase}");
            assert_eq!(met + late, count);
            assert!(record["series"][0]["min"].as_i64().unwrap() >= 0, "{by} {phase}: nobody is early");
            let options = &record["cell"]["probe"]["options"];
            assert_eq!(
                (format!("by={}", options["by"].as_str().unwrap()), record["outcome"]["kind"].as_str()),
                (by, Some("complete"))
            );
            assert!(record["cell"]["seed"].as_u64().is_some(), "what decides a random phase is recorded");
            let thread = &record["quality"]["threads"][0];
            assert_eq!(thread["policy"], "fifo 80");
            faults::none_from_a_disk(&record);
        }
    }
}

#[test]
fn many_tasks_on_a_cpu_count_their_slots_each() {
    if !realtime("several threads of a CPU as FIFO") {
        return;
    }
    let world = World::new();
    let record = measured(&world, &["-c0", "tasks=5", "distance=100us"]);
    let series = record["series"].as_array().unwrap();
    assert_eq!(series.len(), 5);
    for (number, one) in series.iter().enumerate() {
        let (met, late, missed, count) = slots(one);
        assert_eq!((met + late + missed, met + late), (400, count));
        assert_eq!((one["thread"].as_u64(), one["cpu"].as_u64()), (Some(number as u64), Some(0)));
    }
    let shown = String::from_utf8(world.run(["show", "--full", "last"]).stdout).unwrap();
    assert!(shown.contains("CPU 0, thread 4"), "each goes by its number: {shown}");
}

/// A deadline thread waits by yielding: it follows the kernel's own periods, and loses none.
#[test]
fn a_deadline_thread_waits_by_giving_up_its_budget() {
    if !realtime("sched_yield as a deadline thread") {
        return;
    }
    let world = World::new();
    let record = measured(&world, &["-c0", "by=deadline", "--policy=deadline:runtime=200us,deadline=1ms,period=1ms"]);
    if let Some(why) = record["quality"]["policy_refused"].as_str() {
        return common::skip("sched_yield as a deadline thread", Need::Realtime, why);
    }
    let all = record["series"].as_array().unwrap();
    let of = |quantity: &str| all.iter().find(|series| series["quantity"] == quantity).unwrap();
    let (met, late, missed, count) = slots(of("latency"));
    assert_eq!(met + late + missed, 400);
    assert_eq!(met + late, count + of("latency_after_overrun")["count"].as_u64().unwrap());
    assert_eq!(of("latency")["negative"], 0, "nobody is early for what begins with him");
    assert!(met > 0, "{all:?}");
    // A thread that spun instead of sleeping would have used all of its budget.
    let used = record["quality"]["threads"][0]["cpu_ns"].as_u64().unwrap();
    assert!(used < 400 * 150_000, "{used} ns in 400 periods with 200us each");
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let world = World::new();
    for (words, said) in [
        (&["by=deadline"][..], "add --policy deadline"),
        (&["by=timerfd", "clock=tai"], "use by=nanosleep or by=posix-timer"),
        (&["by=deadline", "phase=random", "--policy=deadline:runtime=1ms,period=1ms"], "omit `clock`, `phase`"),
        (&["tasks=0"], "`tasks` must be 1 to 256"),
        (&["by=poll"], "its values are nanosleep, timerfd, posix-timer, deadline"),
    ] {
        let output = world.run(["run", "wakeup"].iter().chain(words).chain(&["--no-report"]).copied());
        assert!([1, 64].contains(&output.status.code().unwrap()), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
}
