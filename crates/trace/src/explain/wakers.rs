//! A thread that a task woke: what it waited for is what became of that task.
//!
//! Where handlers are threads, an interrupt wakes its thread, and that one wakes who waits for the event. Until then the
//! waiting thread merely sleeps, whatever has the CPU; who was kept from it is the handler.

use super::{Cause, Explained, Slice, Waker, Window};

/// The time in which the waker of a thread was to go on: from the begin until it woke that. None of a thread that did not merely
/// sleep: who lets a stopped one go on is not whom it waited for.
pub(super) fn before(one: &Explained) -> Option<Window> {
    let (by, end) = (one.chain.by.as_ref()?, one.chain.waking?);
    one.chain.merely_slept.then_some(Window { end, pid: by.pid, ..one.window })
}

/// Whether a thread of these slices did nothing but sleep until then.
pub(super) fn merely_slept(slices: &[Slice], until: u64) -> bool {
    let told = |slice: &Slice| matches!(slice.cause, Cause::Stopped | Cause::Blocked | Cause::Lock | Cause::Itself);
    !slices.iter().any(|slice| slice.begin < until && told(slice))
}

/// Tells a window by that of its waker, as far as that goes.
pub(super) fn follow(one: &mut Explained, of_wakers: &[Explained]) {
    let Some(found) = before(one).and_then(|window| of_wakers.iter().find(|found| found.window == window)) else {
        return;
    };
    let Some(by) = &mut one.chain.by else { return };
    let mut slices: Vec<Slice> = found.slices.iter().map(|slice| named(slice, by)).collect();
    let woken = found.window.end;
    let rest = one.slices.iter().filter(|slice| slice.end > woken);
    slices.extend(rest.map(|slice| Slice { begin: slice.begin.max(woken), ..slice.clone() }));
    one.slices = slices;
    by.on_cpu = found.chain.on_cpu;
    one.chain.interrupt.clone_from(&found.chain.interrupt);
    one.chain.timer = found.chain.timer;
}

/// What the waker does itself is its own work to who waits for it.
fn named(slice: &Slice, by: &Waker) -> Slice {
    let cause = match &slice.cause {
        Cause::Itself => Cause::Task(by.name.clone(), by.class),
        other => other.clone(),
    };
    Slice { cause, ..slice.clone() }
}
