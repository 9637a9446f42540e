//! How much a file may become: packed into a few bytes, a histogram has as many buckets as its writer likes.

use crate::imported::Imported;
use anyhow::{Result, ensure};

/// Buckets that any file may have.
const ANY: usize = 200_000;

/// Buckets of a further byte. A bucket takes some 40 bytes of memory and 20 of the disk, and a written one at least two bytes
/// of its file.
const EACH: usize = 4;

/// The most buckets of a file of so many bytes.
pub fn buckets(bytes: usize) -> usize {
    bytes.saturating_mul(EACH).saturating_add(ANY)
}

/// Slots that the histograms of any file may pass, used or not: a nanosecond or ten of a processor each.
const ANY_SLOTS: u64 = 20_000_000;

/// Slots of a further byte: an interval of 100 bytes that an idle program writes passes some ten thousand.
const EACH_SLOTS: u64 = 1000;

/// The most slots of a file of so many bytes.
pub fn slots(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(EACH_SLOTS).saturating_add(ANY_SLOTS)
}

/// Refuses more than that, in all series together.
///
/// # Errors
/// How many there are.
pub fn enough(found: usize, bytes: usize) -> Result<()> {
    let most = buckets(bytes);
    ensure!(
        found <= most,
        "a file of {bytes} bytes with more than {most} buckets: no tool writes so many into so few (cut it into several files)"
    );
    Ok(())
}

/// Refuses a file that became more than it may.
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

    /// As many buckets as a file may become are enough, and one more is refused, with both numbers.
    #[test]
    fn one_bucket_more_than_a_file_may_become_is_refused() {
        for bytes in [0, 31_000, 10_000_000] {
            let most = buckets(bytes);
            assert!(enough(most, bytes).is_ok());
            let error = enough(most + 1, bytes).unwrap_err().to_string();
            assert!(error.contains(&most.to_string()) && error.contains(&bytes.to_string()), "{error}");
        }
    }
}
