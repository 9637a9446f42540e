//! Distribution functions that are exact for shapes and counts up to 1e9 and beyond, where libraries fail.

use statrs::function::{erf, gamma};
use std::f64::consts::{PI, SQRT_2};

/// Returns the regularised incomplete beta function I_x(a, b). `y` is `1 - x`; the caller passes it because it may have more digits.
///
/// The function uses the continued fraction of DiDonato & Morris (ACM TOMS 18, 1992) by the method of Lentz, until it no longer changes:
/// the number of terms is about the square root of the larger shape. The factor before it is a binomial probability in the saddle-point
/// form of Loader (Fast and Accurate Computation of Binomial Probabilities, 2000). This form keeps its digits for shapes of 1e9, where
/// differences of logarithms of gamma functions lose nine of them.
pub fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) { 1.0 - beta_part(b, a, y, x) } else { beta_part(a, b, x, y) }
}

fn beta_part(a: f64, b: f64, x: f64, y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let before = b / (a + b) * binomial_density(a, a + b, x, y);
    if before == 0.0 {
        return 0.0;
    }
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..1_000_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (before * fraction).clamp(0.0, 1.0)
}

/// Returns the binomial probability of `k` of `n`, both real numbers.
fn binomial_density(k: f64, n: f64, x: f64, y: f64) -> f64 {
    let rest = n - k;
    let exponent =
        stirling_error(n) - stirling_error(k) - stirling_error(rest) - deviance(k, n * x) - deviance(rest, n * y);
    exponent.exp() * (n / (2.0 * PI * k * rest)).sqrt()
}

/// Returns the difference between ln z! and Stirling's formula.
fn stirling_error(z: f64) -> f64 {
    if z <= 15.0 {
        return gamma::ln_gamma(z + 1.0) - (z + 0.5) * z.ln() + z - 0.5 * (2.0 * PI).ln();
    }
    let s = z * z;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / s) / s) / s) / s) / z
}

/// Returns `x ln(x/m) + m - x` without the cancellation near x = m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let (mut sum, mut term) = ((x - m) * v, 2.0 * x * v);
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Returns the probability of at most `k` successes in `n` trials of probability `p`.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p, p)
}

/// Returns the probability that a Poisson variable with this mean is at least `k`.
pub fn poisson_at_least(k: u64, mean: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if mean <= 0.0 { 0.0 } else { gamma::gamma_lr(k as f64, mean) }
}

/// Returns the standard normal distribution function.
pub fn normal(z: f64) -> f64 {
    0.5 * erf::erfc(-z / SQRT_2)
}

/// Returns the standard normal quantile of a probability within (0, 1).
pub fn normal_quantile(p: f64) -> f64 {
    -SQRT_2 * erf::erfc_inv(2.0 * p)
}

/// Returns the probability that chi-square with these degrees of freedom is above `x`.
pub fn chi_square_above(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma::gamma_ur(freedom / 2.0, x / 2.0) }
}

/// Returns the chi-square quantile of a probability within (0, 1).
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    bisect(0.0, 10.0 * freedom + 200.0, |x| 1.0 - chi_square_above(x, freedom) < p)
}

/// Returns the probability that the absolute value of Student's t is above that of `t`.
pub fn t_beyond(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square))
}

/// Returns the value that the absolute value of Student's t exceeds with probability `p`.
pub fn t_quantile_beyond(p: f64, freedom: f64) -> f64 {
    bisect(-700.0, 700.0, |log| t_beyond(log.exp(), freedom) > p).exp()
}

/// Returns the probability that F is above `f`.
pub fn f_above(f: f64, above: f64, below: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    let sum = above * f + below;
    incomplete_beta(below / 2.0, above / 2.0, below / sum, above * f / sum)
}

/// Returns the place up to which a condition is true, by bisection. The condition must be true at first and false after that place.
pub fn bisect(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle == low || middle == high {
            break;
        }
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}
