//! Any text as a list of CPUs: an answer, and the same set after printing and reading.
#![no_main]

use latido_model::cpus::{CpuSet, MAX_CPU};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(set) = text.parse::<CpuSet>() else { return };
    assert!(!set.is_empty(), "{text:?}");
    assert!(set.iter().all(|cpu| cpu <= MAX_CPU), "{text:?}");
    assert_eq!(set.to_string().parse::<CpuSet>().as_ref(), Ok(&set), "{text:?}");
});
