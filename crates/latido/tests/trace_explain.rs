//! Causes planted on purpose are named: a busy task above the measured one, a measuring process that is stopped, the
//! throttle of real-time tasks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::{Background, World, alone, installed, json, realtime, root, skip, stderr};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{fs, thread, time::Duration};

/// Whether this machine lets root measure with a trace.
fn possible(world: &World, what: &str) -> bool {
    if !root(what) || !realtime(what) {
        return false;
    }
    let output = world.run(["trace", "record", "--for", "10ms", "-o", "probe.dat"]);
    if !output.status.success() {
        skip(what, stderr(&output).trim());
    }
    output.status.success()
}

/// The explained samples of the last run above so many ns.
fn spikes(world: &World, above: u64) -> Vec<Value> {
    let all = json(&world.run(["trace", "explain", "last", "--worst", "200", "--json"]), 0);
    let spikes = all["cells"][0]["spikes"].as_array().unwrap();
    for spike in spikes {
        let parts: u64 = spike["causes"].as_array().unwrap().iter().map(|piece| piece["ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(parts), spike["ns"].as_u64(), "causes add up: {spike}");
    }
    spikes.iter().filter(|spike| spike["ns"].as_u64().unwrap() > above).cloned().collect()
}

/// In how many the first cause begins so.
fn named(spikes: &[Value], cause: &str) -> usize {
    spikes.iter().filter(|spike| spike["causes"][0]["cause"].as_str().unwrap().contains(cause)).count()
}

/// A task above the measured one that is busy for 3 ms now and then is the first cause of 95 in 100 of the samples that are
/// later than anything else makes them.
#[test]
fn a_busy_task_above_is_named() {
    let what = "a busy real-time task explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) || !installed("chrt", what) || !installed("python3", what) {
        return;
    }
    let busy = "import time\nend = time.monotonic() + 8\nwhile time.monotonic() < end:\n    time.sleep(.04)\n    \
                until = time.monotonic() + .003\n    while time.monotonic() < until: pass\n";
    let hog = Background::shell(&format!("exec taskset -c 0 chrt -f 90 python3 -c '{busy}'"));
    let output = world.run(["run", "wakeup", "-c", "0", "-d", "6s", "--trace", "--no-report", "-q"]);
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    drop(hog);
    let late = spikes(&world, 1_500_000);
    assert!(late.len() >= 20, "{} samples of more than 1.5 ms", late.len());
    let found = named(&late, "python3-");
    assert!(found * 100 >= late.len() * 95, "{found} of {}: {late:#?}", late.len());
}

/// What a stopped process did not do is told as stopped.
#[test]
fn a_stopped_process_is_named() {
    let what = "a stopped measurement explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) {
        return;
    }
    let mut host =
        world.latido(["run", "wakeup", "-c", "0", "-d", "3s", "--trace", "--no-report", "-q"]).spawn().unwrap();
    let measuring = || {
        let with = |name: &str| {
            let line = fs::read(format!("/proc/{name}/cmdline")).unwrap_or_default();
            let here = fs::read(format!("/proc/{name}/environ")).unwrap_or_default();
            let state = world.state().into_os_string().into_string().unwrap();
            String::from_utf8_lossy(&line).contains("--measure") && String::from_utf8_lossy(&here).contains(&state)
        };
        let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find(|name| with(name))
    };
    let pid = std::iter::repeat_with(|| {
        thread::sleep(Duration::from_millis(50));
        measuring()
    });
    let pid: i32 = pid.take(200).flatten().next().expect("a measuring process").parse().unwrap();
    thread::sleep(Duration::from_millis(900));
    let pid = Pid::from_raw(pid).unwrap();
    for _ in 0..5 {
        if kill_process(pid, Signal::STOP).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(30));
        kill_process(pid, Signal::CONT).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    host.wait().unwrap();
    let late = spikes(&world, 20_000_000);
    assert!(!late.is_empty(), "some wake-ups fell into 5 stops of 30 ms");
    // A virtual machine that stands still makes others as late: those are not ours to name.
    assert!(named(&late, "stopped") * 2 > late.len(), "{late:#?}");
}

/// A busy loop that the kernel throttles for 50 ms of each second finds that out.
#[test]
fn the_throttle_is_named() {
    let what = "the throttle of real-time tasks explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) {
        return;
    }
    let runtime = fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    if runtime.trim() != "950000" {
        return skip(what, &format!("sched_rt_runtime_us is {}: nothing is throttled as usual", runtime.trim()));
    }
    // The throttle acts for those that could use the time: somebody must wait.
    let waiting = Background::shell("exec taskset -c 0 sh -c 'while :; do :; done'");
    let output = world.run(["run", "gap", "-c", "0", "-d", "4s", "--trace", "--no-report", "-q"]);
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    drop(waiting);
    let late = spikes(&world, 20_000_000);
    assert!(!late.is_empty(), "throttled at least once in 4 s");
    assert!(named(&late, "throttled") * 2 > late.len(), "{late:#?}");
}
