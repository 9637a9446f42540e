//! Finds the threads of the program, and the facts about each that latido needs before it fills their series.

use super::{distances::regular_distance, slots::Grid};
use crate::measure::Interval;
use latido_trace::{
    events::{Class, Comm, Happened},
    pairing::{Activation, Begun, Ended, Forks, Sink},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// How many wakings per thread latido examines for its period.
const LOOKED_AT: usize = 10_000;
/// How many threads latido follows at most: no watched program has more.
const MOST: usize = 1 << 16;

/// The threads of a program during the walk through its trace.
#[derive(Debug)]
pub(super) struct Members(RefCell<BTreeSet<i32>>);

impl Members {
    /// Starts with these threads.
    pub fn of(threads: &BTreeSet<i32>) -> Self {
        Self(RefCell::new(threads.clone()))
    }

    /// Tells whether a task is one of them.
    pub fn has(&self, pid: i32) -> bool {
        self.0.borrow().contains(&pid)
    }
}

/// Adds the threads that the program creates, in the order of the trace.
pub(super) struct Following<'a> {
    pub members: &'a Members,
    /// The first threads, which stay. In the trace, latido's fork creates the program that it started.
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
            // If another program's thread now has a number, that number is no member any longer.
            if members.contains(&parent) && members.len() < MOST {
                members.insert(child);
            } else if !self.first.contains(&child) {
                members.remove(&child);
            }
        }
    }
}

/// What the trace shows of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Its name at its last activation.
    pub comm: Comm,
    /// Activations in the interval.
    pub count: u64,
    /// Activations for which the trace lacks the switch to the thread.
    pub unseen: u64,
    /// Whether it was real-time or deadline in an activation.
    pub urgent: bool,
    /// The times at which it was woken: the first ones in the interval.
    pub wakings: Vec<u64>,
    /// The wakings that ended a wait for a time of a clock.
    pub at_a_time: Vec<u64>,
    /// Whether it waits for such a time now.
    waits_for_a_time: bool,
}

impl Seen {
    /// Tells whether the kernel left the switch to the thread out of more than one activation in a hundred. It does not leave them out at
    /// random, so the remaining ones do not represent the others.
    pub fn is_biased(&self) -> bool {
        self.unseen > self.count / 100
    }

    /// Tells whether it requests the time of each slot: the wakings out of such waits are a period apart.
    pub fn asks_for_slots(&self, period: u64) -> bool {
        Grid::is_regular(period, &self.at_a_time)
    }

    /// Returns the wakings that determine its slots.
    pub fn slots(&self, period: u64) -> &[u64] {
        if self.asks_for_slots(period) { &self.at_a_time } else { &self.wakings }
    }
}

/// Returns the threads that have the period, and the helpers that have none. The period belongs to the real-time and deadline threads, or
/// to all threads if the program has no such thread. Helpers (of a virtual machine, of a runtime, children) wake in less than a quarter of
/// the slots, and nowhere in six of eight in a row, while another thread does. A real-time thread that requests times of a clock is late
/// and no helper, unless its wakings are regular at a longer period.
pub(super) fn periodic(period: u64, interval: Interval, threads: &[(&i32, &Seen)]) -> (BTreeSet<i32>, BTreeSet<i32>) {
    let slots = interval.ended_ns.saturating_sub(interval.first_slot_ns) / period.max(1);
    let urgent = threads.iter().any(|(_, thread)| thread.urgent);
    let of_class = threads.iter().copied().filter(|(_, thread)| thread.urgent == urgent);
    let is_regular = |thread: &Seen| Grid::is_regular(period, &thread.wakings);
    let asks = |thread: &Seen| {
        thread.at_a_time.len() * 2 > thread.wakings.len() && regular_distance(&thread.wakings).is_none()
    };
    let is_helper = |thread: &Seen| thread.count < slots / 4 && !is_regular(thread) && !(thread.urgent && asks(thread));
    let (helpers, own): (Vec<(&i32, &Seen)>, Vec<_>) = of_class.partition(|(_, thread)| is_helper(thread));
    let pids = |threads: Vec<(&i32, &Seen)>| threads.into_iter().map(|(pid, _)| *pid).collect();
    if own.iter().any(|(_, thread)| is_regular(thread)) {
        (pids(own), pids(helpers))
    } else {
        (pids(own.into_iter().chain(helpers).collect()), BTreeSet::new())
    }
}

