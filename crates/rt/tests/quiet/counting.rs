//! The costs of a piece of work for its thread: allocations, counted by an allocator of this test, and page faults.

use latido_sys::{memory, usage};
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

/// Returns what a piece of work costs its thread: allocations, and page faults that the kernel itself did not cause.
pub fn cost(work: impl FnOnce()) -> (u64, u64) {
    let mut allocations = 0;
    let faults = usage::own_faults(|| {
        let before = ALLOCATIONS.get();
        work();
        allocations = ALLOCATIONS.get() - before;
    });
    (allocations, faults)
}

/// Locks memory and touches the stack, as latido does before a loop.
pub fn prepare() {
    // Without the right to lock memory the test still holds unless the machine is short of memory.
    let _unlocked = memory::lock_on_fault();
    memory::prefault_stack();
}
