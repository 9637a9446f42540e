//! The loops that wait with clock_nanosleep(2). No other periodic loop costs less.

use super::{NoTask, Phase, Stretch, Walked, spacing::Either, sweep};
use crate::recorder::Recorder;
use core::sync::atomic::AtomicBool;
use latido_sys::clock::Clock;

/// Runs the loop for this clock.
pub(super) fn on(
    clock: Clock,
    pass: &Stretch,
    stop: &AtomicBool,
    recorder: &mut Recorder,
    overrun: Option<&mut Recorder>,
) -> Walked {
    match (pass.phase, clock) {
        (Phase::Fixed, Clock::Monotonic) => monotonic(pass, stop, recorder, overrun),
        (Phase::Fixed, Clock::Realtime) => realtime(pass, stop, recorder, overrun),
        (Phase::Fixed, Clock::Tai) => tai(pass, stop, recorder, overrun),
        (Phase::Fixed, Clock::Boottime) => boottime(pass, stop, recorder, overrun),
        (Phase::Random { .. }, Clock::Monotonic) => wander_monotonic(pass, stop, recorder, overrun),
        (Phase::Random { .. }, Clock::Realtime) => wander_realtime(pass, stop, recorder, overrun),
        (Phase::Random { .. }, Clock::Tai) => wander_tai(pass, stop, recorder, overrun),
        (Phase::Random { .. }, Clock::Boottime) => wander_boottime(pass, stop, recorder, overrun),
    }
}

/// Defines one function per clock and phase. The compiler keeps each separate, so that the disassembly check finds each loop by its name.
macro_rules! loops {
    ($($even:ident $wandering:ident $clock:ident),*) => {$(
        #[inline(never)]
        fn $even(pass: &Stretch, stop: &AtomicBool, recorder: &mut Recorder, overrun: Option<&mut Recorder>) -> Walked {
            sweep(&Clock::$clock, pass.even(), pass, stop, recorder, overrun, &mut NoTask)
        }

        #[inline(never)]
        fn $wandering(pass: &Stretch, stop: &AtomicBool, recorder: &mut Recorder, overrun: Option<&mut Recorder>) -> Walked {
            let spacing = Either::of(pass.phase, pass.period);
            sweep(&Clock::$clock, spacing, pass, stop, recorder, overrun, &mut NoTask)
        }
    )*};
}

loops!(
    monotonic wander_monotonic Monotonic,
    realtime wander_realtime Realtime,
    tai wander_tai Tai,
    boottime wander_boottime Boottime
);
