//! The time in each second of a record that can explain late samples. Each of its nanoseconds explains at most one nanosecond of a sample.

use super::cause::Cause;
use latido_model::record::{Class, Sample, Second};
use std::collections::BTreeSet;

/// The time that is left of each second.
pub(super) struct Budget {
    /// The seconds in the order of their start.
    seconds: Vec<Left>,
    /// The length of the longest second.
    length_ns: u64,
}

/// A second of the timeline, and the time that is left of it.
struct Left {
    second: Second,
    foreign_ns: u64,
    steal_ns: u64,
    kernel_ns: u64,
}

/// The properties of a sample that limit what can excuse it.
#[derive(Clone, Copy)]
struct Wait {
    /// The thread stayed on its CPU: no task kept it from running.
    in_place: bool,
    /// The kernel throttled the thread by its settings: other tasks that ran then did not delay it.
    throttled: bool,
    /// The sample's length in seconds, rounded up.
    seconds: u64,
    ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

/// How many times longer than their mean the bursts of a program may have been.
const UNEVEN: u64 = 2;

/// A kernel thread that ran for less than this fraction (one part in `MATTERS`) of a sample did not make the sample late.
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
    /// Returns the most time that programs can have taken from the sample, if they ran for `ran_ns` per second in bursts of about
    /// `burst_ns`: one burst, plus what they ran during a long sample.
    fn met(self, burst_ns: u64, ran_ns: u64) -> u64 {
        let meanwhile = u128::from(ran_ns) * u128::from(self.ns) / u128::from(SECOND_NS);
        burst_ns.saturating_mul(UNEVEN).saturating_add(u64::try_from(meanwhile).unwrap_or(u64::MAX))
    }
}

impl Left {
    /// Returns what may excuse a sample: the time left, the most of it that may count, and the cause. Where an entry covers several
    /// seconds, the sample did not meet their total at once, so the maximum of one second bounds the time.
    fn excusing(&mut self, wait: Wait) -> impl Iterator<Item = (&mut u64, u64, Cause)> {
        let most = self.second.most();
        let foreign = (&mut self.foreign_ns, most.foreign_ns, Cause::Foreign);
        // latido times tasks exactly but stolen time only roughly, so it blames stolen time only for what tasks leave unexplained.
        let all = [(!wait.in_place).then_some(foreign), Some((&mut self.steal_ns, most.steal_ns, Cause::Steal))];
        let open = all.into_iter().flatten().filter(move |_| !wait.throttled);
        open.map(move |(left, most, cause)| {
            let held = most.saturating_mul(wait.seconds).min(*left);
            (left, held, cause)
        })
    }

    /// Returns the most time that its programs can have taken from a sample. Older records do not say how long their bursts were.
    fn met(&self, wait: Wait) -> u64 {
        if self.second.programs_ns() == 0 {
            return 0;
        }
        let ran_ns = self.second.most().foreign_ns;
        self.second.foreign_burst_ns.map_or(u64::MAX, |burst| wait.met(burst, ran_ns))
    }

    /// Returns the longest time that kernel threads can have delayed a sample.
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

    /// Returns the seconds that the sample touches, on the sample's CPU.
    fn touched(&mut self, cpu: Option<u32>, sample: &Sample) -> impl Iterator<Item = &mut Left> {
        // The time of a sample may mark its start or its end: both directions count.
        let length = sample.value.unsigned_abs();
        let (from, to) = (sample.at_ns.saturating_sub(length), sample.at_ns.saturating_add(length));
        let first = self.seconds.partition_point(|l| l.second.start_ns.saturating_add(self.length_ns) <= from);
        let last = self.seconds.partition_point(|l| l.second.start_ns <= to);
        let near = self.seconds.get_mut(first..last.max(first)).unwrap_or_default();
        // A thread that was free to move may have run on any CPU.
        let elsewhere = move |second: &Second| cpu.zip(second.cpu).is_some_and(|(here, there)| here != there);
        let over = move |second: &Second| second.start_ns.saturating_add(second.length_ns) <= from;
        near.iter_mut().filter(move |left| !elsewhere(&left.second) && !over(&left.second))
    }

    /// Returns the most time that programs can have taken from a sample: it meets one burst, however many seconds it touches.
    fn met(&mut self, cpu: Option<u32>, sample: &Sample) -> u64 {
        let wait = Wait::of(sample);
        self.touched(cpu, sample).map(|left| left.met(wait)).max().unwrap_or(0)
    }

    /// Returns how much of a sample's excess is not excused, without charging anything. The cell's own loads may have delayed the sample as
    /// well as other tasks: latido subtracts the time of the loads from the time of other tasks.
    fn unexcused(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64) -> u64 {
        let wait = Wait::of(sample);
        let met = self.met(cpu, sample);
        let (mut tasks, mut steal, mut loads) = (0u64, 0u64, 0u64);
        for left in self.touched(cpu, sample) {
            loads = loads.saturating_add(left.second.load_ns);
            for (_, held, cause) in left.excusing(wait) {
                let sum = if cause == Cause::Steal { &mut steal } else { &mut tasks };
                *sum = sum.saturating_add(held);
            }
        }
        excess.saturating_sub(tasks.saturating_sub(loads).min(met).saturating_add(steal))
    }

    /// Charges a sample to the time that can excuse it. Returns false and charges nothing if that time is less than the excess. Otherwise
    /// latido charges the sample's whole length as far as the time reaches: time that delayed this sample excuses no other. `causes`
    /// receives only the causes that the excess needs.
    pub fn excuses(&mut self, cpu: Option<u32>, sample: &Sample, excess: u64, causes: &mut BTreeSet<Cause>) -> bool {
        if self.unexcused(cpu, sample, excess) > 0 {
            return false;
        }
        let wait = Wait::of(sample);
        let (mut need, mut whole, mut met) = (excess, wait.ns.max(excess), self.met(cpu, sample));
        for left in self.touched(cpu, sample) {
            for (ns, held, cause) in left.excusing(wait) {
                let taken = whole.min(if cause == Cause::Foreign { held.min(met) } else { held });
                *ns -= taken;
                whole -= taken;
                if cause == Cause::Foreign {
                    met -= taken;
                }
                if need > 0 && taken > 0 {
                    need = need.saturating_sub(taken);
                    causes.insert(cause);
                }
            }
        }
        true
    }

    /// Whether latido saw neither another program nor the hypervisor take the CPU in the seconds of a sample.
    pub fn nobody(&mut self, cpu: Option<u32>, sample: &Sample) -> bool {
        self.touched(cpu, sample).all(|left| left.second.foreign_ns == 0 && left.second.steal_ns == 0)
    }

    /// Returns the cause within the system under test that made a sample large which nothing excuses, if latido can determine it.
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
