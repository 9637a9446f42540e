//! The writing end for loops outside this crate that do not need fast recording.

use super::Recorder;

impl Recorder {
    /// Records one sample at time `at`, in ns since the start. Call [`Recorder::reset`] before the first.
    pub fn sample(&mut self, value: i64, at: u64) {
        let open = self.begin();
        self.record(value, at);
        self.commit(open);
    }

    /// Counts the slot of the last sample as late.
    pub fn sample_was_late(&mut self) {
        let open = self.begin();
        self.count_late();
        self.commit(open);
    }

    /// Records a slot without a sample. `delay` is how late the next sample was for this slot, in ns.
    pub fn missed(&mut self, delay: u64) {
        let open = self.begin();
        self.miss(delay);
        self.commit(open);
    }

    /// Records `count` slots without a sample: the next sample was late by `delay` for the first, and by `step` less for each following
    /// one. Returns the number of loop iterations, at most about one per bucket of the histogram, however many slots there are.
    pub fn missed_in_turn(&mut self, delay: u64, step: u64, count: u64) -> usize {
        let (mut delay, mut left, mut turns) = (delay.min(i64::MAX as u64), count, 0usize);
        let open = self.begin();
        self.shared.missed_slots.add(count);
        while let Some(missed) = self.shared.missed.as_ref().filter(|_| left > 0) {
            let least = missed.counters.least_alike(delay);
            let alike =
                delay.saturating_sub(least).checked_div(step).map_or(left, |more| more.saturating_add(1).min(left));
            missed.counters.count_alike(delay, alike);
            missed.sums.add_falling(delay, step, alike);
            missed.extremes(delay as i64);
            let last = delay.saturating_sub(step.saturating_mul(alike.saturating_sub(1)));
            missed.extremes(last as i64);
            (delay, left) = (last.saturating_sub(step), left.saturating_sub(alike));
            turns = turns.saturating_add(1);
        }
        self.commit(open);
        turns
    }

    /// Ends the last block at time `at`; nothing may follow.
    pub fn close(&mut self, at: u64) {
        self.finish(at);
    }
}
