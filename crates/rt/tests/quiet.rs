//! The measuring part of each loop allocates nothing and causes no page fault.

use latido_rt::{gap, recorder, wakeup};
use latido_sys::{
    clock::Clock,
    memory,
    procfs::SchedStatFile,
    tsc::Scale,
    usage::{self, Usage},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::AtomicBool,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a constant-initialised thread-local.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What a piece of work cost its thread: allocations and page faults.
fn cost(work: impl FnOnce()) -> (u64, u64) {
    let (allocations, before) = (ALLOCATIONS.get(), usage::of_thread());
    work();
    let Usage { minor_faults, major_faults, .. } = usage::of_thread().since(before);
    (ALLOCATIONS.get() - allocations, minor_faults + major_faults)
}

fn prepare() {
    // Without the right to lock memory the test still holds unless the machine is short of memory.
    let _unlocked = memory::lock_on_fault();
    memory::prefault_stack();
}

fn config(table: Option<Scale>) -> recorder::Config {
    // Short blocks, so that many end meanwhile.
    recorder::Config { edges: vec![1_000, 50_000, 200_000], block_ns: 2_000_000, table, ..Default::default() }
}

#[test]
fn the_counting_works() {
    let (allocations, faults) = cost(|| drop(std::hint::black_box(vec![1u8; 32 << 20])));
    assert!(allocations >= 2 && faults > 0);
}

#[test]
fn the_periodic_loop_is_quiet() {
    prepare();
    let config = recorder::Config { periodic: true, ..config(None) };
    let (mut recorder, reader) = recorder::new(&config).unwrap();
    let (mut apart, _) = recorder::new(&config).unwrap();
    wakeup::rehearse(Clock::Monotonic, &mut recorder, Some(&mut apart));
    let period_ns = 20_000;
    let schedule = wakeup::Schedule { start_ns: 0, period_ns, deadline_ns: period_ns, warmup: 50, slots: 6_000 };
    let mut outcome = None;
    let cost = cost(|| {
        let stop = AtomicBool::new(false);
        outcome = Some(wakeup::run(Clock::Monotonic, &schedule, &stop, &mut recorder, Some(&mut apart)));
    });
    assert_eq!(cost, (0, 0), "allocations and page faults");
    let (snapshot, blocks) = reader.finish(recorder);
    let slots = outcome.unwrap().slots;
    assert_eq!(slots.met + slots.late + slots.missed, 6_000);
    assert_eq!(snapshot.plain.count, slots.met + slots.late);
    assert!(blocks.len() > 10, "blocks ended meanwhile");
}

#[test]
fn the_busy_loop_is_quiet() {
    prepare();
    let (mut recorder, reader) = recorder::new(&config(Some(Scale::NS))).unwrap();
    let schedstat = SchedStatFile::open().ok();
    gap::rehearse(gap::Source::Monotonic, &mut recorder, schedstat.as_ref());
    let duty = Some(gap::Duty { busy_ns: 3_000_000, period_ns: 4_000_000 });
    let task = gap::Task { iterations: 1_000_000, duration_ns: u64::MAX, warmup_ns: 100_000, duty };
    let cost = cost(|| {
        let stop = AtomicBool::new(false);
        gap::run(gap::Source::Monotonic, &task, &stop, &mut recorder, schedstat.as_ref());
    });
    assert_eq!(cost, (0, 0), "allocations and page faults");
    let (snapshot, blocks) = reader.finish(recorder);
    assert_eq!(snapshot.plain.count, 1_000_000);
    // How many blocks and rests that took is the machine's business: a stall may swallow a period's rest.
    assert_eq!(blocks.iter().map(|block| block.count).sum::<u64>(), 1_000_000);
}
