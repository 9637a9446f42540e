//! The evidence of a whole cell, for tables. The trust checks judge each part by its own evidence.

use crate::record::{
    ByHand, ClockEvidence, CoreRecord, Evidence, Foreign, HeldBack, Interrupt, Overheated, Record, Reported, Second,
    Sibling, StampsRecord, Stopped, ThreadEvidence, ThrottleEvidence, Tracing, Wait, WallSteps,
};

/// One value of all parts, by one of these rules. By most rules, a value that one part lacks is unknown for the whole.
struct Each<'a>(&'a [&'a Record]);

impl Each<'_> {
    fn all<T>(&self, of: impl Fn(&Evidence) -> Option<T>) -> Option<Vec<T>> {
        self.0.iter().map(|record| of(&record.quality)).collect()
    }

    /// Returns the sum, for values that add up over time.
    fn sum(&self, of: impl Fn(&Evidence) -> Option<u64>) -> Option<u64> {
        Some(self.all(of)?.into_iter().fold(0, u64::saturating_add))
    }

    /// Returns the worst value: the one of two that `choose` takes.
    fn worst<T>(&self, of: impl Fn(&Evidence) -> Option<T>, choose: impl Fn(T, T) -> T) -> Option<T> {
        self.all(of)?.into_iter().reduce(choose)
    }

    /// Returns a setting if it was the same in all parts.
    fn same<T: PartialEq>(&self, of: impl Fn(&Evidence) -> Option<T>) -> Option<T> {
        let mut all = self.all(of)?.into_iter();
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// Returns what went wrong in the first part where it did; latido ignores later parts.
    fn first<T>(&self, of: impl Fn(&Evidence) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|record| of(&record.quality))
    }
}

/// Returns the settings that were applied by hand in any part.
fn by_hand(records: &[&Record]) -> Vec<ByHand> {
    let mut all: Vec<ByHand> = Vec::new();
    for set in records.iter().flat_map(|record| &record.quality.by_hand) {
        if !all.contains(set) {
            all.push(set.clone());
        }
    }
    all
}

/// Returns the evidence of all parts, which start at `begins` on the time axis of the whole, in ns. A new fact needs a rule here.
pub(super) fn of_all(records: &[&Record], begins: &[u64]) -> Evidence {
    let each = Each(records);
    let last = records.last().map(|record| &record.quality);
    Evidence {
        policy_refused: each.first(|own| own.policy_refused.clone()),
        memory_unlocked: each.first(|own| own.memory_unlocked.clone()),
        clock: clock(&each),
        threads: threads(records, begins),
        throttle: ThrottleEvidence {
            rt_runtime_us: each.same(|own| own.throttle.rt_runtime_us),
            rt_period_us: each.same(|own| own.throttle.rt_period_us),
            fair_server: each.same(|own| own.throttle.fair_server.clone()),
            throttled: each.sum(|own| own.throttle.throttled),
            throttled_ns: each.sum(|own| own.throttle.throttled_ns),
            throttle_like: each.sum(|own| own.throttle.throttle_like),
        },
        steal_ns: each.sum(|own| own.steal_ns),
        smi: each.sum(|own| own.smi),
        unwatched: records.iter().any(|record| record.quality.unwatched),
        moved_pages: each.sum(|own| own.moved_pages),
        frequency_khz: each.worst(|own| own.frequency_khz, |a, b| (a.0.min(b.0), a.1.max(b.1))),
        temperature_mc: each.worst(|own| own.temperature_mc, |a, b| if b.0 > a.0 { b } else { a }),
        overheated: overheated(records, begins),
        foreign: foreign(records),
        interrupts: interrupts(&each),
        siblings: siblings(records),
        by_hand: by_hand(records),
        timeline: timeline(records, begins),
        timer_slack_ns: each.worst(|own| own.timer_slack_ns, u64::max),
        autogroup: each.same(|own| own.autogroup),
        cgroup: each.same(|own| own.cgroup.clone()),
        dma_latency_held: records.iter().all(|record| record.quality.dma_latency_held),
        housekeeping: each.same(|own| own.housekeeping.clone()),
        tracing: each.worst(|own| own.tracing.clone(), traced),
        // Only a sample in the last part can have stopped the cell; its time is on that boot's own clock.
        freeze: last.and_then(|own| own.freeze.clone()),
        // Each part has its own file.
        trace: None,
        reported: records.iter().filter_map(|record| record.quality.reported.clone()).reduce(Reported::and),
        // A thread of one part is a different thread in the next, with its own thread ID.
        watched: records.iter().flat_map(|record| record.quality.watched.clone()).collect(),
        stopped: records.iter().filter_map(|record| record.quality.stopped.clone()).reduce(Stopped::and),
        core: each.all(|own| own.core.clone()).and_then(|all| all.into_iter().reduce(CoreRecord::and)),
        held_back: records.iter().filter_map(|record| record.quality.held_back).reduce(HeldBack::and),
        wall_steps: records.iter().filter_map(|record| record.quality.wall_steps).reduce(WallSteps::and),
        // Lost events and the like add up; the rest is as in the first part.
        stamps: stamps(records),
    }
}

