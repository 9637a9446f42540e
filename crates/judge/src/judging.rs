//! Judges a stored run: its cells against their limits, its expectations, and the verdict.

use super::{
    decide,
    deciding::{Deciding, Stored},
    expect,
    finding::{Finding, Grade},
    headline::Ground,
    judgement::{CellJudgement, ExpectJudgement, Judgement},
    limit, parts,
    reason::Reason,
    trust::{self, CHECKS},
    trusted,
};
use latido_model::{
    consistency::contradictions,
    record::{Outcome, Record},
    run::{CellState, Run, SeriesSource, StoredCell},
    verdict::Verdict,
};

/// Judges a whole run.
pub fn of_run(run: &Run, source: &dyn SeriesSource) -> Judgement {
    let cells: Vec<CellJudgement> = run.cells.iter().map(|cell| of_cell(cell, source)).collect();
    let weighed = expect::judge(run, &cells, source);
    let closest = weighed.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(one, _)| one.clone());
    let expectations: Vec<ExpectJudgement> = weighed.into_iter().map(|(one, _)| one).collect();
    // A skipped cell decides nothing by itself; an expectation that needs it is inconclusive.
    let tried: Vec<Verdict> = cells.iter().map(|cell| cell.verdict).filter(|one| *one != Verdict::Skipped).collect();
    let judged = tried.iter().copied().chain(expectations.iter().map(|one| one.verdict));
    let mut verdict = judged.fold(Verdict::Pass, Verdict::worst_for_run);
    if run.damaged || tried.is_empty() {
        verdict = verdict.worst_for_run(Verdict::Inconclusive);
    }
    let headline = decide::headline(run, verdict, &cells, &expectations, closest.as_ref(), source);
    let advice = match &headline.rest {
        Some(Ground::Unjudged(seen)) if !decide::is_judged(run) => trusted::advice(run, &cells, seen),
        _ if verdict == Verdict::Fail => trusted::after_failure(run, &cells),
        _ => None,
    };
    let unjudged = run.plan.unjudged.clone();
    Judgement { verdict, exit: verdict.exit(), headline, advice, cells, expectations, unjudged }
}

/// Judges one cell: whether its record can be true, whether it is what the user requested, and whether it keeps its limit.
pub fn of_cell(cell: &StoredCell, source: &dyn SeriesSource) -> CellJudgement {
    let without =
        |verdict, reason| CellJudgement { number: cell.number, verdict, reasons: vec![reason], findings: Vec::new() };
    match &cell.state {
        CellState::Pending => without(Verdict::Inconclusive, Reason::NotStarted),
        CellState::Open => without(Verdict::Inconclusive, Reason::NeverFinished),
        CellState::Infra(why) => without(Verdict::Infra, Reason::Broken(why.clone())),
        CellState::Skipped(why) => without(Verdict::Skipped, Reason::Skipped(why.clone())),
        CellState::Measured(record) => measured(cell, record, source),
    }
}

/// The result of a record by itself.
struct Weighed {
    contradictions: Vec<Reason>,
    findings: Vec<Finding>,
    by_limit: Verdict,
    figure: Reason,
    unread: Vec<Reason>,
}

fn weigh(cell: &StoredCell, record: &Record, source: &dyn SeriesSource) -> Weighed {
    let timed = limit::judged(record, &cell.measurand);
    let mut unread = Vec::new();
    let (mut largest, mut bins) = (Vec::new(), Vec::new());
    for series in &timed {
        match source.series(cell, series) {
            Ok(data) => {
                bins.push(data.bins);
                // The times of these samples on the machine's clock are unknown, so no event on the machine can explain them.
                let placed = series.facts.get("placed") != Some(&0);
                largest.push((*series, if placed { data.largest } else { Vec::new() }));
            }
            Err(error) => {
                // A series whose samples cannot be read counts as one without stored samples: a failure then stays unexplained.
                unread.push(Reason::Unread(format!("{error:#}")));
                bins.push(Vec::new());
                largest.push((*series, Vec::new()));
            }
        }
    }
    let stored: Vec<Stored<'_>> = largest
        .iter()
        .map(|(series, largest)| Stored { thread: series.thread, count: series.count, cpu: series.cpu, largest })
        .collect();
    let mut deciding = Deciding::new(record, record.cell.conditions.limit.map(|limit| limit.0 as f64), &stored);
    if deciding.is_foreign() || (deciding.count > 0 && is_soon_read(record)) {
        deciding.heed(source.shown(cell));
    }
    let findings = trust::findings(record, &deciding);
    let (by_limit, figure) = limit::against(record, &cell.measurand, &timed, &bins, &deciding);
    let contradictions = contradictions(record).into_iter().map(|what| Reason::Contradiction { part: None, what });
    Weighed { contradictions: contradictions.collect(), findings, by_limit, figure, unread }
}

