//! Statistics of samples: bounds with their confidence, running moments; pooling lies in `model`, which pools parts of a cell.

pub use latido_model::run::pool;
pub use latido_statistics::{confidence, moments, seen};

/// The arithmetic mean; 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    // Summed as shares, so that no sum of large values is infinite.
    let n = values.len().max(1) as f64;
    values.iter().map(|value| value / n).sum()
}

/// The median; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    if sorted.len() % 2 == 1 { at(upper) } else { at(upper.wrapping_sub(1)) / 2.0 + at(upper) / 2.0 }
}

/// The median; `None` of no values.
pub fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also of values whose sum no number holds.
    #[test]
    fn the_middle_of_values() {
        assert_eq!((median(&[]), median(&[3.0, 1.0]), median(&[5.0, 1.0, 2.0])), (0.0, 2.0, 2.0));
        assert_eq!((mean(&[]), mean(&[1.0, 2.0]), mean(&[f64::MAX, f64::MAX])), (0.0, 1.5, f64::MAX));
        assert_eq!(median(&[f64::MAX, f64::MAX]), f64::MAX);
    }
}