fn stamps(records: &[&Record]) -> Option<StampsRecord> {
    let all: Vec<&StampsRecord> = records.iter().filter_map(|record| record.quality.stamps.as_ref()).collect();
    let sum = |of: fn(&StampsRecord) -> u64| all.iter().map(|one| of(one)).fold(0, u64::saturating_add);
    let first = (*all.first()?).clone();
    // All fields are here, so that the compiler asks for the rule of a new one.
    Some(StampsRecord {
        error_ns: all.iter().filter_map(|one| one.error_ns).max(),
        events: sum(|one| one.events),
        lost: sum(|one| one.lost),
        doubled: sum(|one| one.doubled),
        passed: sum(|one| one.passed),
        dropped: sum(|one| one.dropped),
        strangers: sum(|one| one.strangers),
        source: first.source,
        t1: first.t1,
        asynchronous: first.asynchronous,
        beware: first.beware,
        resolution_ns: first.resolution_ns,
        handler: first.handler,
        irq_threads: first.irq_threads,
        trigger: first.trigger,
    })
}

fn clock(each: &Each<'_>) -> ClockEvidence {
    let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
    let shifts = each.all(|own| Some(own.clock.realtime_shift_ns)).unwrap_or_default();
    ClockEvidence {
        name: each.first(|own| Some(own.clock.name.clone())).unwrap_or_default(),
        source: each.same(|own| own.clock.source.clone()),
        cost_ns: each.worst(|own| Some(own.clock.cost_ns), f64::max).unwrap_or_default(),
        step_ns: each.worst(|own| Some(own.clock.step_ns), f64::max).unwrap_or_default(),
        // Each part calibrates the counter again; use the first one's, as for the anchors.
        tsc_hz: each.first(|own| own.clock.tsc_hz),
        drift_ppb: each.worst(|own| own.clock.drift_ppb, larger),
        realtime_shift_ns: shifts.into_iter().fold(0, i64::saturating_add),
        backwards: each.sum(|own| Some(own.clock.backwards)).unwrap_or_default(),
    }
}

/// Returns the first overheating that ended a part. A later part's warm-up has no place on the time axis, so an overheating during it is
/// placed at the part's start.
fn overheated(records: &[&Record], begins: &[u64]) -> Option<Overheated> {
    let (begin_ns, hot) =
        begins.iter().zip(records).find_map(|(at, record)| Some((*at, record.quality.overheated?)))?;
    let at_ns = if begin_ns > 0 { hot.at_ns.max(0) } else { hot.at_ns };
    Some(Overheated { at_ns: at_ns.saturating_add(i64::try_from(begin_ns).unwrap_or(i64::MAX)), ..hot })
}

/// Returns the tasks that were seen in any part.
fn foreign(records: &[&Record]) -> Vec<Foreign> {
    let mut sums: Vec<Foreign> = Vec::new();
    for task in records.iter().flat_map(|record| &record.quality.foreign) {
        match sums.iter_mut().find(|known| (known.tid, &known.comm) == (task.tid, &task.comm)) {
            Some(known) => known.ran_ns = known.ran_ns.saturating_add(task.ran_ns),
            None => sums.push(task.clone()),
        }
    }
    sums
}

