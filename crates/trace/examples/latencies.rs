//! All latencies of a trace file: `cargo run --release --example latencies FILE [trace-cmd]`.
#![allow(clippy::unwrap_used)]

use latido_trace::{
    events::{Class, Events},
    file::Trace,
    pairing::{Definition, Pairing, Why, pair},
    summary::Summary,
};
use std::{env, fs, time::Instant};

struct Nothing;
impl latido_trace::pairing::Sink for Nothing {}

fn main() {
    let bytes = fs::read(env::args().nth(1).unwrap()).unwrap();
    let definition = match env::args().nth(2).as_deref() {
        Some("trace-cmd") => Definition::TraceCmd,
        _ => Definition::Waking,
    };
    // Repeated, the fastest is least disturbed by what else runs.
    let times: u32 = env::args().nth(3).map_or(1, |times| times.parse().unwrap());
    for _ in 1..times {
        let begun = Instant::now();
        let trace = Trace::open(&bytes).unwrap();
        for buffer in &trace.buffers {
            let met = match env::args().nth(4).as_deref() {
                Some("pair") => pair(&trace, buffer, &mut Pairing::of(definition), &mut Nothing),
                Some("resolve") => {
                    let events = Events::of(&trace.formats, trace.endian);
                    let mut merge = latido_trace::merge::Merge::of(&trace, buffer);
                    let mut met = latido_trace::pairing::Met::default();
                    merge.each(|step| {
                        if let latido_trace::merge::Step::Event { event, .. } = step {
                            met.events += u64::from(std::hint::black_box(events.happened(event.data)).is_some());
                        }
                    });
                    met
                }
                Some("walk") => {
                    let mut merge = latido_trace::merge::Merge::of(&trace, buffer);
                    let mut met = latido_trace::pairing::Met::default();
                    merge.each(|step| {
                        met.events +=
                            u64::from(matches!(std::hint::black_box(step), latido_trace::merge::Step::Event { .. }));
                    });
                    met
                }
                _ => pair(&trace, buffer, &mut Pairing::of(definition), &mut Summary::default()),
            };
            println!("{:.1} M/s", met.events as f64 / begun.elapsed().as_secs_f64() / 1e6);
        }
    }
    let begun = Instant::now();
    let trace = Trace::open(&bytes).unwrap();
    for buffer in &trace.buffers {
        let mut summary = Summary::default();
        let met = pair(&trace, buffer, &mut Pairing::of(definition), &mut summary);
        let took = begun.elapsed();
        println!("{met:?}");
        for (why, class) in
            [Why::Woken, Why::Preempted].into_iter().flat_map(|why| Class::ALL.map(|class| (why, class)))
        {
            let all = &summary.waits(why, class).unwrap().all;
            println!("{why:?} {}: {} mean {:?} max {:?}", class.name(), all.count(), all.mean(), all.max());
        }
        let events = Events::of(&trace.formats, trace.endian);
        for (call, of) in summary.calls() {
            println!("{call:?}: {} mean {:?} blocked {:?}", of.whole.all.count(), of.whole.all.mean(), of.blocked);
        }
        println!("{:?} {:?}", events.calls().len(), events.vectors());
        for (above, series) in summary.handled() {
            println!("{above:?}: {} mean {:?} max {:?}", series.all.count(), series.all.mean(), series.all.max());
        }
        for (vec, series) in summary.raised() {
            println!("raised {vec}: {} mean {:?} max {:?}", series.all.count(), series.all.mean(), series.all.max());
        }
        println!("{} events in {took:?}: {:.1} M/s", met.events, met.events as f64 / took.as_secs_f64() / 1e6);
    }
}
