//! The samples that decide a verdict, and whether something foreign explains them.

use latido_model::record::{Record, Sample, Second};
use std::collections::BTreeSet;

/// The step in which the kernel counts stolen time: a second may hold that much more than it says.
const STEAL_STEP_NS: u64 = 10_000_000;

/// The largest samples of one series as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// How many samples the series has.
    pub count: u64,
    /// The CPU it was measured on, where the thread was pinned.
    pub cpu: Option<u32>,
    /// Its largest, in descending order.
    pub largest: &'a [Sample],
}

/// What from outside the system under test can make a sample large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The hypervisor ran something else.
    Steal,
    /// The firmware took the processor.
    Smi,
    /// A task at or above the probe's priority ran.
    Foreign,
    /// The kernel kept a real-time task from running.
    Throttle,
}

impl Cause {
    /// The name of the trust check that weighs it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::Smi => "smi",
            Self::Foreign => "foreign tasks",
            Self::Throttle => "throttle",
        }
    }
}

/// The samples that decide: those above the limit of a failure, else the maximum, which decides nothing further.
#[derive(Clone, Debug, Default)]
pub struct Deciding {
    /// The largest of them.
    pub worst: Option<Sample>,
    /// How many of them are above the limit and stored.
    pub count: usize,
    /// What explains at least one of them.
    causes: BTreeSet<Cause>,
    /// Whether every sample above the limit is explained.
    explained: bool,
}

impl Deciding {
    /// Weighs the stored samples of a record against a limit (in ns), if there is one.
    ///
    /// A failure stands unless *every* sample above the limit is plausibly foreign: a machine that fails by itself fails
    /// also while it is disturbed. Stolen and foreign time of a second explains at most its own length of excess; an SMI
    /// explains any, as nothing counts its length; throttling explains the gaps that the probe saw as preemptions.
    pub fn new(record: &Record, limit: Option<f64>, series: &[Stored<'_>]) -> Self {
        let worst = series.iter().filter_map(|s| s.largest.first()).max_by_key(|s| s.value).cloned();
        let Some(limit) = limit else { return Self { worst, ..Self::default() } };
        let over = |sample: &&Sample| sample.value as f64 > limit;
        let above: Vec<(Option<u32>, &Sample)> =
            series.iter().flat_map(|s| s.largest.iter().filter(over).map(|sample| (s.cpu, sample))).collect();
        // Samples that were not stored cannot be explained.
        let whole = series.iter().all(|s| {
            s.largest.len() as u64 == s.count || s.largest.last().is_some_and(|last| last.value as f64 <= limit)
        });
        let mut budget = Budget::new(&record.quality.timeline);
        let throttled = record.quality.throttle.throttle_like > 0;
        let mut causes = BTreeSet::new();
        let mut explained = whole && !above.is_empty();
        for (cpu, sample) in &above {
            let excess = (sample.value as f64 - limit).ceil() as u64;
            if throttled && sample.class.starts_with("preempted") {
                causes.insert(Cause::Throttle);
            } else if !budget.explain(*cpu, sample, excess, &mut causes) {
                explained = false;
            }
        }
        Self { worst, count: above.len(), causes, explained }
    }

    /// Whether this cause has its part in a failure that is foreign as a whole.
    pub fn blames(&self, cause: Cause) -> bool {
        self.blamed().any(|blamed| blamed == cause)
    }

    /// The causes that together explain a failure that is foreign as a whole; else none.
    pub fn blamed(&self) -> impl Iterator<Item = Cause> + '_ {
        self.causes.iter().copied().filter(|_| self.explained)
    }

    /// Whether the failure is foreign as a whole.
    pub fn is_foreign(&self) -> bool {
        self.explained
    }
}

/// What is left of each second's foreign time to explain samples with.
struct Budget {
    seconds: Vec<Left>,
}

/// A second, and what is left of it.
struct Left {
    second: Second,
    foreign_ns: u64,
    steal_ns: u64,
}

impl Budget {
    fn new(timeline: &[Second]) -> Self {
        let left = |second: &Second| {
            let step = if second.steal_ns > 0 { STEAL_STEP_NS } else { 0 };
            let steal_ns = second.steal_ns.saturating_add(step);
            Left { second: *second, foreign_ns: second.foreign_ns, steal_ns }
        };
        let mut seconds: Vec<Left> = timeline.iter().map(left).collect();
        seconds.sort_by_key(|left| left.second.start_ns);
        Self { seconds }
    }

