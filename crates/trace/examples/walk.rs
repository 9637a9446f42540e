//! Counts the events of a trace file: `cargo run --release --example walk FILE`.
#![allow(clippy::unwrap_used)]

use latido_trace::{file::Trace, merge::Merge, page::Event};
use std::{collections::BTreeMap, env, fs, time::Instant};

fn main() {
    let bytes = fs::read(env::args().nth(1).unwrap()).unwrap();
    let begun = Instant::now();
    let trace = Trace::open(&bytes).unwrap();
    let (mut count, mut sum, mut kinds) = (0u64, 0u64, BTreeMap::<u16, u64>::new());
    for buffer in &trace.buffers {
        for data in &buffer.cpus {
            let mut pages = trace.pages(buffer, *data);
            let (mut of_cpu, mut first, mut last) = (0u64, u64::MAX, 0);
            while let Some(page) = pages.next_page() {
                for event in page.events() {
                    of_cpu += 1;
                    sum = sum.wrapping_add(event.time);
                    first = first.min(event.time);
                    last = event.time;
                    if let Some(id) = trace.endian.u16(event.data, 0) {
                        *kinds.entry(id).or_default() += 1;
                    }
                }
            }
            println!("{:?} cpu {}: {of_cpu} events, {first} to {last}, lost {:?}", buffer.name, data.cpu, pages.lost());
            count += of_cpu;
        }
    }
    let took = begun.elapsed();
    println!("version {}, {} formats, {:?}, lost {:?}", trace.version, trace.formats.len(), trace.options, trace.lost);
    println!("{count} events ({sum:x}) in {took:?}: {:.1} M/s", count as f64 / took.as_secs_f64() / 1e6);
    for buffer in &trace.buffers {
        let begun = Instant::now();
        let mut merge = Merge::of(&trace, buffer);
        let (mut count, mut sum) = (0u64, 0u64);
        merge.each(&mut |_: u32, event: Event<'_>| {
            count += 1;
            sum = sum.wrapping_add(event.time);
        });
        let took = begun.elapsed();
        let speed = count as f64 / took.as_secs_f64() / 1e6;
        println!("merged: {count} events ({sum:x}), {} backwards: {speed:.1} M/s", merge.backwards());
    }
    for (id, count) in kinds {
        let name = trace.formats.iter().find(|described| described.format.id == id);
        println!("{count:9} {}", name.map_or("?", |described| &described.format.name));
    }
}
