//! Any bytes as a file of trace-cmd: latido refuses it, or reads, pairs and explains its events, and takes no memory for sizes that the
//! file only claims. Bytes that do not start like a file are made into a file of sound events, so that the fuzzer also reaches how events
//! affect each other.
#![no_main]

use latido_fuzz::story;
use latido_trace::{
    explain::{Begins, Slice, Window, explain},
    file::Trace,
    pairing::{Definition, Pairing, Segment, Sink, Wait, pair},
    summary::Summary,
};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

/// Checks that the segments of each CPU follow each other, and that waits end after they start.
#[derive(Default)]
struct Check {
    sound: bool,
    ends: BTreeMap<u32, u64>,
}

impl Sink for Check {
    fn segment(&mut self, segment: &Segment) {
        if self.sound {
            assert!(segment.begin <= segment.end, "{segment:?}");
            let before = self.ends.insert(segment.cpu, segment.end);
            assert!(before.is_none_or(|end| end == segment.begin), "{before:?}, then {segment:?}");
        }
    }

    fn waited(&mut self, wait: &Wait) {
        assert!(!self.sound || wait.begin <= wait.end, "{wait:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let made = if bytes.starts_with(b"\x17\x08\x44") { None } else { Some(story::file(bytes)) };
    let file = made.as_deref().unwrap_or(bytes);
    let trace = match Trace::open(file) {
        Ok(trace) => trace,
        Err(bad) => {
            assert!(made.is_none() && !bad.to_string().is_empty(), "what is sound is read: {bad}");
            return;
        }
    };
    assert!(made.is_none() || trace.lost.is_empty());
    for buffer in trace.buffers.iter().take(4) {
        let mut sink = (Summary::default(), Check { sound: made.is_some(), ..Check::default() });
        let met = pair(&trace, buffer, &mut Pairing::of(Definition::Waking), &mut sink);
        assert!(met.events <= file.len() as u64 * 4_096, "events come from bytes");
        assert!(made.is_none() || (met.backwards == 0 && met.unread.is_empty()), "{met:?}");
        pair(&trace, buffer, &mut Pairing::of(Definition::TraceCmd), &mut Summary::default());
        // The longest waits, as the analysis explains them, and the whole trace.
        let whole = Window { begin: met.first, end: met.last, pid: 1, cpu: 0, begins: Begins::Asleep };
        let worst = sink.0.waits(latido_trace::pairing::Why::Woken, latido_trace::events::Class::Fair);
        let worst = worst.into_iter().flat_map(|series| series.longest());
        let worst = worst.map(|one| Window {
            begin: one.begin,
            end: one.end,
            pid: one.pid,
            cpu: one.cpu,
            begins: Begins::Asleep,
        });
        let windows: Vec<Window> = [whole].into_iter().chain(worst.take(5)).collect();
        let (explained, _) = explain(&trace, buffer, &windows);
        for one in &explained {
            let slices: u64 = one.slices.iter().map(Slice::ns).sum();
            assert_eq!(slices, one.window.end.saturating_sub(one.window.begin), "slices add up");
        }
    }
});
