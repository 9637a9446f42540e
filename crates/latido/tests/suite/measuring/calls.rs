//! Small real measurements of calls: mutexes, an inversion, priorities, sleeps. No test asserts how fast the machine is.

use crate::common;

use common::{World, ended, faults, installed, json, processes, realtime, root, until};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

/// The only record of a run, whatever its verdict: a virtual machine may lose time to others at any moment.
fn record(world: &World, arguments: &[&str]) -> Value {
    let common = ["--warmup=20ms", "--no-report", "--json"];
    let output = world.run(["run"].into_iter().chain(arguments.iter().copied()).chain(common));
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", common::stderr(&output)));
    world.nothing_left("of the calls");
    document["records"][0].take()
}

/// The series of a quantity with a label.
fn series<'a>(record: &'a Value, quantity: &str, label: &str, value: &str) -> &'a Value {
    let mut all = record["series"].as_array().unwrap().iter();
    let found = all.find(|one| one["quantity"] == quantity && (label.is_empty() || one["labels"][label] == value));
    found.unwrap_or_else(|| panic!("no {quantity} {label}={value}: {record}"))
}

fn number(series: &Value, key: &str) -> i64 {
    series[key].as_i64().unwrap_or_else(|| panic!("{key} of {series}"))
}

fn median(series: &Value) -> i64 {
    series["quantiles"]["0.5"].as_i64().unwrap_or_else(|| panic!("the median of {series}"))
}

const KINDS: [(&str, &str); 4] = [("normal", "no"), ("inherit", "no"), ("ceiling", "no"), ("normal", "yes")];

fn of_kind<'a>(record: &'a Value, quantity: &str, (kind, shared): (&str, &str)) -> &'a Value {
    let mut all = record["series"].as_array().unwrap().iter();
    let wanted = |one: &&Value| {
        one["quantity"] == quantity && one["labels"]["kind"] == kind && one["labels"]["shared"] == shared
    };
    all.find(wanted).unwrap_or_else(|| panic!("no {quantity} of {kind} {shared}"))
}

#[test]
fn every_kind_of_mutex_has_each_call_as_often() {
    let _turn = common::alone();
    if !realtime("mutex calls as FIFO") {
        return;
    }
    let record = record(&World::new(), &["mutex", "calls=3000", "-c0"]);
    assert_eq!(record["series"].as_array().unwrap().len(), 16);
    for kind in KINDS {
        let empty = of_kind(&record, "empty", kind);
        for quantity in ["lock", "unlock", "trylock", "empty"] {
            let series = of_kind(&record, quantity, kind);
            assert_eq!((number(series, "count"), &series["unit"]), (3000, &Value::from("ns")));
            assert!(number(series, "min") >= 0 && median(series) >= median(empty), "{quantity} {kind:?}");
        }
    }
    assert_eq!(record["quality"]["threads"][0]["policy"], "fifo 80");
    faults::none_from_a_disk(&record);
}

#[test]
fn a_batch_is_a_mean_in_picoseconds() {
    let _turn = common::alone();
    if !realtime("batches of mutex calls as FIFO") {
        return;
    }
    let record = record(&World::new(), &["mutex", "timing=batch", "calls=40", "batch=200", "-c0"]);
    assert_eq!(record["series"].as_array().unwrap().len(), 16);
    for kind in KINDS {
        for quantity in ["lock_batch", "unlock_batch", "trylock_batch", "pair_batch"] {
            let series = of_kind(&record, quantity, kind);
            assert_eq!((number(series, "count"), &series["unit"]), (40, &Value::from("ps")));
            assert!(median(series) > 0, "{quantity} {kind:?}: {series}");
        }
    }
    faults::none_from_a_disk(&record);
}

/// A ceiling above the thread's priority makes each pair two system calls, a cost that no noise hides.
#[test]
fn a_ceiling_above_the_thread_costs_more_than_its_own() {
    let _turn = common::alone();
    if !realtime("priority ceilings") {
        return;
    }
    let pair = |ceiling: &str| {
        let options = ["mutex", "timing=batch", "kind=ceiling", ceiling, "calls=50", "batch=100", "-c0"];
        median(of_kind(&record(&World::new(), &options), "pair_batch", ("ceiling", "no")))
    };
    let (own, above) = (pair("ceiling=80"), pair("ceiling=90"));
    assert!(above > own, "{above} ps, at its own priority {own} ps");
}

#[test]
fn without_priorities_only_the_ceiling_is_left_out() {
    let _turn = common::alone();
    let record = record(&World::new(), &["mutex", "calls=500", "--policy=other", "-c0"]);
    let all = record["series"].as_array().unwrap();
    assert_eq!(all.len(), 12);
    assert!(all.iter().all(|series| number(series, "count") == 500 && series["labels"]["kind"] != "ceiling"));
    let skipped = record["skipped"].to_string();
    assert!(skipped.contains("mutexes with a priority ceiling") && skipped.contains("under `other`"), "{skipped}");
}

