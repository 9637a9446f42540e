//! Counts samples by value, with exact sums and with buckets narrower than a hundredth of the value.

/// Binary digits of a value that a bucket keeps: 128 buckets per doubling.
const DIGITS: u32 = 7;
const FINE: usize = 1 << DIGITS;

/// A distribution of times in ns. Count, sum, least and greatest are exact. A quantile is exact below 256 ns, and at most 1/128 too high
/// above that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
    buckets: Vec<u64>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { count: 0, sum: 0, squares: 0, min: u64::MAX, max: 0, buckets: Vec::new() }
    }
}

/// Returns the bucket of a value.
#[inline]
fn bucket(value: u64) -> usize {
    // Below the first doubling every value has a separate bucket.
    let shift = (value | (FINE as u64)).ilog2() - DIGITS;
    ((shift as usize) << DIGITS) + (value >> shift) as usize
}

/// Returns the largest value in a bucket.
fn top(bucket: usize) -> u64 {
    if bucket < 2 * FINE {
        return bucket as u64;
    }
    let shift = (bucket >> DIGITS) - 1;
    let fine = (bucket - (shift << DIGITS)) as u128;
    u64::try_from(((fine + 1) << shift) - 1).unwrap_or(u64::MAX)
}

impl Distribution {
    /// Adds one sample.
    #[inline]
    pub fn push(&mut self, value: u64) {
        let at = bucket(value);
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(at) {
            *count += 1;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all samples, in ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the least sample, if there is one.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the greatest sample, if there is one.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean, if there is a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the standard deviation (n - 1), if there are two samples or more.
    pub fn sd(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.mean()?;
        (self.count > 1).then(|| ((self.squares as f64 - n * mean * mean) / (n - 1.0)).max(0.0).sqrt())
    }

    /// Returns the sample at rank ceil(p n), at the resolution of its bucket.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        if self.count == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let rank = ((p * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        let at = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(top(at).clamp(self.min, self.max))
    }

    /// Returns every bucket that is not empty: the largest value in it, and its number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(|(at, count)| (top(at), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Sums are exact, and a quantile is never below the sample at its rank nor more than a hundredth above.
        #[test]
        fn a_distribution_tells_its_samples(mut values in proptest::collection::vec(prop_oneof![0..400u64, any::<u64>()], 1..99), p in 0.0..=1.0f64) {
            let mut all = Distribution::default();
            values.iter().for_each(|value| all.push(*value));
            values.sort_unstable();
            prop_assert_eq!(all.sum(), values.iter().map(|value| u128::from(*value)).sum::<u128>());
            prop_assert_eq!((all.min(), all.max()), (values.first().copied(), values.last().copied()));
            let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, told) = (values[rank - 1], all.quantile(p).unwrap());
            prop_assert!(told >= exact && told - exact <= exact / 128, "{told} for {exact}");
            prop_assert_eq!(all.buckets().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
        }
    }

    #[test]
    fn of_nothing_nothing_is_told() {
        let none = Distribution::default();
        assert_eq!((none.min(), none.max(), none.quantile(0.5)), (None, None, None));
        assert!(none.mean().is_none() && none.sd().is_none());
    }
}
