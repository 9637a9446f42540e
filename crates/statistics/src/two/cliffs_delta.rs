//! How far two arms lie apart, whatever their scale.

/// Cliff's delta of b over a (Psychological Bulletin 114, 1993): the share of pairs in which b is larger less that in which
/// a is, `1 - 2 U_a/(nm)`. From -1 (all of b below a) to 1.
pub fn cliffs_delta(u_a: f64, n: usize, m: usize) -> Option<f64> {
    (n > 0 && m > 0).then(|| 1.0 - 2.0 * u_a / (n as f64 * m as f64))
}
