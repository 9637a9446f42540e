//! Measures how fast latido computes the latencies of a trace file: `latencies FILE [latido|trace-cmd] [TIMES] [walk|resolve|pair|all]`.
#![allow(clippy::unwrap_used)]

use latido_sys::mapped::Mapped;
use latido_trace::{
    events::{Class, Events},
    file::Trace,
    merge::{Lost, Merge, Take},
    page::Event,
    pairing::{Definition, Met, Pairing, Sink, Why, pair},
    summary::Summary,
};
use std::{env, fs::File, hint::black_box, time::Instant};

struct Nothing;
impl Sink for Nothing {}

/// A walk that counts events, and also resolves their meaning if it has their formats.
struct Walk(Option<Events>, u64);

impl Take for Walk {
    fn event(&mut self, _cpu: u32, event: Event<'_>) {
        self.1 += 1;
        if let Some(events) = &self.0 {
            black_box(events.happened(event.data));
        } else {
            black_box(event);
        }
    }

    fn lost(&mut self, _lost: &Lost) {}
}

fn main() {
    let bytes = Mapped::of(&File::open(env::args().nth(1).unwrap()).unwrap()).unwrap();
    let definition = match env::args().nth(2).as_deref() {
        Some("trace-cmd") => Definition::TraceCmd,
        _ => Definition::Waking,
    };
    // Of several repeats the fastest is the least disturbed by other programs.
    let times: u32 = env::args().nth(3).map_or(1, |times| times.parse().unwrap());
    let what = env::args().nth(4).unwrap_or_else(|| "all".into());
    for _ in 1..times {
        let begun = Instant::now();
        let trace = Trace::open(&bytes).unwrap();
        let mut count = 0;
        for buffer in &trace.buffers {
            let mut pairing = Pairing::of(definition);
            count += match what.as_str() {
                "pair" => pair(&trace, buffer, &mut pairing, &mut Nothing).events,
                "all" => pair(&trace, buffer, &mut pairing, &mut Summary::default()).events,
                what => {
                    let events = (what == "resolve").then(|| Events::of(&trace.formats, trace.endian));
                    let mut walk = Walk(events, 0);
                    Merge::of(&trace, buffer).each(&mut walk);
                    walk.1
                }
            };
        }
        println!("{:.1} M/s", count as f64 / begun.elapsed().as_secs_f64() / 1e6);
    }
    let begun = Instant::now();
    let trace = Trace::open(&bytes).unwrap();
    for buffer in &trace.buffers {
        let mut summary = Summary::default();
        let met: Met = pair(&trace, buffer, &mut Pairing::of(definition), &mut summary);
        let took = begun.elapsed();
        println!("{met:?}");
        println!("{} events in {took:?}: {:.1} M/s", met.events, met.events as f64 / took.as_secs_f64() / 1e6);
        for why in [Why::Woken, Why::Preempted] {
            for class in Class::ALL {
                if let Some(series) = summary.waits(why, class) {
                    println!(
                        "{why:?} {class:?}: {} {:?} {:?}",
                        series.all.count(),
                        series.all.mean(),
                        series.all.max()
                    );
                }
            }
        }
    }
}
