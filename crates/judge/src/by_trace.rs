//! Compares a failure with the trace that latido recorded meanwhile: the trace decides whether other programs caused it.

use crate::late::{self, Spikes, TraceSource, Turn, Worst};
use latido_model::{
    record::{Evidence, TaskOwner},
    run::{SeriesSource, Shown, ShownBeside, StoredCell},
};
use std::collections::{BTreeMap, BTreeSet};

/// Returns what the trace of a cell shows about the samples above its limit. Empty without a readable trace: then the counts per second
/// decide.
pub fn shown(cell: &StoredCell, series: &dyn SeriesSource, traces: &dyn TraceSource) -> Shown {
    let Some((record, limit)) = cell.record().zip(cell.cell.conditions.limit) else { return Shown::default() };
    if record.quality.trace.is_none() {
        return Shown::default();
    }
    match late::of_cell(cell, 1, series, traces) {
        Ok(Ok(spikes)) => {
            let shown = shown_by(&spikes, &record.quality, limit.0, !record.cell.load.items.is_empty());
            // Any program may run on the CPU of a thread with a time-sharing policy, so latido blames no other program there.
            Shown { foreign: shown.foreign && !record.cell.scheduling.shares_time(), ..shown }
        }
        _ => Shown::default(),
    }
}

fn shown_by(spikes: &Spikes, evidence: &Evidence, limit_ns: u64, has_loads: bool) -> Shown {
    let known: Vec<&Worst> = spikes.spikes.iter().filter(|one| one.covered && !one.lost && one.ns > limit_ns).collect();
    let ran = |one: &Worst, of: &[Whose]| {
        let theirs = |turn: &Turn| of.contains(&Whose::of(&turn.task, evidence, has_loads));
        ran_ns(&one.turns, theirs)
    };
    let own = |one: &&Worst| {
        let others = ran(one, &[Whose::Foreign, Whose::Unknown]).saturating_add(one.ran_or_held_ns);
        let others = others.saturating_add(stolen_ns(one, evidence));
        one.ns.saturating_sub(others) > limit_ns
    };
    let foreign = |one: &&Worst| one.ns.saturating_sub(ran(one, &[Whose::Foreign])) <= limit_ns;
    let beside = known.iter().copied().filter(own).map(|one| one.ns).max().map(|own_ns| ShownBeside {
        foreign: known.iter().copied().filter(|one| foreign(one)).count() as u64,
        of: known.len() as u64,
        own_ns,
    });
    let all_known = !known.is_empty() && spikes.asked.above_limit == Some(known.len() as u64);
    Shown {
        own_failure: beside.is_some(),
        foreign: all_known && known.iter().copied().all(|one| foreign(&one)),
        beside: beside.filter(|beside| beside.foreign > 0),
        program: program(&known, evidence, has_loads),
    }
}

/// Returns how long these tasks kept the CPU, with the interrupts between two of them.
fn ran_ns(turns: &[Turn], theirs: impl Fn(&Turn) -> bool) -> u64 {
    let next = turns.iter().skip(1).map(Some).chain([None]);
    let taken = turns.iter().zip(next).filter(|(turn, _)| theirs(turn)).map(|(turn, next)| {
        let then_ns = if next.is_some_and(&theirs) { turn.then_ns } else { 0 };
        turn.ns.saturating_add(then_ns)
    });
    taken.fold(0, u64::saturating_add)
}

/// Finds the program that most often had the CPU for more than half of a sample. Short-lived programs with the same name count as one.
fn program(known: &[&Worst], evidence: &Evidence, has_loads: bool) -> Option<(String, u64)> {
    let mut counts: BTreeMap<&str, (u64, BTreeSet<&str>)> = BTreeMap::new();
    for one in known {
        let foreign = one.turns.iter().filter(|turn| Whose::of(&turn.task, evidence, has_loads) == Whose::Foreign);
        let mut sums: BTreeMap<&str, (u64, BTreeSet<&str>)> = BTreeMap::new();
        for turn in foreign {
            let sum = sums.entry(comm(&turn.task)).or_default();
            sum.0 = sum.0.saturating_add(turn.ns);
            sum.1.insert(&turn.task);
        }
        let most = sums.into_iter().max_by_key(|(_, (ns, _))| *ns);
        if let Some((comm, (_, names))) = most.filter(|(_, (ns, _))| ns.saturating_mul(2) > one.ns) {
            let count = counts.entry(comm).or_default();
            count.0 += 1;
            count.1.extend(names);
        }
    }
    let (comm, (samples, names)) = counts.into_iter().max_by_key(|(_, (samples, _))| *samples)?;
    let one = names.first().filter(|_| names.len() == 1).map(|name| (*name).to_owned());
    Some((one.unwrap_or_else(|| format!("{comm} ({} of them)", names.len())), samples))
}

