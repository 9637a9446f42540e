//! Any output of a load as its report: no panic, however hostile the lines, and only finite rates. The first byte of each line sets when it
//! arrives.
#![no_main]

use latido_agent::loading::{account::Account, rates::Seconds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let counts = Account::read(bytes);
    assert!(counts.len() <= 64, "a load cannot fill the record");
    let (mut seconds, mut at_ns) = (Seconds::default(), 0u64);
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        let Some((when, line)) = line.split_first() else { continue };
        at_ns = at_ns.wrapping_add(u64::from(*when) << 24);
        let counts = Account::read(line);
        if !counts.is_empty() {
            seconds.tell(&counts, at_ns);
        }
    }
    let course = seconds.course(at_ns);
    for step in &course.steps {
        assert!(step.counts.values().all(|count| *count >= 0), "{step:?}");
    }
    for (name, rate) in course.rates {
        assert!(rate.mean.is_finite() && rate.mean >= 0.0, "{name}: {rate:?}");
        let (slowest, fastest) = (rate.slowest.unwrap_or(0.0), rate.fastest.unwrap_or(f64::MAX));
        assert!(slowest.is_finite() && 0.0 <= slowest && slowest <= fastest, "{name}: {rate:?}");
    }
});
