//! Counts of events other than samples, which the loop defines: for example rounds that were left out.

use super::Recorder;

/// How many such counts each recorder has.
pub const TALLIES: usize = 4;

impl Recorder {
    /// Increments the loop's count number `which`, below [`TALLIES`]; a reset clears it.
    ///
    /// The loop defines its meaning; the reading end finds it in [`super::Snapshot::tallies`].
    pub fn tally(&mut self, which: usize) {
        let open = self.begin();
        if let Some(word) = self.shared.tallies.get(which) {
            word.add(1);
        }
        self.commit(open);
    }
}
