//! What the seconds of a record hold to explain its samples with: each nanosecond of it explains one of theirs.

use super::cause::Cause;
use latido_model::record::{Class, Sample, Second};
use std::collections::BTreeSet;

/// What is left of each second.
pub(super) struct Budget {
    /// In the order of their begin.
    seconds: Vec<Left>,
    /// The longest.
    length_ns: u64,
}

/// A second, and what is left of it.
struct Left {
    second: Second,
    foreign_ns: u64,
    steal_ns: u64,
    kernel_ns: u64,
}

/// What a sample may be laid on.
#[derive(Clone, Copy)]
struct Wait {
    /// The thread stayed on its CPU: no task kept it from running.
    in_place: bool,
    /// The kernel made it wait by its settings: whatever else ran then did not keep it.
    throttled: bool,
    /// How many seconds it lasted, rounded up.
    seconds: u64,
    ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

/// How much longer than their mean the bursts of a program may have been.
const UNEVEN: u64 = 2;

/// A thread of the kernel that ran for less than one part in so many of a sample is not what made it late.
const MATTERS: u64 = 4;

impl Wait {
    fn of(sample: &Sample) -> Self {
        Self {
            in_place: sample.class == Class::InPlace,
            throttled: sample.class == Class::Throttled,
            seconds: sample.value.unsigned_abs().div_ceil(SECOND_NS).max(1),
            ns: sample.value.unsigned_abs(),
        }
    }
}

impl Wait {
    /// What programs can have taken of it that ran for so much of a second in bursts of this mean length: one burst, and
    /// what came in the course of a long sample.
    fn met(self, burst_ns: u64, ran_ns: u64) -> u64 {
        let meanwhile = u128::from(ran_ns) * u128::from(self.ns) / u128::from(SECOND_NS);
        burst_ns.saturating_add(u64::try_from(meanwhile).unwrap_or(u64::MAX)).saturating_mul(UNEVEN)
    }
}

impl Left {
    /// What may excuse a sample, how much of it at most, and as what. What several seconds had together no sample met at
    /// once.
    fn excusing(&mut self, wait: Wait) -> impl Iterator<Item = (&mut u64, u64, Cause)> {
        let most = self.second.most();
        let burst = self.second.foreign_burst_ns.map_or(u64::MAX, |burst| wait.met(burst, most.foreign_ns));
        let foreign = (&mut self.foreign_ns, most.foreign_ns.min(burst), Cause::Foreign);
        // Tasks are timed exactly, stolen time is not: it is blamed only for what they leave.
        let all = [(!wait.in_place).then_some(foreign), Some((&mut self.steal_ns, most.steal_ns, Cause::Steal))];
        let open = all.into_iter().flatten().filter(move |_| !wait.throttled);
        open.map(move |(left, most, cause)| {
            let held = most.saturating_mul(wait.seconds).min(*left);
            (left, held, cause)
        })
    }

    /// How much threads of the kernel can have kept a sample.
    fn kernel(&self, wait: Wait) -> u64 {
        self.second.most().kernel_ns.saturating_mul(wait.seconds).min(self.kernel_ns)
    }
}

impl Budget {
    pub fn new(timeline: &[Second]) -> Self {
        let left = |second: &Second| Left {
            second: *second,
            foreign_ns: second.programs_ns(),
            steal_ns: second.steal_ns,
            kernel_ns: second.kernel_ns,
        };
        let mut seconds: Vec<Left> = timeline.iter().map(left).collect();
        seconds.sort_by_key(|left| left.second.start_ns);
        let length_ns = timeline.iter().map(|second| second.length_ns).max().unwrap_or(0);
        Self { seconds, length_ns }
    }

    /// The seconds of the sample's own CPU that it touches.
    fn touched(&mut self, cpu: Option<u32>, sample: &Sample) -> impl Iterator<Item = &mut Left> {
        // The time of a sample may mark its begin or its end: both sides count.
        let length = sample.value.unsigned_abs();
        let (from, to) = (sample.at_ns.saturating_sub(length), sample.at_ns.saturating_add(length));
        let first = self.seconds.partition_point(|l| l.second.start_ns.saturating_add(self.length_ns) <= from);
        let last = self.seconds.partition_point(|l| l.second.start_ns <= to);
        let near = self.seconds.get_mut(first..last.max(first)).unwrap_or_default();
        // A thread that was free to move may have been anywhere.
        let elsewhere = move |second: &Second| cpu.zip(second.cpu).is_some_and(|(here, there)| here != there);
        let over = move |second: &Second| second.start_ns.saturating_add(second.length_ns) <= from;
        near.iter_mut().filter(move |left| !elsewhere(&left.second) && !over(&left.second))
    }

    /// How much of a sample's excess is not excused; takes nothing. The loads of the cell may have made it as late as anybody
    /// else: what they ran in its seconds is taken off what other tasks ran.
    fn unexcused(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64) -> u64 {
        let wait = Wait::of(sample);
        let (mut tasks, mut steal, mut loads) = (0u64, 0u64, 0u64);
        for left in self.touched(cpu, sample) {
            loads = loads.saturating_add(left.second.load_ns);
            for (_, held, cause) in left.excusing(wait) {
                let sum = if cause == Cause::Steal { &mut steal } else { &mut tasks };
                *sum = sum.saturating_add(held);
            }
        }
        excess.saturating_sub(tasks.saturating_sub(loads).saturating_add(steal))
    }

    /// Takes a sample from what may excuse it; false, and nothing is taken, if that is not as much as its excess. All of its
    /// length is used up, as far as that goes: what took its time excuses no other. Blamed is what the excess needs.
    pub fn excuses(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64, causes: &mut BTreeSet<Cause>) -> bool {
        if self.unexcused(cpu, sample, excess) > 0 {
            return false;
        }
        let wait = Wait::of(sample);
        let (mut need, mut whole) = (excess, wait.ns.max(excess));
        for left in self.touched(cpu, sample) {
            for (ns, held, cause) in left.excusing(wait) {
                let taken = whole.min(held);
                *ns -= taken;
                whole -= taken;
                if need > 0 && taken > 0 {
                    need = need.saturating_sub(taken);
                    causes.insert(cause);
                }
            }
        }
        true
    }

    /// Whether nobody was seen who took the CPU in the seconds of a sample.
    pub fn nobody(&mut self, cpu: Option<u32>, sample: &Sample) -> bool {
        self.touched(cpu, sample).all(|left| left.second.foreign_ns == 0 && left.second.steal_ns == 0)
    }

    /// What within the system under test made a sample large that nothing excuses, where that can be told.
    pub fn cause(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64) -> Option<Cause> {
        let wait = Wait::of(sample);
        if wait.throttled {
            return Some(Cause::Throttle);
        }
        let need = self.unexcused(cpu, sample, excess);
        let kernel = self.touched(cpu, sample).map(|left| left.kernel(wait)).fold(0, u64::saturating_add);
        if kernel >= need && kernel >= wait.ns / MATTERS && !wait.in_place {
            let mut need = wait.ns.max(need);
            for left in self.touched(cpu, sample) {
                let taken = need.min(left.kernel(wait));
                left.kernel_ns -= taken;
                need -= taken;
            }
            return Some(Cause::Kernel);
        }
        let smi = self.touched(cpu, sample).any(|left| left.second.smi > 0);
        (smi && sample.class != Class::Preempted).then_some(Cause::Smi)
    }
}
