//! The tests find exactly what they plant in a guest: the guest's clock counts instructions, so that nothing of this machine affects the
//! numbers, and each run gives the same bytes. On real machines tests show the same by relations (`measuring/hog.rs`,
//! `measuring/interference.rs`).

use crate::common::lab as laboratory;
use crate::common::{World, faults, json};

use laboratory::kernel;
use serde_json::Value;

const MS: i64 = 1_000_000;

/// Measures a cell in a guest and returns its document, which must have this exit status; `None` if the kernel is not available, which the
/// test notes.
fn measured(name: &str, status: i32, words: &[&str]) -> Option<Value> {
    measured_in(&World::new(), name, status, words)
}

/// The same in a world that the caller keeps.
fn measured_in(world: &World, name: &str, status: i32, words: &[&str]) -> Option<Value> {
    kernel(name, &format!("planted in a guest: {}", words.join(" ")))?;
    let lab = ["--on", "lab", "--kernel", name, "--seed", "3", "--no-report", "--json"];
    let output = world.run([&["run"], words, &lab].concat());
    let document = json(&output, status);
    world.nothing_left("after a guest");
    faults::none(&document["records"][0]);
    Some(document)
}

fn series<'a>(document: &'a Value, quantity: &str) -> &'a Value {
    let all = document["records"][0]["series"].as_array().unwrap();
    all.iter().find(|one| one["quantity"] == quantity).unwrap_or_else(|| panic!("no {quantity}: {all:?}"))
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The waits in the record that the machine's limit on real-time tasks caused: their number and their total length in ns.
fn throttled(document: &Value) -> (i64, i64) {
    let facts = &series(document, "gap")["facts"];
    (number(facts, "throttled"), number(facts, "throttled_ns"))
}

/// The throttle of an older kernel takes 50 ms of each second from a task that never sleeps: it acts after 950 ms and after 1,950 ms, to
/// the kernel's ticks of 4 ms. A third wait would end after the 3 s. The machine itself causes this: it is a cause, but no excuse.
#[test]
fn the_throttle_makes_one_wait_in_each_second() {
    let world = World::new();
    let words = ["gap", "-d", "3s", "--limit", "20ms", "--explain=2"];
    let Some(document) = measured_in(&world, "6.1-rt", 2, &words) else { return };
    let (waits, ns) = throttled(&document);
    assert_eq!(waits, 2, "{}", document["records"][0]);
    assert!((46 * MS..=54 * MS).contains(&(ns / waits)), "{ns} ns in {waits} waits");
    assert_eq!(document["verdict"], "fail");
    let headline = document["judgement"]["headline"].as_str().unwrap();
    assert!(headline.contains("2 of ") && headline.contains("throttle caused 2 of them"), "{headline}");
    // The trace names it too, for almost all of both waits.
    let told = json(&world.run(["trace", "explain", "last", "--json"]), 0);
    let spikes = told["cells"][0]["spikes"].as_array().unwrap();
    assert_eq!(spikes.len(), 2);
    for spike in spikes {
        let first = &spike["causes"][0];
        assert_eq!(first["cause"], "throttled", "{}", spike["causes"]);
        assert!(number(first, "ns") > 45 * MS, "{}", spike["causes"]);
    }
}

/// The fair server of a newer kernel does the same for a task that starves.
#[test]
fn the_fair_server_makes_one_wait_in_each_second() {
    let words = ["gap", "-d", "2100ms", "--limit", "20ms", "--load", "spin:cpu=1,memory=0"];
    let Some(document) = measured("6.12-none", 2, &words) else { return };
    let (waits, ns) = throttled(&document);
    // One wait in each second; the last may end after the 2.1 s, depending on when the server started.
    assert!((2..=3).contains(&waits), "{}", document["records"][0]);
    assert!((46 * MS..=54 * MS).contains(&(ns / waits)), "{ns} ns in {waits} waits");
    let headline = document["judgement"]["headline"].as_str().unwrap();
    let told = [format!("{waits} of "), format!("throttle caused {waits} of them")];
    assert!(told.iter().all(|words| headline.contains(words)), "{headline}");
}

/// The competing task of priority 90 keeps the probe of priority 60 off the CPU for its whole burst of 10 ms: one slot is late and the
/// others are missed. Competing tasks below the probe never do. The load's report states what was planted.
#[test]
fn rivals_above_the_probe_cost_their_bursts() {
    let load = "rt-interference:busy=10ms,idle=40ms";
    let words = ["wakeup", "period=1ms", "-d", "500ms", "--prio", "60", "--load", load];
    let Some(document) = measured("6.12-rt", 0, &words) else { return };
    let achieved = &document["records"][0]["load"][0]["achieved"];
    let (bursts, busy_ns) = (number(achieved, "bursts"), number(achieved, "busy_ns"));
    // There are three threads, and the report may catch each in the middle of a burst. A burst ends when the thread reads the clock.
    assert!(bursts > 0 && (busy_ns - bursts * 10 * MS).abs() <= 3 * 10 * MS + bursts * MS / 10, "{achieved}");
    let latency = series(&document, "latency");
    // A burst starts up to a period before the slot that is late.
    assert!((9 * MS..=10 * MS + MS / 2).contains(&number(latency, "max")), "{latency}");
    let slots = &latency["slots"];
    let [met, late, missed] = ["met", "late", "missed"].map(|key| number(slots, key));
    assert_eq!(met + late + missed, 500, "{slots}");
    // A burst starts every 50 ms. Its 10 ms, and the short time until its end is read, contain ten slots, or eleven if one is at the very
    // start: one is late, the others are missed. The run may start in a burst, whose late slot it then does not count, and end in one,
    // whose last missed slots it does not count: the position of the bursts depends on how long the guest takes to start.
    assert!((9..=11).contains(&late), "{slots}");
    assert!((9 * (late - 1)..=10 * (late + 1)).contains(&missed), "{slots}");
    assert!((90..=111).contains(&(late + missed)), "{slots}");
}
