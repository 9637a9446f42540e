//! Probes of tracers that few kernels have, on a real kernel: Debian's PREEMPT_RT kernel has all except those for interrupts off.

use crate::common::{
    far::{Borrowed, Far},
    stderr,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The settings that tracers have once for the whole machine, and the existing instances.
const SETTINGS: &str = "cd /sys/kernel/tracing && grep -s . osnoise/period_us osnoise/runtime_us osnoise/cpus \
    osnoise/timerlat_period_us osnoise/stop_tracing_us hwlat_detector/window hwlat_detector/width hwlat_detector/mode \
    tracing_thresh; ls instances";

fn count(record: &Value, quantity: &str, cpu: u64) -> u64 {
    let all = record["series"].as_array().unwrap();
    let of = |one: &&Value| one["quantity"] == quantity && one["cpu"].as_u64().is_none_or(|its| its == cpu);
    all.iter().find(of).unwrap_or_else(|| panic!("no {quantity} of CPU {cpu}: {record}"))["count"].as_u64().unwrap()
}

/// Checks that the series has no more samples than its period allows in the measured time.
fn within(record: &Value, quantity: &str, cpu: u64, period_ns: u64) {
    let most = record["elapsed_ns"].as_u64().unwrap() / period_ns + 1;
    let count = count(record, quantity, cpu);
    assert!((1..=most).contains(&count), "{count} of at most {most} {quantity}: {record}");
}

/// Checks that each probe has samples on the requested CPUs, no more than its period allows, and leaves neither a changed setting nor an
/// instance.
pub fn give_samples_and_all_is_as_it_was(far: &Far) {
    let before = far.there(SETTINGS);
    let mut seen = BTreeMap::new();
    // Emulated CPUs are slow, and two of them share this machine's, so the periods are long.
    for words in [
        &["timerlat", "period=100ms", "-c", "1", "-d", "3s"][..],
        &["osnoise", "period=500ms", "runtime=200ms", "-d", "3s"],
        &["hwlat", "window=400ms", "width=100ms", "-d", "3s"],
        &["wakeup-tracer", "of=all", "-d", "3s"],
    ] {
        let (record, said) = far.measured(words);
        assert_eq!(far.there(SETTINGS), before, "after {words:?}: {said}");
        seen.insert(words[0], record);
    }
    const MS: u64 = 1_000_000;
    within(&seen["timerlat"], "interrupt", 1, 100 * MS);
    within(&seen["timerlat"], "thread", 1, 100 * MS);
    let timerlat = seen["timerlat"]["series"].as_array().unwrap();
    assert!(timerlat.iter().all(|one| one["cpu"] == 1), "CPU 1 alone was asked for: {timerlat:?}");
    for cpu in [0, 1] {
        within(&seen["osnoise"], "noise", cpu, 500 * MS);
    }
    let facts = &seen["osnoise"]["series"][0]["facts"];
    assert!(facts["irq"].as_i64().unwrap() > 0, "ticks interrupt it: {facts}");
    assert!(count(&seen["hwlat"], "inner", 0) + count(&seen["hwlat"], "inner", 1) > 0, "{}", seen["hwlat"]);
    let longest = &seen["wakeup-tracer"]["series"][0];
    let seconds = seen["wakeup-tracer"]["elapsed_ns"].as_u64().unwrap() / (1000 * MS) + 1;
    assert!((1..=seconds).contains(&longest["count"].as_u64().unwrap()), "one a second: {longest}");
    assert!(seen["wakeup-tracer"]["attachments"].to_string().contains("maxima.csv"));
    // At the end of the run people read which task was affected.
    let told = far.ran(&["run", "wakeup-tracer", "of=all", "-d", "2s", "--no-report"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("wakeup-tracer: the longest of each second") && told.contains("begun in"), "{told}");

    let borrowed = Borrowed {
        shown_by: SETTINGS,
        run: &["run", "timerlat", "period=90ms", "-c", "1", "-d", "10m", "--no-report"],
        is_borrowed: |now| now.contains("timerlat_period_us:90000"),
    };
    far.gives_back_however_it_ends(&borrowed, &before);

    // latido refuses a probe that this kernel lacks, and names what it needs.
    let refused = far.ran(&["run", "irqsoff", "-d", "1s"]);
    assert!(!refused.status.success() && stderr(&refused).contains("CONFIG_IRQSOFF_TRACER"), "{}", stderr(&refused));
}
