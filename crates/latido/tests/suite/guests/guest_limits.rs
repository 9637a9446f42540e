//! What a kernel's own rules do to real-time tasks, met for real: the throttle of older kernels, the fair server of newer
//! ones, and a kernel that can be preempted nearly everywhere.

use crate::common::far;
use crate::common::{self, Need};

use common::skip;
use far::Far;

/// Both take 50 ms of each second from a task that never sleeps; five of them come in this time.
const LOOP: &[&str] = &["gap", "-c", "1", "-d", "5s", "--limit", "20ms"];

/// The waits that the machine's limits explain, and the verdict. An emulated machine that loses a whole second to its host
/// keeps some of them.
fn waits_are_named(far: &Far, by: &str) {
    let (record, _) = far.measured(LOOP);
    let facts = &record["series"][0]["facts"];
    let (throttled, ns) = (facts["throttled"].as_i64().unwrap(), facts["throttled_ns"].as_i64().unwrap());
    assert!((3..=6).contains(&throttled), "{by}: {facts}");
    assert!((30_000_000..=80_000_000).contains(&(ns / throttled)), "{by}: {facts}");
    let shown = far.world.latido(["show", "last"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    // It is the machine's own doing: a cause, and no excuse.
    assert!(shown.contains("DOES NOT HOLD") && shown.contains("throttle made"), "{by}: {shown}");
}

#[test]
fn the_throttle_of_an_older_kernel_is_the_cause_and_no_excuse() {
    let far = match Far::start(&["--kernel", "6.1"]) {
        Ok(far) => far,
        Err(why) => return skip("the real-time throttle of Linux 6.1", Need::Qemu, &why),
    };
    waits_are_named(&far, "throttle");
    // Who rests within the budget never meets it.
    let (record, _) = far.measured(&["gap", "duty=800ms/1s", "-c", "1", "-d", "4s"]);
    assert_eq!(record["series"][0]["facts"]["throttled"], 0, "{record}");
}

#[test]
fn the_fair_server_of_a_newer_kernel_is_the_cause_where_somebody_starves() {
    let far = match Far::start(&["--kernel", "6.12"]) {
        Ok(far) => far,
        Err(why) => return skip("the fair server of Linux 6.12", Need::Qemu, &why),
    };
    let (record, _) = far.measured(LOOP);
    assert_eq!(record["series"][0]["facts"]["throttled"], 0, "nobody starves: {record}");
    far.there("taskset 2 sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &");
    waits_are_named(&far, "fair server");
}

#[test]
fn a_preempt_rt_kernel_is_known_and_measured() {
    let far = match Far::start(&["--kernel", "6.12", "--flavour", "rt-amd64"]) {
        Ok(far) => far,
        Err(why) => return skip("a PREEMPT_RT kernel", Need::Qemu, &why),
    };
    assert_eq!(far.there("cat /sys/kernel/realtime"), "1");
    let (record, _) = far.measured(&["wakeup", "-d", "1s"]);
    assert!(record["machine"]["preemption"].to_string().contains("rt"), "{}", record["machine"]["preemption"]);
    assert_eq!(record["machine"]["memory"]["moves_locked"], false);
    let output = far.ran(&["check", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["points"].as_array().unwrap();
    let severity = |name: &str| points.iter().find(|point| point["check"] == name).unwrap()["severity"].clone();
    assert_eq!((severity("preemption model"), severity("memory compaction")), ("ok".into(), "ok".into()));
}
