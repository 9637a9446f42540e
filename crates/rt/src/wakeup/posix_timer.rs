//! The loop that waits for the signal of a POSIX timer: one call sets the timer to the slot, another takes the signal.

use super::{NoTask, Stretch, Timer, Walked, spacing::Either, sweep};
use crate::recorder::Recorder;
use core::sync::atomic::AtomicBool;
use latido_sys::{Errno, clock::Clock, timer::SignalTimer};

struct Signal<'a>(Clock, &'a SignalTimer);

impl Timer for Signal<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.1.set(at_ns)?;
        self.1.wait()
    }
}

#[inline(never)]
pub(super) fn run(
    clock: Clock,
    timer: &SignalTimer,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    let spacing = Either::of(pass.phase, pass.period);
    sweep(&Signal(clock, timer), spacing, pass, stop, recorder, overrun, &mut NoTask)
}
