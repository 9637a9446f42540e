//! Which sample a quantile is, and how many samples it needs.

/// Whether n samples support the quantile: n >= 1/(1-p).
pub fn supported(n: u64, p: f64) -> bool {
    // In doubles, 1 - 0.99999 is a little more than 1e-5: without the margin, 100000 samples would not be enough.
    n as f64 * (1.0 - p) >= 1.0 - 1e-6
}

/// Returns ceil(n p), with the same care for the last digit of the product.
pub fn rank(n: u64, p: f64) -> u64 {
    let exact = n as f64 * p;
    let near = exact.round();
    let rank = if (exact - near).abs() <= near * 1e-12 { near } else { exact.ceil() };
    (rank as u64).clamp(1, n)
}
