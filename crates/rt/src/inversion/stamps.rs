//! What decides whether a round of an inversion is a measurement.

use super::{INVERTED, UNCONFIRMED};
use crate::recorder::Recorder;

/// What is known of a round when high has the mutex; times in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    /// Low has locked.
    pub locked: u64,
    /// High asks for the mutex.
    pub request: u64,
    /// Low, running again at its lower priority, has seen that.
    pub seen: bool,
    /// Low wakes middle.
    pub posted: u64,
    /// Low is about to unlock.
    pub release: u64,
    /// High has locked.
    pub acquired: u64,
    /// When middle ran, if it has done.
    pub middle: Option<(u64, u64)>,
}

impl Stamps {
    /// Whether the round went in the order that makes its wait a measurement.
    #[inline(always)]
    pub fn confirmed(&self) -> bool {
        self.seen
            && self.locked <= self.request
            && self.request < self.posted
            && self.posted <= self.release
            && self.release <= self.acquired
    }

    /// Whether middle ran from begin to end while high waited.
    #[inline(always)]
    pub fn inverted(&self) -> bool {
        self.middle.is_some_and(|(began, ended)| self.request <= began && ended <= self.acquired)
    }
}

/// Records a confirmed round, counts any other. True if the sample was above `stop_on`.
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