/// latido reads a larger trace (bytes) only where the counted time excuses a failure, because lists judge many runs.
const SOON_READ: u64 = 16 << 20;

/// Whether the cell's trace can be read quickly, or does not exist.
fn is_soon_read(record: &Record) -> bool {
    record.quality.trace.as_ref().is_none_or(|trace| trace.bytes <= SOON_READ)
}

/// Weighs a cell in parts: its figures are pooled, its evidence is that of each part.
fn weigh_parts(cell: &StoredCell, record: &Record, source: &dyn SeriesSource) -> Weighed {
    let whole = weigh(cell, record, source);
    let each = cell.parts.iter().filter_map(|part| Some(weigh(&part.cell, part.cell.record()?, source)));
    let (contradictions, findings): (Vec<Vec<Reason>>, Vec<Vec<Finding>>) =
        each.map(|part| (part.contradictions, part.findings)).unzip();
    let contradictions = (1..).zip(contradictions).flat_map(|(number, reasons)| {
        reasons.into_iter().map(move |reason| match reason {
            Reason::Contradiction { what, .. } => {
                Reason::Contradiction { part: Some((number, cell.parts.len())), what }
            }
            other => other,
        })
    });
    let contradictions = contradictions.collect();
    Weighed { contradictions, findings: parts::findings(&findings), ..whole }
}