/// The owner of a task that had the CPU during a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The task belongs to the cell's load, the kernel or latido.
    Own,
    /// The task belongs to another program.
    Foreign,
    /// The task belongs to a load's child or to another program: it was too short-lived to appear in `/proc`.
    Unknown,
}

/// The names that the kernel and latido give to their own threads of real-time priority.
const OF_THE_KERNEL: [&str; 9] =
    ["migration/", "irq/", "ktimers/", "ksoftirqd/", "kworker/", "rcu_", "rcuc/", "rcub/", "latido/"];

impl Whose {
    fn of(name: &str, evidence: &Evidence, has_loads: bool) -> Self {
        let tid = name.rsplit_once('-').and_then(|(_, tid)| tid.parse::<u32>().ok());
        let own = |owner: Option<TaskOwner>| !owner.unwrap_or(TaskOwner::Program).excuses();
        if let Some(task) = evidence.foreign.iter().find(|task| Some(task.tid) == tid) {
            return if own(task.owner) { Self::Own } else { Self::Foreign };
        }
        let comm = comm(name);
        // A load's children come and go without appearing in the list, and have the load's name. Measuring threads are in no list.
        let of_a_load = evidence.foreign.iter().any(|task| own(task.owner) && task.comm == comm);
        if of_a_load || OF_THE_KERNEL.iter().any(|begin| comm.starts_with(begin)) {
            return Self::Own;
        }
        if has_loads { Self::Unknown } else { Self::Foreign }
    }
}

/// Returns the name of a task without its number.
fn comm(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(comm, _)| comm)
}