#[test]
fn a_thread_changes_its_priority_and_has_it_again() {
    let _turn = common::alone();
    if !realtime("changes of priority") {
        return;
    }
    let each = record(&World::new(), &["priority", "calls=1000", "--policy=rr", "--prio=20", "other=11", "-c0"]);
    let empty = median(series(&each, "empty", "", ""));
    for quantity in ["setschedparam", "setschedprio"] {
        let series = series(&each, quantity, "", "");
        assert_eq!(number(series, "count"), 1000);
        assert!(median(series) > empty, "a system call is more than nothing: {} {empty}", median(series));
    }
    assert_eq!(each["quality"]["threads"][0]["policy"], "rr 20");
    faults::none_from_a_disk(&each);

    // An odd number of calls ends on the other priority.
    let batch = record(&World::new(), &["priority", "timing=batch", "calls=21", "batch=33", "-c0"]);
    for quantity in ["setschedparam_batch", "setschedprio_batch"] {
        let series = series(&batch, quantity, "", "");
        assert_eq!((number(series, "count"), &series["unit"]), (21, &Value::from("ps")));
        assert!(median(series) > 0);
    }
    assert_eq!(batch["quality"]["threads"][0]["policy"], "fifo 80");
    faults::none_from_a_disk(&batch);
}

#[test]
fn sleeps_are_as_long_as_asked_or_longer() {
    let _turn = common::alone();
    if !realtime("sleeps as FIFO") {
        return;
    }
    let record = record(&World::new(), &["sleep", "sleeps=60", "length=500us", "-c0"]);
    for mode in ["relative", "absolute"] {
        let (length, lateness) = (series(&record, "length", "mode", mode), series(&record, "lateness", "mode", mode));
        assert_eq!(number(length, "count") + number(&length["facts"], "interrupted"), 60);
        assert_eq!(number(lateness, "count"), number(length, "count"));
        for key in ["min", "max"] {
            assert_eq!(number(length, key) - number(lateness, key), 500_000, "{mode} {key}");
        }
        assert!(number(lateness, "min") >= 0, "nothing wakes before its time");
    }
    faults::none_from_a_disk(&record);
}

/// What holds at any speed of the machine: rounds add up, inversions occur without inheritance, and none occurs with it.
#[test]
fn an_inversion_is_there_without_inheritance_and_not_with_it() {
    let _turn = common::alone();
    if !realtime("a priority inversion") {
        return;
    }
    let record = record(&World::new(), &["mutex", "form=inversion", "rounds=200", "busy=400us", "-c0"]);
    let (normal, inherit) =
        (series(&record, "inversion", "kind", "normal"), series(&record, "inversion", "kind", "inherit"));
    for series in [normal, inherit] {
        let facts = &series["facts"];
        assert_eq!(number(facts, "rounds"), 200);
        assert_eq!(number(series, "count") + number(facts, "unconfirmed"), 200);
    }
    let inverted = |series: &Value| number(&series["facts"], "inverted");
    assert!((1..=number(normal, "count")).contains(&inverted(normal)), "{}", normal["facts"]);
    assert_eq!(inverted(inherit), 0, "{}", inherit["facts"]);
    let threads = record["quality"]["threads"].as_array().unwrap();
    let policies: Vec<&str> = threads.iter().map(|thread| thread["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["fifo 80", "fifo 79", "fifo 78"]);
    let helpers: Vec<bool> = threads.iter().map(|thread| thread["helper"] == true).collect();
    assert_eq!(helpers, [false, true, true]);
    faults::none_from_a_disk(&record);
}

#[test]
fn without_permission_no_round_is_a_measurement_and_nothing_hangs() {
    let _turn = common::alone();
    let what = "an inversion without permission";
    if !root(what) || !installed("setpriv", what) {
        return;
    }
    let world = World::new();
    // Other users may not be able to read the binary where it is: copy it.
    let binary = world.path("latido");
    fs::copy(env!("CARGO_BIN_EXE_latido"), &binary).unwrap();
    for path in [world.dir.path(), &binary] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&binary);
    command.args(["run", "mutex", "form=inversion", "rounds=20", "--warmup=20ms", "--no-report", "--json"]);
    command.env("LATIDO_STORE", world.store()).env("LATIDO_STATE", world.state()).current_dir(world.dir.path());
    let document = json(&command.output().unwrap(), 3);
    for kind in ["normal", "inherit"] {
        let series = series(&document["records"][0], "inversion", "kind", kind);
        assert_eq!((number(series, "count"), number(&series["facts"], "unconfirmed")), (0, 20), "{series}");
        assert!(series["min"].is_null(), "what was not measured is not a number");
    }
}

/// Ctrl-C wakes every waiting thread: one in a round of a mutex, one that sleeps for an hour.
#[test]
fn an_interrupted_cell_ends_and_says_so() {
    let _turn = common::alone();
    if !realtime("interrupted calls") {
        return;
    }
    for arguments in
        [["mutex", "form=inversion"], ["mutex", "timing=batch"], ["priority", "timing=each"], ["sleep", "length=1h"]]
    {
        let world = World::new();
        let mut command = world.latido(["run"].into_iter().chain(arguments));
        command.args(["-d600s", "--warmup=0ns", "-c0", "--no-report", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("measuring")), "it never measured");
        std::thread::spawn(move || lines.for_each(drop));
        let pid = common::measuring_process(&world);
        // The measurement has started: it sleeps its hour, or has used more processor time than a start takes.
        let sleeps = || processes::measuring_threads(pid).iter().any(|task| processes::sleeps_for_a_time(task));
        let begun = || if arguments[0] == "sleep" { sleeps() } else { processes::ran_ns(pid) > 300_000_000 };
        until("a measurement that has begun", || begun().then_some(()));
        processes::ctrl_c(child.id());
        let document = json(&ended(child, "an interrupted measurement"), 130);
        let record = &document["records"][0];
        assert_eq!(record["outcome"]["kind"], "interrupted", "{arguments:?}");
        if arguments[0] == "sleep" {
            let series = series(record, "length", "mode", "relative");
            assert_eq!((number(series, "count"), number(&series["facts"], "interrupted")), (0, 1));
        }
        world.nothing_left("after the interruption");
    }
}
