//! The periodic loop alone, for callgrind and the benchmark: `wakeup SLOTS PERIOD_US CPU PRIO CLOCK` (priority 0: other).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

use latido_rt::{recorder, wakeup};
use latido_sys::{clock::Clock, memory, sched, usage};
use std::{error::Error, sync::atomic::AtomicBool};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.pop().unwrap_or_default();
    let clock = Clock::ALL.into_iter().find(|clock| clock.name() == name).ok_or("the last word is a clock")?;
    let numbers: Vec<u64> = arguments.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [slots, period_us, cpu, prio] = numbers[..] else { return Err("wakeup SLOTS PERIOD_US CPU PRIO CLOCK".into()) };
    let edges = vec![1_000, 5_000, 8_000, 10_000, 50_000, 100_000, 150_000, 200_000];
    let config = recorder::Config { edges, periodic: true, ..Default::default() };
    let (mut writer, reader) = recorder::new(&config)?;
    let _unlocked = memory::lock_on_fault();
    memory::prefault_stack();
    let means = clock.into();
    wakeup::rehearse(&means, &mut writer, None);
    sched::set_affinity(0, [cpu as u32])?;
    if prio > 0 {
        sched::set_policy(0, sched::Policy::Fifo { prio: prio as u8 }, true)?;
    }
    let period_ns = period_us * 1000;
    let schedule = wakeup::Schedule {
        start_ns: clock.now(),
        period_ns,
        deadline_ns: period_ns,
        warmup: 0,
        slots,
        phase: wakeup::Phase::Fixed,
    };
    let before = usage::of_thread();
    let outcome = wakeup::run(&means, &schedule, &AtomicBool::new(false), &mut writer, None);
    let used = usage::of_thread().since(before);
    let noted = reader.glance().noted;
    let (snapshot, blocks) = reader.finish(writer);
    let plain = &snapshot.plain;
    println!(
        "end={:?} slots={:?} blocks={} largest={}",
        outcome.end,
        outcome.slots,
        blocks.len(),
        snapshot.largest.len()
    );
    println!(
        "count={} min={:?} p50={:?} max={:?} mean={:.1} bands={:?}",
        plain.count,
        plain.min,
        plain.at_rank(plain.count.div_ceil(2)),
        plain.max,
        plain.sum as f64 / plain.count as f64,
        plain.bands
    );
    println!("noted={noted}");
    println!("cpu_us={} faults={}", used.user_us + used.system_us, used.minor_faults + used.major_faults);
    Ok(())
}
