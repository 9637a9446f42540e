//! A kernel that can be preempted nearly everywhere.

use crate::common::far::Far;

/// The record and `latido check` say that the kernel is PREEMPT_RT.
pub fn is_known(far: &Far) {
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
