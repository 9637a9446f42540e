//! Small real runs of `switch` and `compute`: every way to hand over, and what happens when one side dies. No test asserts how fast the
//! machine is.

use crate::common::{self, Need};

use common::{World, ended, faults, json, processes, skip, until};
use latido_model::run::codec;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    process::{Child, Stdio},
    thread,
};

const QUIET: [&str; 3] = ["--warmup=20ms", "--no-report", "--json"];

fn record<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> Value {
    let output = world.run(["run"].into_iter().chain(arguments).chain(QUIET));
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    document["records"][0].take()
}

/// Checks that rounds are samples, not slept and interrupted, and that the posting task is a helper with a lower priority.
fn switches_add_up(record: &Value, rounds: i64, policies: [&str; 2]) {
    let series = record["series"].as_array().unwrap();
    assert_eq!((series.len(), series[0]["quantity"].as_str()), (1, Some("switch")));
    let fact = |name: &str| series[0]["facts"][name].as_i64().unwrap_or_else(|| panic!("{name}: {}", series[0]));
    assert_eq!(fact("rounds"), rounds, "{record}");
    assert_eq!(series[0]["count"].as_i64().unwrap() + fact("not_slept") + fact("interrupted"), rounds);
    assert_eq!((series[0]["negative"].as_i64(), fact("first_slot_ns")), (Some(0), 0));
    assert!(record["quality"]["policy_refused"].is_null(), "{}", record["quality"]["policy_refused"]);
    let threads = record["quality"]["threads"].as_array().unwrap();
    let policy = |thread: &Value| thread["policy"].as_str().unwrap().to_string();
    assert_eq!(threads.iter().map(policy).collect::<Vec<_>>(), policies);
    assert!(threads[0]["helper"].is_null() && threads[1]["helper"] == true, "{threads:?}");
    // A task that hands over this often sleeps about as often: the evidence is that of the posting task itself, not of a stand-in.
    assert!(threads.iter().all(|thread| thread["voluntary_switches"].as_i64() >= Some(rounds / 2)), "{threads:?}");
    faults::none_from_a_disk(record);
    // Tasks of another latido may be in this list, but not this run's own two tasks.
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let own: Vec<u64> = threads.iter().map(|thread| thread["tid"].as_u64().unwrap()).collect();
    assert!(!foreign.iter().any(|task| own.contains(&task["tid"].as_u64().unwrap())), "{foreign:?}");
}

#[test]
fn every_way_hands_over_between_threads_and_between_processes() {
    let _turn = common::alone();
    let policies = match common::realtime("handing over as FIFO") {
        true => ("--policy=fifo", ["fifo 80", "fifo 79"]),
        false => ("--policy=other", ["other", "other"]),
    };
    for by in ["semaphore", "futex", "pipe", "eventfd"] {
        for between in ["threads", "processes"] {
            let world = World::new();
            let (way, between) = (format!("by={by}"), format!("between={between}"));
            let record = record(&world, ["switch", &way, &between, "switches=300", policies.0]);
            switches_add_up(&record, 300, policies.1);
            let threads = &record["quality"]["threads"];
            assert_eq!(threads[0]["cpu"], threads[1]["cpu"], "one CPU for both");
            assert_eq!(record["cell"]["probe"]["options"]["by"], by);
            world.nothing_left("of a handoff");
        }
    }
}

#[test]
fn two_cpus_have_one_task_each() {
    let _turn = common::alone();
    if thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        return skip("handing over across CPUs", Need::TwoCpus, "one CPU only");
    }
    if !common::realtime("handing over across CPUs as FIFO") {
        return;
    }
    for (by, between) in [("semaphore", "threads"), ("semaphore", "processes"), ("eventfd", "processes")] {
        let world = World::new();
        let (way, between) = (format!("by={by}"), format!("between={between}"));
        let record = record(&world, ["switch", "across=other", &way, &between, "switches=300", "--policy=rr"]);
        switches_add_up(&record, 300, ["rr 80", "rr 79"]);
        let threads = &record["quality"]["threads"];
        assert_ne!(threads[0]["cpu"], threads[1]["cpu"]);
        assert_eq!(record["series"][0]["cpu"], threads[0]["cpu"], "the series is the waiting task's");
    }
}

