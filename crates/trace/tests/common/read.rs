//! Reads a whole file, as the analysis does.

use latido_trace::{
    bytes::Bad,
    events::Happened,
    file::Trace,
    pairing::{Definition, Handled, Met, Pairing, Sink, Wait, Why, pair},
};

/// What was read from a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub waits: Vec<u64>,
    pub handled: Vec<u64>,
    /// The CPU, time and kind of each event.
    pub events: Vec<(u32, u64, u16)>,
    pub met: Met,
}

impl Sink for Told {
    fn waited(&mut self, wait: &Wait) {
        if wait.why == Why::Woken {
            self.waits.push(wait.ns());
        }
    }

    fn handled(&mut self, handled: &Handled) {
        self.handled.push(handled.ns());
    }

    fn event(&mut self, cpu: u32, time: u64, record: &[u8], _: Option<&Happened>) {
        // In either byte order the smaller of the two numbers is the kind: the kinds of the story allow this.
        let kind = record.first_chunk().map_or(0, |two| u16::from_le_bytes(*two).min(u16::from_be_bytes(*two)));
        self.events.push((cpu, time, kind));
    }
}

/// Reads every ring of a file, and what could not be read.
pub fn read(bytes: &[u8]) -> Result<(Vec<Told>, Vec<String>), Bad> {
    let trace = Trace::open(bytes)?;
    let told = trace.buffers.iter().map(|buffer| {
        let mut told = Told::default();
        told.met = pair(&trace, buffer, &mut Pairing::of(Definition::Waking), &mut told);
        told.waits.sort_unstable();
        told.handled.sort_unstable();
        told
    });
    Ok((told.collect(), trace.lost.told().collect()))
}
