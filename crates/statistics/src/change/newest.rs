//! The newest values, when they are too few to be a change.

use super::{Changes, SEGMENT, changes};
use crate::Refusal;
use serde::Serialize;

/// Where some of the earlier values are as high as the newest: the largest probability of such an arrangement if the values came in random
/// order.
const CHANCE: f64 = 0.01;

/// The newest values, where they stand out from the values before them since the last change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Newest {
    /// Number of newest values that stand out; 0 where they do not.
    #[serde(rename = "standing_out")]
    pub count: usize,
    /// Number of values before them since the last change.
    #[serde(rename = "stood_before")]
    pub before: usize,
    /// How many of those earlier values are not below all of the newest.
    pub as_high: usize,
}

/// Finds the changes of a series like [`changes`], and the newest values that stand out after the last change. A few newest values may hide
/// an earlier change: where all values together show no change, the function searches the values without the newest.
///
/// # Errors
/// Those of [`changes`].
pub fn changes_and_newest(values: &[f64]) -> Result<(Changes, Newest), Refusal> {
    let found = changes(values)?;
    if found.drift.is_some() {
        return Ok((found, Newest::default()));
    }
    let hidden = || {
        (1..SEGMENT).rev().filter(|newest| may_stand_out(values, *newest)).find_map(|newest| {
            let before = changes(values.get(..values.len() - newest)?).ok()?;
            let since = before.changes.last()?.index;
            let stands = stands_out(values.get(since..)?, newest)?;
            before.drift.is_none().then_some((before, stands))
        })
    };
    if found.changes.is_empty()
        && let Some(hidden) = hidden()
    {
        return Ok(hidden);
    }
    let since = found.changes.last().map_or(0, |change| change.index);
    let segment = values.get(since..).unwrap_or_default();
    let newest = (1..SEGMENT).rev().find_map(|newest| stands_out(segment, newest));
    Ok((found, newest.unwrap_or_default()))
}

/// Returns whether this number of newest values is above the values right before them.
fn may_stand_out(values: &[f64], newest: usize) -> bool {
    let from = values.len().saturating_sub(newest + SEGMENT);
    stands_out(values.get(from..).unwrap_or_default(), newest).is_some()
}

/// Returns the newest values of a segment if they are above all others, or above so many that values in random order would be arranged like
/// this less often than once in 100. This probability is the share of all choices of `newest` values that consist only of the highest
/// values: the newest, and the earlier ones that are as high.
fn stands_out(segment: &[f64], newest: usize) -> Option<Newest> {
    let (old, new) = segment.split_at_checked(segment.len().checked_sub(newest)?)?;
    let lowest = new.iter().copied().min_by(f64::total_cmp)?;
    let as_high = old.iter().filter(|value| **value >= lowest).count();
    let chance: f64 = (0..newest).map(|one| (newest + as_high - one) as f64 / (segment.len() - one) as f64).product();
    let stands = old.len() >= SEGMENT && (as_high == 0 || chance <= CHANCE);
    stands.then_some(Newest { count: newest, before: old.len(), as_high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use rand::Rng as _;

    /// Returns `count` values around a level, in no particular order.
    fn about(level: f64, count: usize) -> Vec<f64> {
        (0..count).map(|at| level + (at * 7 % 11) as f64 / 11.0).collect()
    }

    fn newest(parts: &[Vec<f64>]) -> (usize, Newest) {
        let (found, newest) = changes_and_newest(&parts.concat()).unwrap();
        (found.changes.len(), newest)
    }

    /// A single old value that was as high does not hide the newest values, if they are more than one.
    #[test]
    fn an_old_spike_hides_nothing() {
        let mut old = about(100.0, 20);
        old[1] = 320.0;
        let stands = Newest { count: 3, before: 20, as_high: 1 };
        assert_eq!(newest(&[old.clone(), about(300.0, 3)]), (0, stands));
        assert_eq!(newest(&[old.clone(), about(300.0, 1)]), (0, Newest::default()));
        assert_eq!(newest(&[old, about(400.0, 1)]).1.count, 1);
    }

    /// If the newest values hide the change before them, the search without them finds it.
    #[test]
    fn a_change_that_the_newest_hide_is_found() {
        for newest_level in [250.0, 297.0] {
            let parts = [about(300.0, 10), about(100.0, 10), about(newest_level, 3)];
            assert_eq!(newest(&parts), (1, Newest { count: 3, before: 10, as_high: 0 }));
        }
    }

    /// If values come in random order, the newest stand out as rarely as the documentation of the statistics states.
    #[test]
    fn values_in_no_order_seldom_stand_out() {
        let mut rng = random::generator(31);
        let mut stands = |count: usize| {
            let mut series = || (0..count).map(|_| rng.random_range(0.0..1.0)).collect::<Vec<f64>>();
            (0..400).filter(|_| changes_and_newest(&series()).unwrap().1.count > 0).count()
        };
        let (few, many) = (stands(12), stands(60));
        assert!(few <= 60 && many <= 32, "of 400: {few} of 12 values, {many} of 60");
    }
}