#[test]
fn a_time_sharing_pair_has_one_policy_and_ends_by_its_duration() {
    let _turn = common::alone();
    for between in ["between=threads", "between=processes"] {
        let world = World::new();
        let record = record(&world, ["switch", between, "--policy=batch", "-d300ms"]);
        let rounds = record["series"][0]["facts"]["rounds"].as_i64().unwrap();
        switches_add_up(&record, rounds, ["batch", "batch"]);
        assert!(rounds > 0 && record["elapsed_ns"].as_u64().unwrap() >= 300_000_000, "{record}");
    }
}

#[test]
fn a_sample_above_stop_on_ends_both_processes() {
    let _turn = common::alone();
    let world = World::new();
    let record = record(&world, ["switch", "between=processes", "--policy=other", "--stop-on=1ns", "-d60s"]);
    assert_eq!(record["outcome"]["kind"], "stopped", "{}", record["outcome"]);
    world.nothing_left("after a sample above stop_on");
}

#[test]
fn what_no_pair_can_be_is_refused_before_it_starts() {
    let _turn = common::alone();
    let world = World::new();
    for (arguments, why) in [
        (&["--prio=1"][..], "a priority of 2 or more"),
        (&["-c0-1"], "share one CPU, but 2"),
        (&["across=other", "-c0"], "exactly two CPUs"),
        (&["interval=2s"], "at most 1s"),
        (&["by=doorbell"], "semaphore, futex, pipe, eventfd"),
    ] {
        let output = world.run(["run", "switch"].into_iter().chain(arguments.iter().copied()));
        let said = common::stderr(&output);
        assert!(said.contains(why), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(64), "{said}");
    }
    assert!(world.runs().is_empty());
}

/// Starts a pair of processes that goes on for a minute, and waits until both hand over. Returns the run and the pid of one process.
fn pair(world: &World, wanted: &str) -> (Child, Pid) {
    let arguments = ["run", "switch", "between=processes", "--policy=other", "-d60s", "--warmup=0ns", "--no-report"];
    let mut command = world.latido(arguments.into_iter().chain(["--json"]));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = until("both processes of the pair, which hand over", || {
        let alive = world.alive();
        let pid = |what: &str| alive.iter().find(|(_, line)| line.contains(what)).map(|(pid, _)| *pid);
        // Each handover is a sleep; the start of a process sleeps far less often.
        let hands_over = processes::slept(pid("--partner")?)? > 1000;
        pid(wanted).filter(|_| hands_over)
    });
    (child, Pid::from_raw(pid).unwrap())
}

