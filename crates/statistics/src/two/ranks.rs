//! Ranks of values, where equal ones share the mean of theirs.

/// The rank (from 1) of each value; equal values have the mean of their ranks.
pub fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + (group.len() as f64 + 1.0) / 2.0;
        for (_, at) in group {
            if let Some(place) = ranks.get_mut(*at) {
                *place = rank;
            }
        }
        before += group.len();
    }
    ranks
}
