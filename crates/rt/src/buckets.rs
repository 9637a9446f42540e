//! The log-linear bucket layout of HdrHistogram with lowest value 1 and 3 significant digits, in ns up to 60 s.
//!
//! Source: <https://hdrhistogram.org>. Bucket `i` here is `counts[i]` there, so latido copies counts one to one.

/// The largest value with a bucket, in ns. Recorders count larger values as overflow.
pub const HIGHEST: u64 = 60_000_000_000;

/// log2 of the number of sub-buckets in half a bucket: 2048 sub-buckets resolve 3 significant digits.
const HALF_BITS: u32 = 10;

/// Number of buckets: 26 powers of two from 2048 up to the first above [`HIGHEST`], and one more half.
pub const LEN: usize = 27 << HALF_BITS;

/// Returns the bucket of a value. For a value above [`HIGHEST`] the index may be outside the histogram.
#[inline(always)]
pub const fn index(value: u64) -> usize {
    let sub_mask = (2 << HALF_BITS) - 1;
    let shift = (63 - HALF_BITS).wrapping_sub((value | sub_mask).leading_zeros());
    (((shift as u64) << HALF_BITS).wrapping_add(value >> shift)) as usize
}

/// Returns the smallest value of a bucket.
pub const fn lowest(index: usize) -> u64 {
    let index = index as u64;
    let half = 1 << HALF_BITS;
    let shift = (index >> HALF_BITS).saturating_sub(1);
    index.wrapping_sub(shift.wrapping_mul(half)) << shift
}

/// Returns the largest value of a bucket.
pub const fn highest(index: usize) -> u64 {
    let shift = ((index as u64) >> HALF_BITS).saturating_sub(1);
    lowest(index) | !(u64::MAX << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    fn reference() -> Histogram<u64> {
        Histogram::new_with_bounds(1, HIGHEST, 3).unwrap()
    }

    #[test]
    fn has_the_length_of_the_crates() {
        assert_eq!(reference().distinct_values(), LEN);
        assert!(index(HIGHEST) < LEN);
    }

    #[test]
    fn buckets_follow_one_another() {
        assert_eq!(lowest(0), 0);
        for i in 1..LEN {
            assert_eq!(lowest(i), highest(i - 1) + 1);
            assert_eq!((index(lowest(i)), index(highest(i))), (i, i));
        }
    }

    proptest! {
        #[test]
        fn bounds_are_those_of_the_crate(bits in 0u32..36, fraction: u64) {
            let value = (fraction % (1 << bits)).clamp(1, HIGHEST);
            let reference = reference();
            prop_assert_eq!(lowest(index(value)), reference.lowest_equivalent(value));
            prop_assert_eq!(highest(index(value)), reference.highest_equivalent(value));
        }
    }
}
