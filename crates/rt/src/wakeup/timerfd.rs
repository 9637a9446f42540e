//! The loop that waits with a timer descriptor: one call sets it to the slot, another reads it.

use super::{NoTask, Stretch, Timer, Walked, spacing::Either, sweep};
use crate::recorder::Recorder;
use core::sync::atomic::AtomicBool;
use latido_sys::{Errno, clock::Clock, timer::TimerDescriptor};

struct Descriptor<'a>(Clock, &'a TimerDescriptor);

impl Timer for Descriptor<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.1.set(at_ns)?;
        self.1.wait().map(|_| ())
    }
}

#[inline(never)]
pub(super) fn run(
    clock: Clock,
    timer: &TimerDescriptor,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    let spacing = Either::of(pass.phase, pass.period);
    sweep(&Descriptor(clock, timer), spacing, pass, stop, recorder, overrun, &mut NoTask)
}
