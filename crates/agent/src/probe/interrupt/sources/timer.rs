//! The source `timer`: an absolute sleep. Every machine has it, and it needs no probe of a kernel function.

use super::{Handler, Opened, RaisedBy, Source};
use latido_rt::stamped::{self, TimerEvents};
use latido_sys::clock::Clock::Monotonic;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "timer",
    t1: "the requested expiry",
    raised: RaisedBy::Itself,
    beware: Some("no kernel threads the timer's interrupt for a real-time task"),
    handler: Handler::Event("timer", "hrtimer_expire_entry"),
    line: None,
    device: None,
    options: &[],
    lacks: |_, _| Ok(()),
    open: |setup| {
        let timer = TimerEvents::every(setup.period_ns(), Monotonic.now());
        Ok(Opened::of(stamped::Source::Timer(timer), 1))
    },
};
