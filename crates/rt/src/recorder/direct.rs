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

    /// Ends the last block at the time `at`: nothing follows.
    pub fn close(&mut self, at: u64) {
        self.finish(at);
    }
}
