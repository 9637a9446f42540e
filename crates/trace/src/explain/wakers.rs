//! A thread that a task woke: what the thread waited for is what that task went through.
//!
//! Where handlers are threads, an interrupt wakes its thread, and that thread wakes the thread that waits for the event. Until then the
//! waiting thread merely sleeps, whatever has the CPU; the handler is the thread that was kept from the CPU.

use super::{
    Awaited, Begins, Cause, Chain, Explained, Names, Slice, Waker, Window,
    scene::{Scene, Turn},
};
use crate::pairing::Owner;
use std::collections::BTreeMap;

/// Returns the time in which the waker of a thread should have run: from the start of the window until it woke the thread. Returns `None`
/// if the thread did not merely sleep: the task that lets a stopped thread continue is not the task that it waited for.
pub(super) fn before(one: &Explained) -> Option<Window> {
    let (by, end) = (one.chain.by.as_ref()?, one.chain.waking?);
    one.chain.merely_slept.then_some(Window { end, pid: by.pid, ..one.window })
}

/// Returns the times in which a job waited for other tasks, as windows of these tasks.
pub(super) fn awaited(one: &Explained) -> impl Iterator<Item = Window> {
    one.awaited.iter().map(|other| window_of(one, other))
}

fn window_of(one: &Explained, other: &Awaited) -> Window {
    Window { begin: other.begin, end: other.end, pid: other.pid, cpu: one.window.cpu, begins: Begins::Job }
}

/// Returns whether a thread with these slices did nothing but sleep until then.
pub(super) fn merely_slept(slices: &[Slice], until: u64) -> bool {
    let told = |slice: &Slice| {
        matches!(slice.cause, Cause::Stopped | Cause::Blocked | Cause::Lock | Cause::Itself | Cause::Own)
    };
    !slices.iter().any(|slice| slice.begin < until && told(slice))
}

/// Explains a window by its waker's window, as far as that goes.
pub(super) fn follow(one: &mut Explained, of_wakers: &BTreeMap<Window, Explained>) {
    inverted(one, of_wakers);
    let Some(found) = before(one).and_then(|window| of_wakers.get(&window)) else {
        return;
    };
    let Some(by) = &mut one.chain.by else { return };
    let in_job = one.window.begins == Begins::Job;
    let mut slices: Vec<Slice> = found.slices.iter().map(|slice| named(slice, by, in_job)).collect();
    let woken = found.window.end;
    let rest = one.slices.iter().filter(|slice| slice.end > woken);
    slices.extend(rest.map(|slice| Slice { begin: slice.begin.max(woken), ..slice.clone() }));
    one.slices = slices;
    by.on_cpu = found.chain.on_cpu;
    one.chain.interrupt.clone_from(&found.chain.interrupt);
    one.chain.timer = found.chain.timer;
}

/// Names a slice of the waker for the waiting thread: what the waker does itself is the work that the thread waits for.
fn named(slice: &Slice, by: &Waker, in_job: bool) -> Slice {
    let cause = match &slice.cause {
        // What the waker itself waited for, or whether it was stopped, is not a state of the thread that waits for it.
        Cause::Asleep | Cause::OwnTimer | Cause::Awaits(_) | Cause::Stopped | Cause::Blocked | Cause::Lock
            if in_job =>
        {
            Cause::Awaits(by.name.clone())
        }
        Cause::Itself => Cause::Task(by.name.clone(), by.class),
        Cause::Own => Cause::Awaits(by.name.clone()),
        other => other.clone(),
    };
    Slice { cause, ..slice.clone() }
}

/// Names the tasks that kept another task from its CPU, in the slices of the job that waited for that task.
fn inverted(one: &mut Explained, of_awaited: &BTreeMap<Window, Explained>) {
    for other in std::mem::take(&mut one.awaited) {
        let Some(found) = of_awaited.get(&window_of(one, &other)) else { continue };
        let kept = found.slices.iter().filter_map(|slice| match &slice.cause {
            Cause::Task(name, _) => {
                Some(Slice { cause: Cause::Inverted(other.name.clone(), name.clone()), ..slice.clone() })
            }
            _ => None,
        });
        let mut slices = Vec::with_capacity(one.slices.len());
        let kept: Vec<Slice> = kept.collect();
        for slice in std::mem::take(&mut one.slices) {
            match slice.begin >= other.begin && slice.end <= other.end {
                true => slices.extend(laid_over(slice, &kept)),
                false => slices.push(slice),
            }
        }
        one.slices = slices;
    }
}

/// Cuts other slices into a slice.
fn laid_over(slice: Slice, others: &[Slice]) -> Vec<Slice> {
    let (mut at, mut all) = (slice.begin, Vec::new());
    for other in others {
        let (begin, end) = (other.begin.clamp(at, slice.end), other.end.clamp(at, slice.end));
        if end > begin {
            all.extend((begin > at).then(|| Slice { begin: at, end: begin, cause: slice.cause.clone() }));
            all.push(Slice { begin, end, cause: other.cause.clone() });
            at = end;
        }
    }
    all.extend((slice.end > at).then_some(Slice { begin: at, ..slice }));
    all
}

/// Returns how a thread came back, as far as events show it.
pub(super) fn chain(scene: &Scene, names: &mut Names<'_>) -> Chain {
    let Some((waking, waker, by)) = scene.woken() else { return Chain::default() };
    let by = by.filter(|by| *by != scene.window.pid).map(|pid| {
        let (name, priority) = names.task(pid);
        super::Waker { pid, name, class: priority.class(), on_cpu: None }
    });
    let tells =
        |(time, turn): &(u64, Turn)| *time >= waking && matches!(turn, Turn::Moved { .. } | Turn::Woken(Some(_)));
    let was_on = scene.was_on.filter(|_| !scene.turns.iter().any(tells));
    let came = |(time, turn): &&(u64, Turn)| *time >= waking && matches!(turn, Turn::In(_));
    Chain {
        interrupt: waker.came_by().map(|(time, above)| (time, names.interrupt(above))),
        timer: waker.expired,
        by,
        waking: Some(waking),
        merely_slept: false,
        was_on,
        on_cpu: scene.turns.iter().find(came).map(|(time, _)| *time).filter(|time| *time <= scene.window.end),
    }
}

/// Handles messages between CPUs that took longer than `allowed_ns`, which no message takes. If the idle CPU wrote nothing meanwhile, no
/// message came.
pub(super) fn messages_within(explained: &mut Explained, allowed_ns: u64) {
    let Explained { slices, segments, excerpt, omitted, chain, cpu: own, .. } = explained;
    for slice in slices.iter_mut().filter(|one| one.cause == Cause::InterProcessor && one.ns() > allowed_ns) {
        let idle =
            segments.iter().find(|one| one.owner == Owner::Idle && one.begin <= slice.begin && one.end >= slice.end);
        let silent = |cpu: u32| {
            let mut between = excerpt.iter().filter(|line| slice.begin < line.time && line.time < slice.end);
            *omitted == 0 && !between.any(|line| line.cpu == cpu)
        };
        // A thread that was on another CPU may have waited there.
        let was_here = chain.was_on.is_none_or(|cpu| cpu == *own);
        slice.cause = match was_here && idle.is_some_and(|segment| silent(segment.cpu)) {
            true => Cause::NoInterruptIdle,
            false => Cause::Unexplained,
        };
    }
}
