//! How often a limit may really be exceeded, given how often samples exceeded it: the exact binomial bounds of Clopper and Pearson.

use crate::special::{bisect, incomplete_beta};

/// The confidence of every bound in a report.
pub const CONFIDENCE: f64 = 0.95;

/// Returns bounds on the probability that a sample exceeds the limit, when `above` of `count` samples did.
///
/// If no sample is above, the upper bound is one-sided, `1 - 0.05^(1/n)`, and the lower bound is 0. Otherwise both are the two-sided 95 %
/// bounds (Clopper & Pearson, Biometrika 26, 1934). Returns `None` without samples. The function assumes independent samples: where
/// exceedances come in bursts the true interval is wider.
pub fn exceedance(above: u64, count: u64) -> Option<(f64, f64)> {
    if count == 0 || above > count {
        return None;
    }
    let (k, n) = (above as f64, count as f64);
    if above == 0 {
        return Some((0.0, -f64::exp_m1((1.0 - CONFIDENCE).ln() / n)));
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let lower = inverse_beta(k, n - k + 1.0, tail);
    let upper = if above == count { 1.0 } else { inverse_beta(k + 1.0, n - k, 1.0 - tail) };
    Some((lower, upper))
}

/// Returns the x where the regularised incomplete beta function I_x(a, b) reaches `p`.
///
/// It uses bisection in ln x, because library inverses do not return for shapes near 1e9.
fn inverse_beta(a: f64, b: f64, p: f64) -> f64 {
    bisect(-700.0, 0.0, |log| incomplete_beta(a, b, log.exp(), -log.exp_m1()) < p).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_of_n_is_the_rule_of_three() {
        let (lower, upper) = exceedance(0, 3_600_006).unwrap();
        assert_eq!(lower, 0.0);
        assert_eq!((1.0 / upper) as u64, 1_201_712, "an hour at 1 kHz");
        assert!((exceedance(0, 1).unwrap().1 - 0.95).abs() < 1e-12);
        assert_eq!(exceedance(0, 0), None);
        assert_eq!(exceedance(2, 1), None);
    }

    #[test]
    fn some_of_n_agree_with_published_tables() {
        // From binom.test of R; the last row is its Poisson limit, from the chi-square quantiles 16.7908 and 49.4804 divided by 2n.
        for (k, n, lower, upper) in [
            (1, 10, 0.002528579, 0.4450161),
            (5, 10, 0.187086, 0.812914),
            (10, 10, 0.6915029, 1.0),
            (15, 3_600_017, 2.332024e-6, 6.872182e-6),
        ] {
            let (a, b) = exceedance(k, n).unwrap();
            assert!((a / lower - 1.0).abs() < 1e-4, "{k} of {n}: {a} is not {lower}");
            assert!((b / upper - 1.0).abs() < 1e-4, "{k} of {n}: {b} is not {upper}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_bounds_hold_the_share_between_them(count in 1u64..2_000_000_000, part in 0.0f64..=1.0) {
            let above = (count as f64 * part.powi(8)) as u64;
            let (lower, upper) = exceedance(above, count).unwrap();
            let share = above as f64 / count as f64;
            proptest::prop_assert!((0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper));
            proptest::prop_assert!(lower <= share && share <= upper, "{lower} {share} {upper}");
        }
    }
}