#[test]
fn a_partner_that_dies_ends_the_measurement_with_an_error() {
    let _turn = common::alone();
    let world = World::new();
    let (child, partner) = pair(&world, "--partner");
    kill_process(partner, Signal::KILL).unwrap();
    let output = ended(child, "a run whose partner was killed");
    let said = common::stderr(&output);
    assert!(said.contains("the posting process ended too early") && said.contains("signal: 9"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    world.nothing_left("after the partner's death");
}

#[test]
fn a_partner_does_not_outlive_the_measuring_process() {
    let _turn = common::alone();
    let world = World::new();
    let (child, measuring) = pair(&world, "--measure");
    kill_process(measuring, Signal::KILL).unwrap();
    let output = ended(child, "a run whose measuring process was killed");
    assert_eq!(output.status.code(), Some(1), "{}", common::stderr(&output));
    world.nothing_left("after the measuring process's death");
}

#[test]
fn an_interruption_keeps_what_the_pair_has_measured() {
    let _turn = common::alone();
    let world = World::new();
    let (child, _) = pair(&world, "--partner");
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let document = json(&ended(child, "an interrupted pair"), 130);
    let record = &document["records"][0];
    assert_eq!(record["outcome"]["kind"], "interrupted");
    let rounds = record["series"][0]["facts"]["rounds"].as_i64().unwrap();
    assert!(rounds > 0);
    switches_add_up(record, rounds, ["other", "other"]);
    world.nothing_left("after one Ctrl-C");
}

#[test]
fn compute_keeps_every_instance_of_every_size_in_order() {
    let _turn = common::alone();
    let policy = if common::realtime("compute as FIFO") { "--policy=fifo" } else { "--policy=other" };
    let world = World::new();
    let record = record(&world, ["compute", "size=2,16,9", "instances=200", policy]);
    let series = record["series"].as_array().unwrap();
    let keys: Vec<(&str, &str)> =
        series.iter().map(|one| (one["labels"]["size"].as_str().unwrap(), one["quantity"].as_str().unwrap())).collect();
    let [a, b] = ["elapsed", "cpu"];
    assert_eq!(keys, [("2", a), ("2", b), ("16", a), ("16", b), ("9", a), ("9", b)], "in the order given");
    let dir = world.runs()[0].join("cells/001");
    let mut before = 0;
    for one in series {
        let file = one["files"]["samples"].as_str().unwrap();
        let points = codec::decode_samples(&fs::read(dir.join(file)).unwrap()).unwrap();
        assert_eq!((one["count"].as_u64(), points.len()), (Some(200), 200));
        assert_eq!(points.iter().map(|point| point.value).max(), one["max"].as_i64());
        assert!(points.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns), "in the order of time");
        if one["quantity"] == "elapsed" {
            assert!(points[0].at_ns >= before, "one size after another");
            before = points[199].at_ns;
            // A wrong proof would be beyond this limit; a missing one would be absent.
            assert!((0..1_000_000).contains(&one["facts"]["residual_e18"].as_i64().unwrap()), "{}", one["facts"]);
            assert_eq!(one["facts"]["differing"], 0);
        }
    }
    faults::none_from_a_disk(&record);
}

/// As in the study: the record names the clock, so that a clock step does not count as time of the machine, and latido writes each value
/// outside the timed part.
#[test]
fn compute_measures_by_the_studys_clock_and_reports_each_value() {
    let _turn = common::alone();
    let world = World::new();
    for (clock, report) in [("realtime", "each"), ("monotonic", "each"), ("realtime", "none")] {
        let options = [format!("clock={clock}"), format!("report={report}")];
        let words = ["compute", "size=8", "instances=50", "--policy=other"].into_iter();
        let record = record(&world, words.chain(options.iter().map(String::as_str)));
        assert_eq!(record["quality"]["clock"]["name"], clock, "{options:?}");
        let counts: Vec<u64> =
            record["series"].as_array().unwrap().iter().map(|one| one["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, [50, 50], "{options:?}");
    }
    // The values go to a file in memory, whose writes strace shows.
    for (report, written) in [("report=each", true), ("report=none", false)] {
        let words = ["run", "compute", "size=8", "instances=50", "--policy=other", report, "--no-report", "-q"];
        let what = "the values that compute reports";
        let traced = processes::traced(&world, &world.latido(words), processes::FILES, what);
        let Some((trace, _)) = traced else { return };
        let is_value = |line: &&str| line.contains("write(") && line.contains("memfd:latido-values");
        let values = trace.lines().filter(is_value).count();
        assert!(if written { values >= 50 } else { values == 0 }, "{report}: {values} values written");
    }
}

#[test]
fn compute_runs_under_every_way_of_time_sharing() {
    let _turn = common::alone();
    for (way, policy) in [
        (&["--policy=other"][..], "other"),
        (&["--policy=other", "--nice=5"], "other nice 5"),
        (&["--policy=batch"], "batch"),
    ] {
        let world = World::new();
        let record = record(&world, ["compute", "size=8", "instances=50"].into_iter().chain(way.iter().copied()));
        assert_eq!(record["quality"]["threads"][0]["policy"], policy);
        assert_eq!(record["series"][0]["count"], 50);
    }
}

#[test]
fn compute_ends_between_two_instances_when_it_is_told_to() {
    let _turn = common::alone();
    let world = World::new();
    let record = record(&world, ["compute", "size=32", "instances=1000000", "--policy=other", "--stop-on=1ns"]);
    assert_eq!(record["outcome"]["kind"], "stopped", "{}", record["outcome"]);
    assert_eq!(record["series"][0]["count"], 1);

    let mut command = world.latido(["run", "compute", "size=64", "instances=1000000", "--policy=other", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Before it computes it has used no more processor time than its start takes.
    let pid = common::measuring_process(&world);
    until("computing", || (processes::ran_ns(pid) > 300_000_000).then_some(()));
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let document = json(&ended(child, "an interrupted computation"), 130);
    assert_eq!(document["records"][0]["outcome"]["kind"], "interrupted");
    world.nothing_left("after an interruption");
}
