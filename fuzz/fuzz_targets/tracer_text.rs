//! Any bytes as the text of a tracer: every line is reported once, the size of the pieces makes no difference, and a text that is cut off
//! anywhere gives the first lines of the whole; no paired wait ends before it starts.
#![no_main]

use latido_trace::{
    pairing::{Definition, Pairing, Sink, Wait},
    text::{Input, Reader, Seen, Summary, pair},
};
use libfuzzer_sys::fuzz_target;

/// The recognised lines, and the counts of the reader.
fn told<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Seen) {
    let (mut reader, mut lines) = (Reader::default(), Vec::new());
    for piece in pieces {
        reader.push(piece, |header, line| lines.push(format!("{header:?} {line:?}")));
    }
    (lines, reader.seen().clone())
}

/// The number of waits; none may end before it starts.
#[derive(Default)]
struct Waits(u64);

impl Sink for Waits {
    fn waited(&mut self, wait: &Wait) {
        assert!(wait.begin <= wait.end, "{wait:?}");
        self.0 += 1;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (whole, seen) = told([bytes]);
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!((whole.len(), seen.lines), (ends, ends as u64));
    assert!(
        seen.unknown <= seen.lines && seen.cut <= seen.unknown && seen.first_unknown.is_some() == (seen.unknown > 0)
    );
    let size = usize::from(bytes.first().copied().unwrap_or_default()) + 1;
    assert_eq!(told(bytes.chunks(size)), (whole.clone(), seen));
    let (begin, _) = told([&bytes[..bytes.len() - bytes.len().min(size)]]);
    assert!(whole.starts_with(&begin));
    let (summary, reader) = Summary::of(bytes);
    for source in (0..reader.sources().len().min(3) as u32).chain([0]) {
        let (mut waits, input) = (Waits::default(), Input { text: bytes, source, gaps: &summary.lost });
        let (met, _) = pair(input, &mut Pairing::of(Definition::Waking), &mut waits);
        assert!(met.events <= ends as u64 && waits.0 <= met.events && met.first <= met.last);
    }
    assert!(summary.bins.items.len() as u64 + summary.bins.beyond <= reader.seen().lines);
});
