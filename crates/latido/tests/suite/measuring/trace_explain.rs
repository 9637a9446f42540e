//! latido names planted causes: a busy task above the measured one, storms of timers and of soft interrupts, a stopped measuring process,
//! the throttle of real-time tasks; in the terminal, the report and JSON.

use crate::common::{self, Need};

use common::{Planted, World, alone, ended, installed, json, meanwhile, processes, realtime, root, skip, stderr};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, process::Stdio, thread, time::Duration};

/// Whether root can measure with a trace on this machine.
fn possible(world: &World, what: &str) -> bool {
    if !root(what) || !realtime(what) {
        return false;
    }
    let output = world.run(["trace", "record", "--for", "10ms", "-o", "probe.dat"]);
    if !output.status.success() {
        skip(what, Need::Realtime, stderr(&output).trim());
    }
    output.status.success()
}

/// Measures CPU 0 with `--explain`.
fn measured(world: &World, probe: &str, time: &str) {
    let output = world.run(["run", probe, "-c", "0", "-d", time, "--explain=200", "-o", "report.html"]);
    assert!(matches!(output.status.code(), Some(0..=3)), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("late samples explained, by events") && said.contains("Causes of the late samples"),
        "{said}"
    );
    let page = fs::read_to_string(world.path("report.html")).unwrap();
    for part in ["Why samples were late", "class=\"stack\"", "class=\"meanwhile\"", "events around it", "it is woken"] {
        assert!(page.contains(part) || probe == "gap", "no {part} in the report");
    }
}

/// The explained samples of the last run between two bounds, in ns.
fn spikes(world: &World, low: u64, high: u64) -> Vec<Value> {
    let all = json(&world.run(["trace", "explain", "last", "--json"]), 0);
    // The text names the same samples.
    let text = world.run(["trace", "explain", "last"]);
    let said = String::from_utf8_lossy(&text.stdout);
    assert!(text.status.success() && said.contains("Causes of the late samples"), "{said}{}", stderr(&text));
    let spikes = all["cells"][0]["spikes"].as_array().unwrap();
    for spike in spikes {
        let parts: u64 = spike["causes"].as_array().unwrap().iter().map(|piece| piece["ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(parts), spike["ns"].as_u64(), "causes add up: {spike}");
        assert!(spike["task"].as_str().unwrap().starts_with("latido/0-"), "as the kernel names it: {spike}");
    }
    spikes.iter().filter(|spike| (low..high).contains(&spike["ns"].as_u64().unwrap())).cloned().collect()
}

/// The number of times that the process is stopped.
const STOPS: usize = 5;

/// The number of samples whose first cause contains this text.
fn named(spikes: &[Value], cause: &str) -> usize {
    spikes.iter().filter(|spike| spike["causes"][0]["cause"].as_str().unwrap().contains(cause)).count()
}

/// What a failed test prints for explained samples: how late each was, and its causes.
fn told(spikes: &[Value]) -> Vec<String> {
    spikes.iter().map(|spike| format!("{} ns: {}", spike["ns"], spike["causes"])).collect()
}

/// A cause that makes many samples late is the first cause of samples that are as late as it makes them. The campaign
/// (`scripts/slow/causes`) measures the percentage: in some seconds other programs disturb too.
#[test]
fn what_is_planted_is_named() {
    let what = "planted causes explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) || !installed("python3", what) {
        return;
    }
    let causes =
        [("busy", 1_500_000, 3_500_000, "python3-"), ("timers", 1_200_000, 4_000_000, "interrupt local_timer")];
    let network = installed("unshare", "a flood of soft interrupts explained") && installed("ip", "the same");
    let flood = network.then_some(("softirqs", 1_200_000, 10_000_000, "soft interrupt net_rx"));
    for (cause, low, high, name) in causes.into_iter().chain(flood) {
        let planted = Planted::on_cpu_0(cause);
        measured(&world, "wakeup", "3s");
        drop(planted);
        let late = spikes(&world, low, high);
        // Other programs also make samples this late, and on a busy machine more of them than the plant: only those of the plant count.
        let found = named(&late, name);
        assert!(found >= 5, "{cause}: {found} of {}: {:#?}", late.len(), told(&late));
    }
}

/// A run that ends by Ctrl-C explains what it measured until then. It kept no more of its trace than that needs.
#[test]
fn what_was_measured_before_an_end_is_explained() {
    let what = "an interrupted run explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) {
        return;
    }
    let host =
        world.latido(["run", "wakeup", "period=1ms", "-c", "0", "-d", "10m", "--explain=3", "--no-report", "-q"]);
    let mut host = { host }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measuring = common::measuring_process(&world);
    meanwhile(&mut host, "3000 wake-ups", || (processes::wakeups(measuring) > 3000).then_some(()));
    processes::ctrl_c(host.id());
    let output = ended(host, "a run that explains and is interrupted");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("3 late samples explained"), "{said}");
    let record = fs::read(&common::records(&world.runs()[0])[0].0).unwrap();
    let trace = serde_json::from_slice::<Value>(&record).unwrap()["quality"]["trace"].clone();
    assert_eq!(trace["kept"]["samples"], 3, "{trace}");
    assert!(trace["kept"]["dropped"].as_u64() > Some(0), "{trace}");
}

