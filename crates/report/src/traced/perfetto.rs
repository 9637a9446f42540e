//! A trace for other viewers: the JSON format of Chrome's tracing, which ui.perfetto.dev opens (Trace Event Format).

use super::{Analysis, Told};
use latido_judge::late::Piece;
use serde_json::{Value, json};

impl Analysis {
    /// Returns the document: a track for each CPU with what it did, and the explained waits as slices on separate tracks.
    pub fn perfetto(&self) -> Value {
        let us = |ns: u64| (ns.saturating_sub(self.first_ns)) as f64 / 1e3;
        let mut events = vec![json!({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "CPUs"}})];
        let kinds = self.timeline.kinds();
        for (cpu, lane) in self.timeline.lanes() {
            events.push(
                json!({"ph": "M", "pid": 0, "tid": cpu, "name": "thread_name", "args": {"name": format!("CPU {cpu}")}}),
            );
            for piece in lane {
                let (Some(name), Some(kind)) = (self.timeline.names.get(piece.owner), kinds.get(piece.owner)) else {
                    continue;
                };
                if *kind == "idle" {
                    continue;
                }
                let (ts, dur) = (us(piece.begin), (piece.end - piece.begin) as f64 / 1e3);
                events.push(json!({"ph": "X", "pid": 0, "tid": cpu, "ts": ts, "dur": dur, "name": name, "cat": kind}));
            }
        }
        if !self.worst.is_empty() {
            events.push(json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "longest waits"}}));
        }
        for (tid, worst) in self.worst.iter().enumerate() {
            let mut at = worst.at_ns;
            let name = format!("{} waits", worst.task);
            events.push(json!({"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}));
            for Piece { cause, ns, .. } in &worst.slices {
                let (ts, dur) = (us(at), *ns as f64 / 1e3);
                events.push(
                    json!({"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "name": cause, "cat": worst.class}),
                );
                at = at.saturating_add(*ns);
            }
        }
        events.extend(self.samples());
        let notes: Vec<String> = self.told.iter().flat_map(Told::notes).chain(self.unread.iter().cloned()).collect();
        let other = json!({"source": self.source, "buffer": self.buffer, "lost": self.lost.sentence(), "notes": notes});
        json!({"displayTimeUnit": "ns", "traceEvents": events, "otherData": other})
    }

    /// Returns the measurements of tracers, with a track for each CPU.
    fn samples(&self) -> Vec<Value> {
        let samples = self.told.iter().flat_map(|told| &told.samples);
        let begin = samples.clone().map(|one| one.end.saturating_sub(one.ns)).min();
        let first = if self.events == 0 { begin.unwrap_or(0) } else { self.first_ns };
        // A sample that starts before the first event has a negative start.
        let us = |ns: u64| (ns as f64 - first as f64) / 1e3;
        let mut events: Vec<Value> = samples
            .map(|one| {
                let (ts, dur) = (us(one.end.saturating_sub(one.ns)), one.ns as f64 / 1e3);
                json!({"ph": "X", "pid": 2, "tid": one.cpu, "ts": ts, "dur": dur, "name": one.name, "cat": one.tracer})
            })
            .collect();
        if !events.is_empty() {
            events.push(json!({"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "samples of tracers"}}));
        }
        events
    }
}
