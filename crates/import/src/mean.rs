//! The mean: what a tool prints as the mean, and what the rows of its histogram allow.

use crate::doubt::{Doubt, Figure};

/// Returns the least and the greatest mean that these rows allow. Each row is (from, to, count), both ends inclusive. `None` without
/// samples.
pub fn of(rows: impl Iterator<Item = (i64, i64, u64)>) -> Option<[f64; 2]> {
    let (mut from, mut to, mut samples) = (0i128, 0i128, 0i128);
    for (low, high, count) in rows {
        let count = i128::from(count);
        from = from.saturating_add(i128::from(low).saturating_mul(count));
        to = to.saturating_add(i128::from(high).saturating_mul(count));
        samples = samples.saturating_add(count);
    }
    (samples > 0).then(|| [from as f64 / samples as f64, to as f64 / samples as f64])
}

/// Returns two rows for [`of`] that describe the samples beyond the last row; one of these samples is the largest.
pub fn beyond(from: i64, largest: i64, count: u64) -> [(i64, i64, u64); 2] {
    [(from, largest, count.saturating_sub(1)), (largest, largest, count.min(1))]
}

/// Returns the range of means that both the printed mean (as a range) and the rows allow.
///
/// # Errors
/// The two contradict each other: then latido does not believe the printed mean.
pub fn agreed(printed: [f64; 2], rows: Option<[f64; 2]>) -> Result<[f64; 2], Doubt> {
    let Some([from, to]) = rows else { return Ok(printed) };
    let [low, high] = printed;
    // Tools add up in floating point.
    let rounding = from.abs().max(to.abs()) * 1e-9;
    if low > to + rounding || from > high + rounding {
        let why = format!("it is from {low:.2} to {high:.2}, but its rows allow {from:.2} to {to:.2}");
        return Err(Doubt::of(Figure::Mean, why));
    }
    let [both, end] = [low.max(from), high.min(to)];
    Ok(if both <= end { [both, end] } else { [end, both] })
}

/// Returns the range that both allow, or adds the doubt.
pub fn settled(printed: Option<[f64; 2]>, rows: Option<[f64; 2]>, doubts: &mut Vec<Doubt>) -> Option<[f64; 2]> {
    agreed(printed?, rows).map_err(|doubt| doubts.push(doubt)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_bound_the_mean() {
        assert_eq!(of([(4, 4, 1), (5, 5, 3)].into_iter()), Some([4.75, 4.75]));
        // Two samples are beyond 10 and one of them is 30: the other is between 10 and 30.
        assert_eq!(of([(5, 5, 2)].into_iter().chain(beyond(10, 30, 2))), Some([12.5, 17.5]));
        assert_eq!(of([(1, 1, 0)].into_iter()), None);
        assert!(of([(i64::MIN, i64::MAX, u64::MAX); 3].into_iter()).is_some());
    }

    #[test]
    fn both_must_allow_it() {
        assert_eq!(agreed([4.0, 5.0], Some([4.75, 6.0])).unwrap(), [4.75, 5.0]);
        assert_eq!(agreed([4.0, 5.0], None).unwrap(), [4.0, 5.0]);
        assert!(agreed([15.0, 16.0], Some([5.1, 5.1])).is_err());
        assert!(agreed([4.0, 5.0], Some([5.1, 5.2])).is_err());
    }
}
