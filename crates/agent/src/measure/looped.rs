//! A measuring thread between the two readings of its counters. Everything that it calls there is already in memory.

use super::{freeze::Freezer, out_of_band::OutOfBand, threads::PreparedThread};
use anyhow::{Result, bail};
use latido_model::{
    cell::Scheduling,
    record::{CoreCounts, ThreadEvidence},
};
use latido_rt::recorder::StopSign;
use latido_sys::memory;
use std::any::Any;

/// The result of a measuring thread's loop: from when to when it measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// The first counted slot, or the start of the loop, on CLOCK_MONOTONIC.
    pub first_slot_ns: u64,
    /// When the loop ended, on the same clock.
    pub ended_ns: u64,
}

/// A loop that is ready to run. It is called by reference, so that its memory is freed only after the trace is frozen.
pub struct Loop {
    state: Box<dyn Any>,
    /// The function that runs the loop. Its address is known, unlike that of a trait object's method.
    enter: fn(&mut dyn Any) -> Result<Interval>,
}

impl Loop {
    /// Wraps a loop that runs once.
    pub fn new<L: FnMut() -> Result<Interval> + 'static>(body: L) -> Self {
        Self { state: Box::new(body), enter: enter::<L> }
    }

    /// Touches the code that runs between the counters and that no dry run has executed. Its pages start at different places from run to
    /// run, and would cause page faults in the loop.
    pub fn touch_code(&self) {
        let functions = [
            self.enter as usize,
            carry_out as *const () as usize,
            PreparedThread::go as fn(&mut PreparedThread, Option<Scheduling>, &mut dyn FnMut(String)) as usize,
            PreparedThread::count as fn(&mut PreparedThread) as usize,
            PreparedThread::leave_core as fn(&mut PreparedThread) as usize,
            PreparedThread::finish as fn(PreparedThread) -> ThreadEvidence as usize,
            OutOfBand::begin as fn(&mut OutOfBand) as usize,
            OutOfBand::end as fn(OutOfBand) -> Option<CoreCounts> as usize,
        ];
        memory::touch_code(&functions);
        // The type check calls another function of the loop, which is thereby touched.
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

/// Makes the thread real-time, runs the loop, freezes the trace if a sample requires it, and reads what the thread used. `refused` receives
/// the reason if the thread could not become real-time.
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
    prepared.leave_core();
    if let Some((freezer, cpu, signs)) = freezer {
        freezer.after_loop(cpu, signs);
    }
    // The counters are read before anything is freed: freeing is not part of the loop.
    (interval, prepared.finish())
}
