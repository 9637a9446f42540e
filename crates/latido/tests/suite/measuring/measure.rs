//! Small real measurements: FIFO threads on this machine. No test asserts how fast the machine is.

use crate::common::{self, Need};

use common::{World, ended, faults, json, meanwhile, processes, realtime};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

fn series(document: &Value) -> Vec<&Value> {
    document["records"].as_array().unwrap().iter().flat_map(|r| r["series"].as_array().unwrap()).collect()
}

/// Checks that met + late + missed are the elapsed slots, and that the corrected distribution has each of them once.
fn slots_add_up(series: &Value, slots: u64) {
    let n = |key: &str| series["slots"][key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), slots, "{}", series["slots"]);
    assert_eq!(n("met") + n("late"), series["count"].as_u64().unwrap());
    assert_eq!(series["corrected"]["count"].as_u64().unwrap(), slots);
}

#[test]
fn wakeup_counts_every_slot_and_waits_for_no_disk() {
    if !realtime("wakeup as FIFO") {
        return;
    }
    let world = World::new();
    let output =
        world.run(["run", "wakeup", "period=500us", "cycles=2000", "-c0", "--warmup=100ms", "--no-report", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    assert_eq!(all.len(), 1);
    slots_add_up(all[0], 2000);
    let thread = &document["records"][0]["quality"]["threads"][0];
    assert_eq!(thread["policy"], "fifo 80");
    faults::none_from_a_disk(&document["records"][0]);
}

/// A stopped process misses its slots: however long the stop lasted, every slot of that time is in the record.
#[test]
fn a_stall_of_the_measuring_process_is_not_lost() {
    if !realtime("a stalled wakeup") {
        return;
    }
    let world = World::new();
    let mut command =
        world.latido(["run", "wakeup", "period=1ms", "cycles=3000", "-c0", "--warmup=0ns", "--no-report", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = common::measuring_process(&world);
    // From here on no time-sharing task keeps this thread from stopping the process within its 3000 cycles.
    let urgent = processes::Urgent::new();
    meanwhile(&mut child, "100 wake-ups", || (processes::wakeups(pid) > 100).then_some(()));
    processes::signal(pid, Signal::STOP);
    common::until("a stopped process", || {
        processes::threads(pid).iter().all(|task| processes::state_of(task) == Some('T')).then_some(())
    });
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_millis(60));
    // It was stopped for at least this long, plus the time of the test's own actions.
    let stall_ns = stopped.elapsed().as_nanos() as u64;
    processes::signal(pid, Signal::CONT);
    drop(urgent);
    let output = ended(child, "a measurement that was stopped");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    slots_add_up(all[0], 3000);
    const PERIOD_NS: u64 = 1_000_000;
    // All slots of the stall except the first, which is late, and one at its end.
    let missed = all[0]["slots"]["missed"].as_u64().unwrap();
    assert!(missed + 2 >= stall_ns / PERIOD_NS, "{stall_ns} ns, {}", all[0]["slots"]);
    // The first slot of the stall came up to a period after its start.
    let max = all[0]["max"].as_u64().unwrap();
    assert!(max + PERIOD_NS >= stall_ns, "the late slot itself shows the stall: {max} of {stall_ns} ns");
    // 60 of 3000 slots are 2 %: 30 of them, each a period shorter than the one before, are above the corrected p99. A
    // histogram's bins are at most a sixteenth wide.
    let p99 = all[0]["corrected"]["quantiles"]["0.99"].as_u64().unwrap();
    assert!(p99 + p99 / 16 + 32 * PERIOD_NS >= stall_ns, "{p99} of {stall_ns} ns: {}", all[0]["corrected"]);
}

#[test]
fn stop_on_ends_the_cell_at_the_first_sample_above() {
    let world = World::new();
    let output = world.run([
        "run",
        "wakeup",
        "period=1ms",
        "--policy=other",
        "-d60s",
        "--warmup=0ns",
        "--stop-on=1ns",
        "--no-report",
        "--json",
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["records"][0]["outcome"]["kind"], "stopped", "{}", document["records"][0]["outcome"]);
    assert!(document["records"][0]["outcome"]["value_ns"].as_i64().unwrap() > 1);
}

#[test]
fn a_failed_limit_is_exit_2_and_a_kept_one_0() {
    if !realtime("limits") {
        return;
    }
    let world = World::new();
    let base = ["run", "wakeup", "period=1ms", "-d200ms", "--warmup=50ms", "-c0", "--no-report", "--json"];
    let fails = world.run(base.into_iter().chain(["--limit=1ns"]));
    // A virtual machine that loses time in that very second may make the run contaminated (3), but it never passes.
    assert!(matches!(fails.status.code(), Some(2 | 3)), "{}", common::stderr(&fails));
    let holds = world.run(base.into_iter().chain(["--limit=10s"]));
    assert_eq!(holds.status.code(), Some(0), "{}", common::stderr(&holds));
}

#[test]
fn gap_counts_iterations_beyond_32_bits_of_time_and_explains_large_gaps() {
    if !realtime("gap as FIFO") {
        return;
    }
    let world = World::new();
    let output = world.run(["run", "gap", "iterations=20000000", "-c0", "--warmup=0ns", "--no-report", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = series(&document);
    assert_eq!(all[0]["count"].as_u64(), Some(20_000_000));
    let bands: u64 = all[0]["bands"].as_array().unwrap().iter().map(|b| b["count"].as_u64().unwrap()).sum();
    assert_eq!(bands, 20_000_000, "every reading is in a band");
    let facts = &all[0]["facts"];
    for fact in ["elapsed_ns", "own_ns", "preempted", "in_place"] {
        assert!(facts[fact].is_i64() || facts[fact].is_u64(), "{fact}: {facts}");
    }
}

#[test]
fn a_load_that_dies_contaminates_the_cell() {
    let world = World::new();
    let gate = world.path("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RUSR).unwrap();
    let load = format!("command:cat {}", gate.display());
    let words =
        ["run", "null", "hold=600s", "--policy=other", "--duration=600s", "--warmup=0ns", "--no-report", "--json"];
    let mut command = world.latido(words.into_iter().chain(["--load", &load]));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = common::measuring_process(&world);
    // The samples are taken, the probe stays alive, and the load waits for a writer.
    common::until("a measuring thread that sleeps", || (processes::wakeups(pid) > 20).then_some(()));
    drop(std::fs::File::options().write(true).open(&gate).unwrap());
    let loads = || world.alive().iter().any(|(_, line)| line.starts_with("cat "));
    common::until("the end of the load", || (!loads()).then_some(()));
    processes::ctrl_c(child.id());
    let document = json(&ended(child, "a run whose load died"), 130);
    assert_eq!(document["verdict"], "contaminated");
    assert_eq!(document["records"][0]["load"][0]["alive"], false);
    assert!(document["records"][0]["load"][0]["died"].as_str().unwrap().contains("status 0"));
    world.nothing_left("after a dead load");
}

#[test]
fn a_load_is_gone_with_all_its_descendants() {
    let world = World::new();
    // A shell that leaves a grandchild in a separate session, which no process group reaches.
    let script =
        world.file("load.sh", "#!/bin/sh\nsetsid sleep 1000 &\nsetsid sh -c 'sleep 1001 & sleep 1002' &\nenv -i setsid sleep 1004.25 &\nsleep 1003\n");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let load = format!("command:{}", script.display());
    let output = world.run([
        "run",
        "null",
        "hold=300ms",
        "--policy=other",
        "--duration=300ms",
        "--warmup=0ns",
        "--load",
        &load,
        "--no-report",
        "--json",
    ]);
    json(&output, 0);
    world.nothing_left("of the load");
    // One of the processes has an empty environment, so the mark does not identify it.
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| fs::read(e.path().join("cmdline")).ok());
    assert_eq!(lines.filter(|line| line.ends_with(b"1004.25\0")).count(), 0, "the orphan without the mark stayed");
}

#[test]
fn stress_ng_bears_what_was_asked_and_the_record_names_it() {
    if !common::installed("stress-ng", "stress-ng as a load") {
        return;
    }
    let world = World::new();
    let output = world.run([
        "run",
        "null",
        "hold=1s",
        "--policy=other",
        "--duration=1s",
        "--warmup=0ns",
        "--load",
        "stress-ng:cpu=1,vm=1,vm-bytes=8M",
        "--no-report",
        "--json",
    ]);
    let document = json(&output, 0);
    let load = &document["records"][0]["load"][0];
    assert!(load["version"].as_str().unwrap().contains("stress-ng"));
    let argv: Vec<&str> = load["argv"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    assert!(argv.windows(2).any(|pair| pair == ["--vm-bytes", "8M"]), "{argv:?}");
    assert!(load["cpu_ns"].as_u64().unwrap() > 0, "its processes used processor time");
    world.nothing_left("of stress-ng");
}

#[test]
fn gap_of_a_billion_readings_fits_two_megabytes() {
    if !realtime("10^9 readings") {
        return;
    }
    let world = World::new();
    // With the throttle a FIFO loop loses 5 %; the duty cycle stays below its limit.
    let arguments =
        ["run", "gap", "iterations=1000000000", "duty=900ms/1s", "-c1", "--warmup=0ns", "--no-report", "--json"];
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        common::skip("10^9 readings", Need::TwoCpus, "one CPU only: the loop would starve the machine");
        return;
    }
    let document: Value = serde_json::from_slice(&world.run(arguments).stdout).unwrap();
    let all = series(&document);
    assert_eq!(all[0]["count"].as_u64(), Some(1_000_000_000));
    let blocks: u64 = {
        let dir = world.runs()[0].join("cells/001");
        let text = fs::read_to_string(dir.join("blocks-0.csv")).unwrap();
        let size: u64 = fs::read_dir(&dir).unwrap().flatten().map(|e| e.metadata().unwrap().len()).sum();
        assert!(size <= 2 << 20, "{size} bytes on the disk");
        text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(blocks, 1_000_000_000, "the blocks hold every reading");
}

#[test]
fn equal_cells_give_equal_records() {
    let record = || {
        let world = World::new();
        let output = world.run(["run", "null", "samples=500", "--seed=42", "-d1s", "--no-report", "--json"]);
        let mut document = json(&output, 0);
        let record = document["records"][0].take();
        assert_eq!(record["series"][0]["count"], 500);
        // The state of the machine and its clocks differs from second to second; what was measured does not.
        (record["series"].clone(), record["cell"].clone(), record["outcome"].clone())
    };
    assert_eq!(record(), record());
}

#[test]
fn a_deadline_thread_counts_its_slots_too() {
    if !realtime("the deadline policy") {
        return;
    }
    let world = World::new();
    let output = world.run([
        "run",
        "wakeup",
        "period=2ms",
        "cycles=300",
        "-c0",
        "--warmup=20ms",
        "--no-report",
        "--json",
        "--policy=deadline:runtime=500us,deadline=2ms,period=2ms",
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = &document["records"][0];
    if let Some(why) = record["quality"]["policy_refused"].as_str() {
        // latido may only be refused if the kernel refuses the policy to every program.
        let chrt = ["-d", "-T", "500000", "-D", "2000000", "-P", "2000000", "0", "true"];
        let granted = std::process::Command::new("chrt").args(chrt).status().is_ok_and(|status| status.success());
        assert!(!granted, "chrt may, latido may not: {why}");
        common::skip("the deadline policy", Need::Realtime, why);
        return;
    }
    let all = series(&document);
    let of = |quantity: &str| all.iter().find(|s| s["quantity"] == quantity).unwrap();
    let (ordinary, marked) = (of("latency"), of("latency_after_overrun"));
    let n = |key: &str| ordinary["slots"][key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), 300, "{}", ordinary["slots"]);
    assert_eq!(n("met") + n("late"), ordinary["count"].as_u64().unwrap() + marked["count"].as_u64().unwrap());
    assert!(record["quality"]["threads"][0]["policy"].as_str().unwrap().starts_with("deadline"), "granted and kept");
}

#[test]
fn without_stress_ng_the_built_in_load_stands_in_and_says_so() {
    let world = World::new();
    let mut command = world.latido([
        "run",
        "null",
        "hold=500ms",
        "--policy=other",
        "-d500ms",
        "--load=stress-cpu:1",
        "--no-report",
        "--json",
    ]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let document = json(&output, 0);
    let load = &document["records"][0]["load"][0];
    assert!(load["note"].as_str().unwrap().contains("stress-ng is not installed"), "{load}");
    assert!(load["argv"].as_array().unwrap().iter().any(|word| word.as_str().unwrap().starts_with("spin:")), "{load}");
    assert!(load["cpu_ns"].as_u64().unwrap() > 0, "it worked");
    world.nothing_left("of the built-in load");
}

/// The live screen shows spikes of the measurement alone, each with its time since the first slot. Spikes of a warm-up have no such time.
#[test]
fn the_live_screen_times_spikes_from_the_first_slot() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        return common::skip("the live screen", Need::Program, "script is not installed");
    }
    let world = World::new();
    let line = format!(
        "{} run wakeup -d 300ms --warmup=300ms --repeat 6 --policy other --no-report",
        env!("CARGO_BIN_EXE_latido")
    );
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    command.env("LATIDO_STATE", world.state()).env("LATIDO_STORE", world.store()).current_dir(world.dir.path());
    let text = String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned();
    let times: Vec<&str> = text.split("last spike ").skip(1).filter_map(|rest| rest.split(" at ").nth(1)).collect();
    assert!(!times.is_empty(), "{text}");
    assert!(times.iter().all(|time| time.starts_with("0:0")), "{text}");
}
