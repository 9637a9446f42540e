//! The distances between the wakings of a thread, and whether they are regular.

/// Returns the median distance between ascending times.
pub(super) fn distance(times: &[u64]) -> Option<u64> {
    let gaps = sorted_gaps(times);
    gaps.get(gaps.len() / 2).copied()
}

/// Returns the median distance if the times are regular: there are at least twenty distances, and three fifths of them differ from the
/// median by a twentieth at most. A job that waits in its middle is woken at irregular distances.
pub(super) fn regular_distance(times: &[u64]) -> Option<u64> {
    let gaps = sorted_gaps(times);
    let median = *gaps.get(gaps.len() / 2)?;
    let near = gaps.iter().filter(|gap| gap.abs_diff(median) <= median / 20).count();
    (gaps.len() >= 20 && near * 5 >= gaps.len() * 3).then_some(median)
}

fn sorted_gaps(times: &[u64]) -> Vec<u64> {
    let mut gaps: Vec<u64> = times.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?)).collect();
    gaps.sort_unstable();
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_regular_where_most_are_alike() {
        let at = |gaps: &mut dyn Iterator<Item = u64>| {
            let mut times = vec![0];
            gaps.for_each(|gap| times.push(times.last().unwrap() + gap));
            times
        };
        let every = |gap: u64| at(&mut std::iter::repeat_n(gap, 20));
        assert_eq!(regular_distance(&every(1_100_000)), Some(1_100_000));
        assert_eq!(regular_distance(&every(1_100_000)[..20]), None, "nineteen distances are too few");
        // The thread misses each third slot: two of three distances still are the period.
        let missing = at(&mut (0..30).map(|slot| if slot % 3 == 0 { 2_000_000 } else { 1_000_000 }));
        assert_eq!(regular_distance(&missing), Some(1_000_000));
        // A job that waits in its middle.
        let twice = at(&mut (0..40).map(|half| if half % 2 == 0 { 300_000 } else { 700_000 }));
        assert_eq!((distance(&twice), regular_distance(&twice)), (Some(700_000), None));
    }
}
