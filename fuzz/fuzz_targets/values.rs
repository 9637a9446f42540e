//! Any text as samples and as tables of numbers: an answer, or a refusal at an existing line; accepted values are finite.
#![no_main]

use latido::cli::values::{TimeUnit, samples, table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    for unit in [TimeUnit::Ns, TimeUnit::Us, TimeUnit::S] {
        match samples(text, unit) {
            Ok(samples) => assert!(!samples.is_empty() && samples.len() <= lines),
            Err(at) => assert!(at.line <= lines && !at.what.is_empty()),
        }
    }
    for columns in [None, Some(2)] {
        match table(text, columns, Some(TimeUnit::Ms)) {
            Ok(table) => {
                let width = table.rows.first().map(|row| row.fields.len());
                assert!(table.rows.iter().all(|row| row.value.is_finite() && Some(row.fields.len()) == width));
            }
            Err(at) => assert!(at.line <= lines && !at.what.is_empty()),
        }
    }
});
