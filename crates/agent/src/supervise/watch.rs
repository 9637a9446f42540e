//! Watches the machine while a cell is measured: once per second, from the supervisor, off the measured CPUs.

mod bursts;
mod foreign;
mod freezer;
mod hardware;
mod interrupts;
mod pages;
mod quota;
mod siblings;
mod stat;
mod stops;
mod timeline;
mod told;
mod waiting;
mod wall;

use crate::machine::{Root, tracing};
use bursts::Bursts;
pub use foreign::Own;
pub use hardware::Hardware;
use latido_model::{
    cpus::CpuSet,
    record::{Evidence, Second, Tracing, WallSteps},
};
use latido_sys::clock::Clock;
use quota::Quota;
use std::{collections::BTreeMap, fs, time::Instant};
use stops::{Moment, Stops};
use timeline::{SECOND_NS, Timeline};
use waiting::{Fare, Threads};
use wall::Wall;

/// A count for each CPU that has one.
type PerCpu = BTreeMap<u32, u64>;

/// The observer of one cell.
#[derive(Debug)]
pub struct Watch {
    cpus: CpuSet,
    started: Instant,
    /// The start on CLOCK_MONOTONIC, in ns.
    started_ns: u64,
    /// How long the watch took to start, in ns. What it saw until then may have begun before it.
    ready_ns: u64,
    last: Instant,
    steal_start: PerCpu,
    steal_last: PerCpu,
    hardware: Hardware,
    foreign: foreign::Watched,
    interrupts_start: Option<interrupts::Counts>,
    moved_start: Option<u64>,
    siblings: siblings::Siblings,
    quota: Quota,
    /// The probe's own threads. Their waiting reveals other tasks.
    probe: Threads,
    timeline: Timeline,
    bursts: Bursts,
    stops: Stops,
    wall: Wall,
    /// The tracing that any look found.
    traced: Option<Tracing>,
}

impl Watch {
    /// Starts to watch the measured CPUs. `hardware` is its state before the loops.
    pub fn start(cpus: &CpuSet, own: Own, hardware: Hardware) -> Self {
        let mut watch = Self {
            cpus: cpus.clone(),
            started: Instant::now(),
            started_ns: Clock::Monotonic.now(),
            ready_ns: 0,
            last: Instant::now(),
            steal_start: steal_ns(cpus),
            steal_last: PerCpu::new(),
            hardware,
            probe: Threads::of(own.measuring),
            stops: Stops::of(&Root::default(), own.measuring, Moment::now()),
            wall: Wall::now(),
            traced: None,
            quota: Quota::of(&Root::default(), own.measuring),
            foreign: foreign::Watched::start(cpus, own),
            interrupts_start: interrupts::counts(&Root::default(), cpus),
            moved_start: pages::moved(&Root::default()),
            siblings: siblings::Siblings::start(&Root::default(), cpus),
            timeline: Timeline::of(cpus.len()),
            bursts: Bursts::default(),
        };
        watch.steal_last.clone_from(&watch.steal_start);
        // What came before the loops does not count.
        watch.hardware.meanwhile();
        watch.ready_ns = nanos(watch.started.elapsed());
        watch
    }

    /// Takes one look. The caller does so about once per second while samples count.
    pub fn look(&mut self) {
        self.foreign.census_within(&self.cpus, foreign::ORDINARY);
        self.note();
        let now = tracing::seen(&crate::fault::tracing_root());
        self.traced = Some(match self.traced.take() {
            Some(before) => before.and(now),
            None => now,
        });
    }

    fn note(&mut self) {
        let now = Instant::now();
        let steal = steal_ns(&self.cpus);
        let smi = self.hardware.meanwhile();
        let second = Second {
            start_ns: self.since_start(nanos(self.last.duration_since(self.started))),
            length_ns: nanos(now.duration_since(self.last)),
            ..Second::default()
        };
        // A management interrupt stopped every CPU.
        self.timeline.note(Second { smi, ..second });
        for cpu in self.cpus.iter() {
            self.timeline.note(Second {
                cpu: Some(cpu),
                steal_ns: difference(&steal, &self.steal_last, cpu),
                ..second
            });
        }
        for ran in self.foreign.look(&self.cpus) {
            let start_ns = self.since_start(ran.from.saturating_sub(self.started_ns));
            let burst_ns = self.bursts.growth(start_ns / SECOND_NS, &ran);
            self.timeline.note(Second {
                start_ns,
                length_ns: ran.to.saturating_sub(self.started_ns).saturating_sub(start_ns),
                cpu: Some(ran.cpu),
                ..ran.time(burst_ns)
            });
        }
        self.bursts.forget_before(second.start_ns / SECOND_NS);
        self.last = now;
        self.steal_last = steal;
    }

