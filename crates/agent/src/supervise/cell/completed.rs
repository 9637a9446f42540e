//! Completes a record with the facts that only the supervisor knows.

use crate::{
    machine::{heat::TooHot, isolated::Entry},
    supervise::{in_force::InForce, outgoing::Parcel},
};
use anyhow::{Result, bail};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    machine::Machine,
    plan::scheduling::DEFAULT,
    record::{ByHand, Evidence, Overheated, Record, Second},
};

/// The machine as it is measured, once the tunings are in force.
#[derive(Default)]
pub(super) struct Found {
    pub(super) machine: Machine,
    /// The tunings that persons had applied.
    pub(super) by_hand: Vec<ByHand>,
    /// The groups that give access to isolated CPUs.
    pub(super) entries: Vec<Entry>,
}

/// Adds the facts that only the supervisor knows to the measuring process's record. `watched_from` is the zero of the evidence's times on
/// CLOCK_MONOTONIC; a record's zero is its first slot.
pub(super) fn complete(record: &mut Record, machine: &Machine, borrowed: &InForce, seen: Evidence, watched_from: u64) {
    let evidence = &mut record.quality;
    evidence.unwatched = seen.unwatched;
    evidence.steal_ns = seen.steal_ns;
    evidence.smi = seen.smi;
    evidence.moved_pages = seen.moved_pages;
    evidence.frequency_khz = seen.frequency_khz;
    evidence.temperature_mc = seen.temperature_mc;
    evidence.foreign = seen.foreign;
    evidence.interrupts = seen.interrupts;
    evidence.siblings = seen.siblings;
    evidence.tracing = seen.tracing;
    evidence.stopped = seen.stopped;
    evidence.wall_steps = seen.wall_steps;
    evidence.held_back = seen.held_back;
    evidence.by_hand = seen.by_hand;
    let shift = watched_from.wrapping_sub(record.anchors.monotonic_ns).cast_signed();
    evidence.timeline = seen.timeline;
    evidence.timeline.iter_mut().for_each(|second| *second = since_first_slot(*second, shift));
    for thread in &mut evidence.threads {
        let watched = seen.threads.iter().find(|watched| watched.tid.is_some() && watched.tid == thread.tid);
        thread.longest_wait = watched.and_then(|watched| watched.longest_wait);
        thread.longest_wait.iter_mut().for_each(|wait| wait.start_ns = wait.start_ns.saturating_add_signed(shift));
    }
    evidence.dma_latency_held = borrowed
        .tunings
        .iter()
        .any(|t| t.record.in_force && t.record.changes.iter().any(|change| change.knob == "/dev/cpu_dma_latency"));
    evidence.autogroup = machine.realtime.autogroup;
    evidence.throttle.rt_runtime_us = machine.realtime.runtime_us;
    evidence.throttle.rt_period_us = machine.realtime.period_us;
    evidence.throttle.fair_server = Some(machine.realtime.fair_server.to_string());
    evidence.clock.source = machine.clock.current.clone();
    record.machine = machine.clone();
    let origin = record.anchors.monotonic_ns;
    record.load = borrowed.loads.iter().map(|load| load.record(origin)).collect();
    record.tunings = borrowed.tunings.iter().map(|applied| applied.record.clone()).collect();
    record.skipped.extend(borrowed.skipped.iter().cloned());
}

/// Counts an entry from the record's first slot, which is `shift` before the start of the watch. What the watch saw first may have begun
/// before it: such an entry covers the time from the first slot on.
fn since_first_slot(second: Second, shift: i64) -> Second {
    let start_ns = second.start_ns.saturating_add_signed(shift);
    if second.start_ns > 0 || shift < 0 {
        return Second { start_ns, ..second };
    }
    Second { start_ns: 0, length_ns: second.length_ns.saturating_add(start_ns), ..second }
}

/// Returns the record's entry about the heat that ended its loads. Both times are on CLOCK_MONOTONIC in ns: when it was too hot, and the
/// record's first slot.
pub(super) fn overheated((when, hot): (u64, TooHot), first_slot_ns: u64) -> Overheated {
    Overheated {
        at_ns: when.wrapping_sub(first_slot_ns).cast_signed(),
        temperature_mc: hot.temperature,
        limit_mc: hot.limit,
    }
}

/// Returns what a measuring process that has ended produced.
///
/// # Errors
/// It produced no record. The message gives its own reason, or how it ended.
pub(super) fn given(record: Option<Parcel>, failure: Option<String>, ended: &str) -> Result<Parcel> {
    match (record, failure) {
        (Some(parcel), _) => Ok(parcel),
        (None, Some(why)) => bail!(why),
        (None, None) => bail!("the measuring process produced no record: it {ended}"),
    }
}

/// Returns the CPUs of a cell that has been assigned to them.
pub(super) fn measured_cpus(cell: &Cell) -> CpuSet {
    cell.conditions.cpus.clone().unwrap_or_default()
}

