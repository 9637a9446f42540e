//! A measuring thread between its two looks at its own counters: what it calls there lies in memory before.

use super::{freeze::Freezer, threads::PreparedThread};
use anyhow::{Result, bail};
use latido_model::{cell::Scheduling, record::ThreadEvidence};
use latido_rt::recorder::StopSign;
use latido_sys::memory;
use std::any::Any;

/// What a measuring thread says when its loop is over: from when to when it measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// The first counted slot, or the start of the loop, on CLOCK_MONOTONIC.
    pub first_slot_ns: u64,
    /// When the loop ended, on the same clock.
    pub ended_ns: u64,
}

/// A loop that is ready to run. Called by reference: what it owns is freed after the trace is frozen.
pub struct Loop {
    state: Box<dyn Any>,
    /// Its address is known, unlike that of a method of a trait object.
    enter: fn(&mut dyn Any) -> Result<Interval>,
}

impl Loop {
    /// Of what runs once.
    pub fn new<L: FnMut() -> Result<Interval> + 'static>(body: L) -> Self {
        Self { state: Box::new(body), enter: enter::<L> }
    }

    /// Touches the code that runs between the counters and that no rehearsal has run: where a page of it begins differs
    /// from start to start, and it would come as a page fault.
    pub fn touch_code(&self) {
        let functions = [
            self.enter as usize,
            carry_out as *const () as usize,
            PreparedThread::go as fn(&mut PreparedThread, Option<Scheduling>, &mut dyn FnMut(String)) as usize,
            PreparedThread::count as fn(&mut PreparedThread) as usize,
            PreparedThread::finish as fn(PreparedThread) -> ThreadEvidence as usize,
        ];
        memory::touch_code(&functions);
        // Asked for its type, it calls a function of its own.
        std::hint::black_box((*self.state).is::<()>());
    }
}

#[inline(never)]
fn enter<L: FnMut() -> Result<Interval> + 'static>(state: &mut dyn Any) -> Result<Interval> {
    match state.downcast_mut::<L>() {
        Some(body) => body(),
        None => bail!("the loop is of another type"),
    }
}

/// Becomes real-time, runs the loop, freezes the trace where a sample asks for it, and reads what the thread used.
/// `refused` hears why it could not become real-time.
#[inline(never)]
pub fn carry_out(
    mut prepared: PreparedThread,
    looped: &mut Loop,
    scheduling: Option<Scheduling>,
    refused: &mut dyn FnMut(String),
    freezer: Option<(&Freezer, Option<u32>, &[StopSign])>,
) -> (Result<Interval>, ThreadEvidence) {
    prepared.go(scheduling, refused);
    let interval = (looped.enter)(looped.state.as_mut());
    if let Some((freezer, cpu, signs)) = freezer {
        freezer.after_loop(cpu, signs);
    }
    // The counters before anything is freed: what that costs is not the loop's.
    (interval, prepared.finish())
}
