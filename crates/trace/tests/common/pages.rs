//! Pages of a ring as kernel/trace/ring_buffer.c writes them.

use super::{Bytes, Machine};
use latido_trace::{bytes::Endian, page::Missed};

/// A page that is being filled.
#[derive(Clone, Debug)]
pub struct Page {
    machine: Machine,
    size: usize,
    begin: u64,
    last: u64,
    data: Bytes,
    pub missed: Missed,
}

impl Page {
    /// A page of this size with this time.
    pub fn new(machine: Machine, size: usize, time: u64) -> Self {
        Self { machine, size, begin: time, last: time, data: Bytes::of(machine), missed: Missed::Nothing }
    }

    pub fn head(&mut self, kind: u64, delta: u64) {
        let word = match self.machine.endian {
            Endian::Little => kind | delta << 5,
            Endian::Big => kind << 27 | delta,
        };
        self.data.number(word, 4);
    }

    /// A word as it is.
    pub fn word(&mut self, word: u64) {
        self.data.number(word, 4);
    }

    /// The delta to a time. If it does not fit into a header, a header for the rest goes before it.
    fn delta(&mut self, time: u64) -> u64 {
        let delta = time - self.last;
        self.last = time;
        if delta < 1 << 27 {
            return delta;
        }
        self.head(30, delta & 0x7ff_ffff);
        self.word(delta >> 27);
        0
    }

    /// Appends an event in its shortest form.
    pub fn event(&mut self, time: u64, record: &[u8]) {
        if record.len() > 112 || !record.len().is_multiple_of(4) {
            return self.large(time, record);
        }
        let delta = self.delta(time);
        self.head(record.len() as u64 / 4, delta);
        self.data.bytes.extend(record);
    }

    /// Appends an event whose length follows its header.
    pub fn large(&mut self, time: u64, record: &[u8]) {
        let delta = self.delta(time);
        self.head(0, delta);
        self.word(record.len() as u64 + 4);
        self.data.bytes.extend(record);
        self.data.align(4);
    }

    /// Appends an absolute time, with 59 bits.
    pub fn stamp(&mut self, time: u64) {
        self.last = time;
        self.head(31, time & 0x7ff_ffff);
        self.word(time >> 27 & 0xffff_ffff);
    }

    /// Appends a discarded event: its bytes stay, and its time counts.
    pub fn discarded(&mut self, time: u64, bytes: usize) {
        let delta = self.delta(time).max(1);
        self.head(29, delta);
        self.word(bytes as u64 + 4);
        self.data.bytes.extend(std::iter::repeat_n(0xaa, bytes));
    }

    /// Marks the rest of the page as unused.
    pub fn ends(&mut self) {
        self.head(29, 0);
        self.data.bytes.extend([0xff; 8]);
    }

    /// Whether another event of this size fits, with an extended time before it and the count of lost events.
    fn fits(&self, record: usize) -> bool {
        8 + self.machine.long + self.data.bytes.len() + 16 + record + 8 <= self.size
    }

    /// The complete page.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = Bytes::of(self.machine);
        let flags = match self.missed {
            Missed::Nothing => 0,
            Missed::Some => 1 << 31,
            Missed::Events(_) => 1 << 31 | 1 << 30,
        };
        out.number(self.begin, 8).number(self.data.bytes.len() as u64 | flags, self.machine.long);
        out.bytes.extend(&self.data.bytes);
        if let Missed::Events(count) = self.missed {
            out.number(count, self.machine.long);
        }
        assert!(out.bytes.len() <= self.size, "{} bytes in a page of {}", out.bytes.len(), self.size);
        out.bytes.resize(self.size, 0);
        out.bytes
    }
}

/// Writes events to as many pages as they need.
pub fn pages(machine: Machine, size: usize, events: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut page: Option<Page> = None;
    for (time, record) in events {
        if let Some(full) = page.take_if(|page| !page.fits(record.len())) {
            out.extend(full.finish());
        }
        page.get_or_insert_with(|| Page::new(machine, size, *time)).event(*time, record);
    }
    out.extend(page.into_iter().flat_map(|page| page.finish()));
    out
}
