//! Where events with a known instant come from: one file each and one line in [`SOURCES`].

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

/// Every source.
pub const SOURCES: &[Source] =
    &[timer::SOURCE, hpet::SOURCE, serial::SOURCE, parport::SOURCE, gpio::SOURCE, uio::SOURCE, network::SOURCE];

/// A source: what is said of it in every result, and how it is opened.
pub struct Source {
    /// As the option names it.
    pub name: &'static str,
    /// How t1 is known.
    pub t1: &'static str,
    /// Who raises its events.
    pub raised: RaisedBy,
    /// What it does not measure, or measures besides.
    pub beware: Option<&'static str>,
    /// The real handler: t2 is its entry.
    pub handler: Handler,
    /// How the name of its interrupt line begins, in /proc/interrupts and in the name of its thread `irq/N-NAME`; none of a
    /// source that has no line.
    pub line: Option<fn(setup: &Setup) -> String>,
    /// The device that it uses where none is named.
    pub device: Option<&'static str>,
    /// Options that not every source has.
    pub options: &'static [&'static str],
    /// Refuses a machine that lacks what it needs, found by reading alone: by name, with the reason and what to load or enable.
    pub lacks: fn(root: &Root, setup: &Setup) -> Result<()>,
    /// Opens and arms it.
    pub open: fn(setup: &Setup) -> Result<Opened>,
}

/// Who raises events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedBy {
    /// The device by itself, regardless of what the CPU does by then.
    Itself,
    /// A thread of this process.
    Thread,
    /// A station.
    Station,
}

/// What stands for the handler's entry.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// An event that kernels have, system and name.
    Event(&'static str, &'static str),
    /// The entry of a function, by its names, that of the newest kernel first.
    Function(&'static [&'static str]),
    /// A stamp that each event brings along.
    Carried(&'static str),
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The device, for sources that have one.
    pub device: String,
    /// Events a second.
    pub rate: u64,
    /// Whether stamps are wanted besides t1 and t3.
    pub traced: bool,
    /// The line that is driven and the one whose edges are events.
    pub lines: Option<(u32, u32)>,
    /// What raises the interrupt.
    pub raise: Option<Write>,
    /// What takes it back.
    pub clear: Option<Write>,
    /// Where the trigger runs.
    pub station: Place,
    /// How long events may be needed at most.
    pub bound: Duration,
}

impl Setup {
    /// The device without its directory, which drivers call their lines by.
    pub fn name(&self) -> String {
        self.device.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The time between two events, ns.
    pub fn period_ns(&self) -> u64 {
        1_000_000_000 / self.rate.max(1)
    }
}

/// A source at work.
pub struct Opened {
    /// What the loop waits for.
    pub source: stamped::Source,
    /// The step of t1, ns, upwards to the next whole one.
    pub resolution_ns: u64,
    /// What must be said of it besides what is said of every such source.
    pub beware: Option<String>,
    /// What raises the events, where another process does.
    pub trigger: Option<String>,
    /// What has to live as long.
    pub held: Option<Box<dyn Any>>,
}

impl Opened {
    /// One that is all there is.
    pub const fn of(source: stamped::Source, resolution_ns: u64) -> Self {
        Self { source, resolution_ns, beware: None, trigger: None, held: None }
    }
}
