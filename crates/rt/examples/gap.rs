//! The busy loop alone, for callgrind and the benchmark: `gap ITERATIONS CPU PRIO` (priority 0: other).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

use latido_rt::{gap, recorder};
use latido_sys::{memory, procfs::SchedStatFile, sched, tsc, usage};
use std::{error::Error, sync::atomic::AtomicBool};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [iterations, cpu, prio] = arguments[..] else { return Err("gap ITERATIONS CPU PRIO".into()) };
    let (source, scale) = match (tsc::unfit(), tsc::calibrate()) {
        (None, Some(scale)) => (gap::TickSource::Tsc, scale),
        _ => (gap::TickSource::Monotonic, tsc::Scale::NS),
    };
    let edges = vec![1_000, 5_000, 8_000, 10_000, 50_000, 100_000, 150_000, 200_000];
    let config = recorder::Config { edges, table: Some(scale), ..Default::default() };
    let (mut writer, reader) = recorder::new(&config)?;
    let schedstat = SchedStatFile::open().ok();
    let _unlocked = memory::lock_on_fault();
    memory::prefault_stack();
    let costs = gap::rehearse(source, &mut writer, schedstat.as_ref());
    sched::set_affinity(0, [cpu as u32])?;
    if prio > 0 {
        sched::set_policy(0, sched::Policy::Fifo { prio: prio as u8 }, true)?;
    }
    let task =
        gap::BusyLoop { iterations, duration_ns: u64::MAX, warmup_ns: 1_000_000, duty: None, budgets: [None; 2] };
    let before = usage::of_thread();
    let outcome = gap::run(source, &task, &AtomicBool::new(false), &mut writer, schedstat.as_ref(), costs);
    let used = usage::of_thread().since(before);
    let (snapshot, blocks) = reader.finish(writer);
    let plain = &snapshot.plain;
    println!("end={:?} source={source:?} {:?} blocks={}", outcome.end, outcome.spin, blocks.len());
    println!(
        "count={} min={:?} p50={:?} max={:?} bands={:?}",
        plain.count,
        plain.min,
        plain.at_rank(plain.count.div_ceil(2)),
        plain.max,
        plain.bands
    );
    println!(
        "ns_per_iteration={:.3} elapsed_ns={} faults={}",
        outcome.elapsed_ns as f64 / outcome.iterations as f64,
        outcome.elapsed_ns,
        used.minor_faults + used.major_faults
    );
    Ok(())
}