    /// Returns a time since the start of the watch; 0 for what the watch saw first.
    fn since_start(&self, at_ns: u64) -> u64 {
        if at_ns <= self.ready_ns { 0 } else { at_ns }
    }

    /// Takes a glance, about ten times per second. If a thread of the probe wants to run and does not, another task is running, perhaps a
    /// new one: then latido samples the tasks again.
    ///
    /// Returns true while a thread is stalled. The caller then glances more often, since a task that ends takes its figures with it.
    pub fn glance(&mut self) -> bool {
        self.stops.look(&Root::default(), Moment::now());
        self.wall.look();
        let fare = self.probe.fare();
        if fare > Fare::GetsOn {
            self.foreign.census_within(&self.cpus, foreign::ALARMED);
            self.foreign.update(&self.cpus);
        }
        fare == Fare::Stands
    }

    /// Ends the watch when the loops are over, and writes the findings into the evidence.
    pub fn finish(mut self, evidence: &mut Evidence) {
        self.foreign.census(&self.cpus);
        self.note();
        self.stops.look(&Root::default(), Moment::now());
        self.wall.look();
        self.probe.look_at_all();
        self.write(evidence);
        self.hardware.after(evidence);
    }

    /// Writes the findings so far. It leaves out the hardware, since reading that would interrupt the CPUs.
    pub fn write(&self, evidence: &mut Evidence) {
        evidence.steal_ns = growth(&self.steal_start, &self.steal_last);
        evidence.foreign = self.foreign.seen();
        let now = interrupts::counts(&Root::default(), &self.cpus);
        evidence.interrupts =
            self.interrupts_start.as_ref().zip(now).map(|(before, now)| interrupts::between(before, &now));
        let moved = pages::moved(&Root::default());
        evidence.moved_pages = self.moved_start.zip(moved).map(|(before, now)| now.saturating_sub(before));
        evidence.siblings = self.siblings.seen(&Root::default());
        evidence.timeline = self.timeline.seconds();
        evidence.threads = self.probe.seen(self.started_ns);
        evidence.stopped = self.stops.seen(Moment::now());
        evidence.wall_steps = Some(self.wall.steps()).map(|(times, largest_ns)| WallSteps { times, largest_ns });
        evidence.held_back = self.quota.held_back(&Root::default());
        evidence.tracing.clone_from(&self.traced);
    }
}

fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn difference(now: &PerCpu, before: &PerCpu, cpu: u32) -> u64 {
    now.get(&cpu).zip(before.get(&cpu)).map_or(0, |(now, before)| now.saturating_sub(*before))
}

/// Returns the growth of all counts together; `None` if nothing could be read.
fn growth(start: &PerCpu, end: &PerCpu) -> Option<u64> {
    (!end.is_empty()).then(|| end.keys().map(|cpu| difference(end, start, *cpu)).sum())
}

/// Returns the stolen time of these CPUs since boot, in ns (proc_stat(5), field 8 of a CPU's line).
fn steal_ns(cpus: &CpuSet) -> PerCpu {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse_steal(&text, cpus).into_iter().map(|(cpu, ticks)| (cpu, ticks * tick_ns)).collect()
}

fn parse_steal(text: &str, cpus: &CpuSet) -> PerCpu {
    let of_line = |line: &str| {
        let mut fields = line.split_whitespace();
        let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, fields.nth(7)?.parse::<u64>().ok()?))
    };
    text.lines().filter_map(of_line).filter(|(cpu, _)| cpus.contains(*cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_field_of_the_measured_cpus() {
        let text = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 80 0 0\nintr 5\n";
        let steal = |cpus: &str| parse_steal(text, &cpus.parse().unwrap());
        assert_eq!(steal("1"), PerCpu::from([(1, 80)]));
        assert_eq!(steal("0-1"), PerCpu::from([(0, 8), (1, 80)]));
        assert_eq!(steal("7"), PerCpu::new());
        assert_eq!(parse_steal("cpu0 1 2\n", &"0".parse().unwrap()), PerCpu::new());
    }
}
