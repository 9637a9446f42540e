//! The running mean and variance of samples.

/// Mean and population variance (1/n) of the samples so far, after Welford (Technometrics 4, 1962). It subtracts the first value from the
/// others as integers, so that a large offset costs no digits.
#[derive(Debug, Default)]
pub struct Moments {
    first: i64,
    n: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a sample.
    pub fn push(&mut self, value: i64) {
        if self.n == 0 {
            self.first = value;
        }
        let value = (i128::from(value) - i128::from(self.first)) as f64;
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// Returns the mean of the samples so far, or 0 without samples.
    pub fn mean(&self) -> f64 {
        self.first as f64 + self.mean
    }

    /// Returns the population variance of the samples so far, or 0 without samples.
    pub fn variance(&self) -> f64 {
        self.squares / self.n.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Calculates mean and variance from exact integer sums.
    fn exact(values: &[i64]) -> (f64, f64) {
        let n = values.len() as i128;
        // Sums of differences from the first value: exact in i128 for any i64.
        let d: Vec<i128> = values.iter().map(|v| i128::from(*v) - i128::from(values[0])).collect();
        let (sum, squares): (i128, i128) = (d.iter().sum(), d.iter().map(|d| d * d).sum());
        let variance = (n * squares - sum * sum) as f64 / (n * n) as f64;
        (values[0] as f64 + sum as f64 / n as f64, variance)
    }

    proptest! {
        /// The running moments are exact even with an offset that leaves a naive sum of squares no digit.
        #[test]
        fn running_moments_are_exact(offset in 0i64..1_000_000_000_000_000, small in proptest::collection::vec(0i64..100_000, 1..300)) {
            let mut moments = Moments::default();
            let mut so_far = Vec::new();
            for value in small.iter().map(|v| v + offset) {
                moments.push(value);
                so_far.push(value);
                let (mean, variance) = exact(&so_far);
                prop_assert!((moments.mean() - mean).abs() <= mean.abs() * 1e-15 + 1e-9);
                prop_assert!((moments.variance() - variance).abs() <= variance * 1e-10 + 1e-9, "{} {variance}", moments.variance());
            }
        }
    }

    #[test]
    fn the_variance_divides_by_n() {
        let mut moments = Moments::default();
        [1_000_000_000_002, 1_000_000_000_004, 1_000_000_000_006].into_iter().for_each(|v| moments.push(v));
        assert_eq!((moments.mean(), moments.variance()), (1_000_000_000_004.0, 8.0 / 3.0));
    }
}
