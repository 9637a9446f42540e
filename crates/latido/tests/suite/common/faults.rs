//! Page faults of the measuring threads.
//!
//! latido makes its loops' code and memory resident before they start. The tests prove that no page is missing where nothing else moves or
//! maps pages: in guests of the laboratory ([`none`]), by the counted costs of each loop (`crates/rt/tests/quiet`), and on the static file
//! by `scripts/check-faults`, which repeats a measurement that met a fault. On a machine with other work a thread now and then meets a
//! minor fault that no repetition shows again. A page that has to be read from a disk would be latido's own fault there too.

use serde_json::Value;

/// The minor and major page faults of all threads of a record.
fn met(record: &Value) -> (u64, u64) {
    let threads = record["quality"]["threads"].as_array().unwrap();
    assert!(!threads.is_empty(), "{}", record["quality"]);
    let sum = |key: &str| threads.iter().map(|thread| thread[key].as_u64().unwrap()).sum();
    (sum("minor_faults"), sum("major_faults"))
}

/// Checks that no thread met a page fault, in a guest of the laboratory.
pub fn none(record: &Value) {
    assert_eq!(met(record), (0, 0), "{}", record["quality"]);
}

/// Checks that no thread waited for a page from a disk, on any machine.
pub fn none_from_a_disk(record: &Value) {
    assert_eq!(met(record).1, 0, "{}", record["quality"]);
}
