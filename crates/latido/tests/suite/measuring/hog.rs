//! A competing task above the probe's priority: the record names it, the verdict blames it if it decides, and its slots are not lost.

use crate::common;

use common::{World, ended, installed, meanwhile, processes, realtime, until};
use processes::{ran_ns_of, signal, state_of, threads};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A competing task of FIFO 70 on CPU 0. It stays stopped until the test lets it go, and is stopped again when it has run long enough, so
/// the test knows how long it ran, to the nanosecond, on any machine.
struct Hog(Child);

impl Hog {
    fn stopped() -> Self {
        let script = "kill -STOP $$; while :; do :; done";
        let words = ["-c", "0", "chrt", "-f", "70", "sh", "-c", script];
        let hog = Self(Command::new("taskset").args(words).stdin(Stdio::null()).spawn().unwrap());
        hog.stands_still("a hog that is ready");
        hog
    }

    fn task(&self) -> PathBuf {
        format!("/proc/{}", self.0.id()).into()
    }

    fn stands_still(&self, what: &str) {
        until(what, || (state_of(&self.task())? == 'T').then_some(()));
    }

    fn ran_ns(&self) -> u64 {
        ran_ns_of(&self.task()).unwrap()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A competing task above the probe: the record has the time that it ran, and each slot of that time.
#[test]
fn a_hog_above_the_own_priority_is_seen_and_blamed() {
    if !realtime("a hog above the probe") || !installed("taskset", "a hog above the probe") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let hog = Hog::stopped();
    let before = hog.ran_ns();
    let mut command = world.latido([
        "run",
        "wakeup",
        "period=1ms",
        "cycles=4000",
        "-c0",
        "--prio=50",
        "--warmup=50ms",
        "--limit=20ms",
        "--no-report",
        "--json",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measuring = common::measuring_process(&world);
    // The test itself cuts the competing task into pieces, at a higher priority than both.
    let urgent = processes::Urgent::on(0);
    // Beyond the 50 of the warm-up.
    meanwhile(&mut child, "200 wake-ups", || (processes::wakeups(measuring) > 200).then_some(()));
    signal(hog.0.id().cast_signed(), Signal::CONT);
    // Less than the time that the kernel grants before it throttles real-time tasks.
    until("a hog that has run for 300 ms", || (hog.ran_ns() >= before + 300_000_000).then_some(()));
    signal(hog.0.id().cast_signed(), Signal::STOP);
    hog.stands_still("a hog that has run enough");
    drop(urgent);
    let output = ended(child, "a measurement beside a hog");
    let ran_ns = hog.ran_ns() - before;
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let quality = &document["records"][0]["quality"];
    // If another sample was late because of the machine, that sample decides. The worst one comes from the competing task and is attributed
    // to it in either case.
    let headline = document["judgement"]["headline"].as_str().unwrap();
    let verdict = (output.status.code(), document["verdict"].as_str().unwrap());
    let after = |words: &str| headline.split_once(words).map(|(_, rest)| rest.split(" ms").next().unwrap());
    match (after("the worst of the others "), after("worst ")) {
        (None, _) => assert_eq!(verdict, (Some(3), "contaminated"), "{headline}; {quality}"),
        (Some(others), worst) => {
            assert_eq!(verdict, (Some(2), "fail"), "{headline}; {quality}");
            assert_ne!(Some(others), worst, "{headline}; {quality}");
        }
    }
    let record = &document["records"][0];
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let told = foreign.iter().find(|f| f["policy"] == "fifo 70").unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!((&told["tid"], &told["ran_ns"]), (&hog.0.id().into(), &ran_ns.into()), "{told}");
    let slots = &record["series"][0]["slots"];
    let n = |key: &str| slots[key].as_u64().unwrap();
    assert_eq!(n("met") + n("late") + n("missed"), 4000);
    // Nothing but more urgent work interrupted it: its first slot is late, and one at its end.
    assert!(n("missed") + 2 >= ran_ns / 1_000_000, "{ran_ns} ns of a hog: {slots}");
}

/// A competing task that takes half of the CPU in short pieces never keeps the probe off the CPU for long: latido finds it by the time that
/// it ran.
#[test]
fn a_hog_in_short_pieces_is_found_by_what_it_ran() {
    if !realtime("a hog in short pieces") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    // The load of another latido does not belong to this cell: FIFO 90, 2 ms of each 4 ms, also before and after the measurement.
    let load = ["load", "rt-interference:busy=2ms,idle=2ms,low=1,middle=2,high=90,cpus=0"];
    let mut load = world.latido(load).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let rival = until("a rival of FIFO 90", || rival_of(&world));
    let first = ran_ns_of(&rival).unwrap();
    let measure = ["run", "wakeup", "period=1ms", "-d9m", "-c0", "--prio=50", "--warmup=50ms", "--no-report", "--json"];
    let mut child = world.latido(measure).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measuring = common::measuring_process(&world);
    let urgent = processes::Urgent::new();
    // Both times are read during the measurement: the first after it started, the other before the test last saw it running.
    meanwhile(&mut child, "200 wake-ups", || (processes::wakeups(measuring) > 200).then_some(()));
    let begun = ran_ns_of(&rival).unwrap();
    let later = meanwhile(&mut child, "1000 wake-ups", || {
        let ran_ns = ran_ns_of(&rival).unwrap();
        (processes::wakeups(measuring) > 1000).then_some(ran_ns)
    });
    drop(urgent);
    processes::ctrl_c(child.id());
    let output = ended(child, "a measurement beside a rival");
    let last = ran_ns_of(&rival).unwrap();
    signal(load.id().cast_signed(), Signal::INT);
    common::status(&mut load, "the rival's load");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let foreign = document["records"][0]["quality"]["foreign"].as_array().unwrap();
    let hog = foreign.iter().find(|f| f["policy"] == "fifo 90").unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!((&hog["owner"], &hog["cpu"]), (&"program".into(), &0.into()), "{hog}");
    let told = hog["ran_ns"].as_u64().unwrap();
    assert!(later > begun && told >= later - begun && told <= last - first, "{begun} {later}, {first} {last}: {hog}");
    assert!(foreign.iter().all(|f| f["policy"] != "fifo 1" && f["policy"] != "fifo 2"), "below the probe: {foreign:?}");
}

/// The thread of priority 90 of a world's load.
fn rival_of(world: &World) -> Option<PathBuf> {
    let bears = |line: &str| line.contains(" load rt-interference");
    let loads = world.alive().into_iter().filter(|(_, line)| bears(line));
    // The real-time priority is field 40 of `stat`, field 38 after the name.
    let priority = |task: &PathBuf| {
        let stat = std::fs::read_to_string(task.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(37)?.parse::<u32>().ok()
    };
    loads.flat_map(|(pid, _)| threads(pid)).find(|task| priority(task) == Some(90))
}

/// The competing tasks of the cell's own load belong to its conditions: they excuse nothing, and are not taken for a throttle, however
/// regular they are.
#[test]
fn the_load_s_rivals_are_no_excuse_and_no_throttle() {
    if !realtime("rivals of a busy loop") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let output = world.run([
        "run",
        "gap",
        "-d4s",
        "-c0",
        "--prio=50",
        "--warmup=50ms",
        "--limit=1ms",
        "--load=rt-interference:busy=2ms,idle=50ms,low=1,middle=2,high=90",
        "--no-report",
        "--json",
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Stolen time may also excuse samples, and thus decide the verdict; the load's competing tasks excuse none.
    let findings = document["judgement"]["cells"][0]["findings"].as_array().unwrap();
    let excuses = findings.iter().find(|one| one["check"] == "foreign tasks").unwrap();
    // The rivals have no name of their own: their policy tells them from others.
    assert!(!excuses["text"].as_str().unwrap().contains("fifo 90"), "{excuses}");
    let record = &document["records"][0];
    let stolen = record["quality"]["steal_ns"].as_u64() > Some(0);
    let undecided = output.status.code() == Some(3) && stolen;
    assert!(output.status.code() == Some(2) || undecided, "{}", document["judgement"]);
    let facts = &record["series"][0]["facts"];
    assert!(facts["preempted"].as_u64().unwrap() > 0, "{facts}");
    // If the kernel throttles the loop, it does so at most once a second.
    let seconds = record["elapsed_ns"].as_u64().unwrap() / 1_000_000_000 + 1;
    assert!(facts["throttled"].as_u64().unwrap_or(0) <= seconds, "{facts}");
    let foreign = record["quality"]["foreign"].as_array().unwrap();
    let rival = foreign.iter().find(|f| f["policy"] == "fifo 90").unwrap_or_else(|| panic!("{foreign:?}"));
    assert_eq!(rival["owner"], "load", "{rival}");
}
