//! The doubt of a quantile: ranks of the samples that enclose it, free of any assumed distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// Ranks whose samples enclose the quantile p with the given confidence: the samples' independence is assumed. A side
/// is `None` where no rank is far enough out (an upper bound of p99 at 95 %, one-sided, needs 299 samples).
///
/// Distribution-free limits from the binomial distribution of the number of samples below the quantile (David and
/// Nagaraja, Order Statistics, 7.1).
pub fn quantile_ranks(n: u64, p: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
    let alpha = (1.0 - confidence) / 2.0;
    (lower_rank(n, p, alpha), upper_rank(n, p, alpha))
}

/// The smallest rank r with P(X_(r) < quantile) <= alpha, that is P(B <= r - 1) >= 1 - alpha for B ~ Bin(n, p).
pub fn upper_rank(n: u64, p: f64, alpha: f64) -> Option<u64> {
    // Counted from the top: the samples above the quantile are Bin(n, 1 - p), and few.
    let above = binomial_lower(n, 1.0 - p, alpha)?;
    Some(n - above)
}

/// The largest rank r with P(X_(r) > quantile) <= alpha, that is P(B <= r - 1) <= alpha.
pub fn lower_rank(n: u64, p: f64, alpha: f64) -> Option<u64> {
    binomial_lower(n, p, alpha).map(|k| k + 1)
}

/// The largest k with P(B <= k) <= alpha for B ~ Bin(n, q); `None` if even P(B = 0) is more.
fn binomial_lower(n: u64, q: f64, alpha: f64) -> Option<u64> {
    let (n_f, mean) = (n as f64, n as f64 * q);
    let variance = mean * (1.0 - q);
    if variance > 500.0 {
        // The normal approximation with continuity correction is then within one rank.
        let z = Normal::standard().inverse_cdf(alpha);
        let k = (mean - 0.5 + z * variance.sqrt()).floor();
        return (k >= 0.0).then_some(k as u64);
    }
    if mean > n_f / 2.0 {
        // Few samples on the other side: P(B <= k) = P(n - B >= n - k), summed from its own small end.
        return binomial_upper(n, 1.0 - q, alpha).and_then(|m| n.checked_sub(m));
    }
    let mut term = (n_f * (-q).ln_1p()).exp();
    let mut sum = term;
    if sum > alpha {
        return None;
    }
    let mut k = 0;
    while k < n {
        term *= (n - k) as f64 / (k + 1) as f64 * q / (1.0 - q);
        if sum + term > alpha {
            break;
        }
        (k, sum) = (k + 1, sum + term);
    }
    Some(k)
}

/// The smallest m with P(B >= m) <= alpha for B ~ Bin(n, q) and a small mean; `None` if even P(B = n) is more.
fn binomial_upper(n: u64, q: f64, alpha: f64) -> Option<u64> {
    let mut term = (n as f64 * (-q).ln_1p()).exp();
    let mut sum = 0.0;
    for m in 0..=n {
        if 1.0 - sum <= alpha {
            return Some(m);
        }
        sum += term;
        term *= (n - m) as f64 / (m + 1) as f64 * q / (1.0 - q);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::summary::rank;
    use proptest::prelude::*;

    proptest! {
        /// The interval's ranks enclose the quantile's own rank and lie within the sample.
        #[test]
        fn ranks_enclose_the_order_statistic(n in 1u64..2_000_000_000, p in 0.01f64..0.99999) {
            let (low, high) = quantile_ranks(n, p, 0.95);
            let own = rank(n, p);
            prop_assert!(low.is_none_or(|low| low >= 1 && low <= own), "{:?} {}", low, own);
            prop_assert!(high.is_none_or(|high| high <= n && high >= own), "{:?} {}", high, own);
        }
    }

    /// The classical sample sizes for a one-sided 95 % upper bound of p95, p99 and p99.9.
    #[test]
    fn an_upper_bound_needs_the_known_number_of_samples() {
        for (p, n) in [(0.95, 59), (0.99, 299), (0.999, 2995)] {
            assert_eq!(upper_rank(n - 1, p, 0.05), None, "{p}");
            assert_eq!(upper_rank(n, p, 0.05), Some(n), "{p}");
        }
    }

    /// The tabulated 95 % limits of the median of 100 samples are the 40th and the 61st.
    #[test]
    fn the_median_of_100_lies_between_the_40th_and_the_61st() {
        assert_eq!(quantile_ranks(100, 0.5, 0.95), (Some(40), Some(61)));
    }

    /// On both sides of the switch to the normal approximation the limits agree to a rank.
    #[test]
    fn the_approximation_joins_the_exact_sum() {
        let p = 0.999;
        let (a, b) = (500_400, 500_600);
        let width = |n: u64| {
            let (low, high) = quantile_ranks(n, p, 0.95);
            (rank(n, p) - low.unwrap(), high.unwrap() - rank(n, p))
        };
        let ((la, ha), (lb, hb)) = (width(a), width(b));
        assert!(la.abs_diff(lb) <= 2 && ha.abs_diff(hb) <= 2, "{la} {ha} {lb} {hb}");
    }
}
