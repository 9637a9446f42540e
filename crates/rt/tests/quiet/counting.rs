//! What a piece of work costs its thread: allocations, counted by an allocator of our own, and page faults.

use latido_sys::{
    memory,
    usage::{self, Usage},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
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

/// What a piece of work cost its thread: allocations, and page faults beyond those that the kernel's own counter leaves room for.
/// A thread that touches a page while the kernel moves it has a minor fault, whatever the thread does.
pub fn cost(work: impl FnOnce()) -> (u64, u64) {
    let moved_before = moved_pages();
    let (allocations, before) = (ALLOCATIONS.get(), usage::of_thread());
    work();
    let Usage { minor_faults, major_faults, .. } = usage::of_thread().since(before);
    let allocations = ALLOCATIONS.get() - allocations;
    (allocations, minor_faults.saturating_sub(moved_pages() - moved_before) + major_faults)
}

/// How many pages the kernel has moved, or has tried to move, since it started; 0 where it does not count them.
fn moved_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let counts = text.lines().filter_map(|line| line.strip_prefix("pgmigrate_")?.split_once(' '));
    counts
        .filter(|(name, _)| ["success", "fail"].contains(name))
        .filter_map(|(_, count)| count.parse::<u64>().ok())
        .sum()
}

/// Locks memory and touches the stack, as before a loop.
pub fn prepare() {
    // Without the right to lock memory the test still holds unless the machine is short of memory.
    let _unlocked = memory::lock_on_fault();
    memory::prefault_stack();
}
