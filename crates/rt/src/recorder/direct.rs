//! The writing end for loops outside this crate, whose samples need no speed.

use super::Recorder;

impl Recorder {
    /// Records one sample of the time `at`, since the start. Call [`Recorder::reset`] before the first.
    pub fn sample(&mut self, value: i64, at: u64) {
        let open = self.begin();
        self.record(value, at);
        self.commit(open);
    }

    /// The slot of the last sample was one that was late.
    pub fn sample_was_late(&mut self) {
        let open = self.begin();
        self.count_late();
        self.commit(open);
    }

    /// A slot passed without a sample; the one that came at last was so late for it.
    pub fn missed(&mut self, delay: u64) {
        let open = self.begin();
        self.miss(delay);
        self.commit(open);
    }

    /// So many slots passed without a sample: what came at last was so late for the first, and `step` less for each that follows.
    /// It takes a turn for each bucket of the histogram and no more, however many slots they are; how many turns it took.
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

    /// Ends the last block at the time `at`: nothing follows.
    pub fn close(&mut self, at: u64) {
        self.finish(at);
    }
}
