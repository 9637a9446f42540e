//! The samples that decide a verdict: what outside the system under test explains them, and what inside causes them.

use super::{budget::Budget, cause::Cause, reason::ForeignBeside};
use latido_model::{
    machine::FairServer,
    record::{Class, Record, Sample, Series},
    run::{Shown, ShownBeside},
};
use std::collections::{BTreeMap, BTreeSet};

/// The largest samples of one series, as stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The thread's index within the cell.
    pub thread: u32,
    /// The number of samples in the series.
    pub count: u64,
    /// The CPU of the measurement, if the thread was pinned.
    pub cpu: Option<u32>,
    /// The largest samples, in descending order.
    pub largest: &'a [Sample],
}

/// The samples that decide: if the cell failed, those above the limit. Otherwise it only contains the maximum.
#[derive(Clone, Debug, Default)]
pub struct Deciding {
    /// The largest sample.
    pub worst: Option<Sample>,
    /// The number of stored samples above the limit.
    pub count: usize,
    /// The causes that excuse at least one of them.
    excuses: BTreeSet<Cause>,
    /// Whether every sample above the limit is excused.
    excused: bool,
    /// The number of excused samples.
    foreign: u64,
    /// The largest sample that is not excused.
    own: Option<i64>,
    /// The causes within the system under test, each with the number of samples that it made large.
    named: BTreeMap<Cause, u64>,
    /// The number of otherwise unexplained samples that the fair server could have delayed.
    perhaps_server: u64,
    /// What the cell's trace shows about them.
    shown: Shown,
}