/// Returns the interrupts of all parts, added up. An interrupt that did not occur in one part is missing from its list.
fn interrupts(each: &Each<'_>) -> Option<Vec<Interrupt>> {
    let mut sums: Vec<Interrupt> = Vec::new();
    for line in each.all(|own| own.interrupts.clone())?.into_iter().flatten() {
        match sums.iter_mut().find(|known| (&known.line, &known.action) == (&line.line, &line.action)) {
            Some(known) => known.count = known.count.saturating_add(line.count),
            None => sums.push(line),
        }
    }
    Some(sums)
}

/// Returns the siblings that were seen in every part, because the busy time must cover the whole time.
fn siblings(records: &[&Record]) -> Vec<Sibling> {
    let Some((first, later)) = records.split_first() else { return Vec::new() };
    let whole = |one: &Sibling| {
        later.iter().try_fold(*one, |sum, record| {
            let of_part = record.quality.siblings.iter();
            let own = of_part.into_iter().find(|own| (own.cpu, own.of) == (one.cpu, one.of))?;
            let busy_ns = sum.busy_ns.saturating_add(own.busy_ns);
            Some(Sibling { busy_ns, over_ns: sum.over_ns.saturating_add(own.over_ns), ..sum })
        })
    };
    first.quality.siblings.iter().filter_map(whole).collect()
}

fn timeline(records: &[&Record], begins: &[u64]) -> Vec<Second> {
    let later = |(record, begin_ns): (&&Record, &u64)| {
        let begin_ns = *begin_ns;
        let later = move |second: Second| Second { start_ns: second.start_ns.saturating_add(begin_ns), ..second };
        record.quality.timeline.clone().into_iter().map(later)
    };
    records.iter().zip(begins).flat_map(later).collect()
}

/// Returns what traced in either. That nothing traced is known only if both were checked.
fn traced(a: Tracing, b: Tracing) -> Tracing {
    match (&a, &b) {
        (Tracing::Seen { active }, Tracing::Unseen { .. }) if active.is_empty() => b,
        (Tracing::Unseen { .. }, Tracing::Seen { active }) if active.is_empty() => a,
        _ => a.and(b),
    }
}

/// Returns the kernel's counts of the threads that are in every part; nothing if one part has no counts, as in a checkpoint.
fn threads(records: &[&Record], begins: &[u64]) -> Vec<ThreadEvidence> {
    let Some((first, later)) = records.split_first() else { return Vec::new() };
    let whole = |one: &ThreadEvidence| {
        later.iter().zip(begins.iter().skip(1)).try_fold(one.clone(), |sum, (record, begin_ns)| {
            let known = |own: &&ThreadEvidence| (own.thread, own.cpu) == (one.thread, one.cpu);
            let own = record.quality.threads.iter().find(known)?;
            let later = |wait: Wait| Wait { start_ns: wait.start_ns.saturating_add(*begin_ns), ..wait };
            Some(together(sum, &ThreadEvidence { longest_wait: own.longest_wait.map(later), ..own.clone() }))
        })
    };
    first.quality.threads.iter().filter_map(whole).collect()
}

fn together(sum: ThreadEvidence, own: &ThreadEvidence) -> ThreadEvidence {
    let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let warm_ups = sum.warmup_delay_ns.into_iter().chain(own.warmup_delay_ns);
    ThreadEvidence {
        // Each part's thread has a different ID.
        tid: sum.tid.filter(|tid| own.tid == Some(*tid)),
        rr_slice_ns: sum.rr_slice_ns.filter(|slice| own.rr_slice_ns == Some(*slice)),
        voluntary_switches: sum.voluntary_switches.saturating_add(own.voluntary_switches),
        involuntary_switches: sum.involuntary_switches.saturating_add(own.involuntary_switches),
        migrations: both(sum.migrations, own.migrations),
        minor_faults: sum.minor_faults.saturating_add(own.minor_faults),
        major_faults: sum.major_faults.saturating_add(own.major_faults),
        cpu_ns: sum.cpu_ns.saturating_add(own.cpu_ns),
        run_delay_ns: both(sum.run_delay_ns, own.run_delay_ns),
        // Absent means none: this is the part of the delay that does not count.
        warmup_delay_ns: warm_ups.reduce(u64::saturating_add),
        // Only over the parts that latido checked.
        longest_wait: sum.longest_wait.into_iter().chain(own.longest_wait).max_by_key(Wait::beyond_waking_ns),
        core: sum.core.zip(own.core).map(|(sum, own)| sum.and(own)),
        ..sum
    }
}
