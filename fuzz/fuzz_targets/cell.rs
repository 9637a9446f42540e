//! Any line as a cell that a host asks an agent to measure: an answer, and the same cell after writing and reading.
#![no_main]

use latido_agent::supervise::assign::assign;
use latido_model::cell::Cell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Ok(cell) = serde_json::from_slice::<Cell>(line) else { return };
    let text = serde_json::to_string(&cell).expect("a cell can be written");
    assert_eq!(serde_json::from_str::<Cell>(&text).ok().as_ref(), Some(&cell), "{text}");
    let _ = assign(cell);
});
