//! What a text gives as series and figures: the longest latencies, samples by CPU and time, durations, rows.

use super::{
    durations::{Durations, Tally},
    event::{Body, Event, Time},
    header::{Header, Latency},
    histogram::{Bin, Total},
    reader::{Line, Reader},
    tracers::{Context, Hwlat, Osnoise, Timerlat},
};
use std::collections::BTreeMap;

/// So many samples are kept: those of 8 CPUs at 1 kHz for 16 s. Tallies and counts go on beyond.
const MOST: usize = 1 << 18;

/// So many rows, snapshots and names are kept.
const FEW: usize = 1 << 14;

/// The first items, and how many came after there was no more room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped<T> {
    /// Those that were kept.
    pub items: Vec<T>,
    /// How many were not.
    pub beyond: u64,
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { items: Vec::new(), beyond: 0 }
    }
}

impl<T> Capped<T> {
    fn push(&mut self, item: T, most: usize) {
        if self.items.len() < most { self.items.push(item) } else { self.beyond += 1 }
    }
}

/// A sample with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<T> {
    /// The CPU.
    pub cpu: u32,
    /// When.
    pub time: Time,
    /// What.
    pub value: T,
}

/// The longest latency of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tracer.
    pub tracer: String,
    /// The latency, with the functions between which it lay where the tracer tells them.
    pub latency: Latency,
}

/// What a text gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The longest latency of each header that tells one.
    pub snapshots: Capped<Snapshot>,
    /// The latencies of timerlat.
    pub timerlat: Capped<Reading<Timerlat>>,
    /// All of them, in nanoseconds, by CPU and context.
    pub timerlat_tallies: BTreeMap<(u32, Context), Tally>,
    /// The periods of osnoise.
    pub osnoise: Capped<Reading<Osnoise>>,
    /// The gaps of hwlat.
    pub hwlat: Capped<Reading<Hwlat>>,
    /// How long functions took.
    pub durations: Durations,
    /// How many of each event there are, function calls apart.
    pub events: BTreeMap<String, u64>,
    /// Events whose names found no room.
    pub more_events: u64,
    /// Function calls without durations.
    pub calls: u64,
    /// The rows of histograms, with the ordinal of their header.
    pub bins: Capped<(u64, Bin)>,
    /// What actions saved for rows: which row, from 0; `max` or `changed`; the value.
    pub saved: Capped<(u64, String, u64)>,
    /// The counts below histograms, with the ordinal of their header.
    pub totals: Capped<(u64, Total)>,
    /// Events that are known to be lost, by CPU; where the kernel did not tell how many, one.
    pub lost: BTreeMap<u32, u64>,
    /// Which header the last snapshot is of.
    ordinal: u64,
}

impl Summary {
    /// Of a whole text. The reader tells what was not understood.
    pub fn of(text: &[u8]) -> (Self, Reader) {
        let (mut summary, mut reader) = (Self::default(), Reader::default());
        reader.push(text, |header, line| summary.take(header, &line));
        (summary, reader)
    }

    /// Takes in a line.
    pub fn take(&mut self, header: &Header, line: &Line<'_>) {
        match line {
            Line::Header => self.snapshot(header),
            Line::Event(event) => self.event(event),
            Line::Graph(graph) => self.durations.take(graph),
            Line::Switch { cpu, .. } => self.durations.switched(*cpu),
            Line::Lost { cpu, count } => {
                self.durations.lost(*cpu);
                if self.lost.len() < FEW || self.lost.contains_key(cpu) {
                    let lost = self.lost.entry(*cpu).or_default();
                    *lost = lost.saturating_add(count.unwrap_or(1));
                }
            }
            Line::Bin(bin) => self.bins.push((header.ordinal, bin.clone()), FEW),
            Line::Saved { name, value, .. } => {
                let rows = self.bins.items.len() as u64 + self.bins.beyond;
                self.saved.push((rows.saturating_sub(1), (*name).to_owned(), *value), FEW);
            }
            Line::Total(Total::Begin) | Line::Key | Line::Stack(_) | Line::Unknown(_) => {}
            Line::Total(total) => self.totals.push((header.ordinal, *total), FEW),
        }
    }

    /// The header's latency, which grows line by line.
    fn snapshot(&mut self, header: &Header) {
        let (Some(tracer), Some(latency)) = (&header.tracer, &header.latency) else { return };
        // The option `latency-format` heads events with a latency of nobody.
        if latency.us == 0 && latency.task.is_empty() {
            return;
        }
        let snapshot = || Snapshot { tracer: tracer.clone(), latency: latency.clone() };
        if std::mem::replace(&mut self.ordinal, header.ordinal) != header.ordinal {
            self.snapshots.push(snapshot(), FEW);
        } else if self.snapshots.beyond == 0
            && let Some(last) = self.snapshots.items.last_mut().filter(|last| last.latency != *latency)
        {
            *last = snapshot();
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let Event { cpu, time, .. } = *event;
        match event.body {
            Body::Timerlat(value) => {
                self.timerlat.push(Reading { cpu, time, value }, MOST);
                let place = (cpu, value.context);
                if self.timerlat_tallies.len() < FEW || self.timerlat_tallies.contains_key(&place) {
                    self.timerlat_tallies.entry(place).or_default().add(value.latency_ns);
                }
            }
            Body::Osnoise(value) => self.osnoise.push(Reading { cpu, time, value }, MOST),
            Body::Hwlat(value) => self.hwlat.push(Reading { cpu, time, value }, MOST),
            Body::Function { .. } => self.calls += 1,
            Body::Named { name, .. } => self.named(name),
            Body::Stack | Body::Turn(_) | Body::Other(_) => {}
        }
    }

    fn named(&mut self, name: &str) {
        let room = self.events.len() < FEW;
        match self.events.get_mut(name) {
            Some(count) => *count += 1,
            None if room => drop(self.events.insert(name.to_owned(), 1)),
            None => self.more_events += 1,
        }
    }
}
