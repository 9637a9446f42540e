//! What the SMT siblings of measured CPUs did, in words.

use latido_model::record::Sibling;
use std::collections::BTreeMap;

/// `CPU 3 busy 12 % (sibling of CPU 1)`, with the times of several cells added up; empty where there are no siblings.
pub fn siblings<'a>(all: impl IntoIterator<Item = &'a Sibling>) -> String {
    let mut pairs: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for one in all {
        let sum = pairs.entry((one.cpu, one.of)).or_default();
        *sum = (sum.0.saturating_add(one.busy_ns), sum.1.saturating_add(one.over_ns));
    }
    let told = pairs.into_iter().filter(|(_, (_, over))| *over > 0).map(|((cpu, of), (busy, over))| {
        // Ticks of 10 ms may add up to a little more than the time between two readings.
        let share = (busy as f64 / over as f64 * 100.0).min(100.0);
        format!("CPU {cpu} busy {share:.0} % (sibling of CPU {of})")
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_together() {
        let one = |cpu, of, busy_ns| Sibling { cpu, of, busy_ns, over_ns: 1_000 };
        assert_eq!(
            siblings(&[one(3, 1, 100), one(2, 0, 1_010), one(3, 1, 300)]),
            "CPU 2 busy 100 % (sibling of CPU 0), CPU 3 busy 20 % (sibling of CPU 1)"
        );
        assert_eq!(siblings(&[]), "");
        assert_eq!(siblings(&[Sibling::default()]), "");
    }
}
