//! The sources of events with a known instant: one file and one line in [`SOURCES`] per source.

mod gpio;
mod hpet;
mod network;
mod parport;
mod serial;
mod timer;
mod uio;

use crate::{machine::Root, station::place::Place};
use anyhow::Result;
use latido_rt::stamped;
use latido_sys::uio::Write;
use std::{any::Any, time::Duration};

/// All sources.
pub const SOURCES: &[Source] =
    &[timer::SOURCE, hpet::SOURCE, serial::SOURCE, parport::SOURCE, gpio::SOURCE, uio::SOURCE, network::SOURCE];

/// A source: its description for every result, and how to open it.
pub struct Source {
    /// Its name in the option.
    pub name: &'static str,
    /// How t1 is known.
    pub t1: &'static str,
    /// What raises its events.
    pub raised: RaisedBy,
    /// A caution for the reader: what it does not measure, or what it also measures.
    pub beware: Option<&'static str>,
    /// The real handler: t2 is its entry.
    pub handler: Handler,
    /// Returns the beginning of its interrupt line's name, as in /proc/interrupts and in the name of its thread `irq/N-NAME`; `None` for a
    /// source without a line.
    pub line: Option<fn(setup: &Setup) -> String>,
    /// The default device.
    pub device: Option<&'static str>,
    /// Options that not every source has.
    pub options: &'static [&'static str],
    /// Refuses a machine that lacks what it needs. It only reads. The error names each missing thing, with the reason and what to load or
    /// enable.
    pub lacks: fn(root: &Root, setup: &Setup) -> Result<()>,
    /// Opens and arms the source.
    pub open: fn(setup: &Setup) -> Result<Opened>,
}

/// What raises events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedBy {
    /// The device itself, regardless of what the CPU does at that moment.
    Itself,
    /// A thread of this process.
    Thread,
    /// A station.
    Station,
}

/// What represents the handler's entry.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// An event of the kernel, by system and name.
    Event(&'static str, &'static str),
    /// The entry of a function, with its possible names, the newest kernel's name first.
    Function(&'static [&'static str]),
    /// A stamp that comes with each event.
    Carried(&'static str),
}

/// The requested options.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The device, for sources that use one.
    pub device: String,
    /// Events per second.
    pub rate: u64,
    /// Whether the user also wants stamps other than t1 and t3.
    pub traced: bool,
    /// The line that latido drives, and the line whose edges are events.
    pub lines: Option<(u32, u32)>,
    /// The write that raises the interrupt.
    pub raise: Option<Write>,
    /// The write that clears the interrupt.
    pub clear: Option<Write>,
    /// The place where the trigger runs.
    pub station: Place,
    /// The longest time for which events may be needed.
    pub bound: Duration,
}

impl Setup {
    /// Returns the device without its directory: drivers name their interrupt lines like this.
    pub fn name(&self) -> String {
        self.device.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// Returns the time between two events, ns.
    pub fn period_ns(&self) -> u64 {
        1_000_000_000 / self.rate.max(1)
    }
}

/// An opened source.
pub struct Opened {
    /// What the loop waits for.
    pub source: stamped::Source,
    /// The step of t1 in ns, rounded up.
    pub resolution_ns: u64,
    /// A caution in addition to the one for every such source.
    pub beware: Option<String>,
    /// The trigger of the events, if another process raises them.
    pub trigger: Option<String>,
    /// What must live as long as the source.
    pub held: Option<Box<dyn Any>>,
}

impl Opened {
    /// Wraps a source that needs nothing else.
    pub const fn of(source: stamped::Source, resolution_ns: u64) -> Self {
        Self { source, resolution_ns, beware: None, trigger: None, held: None }
    }
}
