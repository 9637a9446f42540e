//! Which threads are the program's, and what is to be known of each before its series are filled.

use crate::measure::Interval;
use latido_trace::{
    events::{Class, Comm, Happened},
    pairing::{Activation, Begun, Ended, Forks, Sink},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// So many wakings of a thread are looked at for its period.
const LOOKED_AT: usize = 10_000;
/// More threads than this no program has that is watched.
const MOST: usize = 1 << 16;

/// The threads of a program while its trace goes by.
#[derive(Debug)]
pub(super) struct Members(RefCell<BTreeSet<i32>>);

impl Members {
    /// These at first.
    pub fn of(threads: &BTreeSet<i32>) -> Self {
        Self(RefCell::new(threads.clone()))
    }

    /// Whether a task is one of them.
    pub fn has(&self, pid: i32) -> bool {
        self.0.borrow().contains(&pid)
    }
}

/// Adds those that are made, in the order of the trace.
pub(super) struct Following<'a> {
    pub members: &'a Members,
    /// Those at first, which stay: one that was started is made in the trace by somebody else.
    pub first: &'a BTreeSet<i32>,
    pub forks: Option<Forks>,
}

impl Sink for Following<'_> {
    fn event(&mut self, _cpu: u32, _time: u64, record: &[u8], happened: Option<&Happened>) {
        if happened.is_some() {
            return;
        }
        if let Some((parent, child)) = self.forks.and_then(|forks| forks.made(record)) {
            let mut members = self.members.0.borrow_mut();
            // A number that is somebody else's now is no member's any more.
            if members.contains(&parent) && members.len() < MOST {
                members.insert(child);
            } else if !self.first.contains(&child) {
                members.remove(&child);
            }
        }
    }
}

/// What was seen of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Its name at its last activation.
    pub comm: Comm,
    /// Activations in the interval.
    pub count: u64,
    /// Those of them of which the trace does not have the switch to the thread.
    pub unseen: u64,
    /// Whether it was real-time or deadline in one.
    pub urgent: bool,
    /// When it was woken, the first times in the interval.
    pub wakings: Vec<u64>,
}

impl Seen {
    /// Whether the kernel left the switch to the thread out of more than one activation in a hundred. Which ones it leaves out is not
    /// by chance, so that those that are left say nothing of the others.
    pub fn is_biased(&self) -> bool {
        self.unseen > self.count / 100
    }
}

/// The longest activation that is not counted: one without an end, or that began before the interval.
pub(super) fn look_for_loop(longest: &mut Option<Activation>, interval: Interval, one: &Activation, how: Ended) {
    let longer = longest.is_none_or(|known| one.response() > known.response());
    let early = one.woken < interval.first_slot_ns && one.end > interval.first_slot_ns;
    if (early || how != Ended::Blocked) && longer {
        *longest = Some(*one);
    }
}

/// Looks at all activations of the members.
pub(super) fn look(seen: &mut BTreeMap<i32, Seen>, interval: Interval, one: &Activation, how: Ended) {
    if how != Ended::Blocked || one.woken < interval.first_slot_ns || one.end > interval.ended_ns {
        return;
    }
    let thread = seen.entry(one.pid).or_default();
    thread.comm = one.comm;
    thread.count += 1;
    thread.unseen += u64::from(one.came.is_none());
    thread.urgent |= one.priority.class() != Class::Fair;
    // What begins at once catches up: it tells nothing of the period.
    if one.begun != Begun::AtOnce && thread.wakings.len() < LOOKED_AT {
        thread.wakings.push(one.woken);
    }
}