/// Returns the priority that another task must reach to delay the probe. Deadline tasks yield only to other deadline tasks.
pub(super) fn priority(scheduling: Scheduling) -> Option<u8> {
    match scheduling {
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle | Scheduling::Unknown => None,
        // The watched tasks may have several priorities. A task that would delay a thread of latido delays most of them.
        Scheduling::Own => priority(DEFAULT),
        Scheduling::Fifo { prio } | Scheduling::Rr { prio } => Some(prio),
        Scheduling::Deadline { .. } => Some(100),
        // No task of the kernel delays a thread that a core schedules.
        Scheduling::Evl { .. } | Scheduling::Cobalt { .. } => Some(u8::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Applied;
    use latido_model::{
        cell::Item,
        record::{Change, Skip, ThreadEvidence, TuningRecord, Wait},
        sample,
        units::Ns,
    };
    use std::path::PathBuf;

    /// A record without samples.
    fn record() -> Record {
        sample::measured(sample::cell(), &[])
    }

    /// The evidence counts from the beginning of the watch, which may be before or after the record's first slot. The record's times must
    /// count from its first slot.
    #[test]
    fn times_of_the_evidence_count_from_the_first_slot() {
        let first = 1_000;
        let starts = |watched_from: u64| {
            let mut record = record();
            record.anchors.monotonic_ns = first;
            let second = |start_ns| Second { start_ns, length_ns: 100, ..Second::default() };
            record.quality.threads = vec![ThreadEvidence { tid: Some(7), ..ThreadEvidence::default() }];
            let wait = Wait { start_ns: 300, length_ns: 9, waited_ns: 9, runs: 1 };
            let seen = Evidence {
                timeline: vec![second(0), second(700)],
                threads: vec![ThreadEvidence { tid: Some(7), longest_wait: Some(wait), ..ThreadEvidence::default() }],
                ..Evidence::default()
            };
            let borrowed = InForce {
                skipped: vec![Skip { what: "tuning cstates".into(), why: "no such file".into() }],
                ..InForce::default()
            };
            let before = record.skipped.len();
            complete(&mut record, &Machine::default(), &borrowed, seen, watched_from);
            assert_eq!(record.skipped.len(), before + 1);
            let waits = record.quality.threads.iter().filter_map(|thread| thread.longest_wait);
            let seconds = record.quality.timeline.iter().map(|second| (second.start_ns, second.length_ns));
            seconds.chain(waits.map(|wait| (wait.start_ns, wait.length_ns))).collect::<Vec<_>>()
        };
        let late = [(0, 150), (750, 100), (350, 9)];
        assert_eq!(starts(first + 50), late, "what the watch saw first may have begun before it");
        assert_eq!(starts(first - 200), [(0, 100), (500, 100), (100, 9)], "nothing is before the first slot");
        let hot = TooHot { temperature: 97_000, limit: 95_000 };
        let told = |when| overheated((when, hot), first);
        assert_eq!((told(first + 9).at_ns, told(first - 9).at_ns), (9, -9), "negative in the warm-up");
        assert_eq!((told(first).temperature_mc, told(first).limit_mc), (97_000, 95_000));
    }

    /// Each record must contain the state of the machine, whatever the measuring process reported.
    #[test]
    fn a_record_says_what_the_machine_was() {
        let (mut record, mut machine) = (record(), Machine::default());
        machine.realtime.runtime_us = Some(950_000);
        machine.clock.current = Some("hpet".into());
        for in_force in [false, true] {
            let knob = "/dev/cpu_dma_latency".into();
            let change = Change { knob, original: "2 µs".into(), new: "0 µs".into() };
            let tuning =
                TuningRecord { item: Item::default(), changes: vec![change], in_force, note: None, programs: vec![] };
            let tunings = vec![Applied { record: tuning.clone(), guard: Box::new(()) }];
            let seen = Evidence { steal_ns: Some(7), ..Evidence::default() };
            complete(&mut record, &machine, &InForce { tunings, ..InForce::default() }, seen, 0);
            let quality = &record.quality;
            assert_eq!((quality.steal_ns, quality.throttle.rt_runtime_us), (Some(7), Some(950_000)));
            assert_eq!((quality.clock.source.as_deref(), quality.dma_latency_held), (Some("hpet"), in_force));
            assert_eq!(record.machine, machine);
            assert_eq!(record.tunings, [tuning]);
        }
    }

    /// A record counts even if there was also an error. Without a record, the process's own reason counts, else how it ended.
    #[test]
    fn no_record_has_a_reason() {
        let parcel = || Parcel { record: Box::new(record()), files: Vec::new(), dir: PathBuf::from("/nowhere") };
        assert!(given(Some(parcel()), Some("no".into()), "ended").is_ok());
        let why = |failure: Option<&str>| {
            given(None, failure.map(str::to_owned), "ended with signal: 9 (SIGKILL)").unwrap_err().to_string()
        };
        assert_eq!(why(Some("the spool is full")), "the spool is full");
        assert_eq!(why(None), "the measuring process produced no record: it ended with signal: 9 (SIGKILL)");
    }

    #[test]
    fn only_what_ranks_as_high_delays_a_probe() {
        let deadline = Scheduling::Deadline { runtime: Ns(1), deadline: Ns(2), period: Ns(2) };
        let asked = [Scheduling::Fifo { prio: 80 }, Scheduling::Rr { prio: 1 }, deadline, Scheduling::OTHER];
        assert_eq!(asked.map(priority), [Some(80), Some(1), Some(100), None]);
    }
}
