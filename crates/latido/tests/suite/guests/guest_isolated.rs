//! A CPU that the kernel isolated at boot.

use crate::common::{far::Far, stderr};

/// The most common real-time set-up: the kernel gives no task to CPU 1, and keeps it out of every inherited mask.
pub fn is_measured(far: &Far) {
    assert_eq!(far.there("cat /sys/devices/system/cpu/isolated"), "1");
    assert_eq!(far.there("grep Cpus_allowed_list /proc/self/status").split_whitespace().last(), Some("0"));
    let measured = |words: &[&str]| {
        let (record, said) = far.measured(&[words, &["-d", "1s"]].concat());
        assert!(record["quality"]["policy_refused"].is_null(), "{words:?}: {}", record["quality"]);
        (record, said)
    };
    let cpus = |record: &serde_json::Value| {
        let series = record["series"].as_array().unwrap();
        series.iter().map(|one| one["cpu"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (record, _) = measured(&["wakeup", "-c", "1"]);
    assert_eq!((cpus(&record), &record["quality"]["housekeeping"]), (vec![1], &"0".into()), "{}", record["quality"]);
    let (record, _) = measured(&["wakeup"]);
    assert_eq!(cpus(&record), [0, 1]);
    let (record, said) = measured(&["gap", "duty=100ms/1s"]);
    assert_eq!(cpus(&record), [1]);
    let first = said.lines().find(|line| line.starts_with("run ")).unwrap_or_default();
    assert!(first.contains("without CPU 0 of ssh:guest (left for everything else by `gap`)"), "{said}");
    // The CPUs that `check` advises are those that a run takes.
    let output = far.ran(&["check", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = document["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["check"] == "isolated CPUs").unwrap();
    assert_eq!(point["state"], "1; measure them with --cpus 1", "{point}");
    far.there("echo 0 >/sys/devices/system/cpu/cpu1/online");
    let (record, said) = measured(&["wakeup"]);
    assert_eq!(cpus(&record), [0]);
    assert!(said.contains("without CPU 1 of ssh:guest (offline)"), "{said}");
    let refused = far.ran(&["run", "wakeup", "-c", "1", "-d", "1s", "--no-report"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("CPU 1 is offline; latido can measure CPUs 0"), "{}", stderr(&refused));
    far.there("echo 1 >/sys/devices/system/cpu/cpu1/online");
}
