//! The samples that decide a verdict: what outside the system under test explains them, and what inside is their cause.

use super::{budget::Budget, cause::Cause, reason::ForeignBeside};
use latido_model::{
    machine::FairServer,
    record::{Class, Record, Sample, Series},
    run::{Shown, ShownBeside},
};
use std::collections::{BTreeMap, BTreeSet};

/// The largest samples of one series as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The thread's index within the cell.
    pub thread: u32,
    /// How many samples the series has.
    pub count: u64,
    /// The CPU it was measured on, where the thread was pinned.
    pub cpu: Option<u32>,
    /// Its largest, in descending order.
    pub largest: &'a [Sample],
}

/// The samples that decide: those above the limit of a failure, else the maximum, which decides nothing further.
#[derive(Clone, Debug, Default)]
pub struct Deciding {
    /// The largest of them.
    pub worst: Option<Sample>,
    /// How many of them are above the limit and stored.
    pub count: usize,
    /// What excuses at least one of them.
    excuses: BTreeSet<Cause>,
    /// Whether every sample above the limit is excused.
    excused: bool,
    /// How many of them are excused.
    foreign: u64,
    /// The largest of them that is not.
    own: Option<i64>,
    /// What within the system under test made so many of the others large.
    named: BTreeMap<Cause, u64>,
    /// How many of those of which nothing is known could be the fair server's.
    perhaps_server: u64,
    /// What the cell's trace shows of them.
    shown: Shown,
}

impl Deciding {
    /// Weighs the stored samples of a record against a limit (in ns), if there is one.
    ///
    /// A failure stands unless *every* sample above the limit is plausibly foreign: a machine that fails by itself fails
    /// also while it is disturbed. Stolen and foreign time of a second excuses as far as its own length goes. What is
    /// part of the system under test excuses nothing: it is named. Nor does anything excuse a watched thread that had the CPU for longer
    /// than the limit in one of its jobs: that job is late by itself.
    pub fn new(record: &Record, limit: Option<f64>, series: &[Stored<'_>]) -> Self {
        let worst = series.iter().filter_map(|s| s.largest.first()).max_by_key(|s| s.value).cloned();
        let Some(limit) = limit else { return Self { worst, ..Self::default() } };
        let over = |sample: &&Sample| sample.value as f64 > limit;
        let above: Vec<(&Stored<'_>, &Sample)> =
            series.iter().flat_map(|s| s.largest.iter().filter(over).map(move |sample| (s, sample))).collect();
        // Samples that were not stored cannot be explained.
        let whole = series.iter().all(|s| {
            s.largest.len() as u64 == s.count || s.largest.last().is_some_and(|last| last.value as f64 <= limit)
        });
        // What takes a CPU delays each of its threads at once, and of one thread each nanosecond once.
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

    /// Of a failure that stands: how many deciding samples are excused all the same, and the largest that is not. Who quotes the
    /// worst sample of the machine must not quote another program's.
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

    /// Takes what a trace shows. Where the failure is the machine's own, nothing excuses it; where programs made all of it, they do, also
    /// those that nobody saw.
    pub fn heed(&mut self, shown: Shown) {
        if shown.foreign {
            (self.excused, self.perhaps_server) = (true, 0);
            self.named.clear();
            self.excuses = BTreeSet::from([Cause::Foreign]);
        }
        self.excused &= !shown.own_failure;
        self.shown = shown;
    }

    /// The program that the trace names, and in how many of the samples.
    pub fn program(&self) -> Option<(&str, u64)> {
        self.shown.program.as_ref().map(|(name, samples)| (name.as_str(), *samples))
    }

    /// Whether the trace shows that programs made all of the failure.
    pub fn is_shown_foreign(&self) -> bool {
        self.shown.foreign
    }

    /// Whether this cause has its part in a failure that is foreign as a whole.
    pub fn blames(&self, cause: Cause) -> bool {
        self.blamed().any(|blamed| blamed == cause)
    }

    /// The causes that together excuse a failure that is foreign as a whole; else none.
    pub fn blamed(&self) -> impl Iterator<Item = Cause> + '_ {
        self.excuses.iter().copied().filter(|_| self.excused)
    }

    /// Whether the failure is foreign as a whole.
    pub fn is_foreign(&self) -> bool {
        self.excused
    }

    /// The causes within the system under test, and of how many deciding samples each is the cause.
    pub fn named(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        self.named.iter().map(|(cause, count)| (*cause, *count))
    }

    /// Of how many deciding samples nothing is known but that the fair server could have made them.
    pub fn perhaps_server(&self) -> u64 {
        self.perhaps_server
    }

    /// Of how many deciding samples this is the cause.
    pub fn caused_by(&self, cause: Cause) -> u64 {
        self.named.get(&cause).copied().unwrap_or(0)
    }
}

/// Whether a job of a watched program had the CPU for longer than the limit. Where threads have slots, those that have none are not
/// judged, and their runs say nothing.
fn ran_too_long(record: &Record, limit: f64) -> bool {
    let has_slots = |labels: Option<&BTreeMap<String, String>>| {
        record.series.iter().any(|one| one.slots.is_some() && labels.is_none_or(|labels| one.labels == *labels))
    };
    let is_judged = |run: &&Series| has_slots(Some(&run.labels)) || !has_slots(None);
    let runs = record.series.iter().filter(|one| record.cell.probe.name == "task" && one.quantity == "running");
    runs.filter(is_judged).any(|run| run.max.is_some_and(|longest| longest as f64 > limit))
}

/// Whether a wait fits what the fair server may take: it comes after real-time tasks have had the CPU for its period less
/// its runtime, and ends when its tasks are done, at the latest with its runtime. A rival of that length looks the same to
/// the loop: it is no cause that could be named.
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
