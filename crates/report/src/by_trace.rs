//! A failure that foreign time would excuse, held against the trace that was recorded meanwhile: the trace decides.

use crate::late::{self, Spikes, TraceSource, Worst};
use latido_model::{
    record::{Evidence, TaskOwner},
    run::{SeriesSource, StoredCell},
};

/// Whether the trace of a cell shows a sample above the limit that the machine, or the cell's own load, made late by itself. No
/// where there is no trace, or it cannot be read: what was counted second by second then stands.
pub fn shows_own_failure(cell: &StoredCell, series: &dyn SeriesSource, traces: &dyn TraceSource) -> bool {
    let Some((record, limit)) = cell.record().zip(cell.cell.conditions.limit) else { return false };
    if record.quality.trace.is_none() {
        return false;
    }
    let found = late::of_cell(cell, 1, series, traces);
    found.is_ok_and(|found| found.is_ok_and(|spikes| any_is_own(&spikes, &record.quality, limit.0)))
}

fn any_is_own(spikes: &Spikes, evidence: &Evidence, limit_ns: u64) -> bool {
    let known = |one: &&Worst| one.covered && !one.lost && one.ns > limit_ns;
    let own = |one: &Worst| one.ns.saturating_sub(foreign_ns(one, evidence)) > limit_ns;
    spikes.spikes.iter().filter(known).any(own)
}

/// How much of a sample others had: programs that are no load of the cell, and the hypervisor, of which a trace says nothing, for
/// as long as it took in those seconds.
fn foreign_ns(one: &Worst, evidence: &Evidence) -> u64 {
    let is_own = |name: &str| {
        let (comm, tid) = name.rsplit_once('-').unwrap_or((name, ""));
        let own = |owner: Option<TaskOwner>| matches!(owner, Some(TaskOwner::Load | TaskOwner::Kernel));
        let listed = evidence.foreign.iter().find(|task| tid.parse() == Ok(task.tid));
        // A load's children come and go unlisted, and bear its name.
        listed.map_or_else(
            || evidence.foreign.iter().any(|task| own(task.owner) && task.comm == comm),
            |task| own(task.owner),
        )
    };
    let tasks: u64 = one.ran.iter().filter(|(name, _)| !is_own(name)).map(|(_, ns)| *ns).sum();
    let from = one.since_start_ns.saturating_sub(one.ns);
    let touched = evidence.timeline.iter().filter(|second| {
        second.cpu.is_none_or(|cpu| cpu == one.cpu)
            && second.start_ns <= one.since_start_ns
            && second.start_ns.saturating_add(second.length_ns) > from
    });
    tasks.saturating_add(touched.map(|second| second.steal_ns).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::record::{Foreign, Second};
    use latido_trace::{
        events::Class,
        explain::{Cause, Chain, Explained, Slice, Window},
    };

    /// A sample of 5.35 ms above 5 ms, of which these tasks had so much each, in order; the rest is its own way back.
    fn spikes(ran: &[(&str, u64)]) -> Spikes {
        let (mut at, end) = (1_000_000_000, 1_005_350_000);
        let mut slices: Vec<Slice> = Vec::new();
        for (name, ns) in ran {
            slices.push(Slice { begin: at, end: at + ns, cause: Cause::Task((*name).into(), Class::RealTime) });
            at += ns;
        }
        slices.push(Slice { begin: at, end, cause: Cause::Itself });
        let window = Window { begin: 1_000_000_000, end, pid: 1, cpu: 0, slept: true };
        let (segments, excerpt, chain) = (Vec::new(), Vec::new(), Chain::default());
        let found = Explained { window, name: None, slices, segments, excerpt, omitted: 0, chain };
        Spikes {
            cell: "cell 1, wakeup".into(),
            evidence: "events only",
            asked: late::Asked { worst: 1, limit_ns: Some(5_000_000), above_limit: Some(1), most: 100 },
            causes: late::Causes::of([&found].into_iter()),
            spikes: vec![Worst::of(Class::RealTime, "latido-1".into(), 1_005_350_000, &found)],
            lost_events: 0,
            cut: None,
        }
    }

    fn evidence(steal_ns: u64) -> Evidence {
        let task =
            |comm: &str, tid, owner| Foreign { comm: comm.into(), tid, owner: Some(owner), ..Foreign::default() };
        let second = Second { start_ns: 1_000_000_000, length_ns: 1_000_000_000, steal_ns, ..Second::default() };
        Evidence {
            foreign: vec![task("hog", 7, TaskOwner::Load), task("planted", 8, TaskOwner::Program)],
            timeline: vec![second],
            ..Evidence::default()
        }
    }

    /// A failure that a program's time would excuse stands where a trace shows that the machine failed by itself.
    #[test]
    fn the_trace_decides_a_verdict() {
        use crate::judge::judging::of_cell;
        use latido_model::{
            record::Series,
            run::SeriesData,
            sample::{Fixture, cell, with_spike},
            verdict::Verdict,
        };
        struct Traced<'a>(&'a Fixture, bool);
        impl SeriesSource for Traced<'_> {
            fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
                self.0.series(cell, series)
            }
            fn shows_own_failure(&self, _: &StoredCell) -> bool {
                self.1
            }
        }
        let mut fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 4_000, 150_000)])]);
        let second = Second { length_ns: 10_000_000_000, foreign_ns: 6_000_000, ..Second::default() };
        fixture.record(1).quality.timeline = vec![second];
        let verdict = |own| of_cell(&fixture.run.cells[0], &Traced(&fixture, own)).verdict;
        assert_eq!((verdict(false), verdict(true)), (Verdict::Contaminated, Verdict::Fail));
    }

    #[test]
    fn the_trace_tells_the_load_from_others() {
        let own = |ran: &[(&str, u64)], steal_ns| any_is_own(&spikes(ran), &evidence(steal_ns), 5_000_000);
        assert!(own(&[("hog-7", 5_300_000)], 0), "99 % of it is the load's");
        assert!(own(&[("hog-99", 5_300_000)], 0), "so is a child of its name");
        assert!(!own(&[("planted-8", 5_300_000)], 0));
        assert!(!own(&[("planted-8", 400_000), ("hog-7", 4_900_000)], 0), "without the program it had kept its limit");
        assert!(own(&[("planted-8", 300_000), ("hog-7", 5_000_000)], 0), "without the program it had not");
        assert!(!own(&[("hog-7", 5_300_000)], 10_000_000), "stolen time stands in no trace");
    }
}
