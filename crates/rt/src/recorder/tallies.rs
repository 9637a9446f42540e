//! Counts of what a loop did besides its samples, for example rounds that were left out.

use super::Recorder;

/// How many counts of its own a loop can keep beside each recorder.
pub const TALLIES: usize = 4;

impl Recorder {
    /// Adds one to the loop's own count number `which`, below [`TALLIES`]; a reset forgets it.
    ///
    /// The loop says what it means; the reading end finds it in [`super::Snapshot::tallies`].
    pub fn tally(&mut self, which: usize) {
        let open = self.begin();
        if let Some(word) = self.shared.tallies.get(which) {
            word.add(1);
        }
        self.commit(open);
    }
}