/// Returns how long the hypervisor took the CPU in the seconds of a sample; a trace does not show this.
fn stolen_ns(one: &Worst, evidence: &Evidence) -> u64 {
    let from = one.since_start_ns.saturating_sub(one.ns);
    let touched = evidence.timeline.iter().filter(|second| {
        second.cpu.is_none_or(|cpu| cpu == one.cpu)
            && second.start_ns <= one.since_start_ns
            && second.start_ns.saturating_add(second.length_ns) > from
    });
    touched.map(|second| second.steal_ns).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::of_cell;
    use latido_model::{
        record::{Foreign, Second, Series},
        run::SeriesData,
        sample::{Fixture, cell, with_spike},
        verdict::Verdict,
    };
    use latido_trace::{
        events::Class,
        explain::{Begins, Cause, Slice, Window},
    };

    /// Builds a sample of 5.35 ms above 5 ms, in which these tasks ran for these times in this order. The thread itself needs the rest. `tick`
    /// is an interrupt.
    fn spikes(ran: &[(&str, u64)]) -> Spikes {
        let (mut at, end) = (1_000_000_000, 1_005_350_000);
        let mut slices: Vec<Slice> = Vec::new();
        for (name, ns) in ran {
            let task = Cause::Task((*name).into(), Class::RealTime);
            let cause = if *name == "tick" { Cause::Interrupt("timer".into()) } else { task };
            slices.push(Slice { begin: at, end: at + ns, cause });
            at += ns;
        }
        slices.push(Slice { begin: at, end, cause: Cause::Itself });
        let window = Window { begin: 1_000_000_000, end, pid: 1, cpu: 0, begins: Begins::Asleep };
        let found = late::explained(window, slices);
        Spikes {
            cell: "cell 1, wakeup".into(),
            evidence: "events only",
            asked: late::Asked { worst: 1, limit_ns: Some(5_000_000), above_limit: Some(1), most: 100 },
            jobs: Vec::new(),
            causes: late::Causes::of([&found].into_iter()),
            spikes: vec![Worst::of(Class::RealTime, "latido-1".into(), 1_005_350_000, &found)],
            lost_events: 0,
            cut: None,
        }
    }

    /// A run whose trace shows the second field.
    struct Traced<'a>(&'a Fixture, Shown);

    impl SeriesSource for Traced<'_> {
        fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
            self.0.series(cell, series)
        }

        fn shown(&self, _: &StoredCell) -> Shown {
            self.1.clone()
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

    /// A failure that a program's time would excuse stands if a trace shows that the machine failed by itself.
    #[test]
    fn the_trace_decides_a_verdict() {
        let mut fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 4_000, 150_000)])]);
        let second = Second { length_ns: 10_000_000_000, foreign_ns: 6_000_000, ..Second::default() };
        fixture.record(1).quality.timeline = vec![second];
        let judged = |shown| of_cell(&fixture.run.cells[0], &Traced(&fixture, shown));
        let own = judged(Shown { own_failure: true, ..Shown::default() });
        assert_eq!((judged(Shown::default()).verdict, own.verdict), (Verdict::Contaminated, Verdict::Fail));
        // Without a trace the time of a program may explain the sample; a trace names the program that ran.
        let told = |shown| {
            let judged = judged(shown);
            judged.findings.iter().find(|one| one.check == "foreign tasks").unwrap().text()
        };
        assert!(told(Shown::default()).ends_with("which may explain the samples that fail"));
        let named = told(Shown { foreign: true, program: Some(("planted-8".into(), 1)), ..Shown::default() });
        assert!(
            named.ends_with(
                "; the trace shows that planted-8 had the CPU for most of 1 late sample, which explains the samples that fail"
            ),
            "{named}"
        );
    }

    /// A trace shows programs that no look at `/proc` has seen: programs that live for a few ms do not fail a machine.
    #[test]
    fn the_trace_excuses_what_nobody_saw() {
        let fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 4_000, 150_000)])]);
        let judged = |shown| {
            let judged = of_cell(&fixture.run.cells[0], &Traced(&fixture, shown));
            let text = judged.findings.iter().find(|one| one.check == "foreign tasks").unwrap().text();
            (judged.verdict, text)
        };
        assert_eq!(judged(Shown::default()), (Verdict::Fail, "none seen".into()));
        let program = Some(("short-8".to_owned(), 1));
        let (verdict, text) = judged(Shown { foreign: true, program: program.clone(), ..Shown::default() });
        let had = "none seen in /proc; the trace shows that short-8 had the CPU for most of 1 late sample";
        assert_eq!((verdict, text), (Verdict::Contaminated, format!("{had}, which explains the samples that fail")));
        // A program caused one of several late samples: the failure stands, and the finding still names the program.
        let (verdict, text) = judged(Shown { own_failure: true, program, ..Shown::default() });
        assert_eq!((verdict, text), (Verdict::Fail, had.into()));
    }

    /// A program caused one of two late samples and the kernel the other: the failure stands, and its sentence must give both counts.
    #[test]
    fn a_failure_that_stands_counts_what_programs_made() {
        let mut both = spikes(&[("planted-8", 5_300_000)]);
        both.spikes.extend(spikes(&[("migration/1-99", 5_300_000)]).spikes);
        both.asked.above_limit = Some(2);
        let shown = shown_by(&both, &evidence(0), 5_000_000, false);
        let beside = ShownBeside { foreign: 1, of: 2, own_ns: 5_350_000 };
        assert_eq!((shown.own_failure, shown.foreign, shown.beside), (true, false, Some(beside)));
        let samples = [with_spike(0, 4_000, 150_000), vec![150_000]].concat();
        let fixture = Fixture::new(vec![(cell(), vec![samples])]);
        let judged = of_cell(&fixture.run.cells[0], &Traced(&fixture, shown));
        let told =
            judged.reasons.iter().map(crate::reason::Reason::sentence).collect::<String>().replace('\u{a0}', " ");
        assert!(told.contains("other programs caused 1 of the 2 late samples that the trace explains"), "{told}");
    }

    #[test]
    fn all_must_be_shown_before_programs_excuse_them() {
        let foreign = |spikes: &Spikes| shown_by(spikes, &evidence(0), 5_000_000, false).foreign;
        assert!(foreign(&spikes(&[("planted-8", 400_000), ("hog-7", 4_900_000)])));
        assert!(foreign(&spikes(&[("short-99", 400_000)])), "nobody saw it");
        assert!(
            !foreign(&spikes(&[("planted-8", 300_000), ("hog-7", 5_000_000)])),
            "without the program it had not kept it"
        );
        assert!(!foreign(&spikes(&[("migration/1-99", 5_300_000)])), "the kernel's");
        assert!(!foreign(&spikes(&[("latido/1-99", 5_300_000)])), "a measuring thread beside it");
        assert!(foreign(&spikes(&[("rcutool-99", 5_300_000)])), "a program that is called like the kernel's threads");
        // With loads in the cell, the task may be a load's child: the trace then neither excuses nor confirms the failure.
        let beside = shown_by(&spikes(&[("short-99", 5_300_000)]), &evidence(0), 5_000_000, true);
        assert_eq!(beside, Shown::default());
        assert!(!foreign(&spikes(&[])));
        let mut more = spikes(&[("planted-8", 5_300_000)]);
        more.asked.above_limit = Some(2);
        assert!(!foreign(&more), "the other one is not in the trace");
        let mut lost = spikes(&[("planted-8", 5_300_000)]);
        lost.spikes[0].lost = true;
        assert!(!foreign(&lost));
        // A trace does not show stolen time: the counts per second cover it.
        let stolen = shown_by(&spikes(&[("hog-7", 5_300_000)]), &evidence(10_000_000), 5_000_000, false);
        assert!(!stolen.own_failure && !stolen.foreign);
    }

    #[test]
    fn the_trace_tells_the_load_from_others() {
        let own =
            |ran: &[(&str, u64)], steal_ns| shown_by(&spikes(ran), &evidence(steal_ns), 5_000_000, true).own_failure;
        assert!(own(&[("hog-7", 5_300_000)], 0), "99 % of it is the load's");
        assert!(own(&[("hog-99", 5_300_000)], 0), "so is a child of its name");
        assert!(!own(&[("planted-8", 5_300_000)], 0));
        assert!(!own(&[("planted-8", 400_000), ("hog-7", 4_900_000)], 0), "without the program it had kept its limit");
        assert!(own(&[("planted-8", 300_000), ("hog-7", 5_000_000)], 0), "without the program it had not");
        assert!(!own(&[("hog-7", 5_300_000)], 10_000_000), "stolen time stands in no trace");
        let mut either = spikes(&[]);
        either.spikes[0].ran_or_held_ns = 5_300_000;
        let shown = shown_by(&either, &evidence(0), 5_000_000, false);
        assert!(!shown.own_failure && !shown.foreign, "another task or the program's quota: it is blamed on neither");
    }

    /// While a program has the CPU, an interrupt delays nobody else: it must not make the machine fail. One before or after the program does.
    #[test]
    fn interrupts_within_a_program_are_not_the_machine_s() {
        let shown = |ran: &[(&str, u64)]| {
            let mut spikes = spikes(ran);
            spikes.asked.limit_ns = Some(100_000);
            let shown = shown_by(&spikes, &evidence(0), 100_000, false);
            (shown.own_failure, shown.foreign)
        };
        let within = [("planted-8", 2_600_000), ("tick", 150_000), ("planted-8", 2_590_000)];
        assert_eq!(shown(&within), (false, true));
        let between = [("planted-8", 2_600_000), ("tick", 150_000), ("short-9", 2_590_000)];
        assert_eq!(shown(&between), (false, true), "two programs, one after the other");
        assert_eq!(shown(&[("tick", 150_000), ("planted-8", 5_190_000)]), (true, false));
        assert_eq!(shown(&[("planted-8", 5_190_000), ("tick", 150_000)]), (true, false));
        assert_eq!(shown(&[("planted-8", 2_600_000), ("tick", 150_000), ("hog-7", 2_590_000)]), (true, false));
    }

    /// latido names the program that had most of a sample, not a load or a program that ran briefly.
    #[test]
    fn the_trace_names_the_program() {
        let program = |ran: &[(&str, u64)]| shown_by(&spikes(ran), &evidence(0), 5_000_000, false).program;
        assert_eq!(program(&[("planted-8", 5_200_000), ("visitor-9", 30_000)]), Some(("planted-8".into(), 1)));
        assert_eq!(program(&[("hog-7", 5_300_000)]), None);
        assert_eq!(program(&[("hog-7", 4_000_000), ("visitor-9", 1_000_000)]), None);
        let many = program(&[("burst-20", 2_000_000), ("burst-21", 3_000_000)]);
        assert_eq!(many, Some(("burst (2 of them)".into(), 1)));
    }
}
