//! The loops of a thread that a real-time core beside the kernel schedules: one call of the core sleeps until the slot, or one sets the
//! core's timer and another reads it. The thread reads the clock without a call.

use super::{NoTask, Stretch, Timer, Walked, spacing::Either, sweep};
use crate::recorder::Recorder;
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    clock::Clock,
    dual::{self, Member},
};

struct Asleep<'a>(&'a Member<'static>);

impl Timer for Asleep<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        Clock::Monotonic.now()
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.0.sleep_until(at_ns)
    }
}

struct Ticking<'a>(&'a dual::Timer);

impl Timer for Ticking<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        Clock::Monotonic.now()
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        self.0.set(at_ns)?;
        self.0.wait().map(|_| ())
    }
}

#[inline(never)]
pub(super) fn asleep(
    member: &Member<'static>,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    let spacing = Either::of(pass.phase, pass.period);
    sweep(&Asleep(member), spacing, pass, stop, recorder, overrun, &mut NoTask)
}

#[inline(never)]
pub(super) fn ticking(
    timer: &dual::Timer,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    let spacing = Either::of(pass.phase, pass.period);
    sweep(&Ticking(timer), spacing, pass, stop, recorder, overrun, &mut NoTask)
}
