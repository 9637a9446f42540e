//! What happens on the machine while a cell is measured: once a second, from the supervisor, off the measured CPUs.

mod foreign;
mod interrupts;
mod timeline;

use crate::machine::{Root, heat};
use latido_model::{
    cpus::CpuSet,
    record::{Evidence, Second},
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Instant,
};
use timeline::Timeline;

/// A count of each CPU that has one.
type PerCpu = BTreeMap<u32, u64>;

/// The observer of one cell.
#[derive(Debug)]
pub struct Watch {
    cpus: CpuSet,
    started: Instant,
    last: Instant,
    tick: u64,
    steal_start: PerCpu,
    steal_last: PerCpu,
    smi_start: PerCpu,
    smi_last: PerCpu,
    msrs: Vec<(u32, File)>,
    frequency: Option<(u64, u64)>,
    thermal: Root,
    temperature: Option<i64>,
    foreign: foreign::Watched,
    interrupts_start: Option<interrupts::Counts>,
    interrupts_last: Option<interrupts::Counts>,
    /// The probe's own threads, whose standing still betrays others, and how long each had run at the last glance.
    probe: Vec<(PathBuf, u64)>,
    /// No search through all tasks before this.
    next_search: Instant,
    timeline: Timeline,
}

impl Watch {
    /// Starts to observe the measured CPUs. `priority` is the probe's own (`None` for a time-sharing probe), `pid` its
    /// process.
    pub fn start(cpus: &CpuSet, priority: Option<u8>, pid: u32) -> Self {
        let msr = |cpu| Some((cpu, File::open(format!("/dev/cpu/{cpu}/msr")).ok()?));
        let msrs = cpus.iter().filter_map(msr).collect();
        let mut watch = Self {
            cpus: cpus.clone(),
            started: Instant::now(),
            last: Instant::now(),
            tick: 0,
            steal_start: steal_ns(cpus),
            steal_last: PerCpu::new(),
            smi_start: PerCpu::new(),
            smi_last: PerCpu::new(),
            msrs,
            frequency: None,
            thermal: crate::fault::thermal_root(),
            temperature: None,
            foreign: foreign::Watched::start(cpus, priority),
            interrupts_start: interrupts::counts(&Root::default(), cpus),
            interrupts_last: None,
            probe: threads(pid).map(|dir| (dir, 0)).collect(),
            next_search: Instant::now(),
            timeline: Timeline::default(),
        };
        watch.steal_last.clone_from(&watch.steal_start);
        watch.smi_start = watch.smi();
        watch.smi_last.clone_from(&watch.smi_start);
        watch.look_at_hardware();
        watch
    }

    /// One look; call about once a second while samples are counted.
    pub fn look(&mut self) {
        let now = Instant::now();
        let steal = steal_ns(&self.cpus);
        let smi = self.smi();
        let foreign = self.foreign.look(&self.cpus, self.tick.is_multiple_of(10));
        for cpu in self.cpus.iter() {
            self.timeline.note(Second {
                start_ns: nanos(self.last.duration_since(self.started)),
                length_ns: nanos(now.duration_since(self.last)),
                cpu: Some(cpu),
                steal_ns: difference(&steal, &self.steal_last, cpu),
                smi: difference(&smi, &self.smi_last, cpu),
                foreign_ns: foreign.get(&cpu).copied().unwrap_or(0),
            });
        }
        self.interrupts_last = interrupts::counts(&Root::default(), &self.cpus);
        self.look_at_hardware();
        (self.last, self.tick) = (now, self.tick + 1);
        (self.steal_last, self.smi_last) = (steal, smi);
    }

    /// A glance, some ten times a second: where a thread of the probe wants to run and does not get on, somebody else is
    /// at work, perhaps only now. The known tasks are not enough then: look who.
    ///
    /// True while a thread stands: then glance more often, since a task that ends takes its figures with it.
    pub fn glance(&mut self) -> bool {
        let mut stands = false;
        for (dir, before) in &mut self.probe {
            let Some((wants, ran)) = standing(dir) else { continue };
            stands |= wants && ran == *before;
            *before = ran;
        }
        if !stands {
            return false;
        }
        if Instant::now() >= self.next_search {
            let begun = Instant::now();
            self.foreign.find(&self.cpus);
            // At most a twentieth of the time: the search must not become the disturbance.
            self.next_search = Instant::now() + 19 * begun.elapsed();
        }
        self.foreign.update(&self.cpus);
        true
    }

    /// Ends the observation and writes what was seen into the evidence.
    pub fn finish(mut self, evidence: &mut Evidence) {
        self.look();
        self.write(evidence);
    }

    /// What was seen so far.
    pub fn write(&self, evidence: &mut Evidence) {
        evidence.steal_ns = growth(&self.steal_start, &self.steal_last);
        evidence.smi = growth(&self.smi_start, &self.smi_last);
        evidence.frequency_khz = self.frequency;
        evidence.temperature_mc = self.temperature.map(|highest| (highest, heat::critical(&self.thermal)));
        evidence.foreign = self.foreign.seen();
        let looks = self.interrupts_start.as_ref().zip(self.interrupts_last.as_ref());
        evidence.interrupts = looks.map(|(before, after)| interrupts::between(before, after));
        evidence.timeline = self.timeline.seconds();
    }

    /// SMIs of each CPU since boot; empty unless every measured CPU tells.
    fn smi(&self) -> PerCpu {
        // MSR_SMI_COUNT, 0x34 (Intel SDM volume 4). Other makers fault on it: then it is not measured.
        let count = |(cpu, file): &(u32, File)| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, 0x34).ok()?;
            Some((*cpu, u64::from_ne_bytes(bytes) & 0xffff_ffff))
        };
        let counts: Option<PerCpu> = self.msrs.iter().map(count).collect();
        counts.filter(|counts| counts.len() == self.cpus.len()).unwrap_or_default()
    }

    fn look_at_hardware(&mut self) {
        for cpu in self.cpus.iter() {
            if let Some(khz) = number(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")) {
                let khz = khz.unsigned_abs();
                let (low, high) = self.frequency.unwrap_or((khz, khz));
                self.frequency = Some((low.min(khz), high.max(khz)));
            }
        }
        self.temperature = self.temperature.max(heat::hottest(&self.thermal));
    }
}

/// The threads of a process.
fn threads(pid: u32) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a thread wants to run (state R, proc_pid_stat(5)), and how long it has run, in ns (schedstat).
fn standing(dir: &Path) -> Option<(bool, u64)> {
    let stat = fs::read_to_string(dir.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let ran = fs::read_to_string(dir.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()?;
    Some((rest.trim_start().starts_with('R'), ran))
}

fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn difference(now: &PerCpu, before: &PerCpu, cpu: u32) -> u64 {
    now.get(&cpu).zip(before.get(&cpu)).map_or(0, |(now, before)| now.saturating_sub(*before))
}

/// By how much all grew together; absent where nothing could be read.
fn growth(start: &PerCpu, end: &PerCpu) -> Option<u64> {
    (!end.is_empty()).then(|| end.keys().map(|cpu| difference(end, start, *cpu)).sum())
}

fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Stolen time of these CPUs since boot (proc_stat(5), field 8 of a CPU's line).
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
