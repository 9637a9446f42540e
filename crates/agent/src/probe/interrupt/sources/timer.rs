//! The source `timer`: an absolute sleep. Every machine has it, and it needs no probe of a kernel function.

use super::{Handler, Opened, RaisedBy, Source};
use latido_rt::stamped::{self, TimerEvents};
use latido_sys::clock::Clock::Monotonic;

/// The list entry.
pub const SOURCE: Source = Source {
    name: "timer",
    t1: "the expiry that was asked for",
    raised: RaisedBy::Itself,
    beware: Some("the timer's interrupt is never threaded for a real-time task, on no kernel"),
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
