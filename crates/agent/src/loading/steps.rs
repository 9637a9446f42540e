//! The seconds of a load as steps of its record: no more than a figure can show, however long the cell.

use latido_model::record::LoadStep;
use std::collections::BTreeMap;

/// The number of steps at which latido doubles their length, so that the record of a week stays small. It is even, so that the steps form
/// pairs.
const MOST: usize = 900;

/// Steps of one second, or of a power of two seconds. All but the last have the same number of seconds.
#[derive(Clone, Debug)]
pub struct Steps {
    whole: Vec<LoadStep>,
    open: Option<LoadStep>,
    /// How many seconds the open step has, and how many make it whole.
    seconds: u32,
    per_step: u32,
}

impl Default for Steps {
    fn default() -> Self {
        Self { whole: Vec::new(), open: None, seconds: 0, per_step: 1 }
    }
}

impl Steps {
    /// Adds a second that began at `begin_ns` (CLOCK_MONOTONIC, ns), with the work done in it.
    pub fn push(&mut self, begin_ns: u64, length_ns: u64, counts: BTreeMap<String, i64>) {
        let start_ns = i64::try_from(begin_ns).unwrap_or(i64::MAX);
        let second = LoadStep { start_ns, length_ns, counts };
        match &mut self.open {
            Some(open) => join(open, second),
            None => self.open = Some(second),
        }
        self.seconds += 1;
        if self.seconds < self.per_step {
            return;
        }
        self.seconds = 0;
        self.whole.extend(self.open.take());
        if self.whole.len() >= MOST {
            self.double();
        }
    }

    fn double(&mut self) {
        self.per_step = self.per_step.saturating_mul(2);
        let mut steps = std::mem::take(&mut self.whole).into_iter();
        while let Some(mut first) = steps.next() {
            if let Some(second) = steps.next() {
                join(&mut first, second);
            }
            self.whole.push(first);
        }
    }

    /// Returns all steps in the order of time.
    pub fn all(self) -> Vec<LoadStep> {
        self.whole.into_iter().chain(self.open).collect()
    }
}

fn join(first: &mut LoadStep, next: LoadStep) {
    first.length_ns = first.length_ns.saturating_add(next.length_ns);
    for (name, more) in next.counts {
        let count = first.counts.entry(name).or_insert(0);
        *count = count.saturating_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// 72 h at one and then at two per second: no step covers hours, and nothing is lost.
    #[test]
    fn three_days_stay_even_and_whole() {
        let hours = 72 * 3600;
        let mut steps = Steps::default();
        for second in 0..hours {
            let count = if second < hours / 2 { 1 } else { 2 };
            steps.push(second * S, S, [("work".to_string(), count)].into());
        }
        let all = steps.all();
        assert!((MOST / 2..=MOST).contains(&all.len()), "{}", all.len());
        assert_eq!(all.iter().map(|step| step.counts["work"]).sum::<i64>(), (hours / 2 * 3) as i64);
        assert_eq!(all.iter().map(|step| step.length_ns).sum::<u64>(), hours * S);
        let mut end = 0;
        for step in &all {
            assert_eq!(step.start_ns, end, "without a gap");
            end += step.length_ns.cast_signed();
        }
        assert_eq!((all[0].rate("work"), all[all.len() - 1].rate("work")), (Some(1.0), Some(2.0)));
        assert_eq!(all[0].rate("other"), None);
    }

    #[test]
    fn a_few_seconds_are_a_step_each() {
        let mut steps = Steps::default();
        for second in 0..5 {
            steps.push(second * S, S + second, [("work".to_string(), 7)].into());
        }
        let all = steps.all();
        assert_eq!((all.len(), all[4].start_ns, all[4].length_ns), (5, 4_000_000_000, S + 4));
    }
}