fn measured(cell: &StoredCell, record: &Record, source: &dyn SeriesSource) -> CellJudgement {
    let weighed = if cell.parts.is_empty() { weigh } else { weigh_parts }(cell, record, source);
    let Weighed { contradictions, findings, by_limit, figure, unread } = weighed;
    let verdict = if !contradictions.is_empty() {
        Verdict::Infra
    } else if let Some(first) = findings.iter().find(|finding| finding.grade == Grade::Invalid) {
        CHECKS.iter().find(|check| check.name == first.check).map_or(Verdict::Inconclusive, |check| check.invalid)
    } else if record.source.is_some() && findings.iter().any(|finding| finding.grade == Grade::Contaminated) {
        // latido does not know when an event of an import happened, so it cannot distinguish the affected samples.
        Verdict::Contaminated
    } else if decide::is_unfinished(cell) && by_limit == Verdict::Pass {
        Verdict::Inconclusive
    } else {
        by_limit
    };
    let mut reasons = contradictions;
    let weighty = findings.iter().filter(|finding| finding.grade >= Grade::Contaminated);
    reasons.extend(weighty.cloned().map(Reason::Doubt));
    let cut = match record.outcome {
        Outcome::Checkpoint => Some(Reason::Checkpoint),
        Outcome::Interrupted => Some(Reason::Interrupted { after_ns: record.elapsed_ns }),
        Outcome::Complete | Outcome::Stopped { .. } => None,
    };
    // A failure stands, however early the cell ended; otherwise the early end is the reason that there is no verdict.
    let failed = verdict == Verdict::Fail;
    reasons.extend(cut.clone().filter(|_| !failed));
    reasons.push(figure);
    reasons.extend(cut.filter(|_| failed));
    reasons.extend(Some(parts::told(cell)).filter(|told| !told.is_empty()).map(Reason::InParts));
    reasons.extend(unread);
    CellJudgement { number: cell.number, verdict, reasons, findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        record::{LoadRecord, Second, Slots},
        sample::{Fixture, cell, quiet, under, with_spike},
    };

    fn judged(fixture: &Fixture) -> Judgement {
        of_run(&fixture.run, fixture)
    }

    fn spiky() -> Fixture {
        Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("busy"), vec![quiet(0), with_spike(1, 3_000, 228_000)]),
        ])
    }

    #[test]
    fn within_the_limit_passes_and_tells_the_room() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Pass, 0));
        insta::assert_snapshot!(judgement.headline.sentence(), @"wakeup, idle: worst 24.8 µs of 20000 samples (latency, CPU 1), 75.2 µs inside the limit of 100 µs");
    }

    #[test]
    fn one_sample_above_the_limit_fails() {
        let judgement = judged(&spiky());
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Fail, 2));
        assert_eq!(judgement.cells[0].verdict, Verdict::Pass);
        insta::assert_snapshot!(judgement.headline.sentence(), @"wakeup, busy: 1 of 20000 samples above the limit of 100 µs, worst 228 µs (latency, CPU 1)");
    }

    /// A cell that failed before it was interrupted must report the failure.
    #[test]
    fn an_early_end_hides_no_failure() {
        let mut fixture = spiky();
        fixture.record(2).outcome = Outcome::Interrupted;
        let judgement = judged(&fixture);
        assert_eq!(judgement.verdict, Verdict::Fail);
        let said = judgement.headline.sentence();
        assert!(said.contains("1 of 20000 samples above the limit of 100 µs, worst 228 µs"), "{said}");
        let reasons = &judgement.cells[1].reasons;
        assert!(matches!(reasons[1], Reason::Interrupted { .. }), "{reasons:?}");
        fixture.record(2).outcome = Outcome::Complete;
        fixture.record(1).outcome = Outcome::Interrupted;
        assert!(matches!(judged(&fixture).cells[0].reasons[0], Reason::Interrupted { .. }));
    }

    /// A slot that an earlier job may have served decides nothing by itself. Another late slot, of any thread, decides.
    #[test]
    fn unclear_slots_alone_decide_nothing() {
        let mut fixture = spiky();
        fixture.record(2).series[1].facts.insert("unclear".into(), 1);
        assert_eq!(judged(&fixture).verdict, Verdict::Inconclusive);
        let spike = |thread| with_spike(thread, 3_000, 228_000);
        let mut fixture = Fixture::new(vec![(under("busy"), vec![spike(0), spike(1)])]);
        fixture.record(1).series[1].facts.insert("unclear".into(), 1);
        assert_eq!(judged(&fixture).verdict, Verdict::Fail, "the other thread's is certain");
        fixture.record(1).series[0].slots = None;
        fixture.record(1).series[0].facts.insert("unclear".into(), 1);
        assert_eq!(judged(&fixture).verdict, Verdict::Fail, "what has no slots has none that are unclear");
    }

    /// A job that may have continued into the next slot decides nothing, if the limit is the program's own period.
    #[test]
    fn jobs_that_may_have_been_late_decide_nothing() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        fixture.record(1).series[0].facts.insert("open".into(), 2);
        assert_eq!(judged(&fixture).verdict, Verdict::Pass);
        let limit = fixture.run.cells[0].cell.conditions.limit;
        fixture.run.cells[0].measurand.own_limit = limit;
        let judgement = judged(&fixture);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        let said = judgement.headline.sentence();
        assert!(said.contains("2 jobs may have ended in the next slot, which the events do not show"), "{said}");
        fixture.record(1).series[0].facts.insert("open".into(), 0);
        assert_eq!(judged(&fixture).verdict, Verdict::Pass);
    }

    #[test]
    fn stolen_time_in_the_deciding_second_contaminates_a_failure() {
        let mut fixture = spiky();
        let second =
            Second { start_ns: 3_000_000_000, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() };
        let quality = &mut fixture.record(2).quality;
        quality.steal_ns = Some(10_000_000);
        quality.timeline.push(second);
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Contaminated, 3));
        insta::assert_snapshot!(judgement.headline.sentence(), @"wakeup, busy: steal: 10.0 ms of the measured CPUs' time stolen, which may explain the samples that fail (the kernel counts it in ticks of 10 ms); 1 of 20000 samples above the limit of 100 µs, worst 228 µs (latency, CPU 1)");
    }

    /// A program that leaves out more jobs than its late jobs cover has left them out itself, whatever was stolen.
    #[test]
    fn stolen_time_excuses_no_jobs_that_a_program_left_out() {
        let verdict = |missed: u64| {
            let mut fixture = spiky();
            let limit = fixture.run.cells[1].cell.conditions.limit;
            fixture.run.cells[1].measurand.own_limit = limit;
            let record = fixture.record(2);
            record.quality.steal_ns = Some(10_000_000);
            let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
            record.quality.timeline.push(Second { start_ns, length_ns, steal_ns: 10_000_000, ..Second::default() });
            for series in &mut record.series {
                series.facts.insert("unclear".into(), 0);
            }
            // One job that is late by 228 us covers three slots of 100 us.
            record.series[1].slots = Some(Slots { met: 9_999, late: 1, missed });
            judged(&fixture).cells[1].verdict
        };
        assert_eq!(
            [0, 3, 4, 46].map(verdict),
            [Verdict::Contaminated, Verdict::Contaminated, Verdict::Fail, Verdict::Fail]
        );
    }

    /// A guest that loses a little time in every second still passes.
    #[test]
    fn steal_everywhere_leaves_a_pass() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let quality = &mut fixture.record(1).quality;
        quality.steal_ns = Some(100_000_000);
        for start in 0..10 {
            let start_ns = start * 1_000_000_000;
            quality.timeline.push(Second {
                start_ns,
                length_ns: 1_000_000_000,
                steal_ns: 10_000_000,
                ..Second::default()
            });
        }
        assert_eq!(judged(&fixture).verdict, Verdict::Pass);
    }

    #[test]
    fn what_was_not_real_time_is_inconclusive_even_if_it_fails() {
        let mut fixture = spiky();
        fixture.record(2).quality.policy_refused =
            Some("fifo 80 was refused: EPERM, allow it with `ulimit -r 99`".into());
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Inconclusive, 3));
        assert!(judgement.headline.sentence().contains("refused"), "{}", judgement.headline.sentence());
    }

    #[test]
    fn a_dead_load_contaminates() {
        let mut fixture = spiky();
        let load = &mut fixture.record(1).load;
        let item = latido_model::cell::Item { name: "spin".into(), options: toml::Table::new() };
        load.push(LoadRecord {
            item,
            argv: vec![],
            version: None,
            note: None,
            alive: false,
            died: None,
            cpu_ns: None,
            achieved: Default::default(),
            rates: Default::default(),
            unaccounted: None,
            commands: vec![],
            programs: vec![],
            ..LoadRecord::default()
        });
        assert_eq!(judged(&fixture).verdict, Verdict::Contaminated);
    }

    #[test]
    fn a_record_that_contradicts_itself_is_the_tools_failure() {
        let mut fixture = spiky();
        fixture.record(1).series[0].mean = Some(-1.0);
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Infra, 1));
        assert!(judgement.headline.sentence().contains("contradicts"), "{}", judgement.headline.sentence());
    }

    #[test]
    fn unfinished_cells_are_no_pass() {
        for state in [CellState::Pending, CellState::Open] {
            let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(0)])]);
            fixture.run.cells[1].state = state;
            assert_eq!(judged(&fixture).verdict, Verdict::Inconclusive);
        }
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        for outcome in [Outcome::Checkpoint, Outcome::Interrupted] {
            fixture.record(1).outcome = outcome;
            assert_eq!(judged(&fixture).verdict, Verdict::Inconclusive);
        }
        assert_eq!(judged(&Fixture::new(vec![])).verdict, Verdict::Inconclusive);
        assert_eq!(judged(&Fixture::new(vec![(cell(), vec![vec![]])])).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn an_unreadable_plan_is_no_pass() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        fixture.run.damaged = true;
        fixture.run.problems.push("plan.toml: cut short".into());
        let judgement = judged(&fixture);
        assert_eq!(judgement.exit, 3);
        assert!(judgement.headline.sentence().contains("cut short"), "{}", judgement.headline.sentence());
    }

    /// No limit applies to a mean of many calls in picoseconds, but it was measured: the cell does not count as one without samples.
    #[test]
    fn a_cell_of_batches_alone_has_samples() {
        let mut batches = cell();
        batches.conditions.limit = None;
        let mut fixture = Fixture::new(vec![(batches, vec![vec![12_000; 10], vec![12_500; 10]])]);
        for series in &mut fixture.record(1).series {
            series.unit = "ps".into();
        }
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Pass, 0));
        assert_eq!(judgement.cells[0].reasons, [Reason::Sampled { count: 20, limited: false }]);
        insta::assert_snapshot!(judgement.headline.sentence(), @"wakeup, idle: 20 samples");
        let mut fixture = Fixture::new(vec![(cell(), vec![vec![12_000; 10]])]);
        fixture.record(1).series[0].unit = "ps".into();
        let judgement = judged(&fixture);
        assert_eq!(judgement.cells[0].reasons, [Reason::Sampled { count: 10, limited: true }]);
        assert_eq!(judgement.verdict, Verdict::Pass, "a limit of 100 µs says nothing of 12 000 ps");
    }

    /// latido judges what the probe declares, whatever its name.
    #[test]
    fn what_stands_beside_is_not_judged() {
        let mut fixture = spiky();
        for cell in &mut fixture.run.cells {
            let quantity = &mut cell.measurand.quantities[0];
            *quantity = quantity.clone().beside();
        }
        let judgement = judged(&fixture);
        assert_eq!(judgement.verdict, Verdict::Pass);
        assert_eq!(judgement.cells[1].reasons, [Reason::Sampled { count: 20_000, limited: true }]);
    }
}
