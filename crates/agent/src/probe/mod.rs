//! Measuring procedures: one file each and one line in [`PROBES`].

mod compute;
mod gap;
mod mutex;
mod null;
mod pendulum;
mod priority;
mod sleep;
mod switch;
mod wakeup;

pub use switch::partner::run as partner;

use crate::measure::Probe;
use latido_model::registry::Def;

/// Every probe.
pub const PROBES: &[Def<dyn Probe>] = &[
    wakeup::DEF,
    gap::DEF,
    mutex::DEF,
    priority::DEF,
    sleep::DEF,
    switch::DEF,
    compute::DEF,
    pendulum::DEF,
    null::DEF,
];
