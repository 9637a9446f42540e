//! What happens on the machine while a cell is measured: once a second, from the supervisor, off the measured CPUs.

mod foreign;

use crate::{
    cpus::CpuSet,
    record::{Evidence, Second},
};
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Instant,
};

/// After this many entries neighbours are merged: the timeline of a week stays small.
const MOST_SECONDS: usize = 3600;

/// The observer of one cell.
#[derive(Debug)]
pub struct Watch {
    cpus: CpuSet,
    started: Instant,
    last: Instant,
    tick: u64,
    steal_start: Option<u64>,
    steal_last: Option<u64>,
    smi_start: Option<u64>,
    smi_last: Option<u64>,
    msrs: Vec<File>,
    frequency: Option<(u64, u64)>,
    temperature: Option<i64>,
    foreign: foreign::Watched,
    /// The probe's own threads, whose standing still betrays others, and how long each had run at the last glance.
    probe: Vec<(PathBuf, u64)>,
    timeline: Vec<Second>,
    resolution: u64,
}

impl Watch {
    /// Starts to observe the measured CPUs. `priority` is the probe's own (`None` for a time-sharing probe), `pid` its
    /// process.
    pub fn start(cpus: &CpuSet, priority: Option<u8>, pid: u32) -> Self {
        let msrs = cpus.iter().filter_map(|cpu| File::open(format!("/dev/cpu/{cpu}/msr")).ok()).collect();
        let mut watch = Self {
            cpus: cpus.clone(),
            started: Instant::now(),
            last: Instant::now(),
            tick: 0,
            steal_start: steal_ns(cpus),
            steal_last: None,
            smi_start: None,
            smi_last: None,
            msrs,
            frequency: None,
            temperature: None,
            foreign: foreign::Watched::start(cpus, priority),
            probe: threads(pid).map(|dir| (dir, 0)).collect(),
            timeline: Vec::new(),
            resolution: 1,
        };
        watch.steal_last = watch.steal_start;
        watch.smi_start = watch.smi();
        watch.smi_last = watch.smi_start;
        watch.look_at_hardware();
        watch
    }

    /// One look; call about once a second while samples are counted.
    pub fn look(&mut self) {
        let now = Instant::now();
        let steal = steal_ns(&self.cpus);
        let smi = self.smi();
        let second = Second {
            start_ns: nanos(self.last.duration_since(self.started)),
            length_ns: nanos(now.duration_since(self.last)),
            steal_ns: difference(steal, self.steal_last),
            smi: difference(smi, self.smi_last),
            foreign_ns: self.foreign.look(&self.cpus, self.tick.is_multiple_of(10)),
        };
        if second.steal_ns > 0 || second.smi > 0 || second.foreign_ns > 0 {
            self.note(second);
        }
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
        if stands {
            self.foreign.find(&self.cpus);
            self.foreign.update(&self.cpus);
        }
        stands
    }

    /// Ends the observation and writes what was seen into the evidence.
    pub fn finish(mut self, evidence: &mut Evidence) {
        self.look();
        evidence.steal_ns = self.steal_start.zip(self.steal_last).map(|(start, end)| end.saturating_sub(start));
        evidence.smi = self.smi_start.zip(self.smi_last).map(|(start, end)| end.saturating_sub(start));
        evidence.frequency_khz = self.frequency;
        evidence.temperature_mc = self.temperature.map(|highest| (highest, critical_temperature()));
        evidence.foreign = self.foreign.seen();
        evidence.timeline = self.timeline;
    }

    fn note(&mut self, second: Second) {
        if self.timeline.len() >= MOST_SECONDS {
            self.resolution *= 2;
            let merged = self.timeline.chunks(2).filter_map(|pair| {
                let (first, last) = (pair.first()?, pair.last()?);
                Some(Second {
                    start_ns: first.start_ns,
                    length_ns: (last.start_ns + last.length_ns).saturating_sub(first.start_ns),
                    steal_ns: pair.iter().map(|s| s.steal_ns).sum(),
                    smi: pair.iter().map(|s| s.smi).sum(),
                    foreign_ns: pair.iter().map(|s| s.foreign_ns).sum(),
                })
            });
            self.timeline = merged.collect();
        }
        self.timeline.push(second);
    }

    fn smi(&self) -> Option<u64> {
        // MSR_SMI_COUNT, 0x34 (Intel SDM volume 4). Other makers fault on it: then it is not measured.
        let count = |file: &File| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, 0x34).ok()?;
            Some(u64::from_ne_bytes(bytes) & 0xffff_ffff)
        };
        let counts: Option<Vec<u64>> = self.msrs.iter().map(count).collect();
        counts.filter(|counts| counts.len() == self.cpus.len()).map(|counts| counts.iter().sum())
    }

    fn look_at_hardware(&mut self) {
        for cpu in self.cpus.iter() {
            if let Some(khz) = number(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")) {
                let khz = khz.unsigned_abs();
                let (low, high) = self.frequency.unwrap_or((khz, khz));
                self.frequency = Some((low.min(khz), high.max(khz)));
            }
        }
        let hottest = thermal_zones().filter_map(|zone| number(&format!("{zone}/temp"))).max();
        self.temperature = self.temperature.max(hottest);
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

fn difference(now: Option<u64>, before: Option<u64>) -> u64 {
    now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}

fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Stolen time of these CPUs since boot (proc_stat(5), field 8 of a CPU's line).
fn steal_ns(cpus: &CpuSet) -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks = parse_steal(&text, cpus)?;
    Some(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

fn parse_steal(text: &str, cpus: &CpuSet) -> Option<u64> {
    let mut sum = None;
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(cpu) = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok()) else { continue };
        if cpus.contains(cpu) {
            sum = Some(sum.unwrap_or(0) + fields.nth(7)?.parse::<u64>().ok()?);
        }
    }
    sum
}

fn thermal_zones() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/sys/class/thermal").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("thermal_zone"))
        .map(|entry| entry.path().to_string_lossy().into_owned())
}

/// The lowest critical trip point of any zone, in millidegrees Celsius.
fn critical_temperature() -> Option<i64> {
    let mut lowest = None;
    for zone in thermal_zones() {
        for trip in 0..16 {
            let kind = fs::read_to_string(format!("{zone}/trip_point_{trip}_type")).unwrap_or_default();
            if kind.trim() == "critical" {
                let degrees = number(&format!("{zone}/trip_point_{trip}_temp"));
                lowest = [lowest, degrees].into_iter().flatten().min();
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_field_of_the_measured_cpus() {
        let text = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 80 0 0\nintr 5\n";
        assert_eq!(parse_steal(text, &"1".parse().unwrap()), Some(80));
        assert_eq!(parse_steal(text, &"0-1".parse().unwrap()), Some(88));
        assert_eq!(parse_steal(text, &"7".parse().unwrap()), None);
        assert_eq!(parse_steal("cpu0 1 2\n", &"0".parse().unwrap()), None);
    }
}