impl Deciding {
    /// Weighs the stored samples of a record against a limit (in ns), if there is one.
    ///
    /// A failure stands unless *every* sample above the limit can plausibly come from other programs or the hypervisor: a machine that
    /// fails by itself fails also while it is disturbed. Stolen time and the time of other programs in a second excuse no more than their
    /// own length. A part of the system under test excuses nothing: latido only names it. Nor does anything excuse a watched thread that
    /// had the CPU for longer than the limit in one of its jobs: that job is late by itself.
    pub fn new(record: &Record, limit: Option<f64>, series: &[Stored<'_>]) -> Self {
        let worst = series.iter().filter_map(|s| s.largest.first()).max_by_key(|s| s.value).cloned();
        let Some(limit) = limit else { return Self { worst, ..Self::default() } };
        let over = |sample: &&Sample| sample.value as f64 > limit;
        let above: Vec<(&Stored<'_>, &Sample)> =
            series.iter().flat_map(|s| s.largest.iter().filter(over).map(move |sample| (s, sample))).collect();
        // Samples that were not stored stay unexplained.
        let whole = series.iter().all(|s| {
            s.largest.len() as u64 == s.count || s.largest.last().is_some_and(|last| last.value as f64 <= limit)
        });
        // What takes a CPU delays all its threads at the same time, but each nanosecond delays one thread only once.
        let mut budgets: BTreeMap<u32, Budget> = BTreeMap::new();
        let mut excuses = BTreeSet::new();
        let mut named = BTreeMap::new();
        let mut perhaps_server = 0;
        let (mut foreign, mut own) = (0, None);
        let mut excused = whole && !above.is_empty() && !ran_too_long(record, limit);
        for (stored, sample) in &above {
            let excess = (sample.value as f64 - limit).ceil() as u64;
            let cpu = stored.cpu;
            let budget = budgets.entry(stored.thread).or_insert_with(|| Budget::new(&record.quality.timeline));
            if budget.excuses(cpu, sample, excess, &mut excuses) {
                foreign += 1;
                continue;
            }
            own = own.max(Some(sample.value));
            excused = false;
            if let Some(cause) = budget.cause(cpu, sample, excess) {
                *named.entry(cause).or_insert(0) += 1;
            } else if fits_server(record, cpu, sample) && budget.nobody(cpu, sample) {
                perhaps_server += 1;
            }
        }
        let shown = Shown::default();
        Self { worst, count: above.len(), excuses, excused, foreign, own, named, perhaps_server, shown }
    }

    /// Returns, for a failure that stands, how many deciding samples are excused nevertheless, and the largest one that is not. A reader
    /// who quotes the machine's worst sample must not quote one that another program caused.
    pub fn foreign_beside(&self) -> Option<ForeignBeside> {
        if let Some(ShownBeside { foreign, of, own_ns }) = self.shown.beside {
            return Some(ForeignBeside {
                foreign,
                of,
                own_ns: i64::try_from(own_ns).unwrap_or(i64::MAX),
                traced: true,
            });
        }
        let of = self.count as u64;
        let own = self.own.filter(|_| !self.excused && self.foreign > 0);
        own.map(|own_ns| ForeignBeside { foreign: self.foreign, of, own_ns, traced: false })
    }

    /// Adds what a trace shows. If the failure is the machine's own, nothing excuses it. If programs caused all of it, they excuse it, even
    /// programs that latido did not see in `/proc`.
    pub fn heed(&mut self, shown: Shown) {
        if shown.foreign {
            (self.excused, self.perhaps_server) = (true, 0);
            self.named.clear();
            self.excuses = BTreeSet::from([Cause::Foreign]);
        }
        self.excused &= !shown.own_failure;
        self.shown = shown;
    }

    /// Returns the program that the trace names, and the number of its samples.
    pub fn program(&self) -> Option<(&str, u64)> {
        self.shown.program.as_ref().map(|(name, samples)| (name.as_str(), *samples))
    }

    /// Whether the trace shows that programs caused the whole failure.
    pub fn is_shown_foreign(&self) -> bool {
        self.shown.foreign
    }

    /// Whether this cause has a part in a failure that comes entirely from outside the system under test.
    pub fn blames(&self, cause: Cause) -> bool {
        self.blamed().any(|blamed| blamed == cause)
    }

    /// Returns the causes that together excuse a failure that comes entirely from outside; empty for any other failure.
    pub fn blamed(&self) -> impl Iterator<Item = Cause> + '_ {
        self.excuses.iter().copied().filter(|_| self.excused)
    }

    /// Whether the failure comes entirely from outside the system under test.
    pub fn is_foreign(&self) -> bool {
        self.excused
    }

    /// Returns the causes within the system under test, each with the number of deciding samples that it caused.
    pub fn named(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        self.named.iter().map(|(cause, count)| (*cause, *count))
    }

    /// Returns the number of deciding samples whose only possible known cause is the fair server.
    pub fn perhaps_server(&self) -> u64 {
        self.perhaps_server
    }

    /// Returns the number of deciding samples that this cause made large.
    pub fn caused_by(&self, cause: Cause) -> u64 {
        self.named.get(&cause).copied().unwrap_or(0)
    }
}

/// Whether a job of a watched program had the CPU for longer than the limit. If some threads have slots, latido does not judge the threads
/// without slots, and ignores their runs.
fn ran_too_long(record: &Record, limit: f64) -> bool {
    let has_slots = |labels: Option<&BTreeMap<String, String>>| {
        record.series.iter().any(|one| one.slots.is_some() && labels.is_none_or(|labels| one.labels == *labels))
    };
    let is_judged = |run: &&Series| has_slots(Some(&run.labels)) || !has_slots(None);
    let runs = record.series.iter().filter(|one| record.cell.probe.name == "task" && one.quantity == "running");
    runs.filter(is_judged).any(|run| run.max.is_some_and(|longest| longest as f64 > limit))
}

/// Whether a wait fits the fair server. The server runs after real-time tasks have had the CPU for its period minus its runtime, and stops
/// when its tasks are done, at the latest after its runtime. A competing task of that length looks the same to the loop, so latido cannot
/// name the server as the cause.
fn fits_server(record: &Record, cpu: Option<u32>, sample: &Sample) -> bool {
    let FairServer::Known { budgets } = &record.machine.realtime.fair_server else { return false };
    let Some(own) = cpu.and_then(|cpu| budgets.iter().find(|budget| budget.cpus.contains(cpu))) else { return false };
    let waited = sample.value.unsigned_abs();
    let before = sample.at_ns.saturating_add(record.warmup_ns).saturating_sub(waited);
    let busy = record.cell.scheduling.is_realtime() && !record.cell.probe.options.contains_key("duty");
    let starved = before >= own.period_ns.saturating_sub(own.runtime_ns);
    busy && starved && sample.class == Class::Preempted && waited <= own.runtime_ns
}

#[cfg(test)]
mod tests;
