//! Any text as the final output of stress-ng: no panic, few rates, and each rate a finite number.
#![no_main]

use latido_agent::loading::metrics;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let rates = metrics::rates(bytes);
    assert!(rates.len() <= 64, "it cannot fill the record");
    for (name, rate) in rates {
        assert!(name.is_ascii() && name.len() <= 64, "{name}");
        assert!(rate.mean.is_finite() && rate.mean >= 0.0 && rate.over_ns > 0, "{name}: {rate:?}");
    }
});
