//! Any bytes as a file of trace-cmd: it is refused with a place, or its events are told, paired and explained; whatever it
//! says of sizes, no memory is taken that it does not hold.
#![no_main]

use latido_trace::{
    explain::{Slice, Window, explain},
    file::Trace,
    pairing::{Definition, Pairing, pair},
    summary::Summary,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::open(bytes) else { return };
    for buffer in trace.buffers.iter().take(4) {
        let mut summary = Summary::default();
        let met = pair(&trace, buffer, &mut Pairing::of(Definition::Waking), &mut summary);
        assert!(met.events <= bytes.len() as u64 * 4_096, "events come from bytes");
        let window = Window { begin: met.first, end: met.last, pid: 1, cpu: 0, slept: true };
        let (explained, _) = explain(&trace, buffer, &[window]);
        for one in &explained {
            assert_eq!(one.slices.iter().map(Slice::ns).sum::<u64>(), met.last - met.first);
        }
    }
});