/// Finds the longest activation that does not count: it has no end, or it began before the interval.
pub(super) fn look_for_loop(longest: &mut Option<Activation>, interval: Interval, one: &Activation, how: Ended) {
    let longer = longest.is_none_or(|known| one.response() > known.response());
    let early = one.woken < interval.first_slot_ns && one.end > interval.first_slot_ns;
    if (early || how != Ended::Blocked) && longer {
        *longest = Some(*one);
    }
}

/// Collects the facts from all activations of the members.
pub(super) fn look(seen: &mut BTreeMap<i32, Seen>, interval: Interval, one: &Activation, how: Ended) {
    if let Some(known) = seen.get_mut(&one.pid).filter(|_| how == Ended::Stopped) {
        // The wakings of a stop belong to no slot.
        known.waits_for_a_time = false;
    }
    if how != Ended::Blocked || one.woken < interval.first_slot_ns || one.end > interval.ended_ns {
        return;
    }
    let thread = seen.entry(one.pid).or_default();
    thread.comm = one.comm;
    thread.count += 1;
    thread.unseen += u64::from(one.came.is_none());
    thread.urgent |= one.priority.class() != Class::Fair;
    // An activation that begins at once catches up: it shows nothing about the period.
    if one.begun != Begun::AtOnce && thread.wakings.len() < LOOKED_AT {
        thread.wakings.push(one.woken);
        if thread.waits_for_a_time {
            thread.at_a_time.push(one.woken);
        }
    }
    thread.waits_for_a_time = one.asked_for_a_clock_time();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a thread that wakes at these multiples of 1 ms.
    fn thread(at: impl Iterator<Item = u64>) -> Seen {
        let wakings: Vec<u64> = at.map(|ms| ms * 1_000_000).collect();
        Seen { count: wakings.len() as u64, wakings, ..Seen::default() }
    }

    #[test]
    fn helpers_have_no_slots() {
        let interval = Interval { first_slot_ns: 0, ended_ns: 1_000_000_000 };
        let (works, overloaded) = (thread(0..900), thread((0..1000).step_by(3)));
        let (helper, rare) = (thread((0..1000).step_by(50)), thread([5, 400].into_iter()));
        let of = |threads: &[(&i32, &Seen)]| periodic(1_000_000, interval, threads);
        let sets = |own: &[i32], helpers: &[i32]| (own.iter().copied().collect(), helpers.iter().copied().collect());
        assert_eq!(of(&[(&1, &works), (&2, &helper), (&3, &rare)]), sets(&[1], &[2, 3]));
        // A thread that cannot keep its period has slots if another thread keeps it.
        assert_eq!(of(&[(&1, &works), (&4, &overloaded)]), sets(&[1, 4], &[]));
        // If no thread is regular, all may have the period.
        assert_eq!(of(&[(&2, &helper), (&3, &rare)]), sets(&[2, 3], &[]));
        // Real-time threads that request a time are no helpers. Ordinary threads have no slots while there are real-time ones.
        let urgent = Seen { urgent: true, ..helper.clone() };
        let asks = Seen { at_a_time: helper.wakings.clone(), ..urgent.clone() };
        let quick = Seen { urgent: true, ..works.clone() };
        assert_eq!(of(&[(&1, &quick), (&2, &urgent), (&3, &works), (&4, &asks)]), sets(&[1, 4], &[2]));
        // If these times are regular at a longer period, the thread has that period.
        let slow = thread((0..1000).step_by(20));
        let slow = Seen { at_a_time: slow.wakings.clone(), urgent: true, ..slow };
        assert_eq!(of(&[(&1, &quick), (&5, &slow)]), sets(&[1], &[5]));
    }
}
