//! Limits what a file may expand to: a histogram compressed into a few bytes can have any number of buckets.

use crate::imported::Imported;
use anyhow::{Result, ensure};

/// The number of buckets that any file may have.
const ANY: usize = 200_000;

/// The number of additional buckets per byte. A bucket takes some 40 bytes of memory and 20 on the disk, and a written one at least two
/// bytes of its file.
const EACH: usize = 4;

/// Returns the largest number of buckets for a file of that many bytes.
pub fn buckets(bytes: usize) -> usize {
    bytes.saturating_mul(EACH).saturating_add(ANY)
}

/// The number of slots that the histograms of any file may skip or use. Each takes one to ten nanoseconds of processor time.
const ANY_SLOTS: u64 = 20_000_000;

/// The number of additional slots per byte. An interval of 100 bytes from an idle program has some ten thousand slots.
const EACH_SLOTS: u64 = 1000;

/// Returns the largest number of slots for a file of that many bytes.
pub fn slots(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(EACH_SLOTS).saturating_add(ANY_SLOTS)
}

/// Refuses more buckets than that, in all series together.
///
/// # Errors
/// Too many buckets, with their limit.
pub fn enough(found: usize, bytes: usize) -> Result<()> {
    let most = buckets(bytes);
    ensure!(
        found <= most,
        "a file of {bytes} bytes has more than {most} buckets, more than any tool writes (cut it into several files)"
    );
    Ok(())
}

/// Refuses an imported file with more buckets than allowed.
///
/// # Errors
/// See [`enough`].
pub fn bounded(imported: &Imported, bytes: usize) -> Result<()> {
    let found = imported.series.iter().map(|series| series.bins.len()).fold(0, usize::saturating_add);
    enough(found, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest allowed number of buckets must pass. One more must be refused, with the number and the size.
    #[test]
    fn one_bucket_more_than_a_file_may_become_is_refused() {
        for (bytes, most) in [(0, 200_000), (31_000, 324_000), (10_000_000, 40_200_000)] {
            assert!(enough(most, bytes).is_ok());
            let error = enough(most + 1, bytes).unwrap_err().to_string();
            assert!(error.contains(&most.to_string()) && error.contains(&bytes.to_string()), "{error}");
        }
    }
}
