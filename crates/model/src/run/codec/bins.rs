//! Bins of another tool as CSV. The import from a test farm has a million of them, which latido writes and reads again at once: plain lines
//! of numbers need no reader that handles quotes.

use super::{MAX_SAMPLES, histogram};
use crate::record::{Bin, quantized::counted};
use anyhow::{Context, Result, anyhow, ensure};
use hdrhistogram::Histogram;
use std::str::FromStr;

const HEADER: &str = "low,high,count";

/// The most bins of a series accepted: as many rows as an importer reads.
const MOST: usize = 10_000_001;

/// Encodes as CSV with the columns `low,high,count`, both ends inclusive; the last `high` may be empty.
pub fn encode_bins(bins: &[Bin]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + bins.len() * 24);
    out.extend_from_slice(HEADER.as_bytes());
    out.push(b'\n');
    let mut digits = itoa::Buffer::new();
    for Bin { low, high, count } in bins {
        out.extend_from_slice(digits.format(*low).as_bytes());
        out.push(b',');
        if let Some(high) = high {
            out.extend_from_slice(digits.format(*high).as_bytes());
        }
        out.push(b',');
        out.extend_from_slice(digits.format(*count).as_bytes());
        out.push(b'\n');
    }
    out
}

/// Decodes what [`encode_bins`] wrote.
///
/// # Errors
/// Lines in another format, with their numbers; bins that are not ascending, or contain more samples than any machine takes.
pub fn decode_bins(bytes: &[u8]) -> Result<Vec<Bin>> {
    let text = str::from_utf8(bytes)?;
    let (head, text) = text.split_once('\n').unwrap_or((text, ""));
    ensure!(head == HEADER, "the columns are `{head}`");
    let mut bins = Vec::with_capacity(text.len() / 24);
    for (index, line) in text.lines().enumerate() {
        ensure!(index < MOST, "more than {MOST} lines, the most that latido reads");
        bins.push(bin(line).with_context(|| format!("line {}", index + 2))?);
    }
    let sound = |bin: &Bin| bin.high.is_none_or(|high| bin.low <= high);
    ensure!(bins.iter().all(sound), "a bin ends before it begins");
    ensure!(bins.is_sorted_by_key(|bin| bin.low), "the bins are not in order");
    ensure!(counted(&bins) <= MAX_SAMPLES, "the bins have more samples than any machine takes");
    Ok(bins)
}

fn bin(line: &str) -> Result<Bin> {
    let mut fields = line.split(',');
    let mut field = || fields.next().context("it has fewer than 3 columns");
    let (low, high, count) = (field()?, field()?, field()?);
    ensure!(fields.next().is_none(), "it has more than 3 columns");
    let high = if high.is_empty() { None } else { Some(number(high)?) };
    Ok(Bin { low: number(low)?, high, count: number(count)? })
}

fn number<T: FromStr>(field: &str) -> Result<T> {
    field.parse().map_err(|_| anyhow!("`{field}` is not a number that fits"))
}

/// Returns a histogram of the bins' upper ends. A bin without an upper end counts at its lower end; a bin below zero is left out.
///
/// # Errors
/// As [`histogram`].
pub fn upper_ends(bins: &[Bin]) -> Result<Histogram<u64>> {
    let mut histogram = histogram()?;
    for bin in bins {
        let value = bin.high.unwrap_or(bin.low);
        if let Ok(value) = u64::try_from(value) {
            histogram.record_n(value.min(1 << 62), bin.count).map_err(|e| anyhow!("a histogram of bins: {e}"))?;
        }
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_come_back() {
        let bins = [(-9, Some(-1), 2), (0, Some(999), 7), (5_000, None, 1)];
        let bins = bins.map(|(low, high, count)| Bin { low, high, count });
        assert_eq!(decode_bins(&encode_bins(&bins)).unwrap(), bins);
        for broken in
            ["9,1,1\n", "5,,1\n2,3,1\n", "1,2,-1\n", "1,2,281474976710657\n", "1,2\n", "1,2,3,4\n", "\n", "1,2,x"]
        {
            assert!(decode_bins(format!("low,high,count\n{broken}").as_bytes()).is_err(), "{broken}");
        }
        let error = format!("{:#}", decode_bins(b"low,high,count\n1,2,3\n1,x,3\n").unwrap_err());
        assert!(error.contains("line 3") && error.contains("`x`"), "{error}");
    }

    proptest! {
        /// Any bins come back unchanged, and no text causes a panic.
        #[test]
        fn any_bins_come_back(rows in prop::collection::vec((any::<i64>(), any::<i64>(), 0_u64..1 << 40), 0..50)) {
            let mut bins: Vec<Bin> =
                rows.iter().map(|(a, b, count)| Bin { low: *a.min(b), high: Some(*a.max(b)), count: *count }).collect();
            bins.sort_by_key(|bin| bin.low);
            prop_assert_eq!(decode_bins(&encode_bins(&bins)).unwrap(), bins);
        }

        #[test]
        fn no_text_is_a_panic(text in "(low,high,count\n)?[-0-9,\n\r\"x]{0,60}") {
            let _ = decode_bins(text.as_bytes());
        }
    }
}