    /// Takes the sample's excess from the seconds of its own CPU that it touches; false if they do not hold as much.
    fn explain(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64, causes: &mut BTreeSet<Cause>) -> bool {
        // The time of a sample may mark its begin or its end: both sides count.
        let length = sample.value.unsigned_abs();
        let (from, to) = (sample.at_ns.saturating_sub(length), sample.at_ns.saturating_add(length));
        let first = self.seconds.partition_point(|l| l.second.start_ns.saturating_add(l.second.length_ns) <= from);
        let last = self.seconds.partition_point(|l| l.second.start_ns <= to);
        let touched = self.seconds.get_mut(first..last.max(first)).unwrap_or_default();
        let mut need = excess;
        let mut found = BTreeSet::new();
        // A thread that was free to move may have been anywhere.
        let elsewhere = |second: &Second| cpu.zip(second.cpu).is_some_and(|(here, there)| here != there);
        for Left { second, foreign_ns, steal_ns } in touched.iter_mut().filter(|left| !elsewhere(&left.second)) {
            if second.smi > 0 {
                causes.insert(Cause::Smi);
                return true;
            }
            // Tasks are timed exactly, stolen time is not: it is blamed only for what they leave.
            for (left, cause) in [(foreign_ns, Cause::Foreign), (steal_ns, Cause::Steal)] {
                let taken = need.min(*left);
                if taken > 0 {
                    *left -= taken;
                    need -= taken;
                    found.insert(cause);
                }
            }
        }
        let enough = need == 0;
        if enough {
            causes.extend(found);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;

    fn at(second: u64, value: i64, class: &str) -> Sample {
        Sample { value, at_ns: second * 1_000_000_000 + 500_000_000, class: class.into() }
    }

    fn second(start: u64, steal_ns: u64, smi: u64, foreign_ns: u64) -> Second {
        Second { start_ns: start * 1_000_000_000, length_ns: 1_000_000_000, cpu: None, steal_ns, smi, foreign_ns }
    }

    fn weigh(timeline: Vec<Second>, throttle_like: u64, largest: &[Sample], count: u64) -> Deciding {
        let mut record = sample::record();
        record.quality.timeline = timeline;
        record.quality.throttle.throttle_like = throttle_like;
        Deciding::new(&record, Some(100_000.0), &[Stored { count, cpu: None, largest }])
    }

    #[test]
    fn a_failure_is_foreign_only_if_every_sample_is() {
        let small = at(5, 2_000, "");
        let spikes = [at(3, 5_000_000, ""), at(7, 200_000, ""), small.clone()];
        let both = weigh(vec![second(3, 10_000_000, 0, 0), second(7, 0, 0, 150_000)], 0, &spikes, 100);
        assert!(both.is_foreign() && both.blames(Cause::Steal) && both.blames(Cause::Foreign));
        assert!(!both.blames(Cause::Smi));
        let one = weigh(vec![second(3, 10_000_000, 0, 0)], 0, &spikes, 100);
        assert!(!one.is_foreign() && !one.blames(Cause::Steal));
        assert_eq!(one.count, 2);
    }

    #[test]
    fn foreign_time_explains_at_most_its_own_length() {
        let spikes = [at(3, 50_000_000, ""), at(5, 2_000, "")];
        assert!(!weigh(vec![second(3, 10_000_000, 0, 0)], 0, &spikes, 9).is_foreign());
        assert!(weigh(vec![second(3, 50_000_000, 0, 0)], 0, &spikes, 9).is_foreign());
        // Two spikes share one second: together they are longer than what was stolen.
        let two = [at(3, 14_000_000, ""), at(3, 13_000_000, ""), at(5, 2_000, "")];
        assert!(!weigh(vec![second(3, 10_000_000, 0, 0)], 0, &two, 9).is_foreign());
    }

    /// What one cause explains alone is not laid on another of the same second.
    #[test]
    fn each_cause_is_blamed_for_its_own_share() {
        let spike = [at(3, 344_000, ""), at(5, 2_000, "")];
        let causes = |foreign_ns| -> Vec<Cause> {
            weigh(vec![second(3, 10_000_000, 0, foreign_ns)], 0, &spike, 9).blamed().collect()
        };
        assert_eq!(causes(0), [Cause::Steal]);
        assert_eq!(causes(200_000), [Cause::Steal, Cause::Foreign]);
        assert_eq!(causes(244_000), [Cause::Foreign]);
    }

    #[test]
    fn an_smi_in_the_second_and_throttle_like_gaps_explain() {
        let gap = [at(3, 54_000_000, "preempted"), at(5, 2_000, "")];
        assert!(weigh(vec![], 10, &gap, 9).blames(Cause::Throttle));
        assert!(!weigh(vec![], 0, &gap, 9).is_foreign());
        assert!(weigh(vec![second(3, 0, 1, 0)], 0, &gap, 9).blames(Cause::Smi));
        assert!(!weigh(vec![second(4, 0, 1, 0)], 0, &gap, 9).is_foreign());
    }

    #[test]
    fn samples_that_were_not_stored_stay_unexplained() {
        let spikes = [at(3, 200_000, ""), at(3, 190_000, "")];
        let steal = vec![second(3, 10_000_000, 0, 0)];
        assert!(!weigh(steal.clone(), 0, &spikes, 5000).is_foreign());
        assert!(weigh(steal, 0, &spikes, 2).is_foreign());
    }

    #[test]
    fn without_a_limit_nothing_is_foreign() {
        let record = sample::record();
        let largest = [at(3, 200_000, "")];
        let deciding = Deciding::new(&record, None, &[Stored { count: 1, cpu: None, largest: &largest }]);
        assert!(!deciding.is_foreign());
        assert_eq!(deciding.worst, Some(largest[0].clone()));
    }
}
