//! Statistics of samples: bounds with their confidence, and running moments. Pooling is in `model`, which pools parts of a cell.

pub use latido_model::run::pool;
pub use latido_statistics::{confidence, moments, seen};

/// Returns the arithmetic mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    // The sum is over shares, so that large values do not make it infinite.
    let n = values.len().max(1) as f64;
    values.iter().map(|value| value / n).sum()
}

/// Returns the median; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    if sorted.len() % 2 == 1 { at(upper) } else { at(upper.wrapping_sub(1)) / 2.0 + at(upper) / 2.0 }
}

/// Returns the median; `None` for no values.
pub fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This must also work for values whose sum exceeds the largest number.
    #[test]
    fn the_middle_of_values() {
        assert_eq!((median(&[]), median(&[3.0, 1.0]), median(&[5.0, 1.0, 2.0])), (0.0, 2.0, 2.0));
        assert_eq!((mean(&[]), mean(&[1.0, 2.0]), mean(&[f64::MAX, f64::MAX])), (0.0, 1.5, f64::MAX));
        assert_eq!(median(&[f64::MAX, f64::MAX]), f64::MAX);
    }
}
