//! Decides whether a round of an inversion is a valid measurement.

use super::{INVERTED, UNCONFIRMED};
use crate::recorder::Recorder;

/// What the high thread knows about a round once it has the mutex; times in ns on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    /// When low had locked the mutex.
    pub locked: u64,
    /// When high requested the mutex.
    pub request: u64,
    /// Whether low, when it ran again, saw that request (and all three threads have their priorities).
    pub seen: bool,
    /// When low woke middle.
    pub posted: u64,
    /// When low was about to unlock the mutex.
    pub release: u64,
    /// When high had locked the mutex.
    pub acquired: u64,
    /// From when to when middle ran, if it has finished.
    pub middle: Option<(u64, u64)>,
}

impl Stamps {
    /// Returns whether the events came in the order that makes the wait a valid measurement.
    #[inline(always)]
    pub fn confirmed(&self) -> bool {
        self.seen
            && self.locked <= self.request
            && self.request < self.posted
            && self.posted <= self.release
            && self.release <= self.acquired
    }

    /// Returns whether middle ran from beginning to end while high waited.
    #[inline(always)]
    pub fn inverted(&self) -> bool {
        self.middle.is_some_and(|(began, ended)| self.request <= began && ended <= self.acquired)
    }
}

/// Records a confirmed round and counts any other. Returns true if the sample was above `stop_on`.
#[inline(always)]
pub(super) fn take(recorder: &mut Recorder, stamps: &Stamps) -> bool {
    if !stamps.confirmed() {
        recorder.tally(UNCONFIRMED);
        return false;
    }
    let open = recorder.begin();
    recorder.record(stamps.acquired.wrapping_sub(stamps.request) as i64, stamps.acquired);
    recorder.commit(open);
    if stamps.inverted() {
        recorder.tally(INVERTED);
    }
    recorder.stopped()
}