/// latido refuses to explain a probe that no trace explains, before it measures.
#[test]
fn only_times_of_a_thread_are_explained() {
    let world = World::new();
    let output = world.run(["run", "switch", "--explain", "-d", "1s"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("latido explains those of wakeup, interrupt, gap and task"),
        "{}",
        stderr(&output)
    );
}

/// latido attributes the time of a stopped process to the stop: it finds each stop, with its length.
#[test]
fn a_stopped_process_is_named() {
    let what = "a stopped measurement explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) {
        return;
    }
    let run =
        ["run", "wakeup", "period=1ms", "-c", "0", "-d", "10m", "--warmup=50ms", "--explain=50", "--no-report", "-q"];
    let mut host = world.latido(run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = common::measuring_process(&world);
    let wakes = |host: &mut std::process::Child, so_often: u64| {
        let before = processes::wakeups(pid);
        meanwhile(host, "wake-ups", || (processes::wakeups(pid) >= before + so_often).then_some(()));
    };
    wakes(&mut host, 500);
    for _ in 0..STOPS {
        processes::signal(pid, Signal::STOP);
        common::until("a stopped process", || {
            processes::threads(pid).iter().all(|task| processes::state_of(task) == Some('T')).then_some(())
        });
        thread::sleep(Duration::from_millis(20));
        processes::signal(pid, Signal::CONT);
        wakes(&mut host, 50);
    }
    processes::ctrl_c(host.id());
    assert_eq!(ended(host, "a run that was stopped").status.code(), Some(130));
    // The first slot of a stop of 20 ms comes up to a period of 1 ms after its start. Other samples may be as late for other reasons.
    let late = spikes(&world, 19_000_000, u64::MAX);
    let stopped = |piece: &Value| {
        // "The hypervisor stopped the machine" is another cause, and may occur meanwhile.
        piece["cause"] == "stopped" && piece["ns"].as_u64() >= Some(19_000_000)
    };
    let found = late.iter().filter(|spike| spike["causes"].as_array().unwrap().iter().any(stopped)).count();
    assert_eq!(found, STOPS, "{:#?}", told(&late));
}

/// The report of a busy loop that the kernel throttles for 50 ms of each second names the throttle.
#[test]
fn the_throttle_is_named() {
    let what = "the throttle of real-time tasks explained";
    let (_turn, world) = (alone(), World::new());
    if !possible(&world, what) || !installed("python3", what) {
        return;
    }
    let runtime = fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    if runtime.trim() != "950000" {
        return skip(
            what,
            Need::Kernel,
            &format!("sched_rt_runtime_us is {}: nothing is throttled as usual", runtime.trim()),
        );
    }
    // The throttle acts only if another task could use the time, so one must wait.
    let waiting = Planted::on_cpu_0("waiter");
    measured(&world, "gap", "4s");
    drop(waiting);
    let late = spikes(&world, 20_000_000, 60_000_000);
    // On a busy machine a gap of that length may have another cause; the throttle acts in each second.
    assert!(named(&late, "throttled") > 0, "{:#?}", told(&late));
}
