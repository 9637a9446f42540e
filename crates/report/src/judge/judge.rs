//! From a stored run to its judgement: cells against their limits, expectations, the verdict and its sentence.

use super::{
    deciding::{Deciding, Stored},
    expect, headline,
    judgement::{CellJudgement, ExpectJudgement, Judgement},
    trust::{self, CHECKS, Finding, Level},
};
use latido_model::{
    consistency::contradictions,
    quantity::Measurand,
    record::{Outcome, Record, Series},
    run::{CellState, Run, SeriesSource, StoredCell},
    summary,
    units::human,
    verdict::Verdict,
};

/// Judges a whole run.
pub fn judge(run: &Run, source: &dyn SeriesSource) -> Judgement {
    let cells: Vec<CellJudgement> = run.cells.iter().map(|cell| self::cell(cell, source)).collect();
    let weighed: Vec<_> = run.plan.expect.iter().map(|one| expect::weigh(one, run, &cells, source)).collect();
    let closest = weighed.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(one, _)| one.clone());
    let expectations: Vec<ExpectJudgement> = weighed.into_iter().map(|(one, _)| one).collect();
    // What was skipped decides nothing by itself; an expectation that needs it is inconclusive.
    let tried: Vec<Verdict> = cells.iter().map(|cell| cell.verdict).filter(|one| *one != Verdict::Skipped).collect();
    let judged = tried.iter().copied().chain(expectations.iter().map(|one| one.verdict));
    let mut verdict = judged.fold(Verdict::Pass, Verdict::and);
    if run.damaged || tried.is_empty() {
        verdict = verdict.and(Verdict::Inconclusive);
    }
    let headline = headline::headline(run, verdict, &cells, &expectations, closest.as_ref());
    Judgement { verdict, exit: verdict.exit(), headline, cells, expectations }
}

/// Judges one cell: can its record be true, is it what was asked for, does it keep its limit.
pub fn cell(cell: &StoredCell, source: &dyn SeriesSource) -> CellJudgement {
    let without = |verdict, reason: String| CellJudgement {
        number: cell.number,
        verdict,
        reasons: vec![reason],
        findings: Vec::new(),
    };
    match &cell.state {
        CellState::Pending => without(Verdict::Inconclusive, "not measured yet".into()),
        CellState::Open => without(Verdict::Inconclusive, "started and never finished".into()),
        CellState::Infra(reason) => without(Verdict::Infra, reason.clone()),
        CellState::Skipped(reason) => without(Verdict::Skipped, reason.clone()),
        CellState::Measured(record) => measured(cell, record, source),
    }
}

fn measured(cell: &StoredCell, record: &Record, source: &dyn SeriesSource) -> CellJudgement {
    let timed = judged(record, &cell.measurand);
    let mut reasons = Vec::new();
    let mut largest = Vec::new();
    for series in &timed {
        match source.series(cell, series) {
            Ok(data) => largest.push((*series, data.largest)),
            Err(error) => {
                // Without its samples a series is a stored one with none: a failure then stands unexplained.
                reasons.push(format!("the largest samples could not be read: {error:#}"));
                largest.push((*series, Vec::new()));
            }
        }
    }
    let stored: Vec<Stored<'_>> =
        largest.iter().map(|(series, largest)| Stored { count: series.count, cpu: series.cpu, largest }).collect();
    let deciding = Deciding::new(record, record.cell.conditions.limit.map(|limit| limit.0 as f64), &stored);
    let findings = trust::findings(record, &deciding);
    let (verdict, figure) = against_limit(record, &timed, &deciding);
    reasons.insert(0, figure);

    let contradictions = contradictions(record);
    let invalid: Vec<_> = findings.iter().filter(|finding| finding.level == Level::Invalid).collect();
    let verdict = if !contradictions.is_empty() {
        Verdict::Infra
    } else if let Some(first) = invalid.first() {
        CHECKS.iter().find(|check| check.name == first.check).map_or(Verdict::Inconclusive, |check| check.invalid)
    } else if headline::is_unfinished(cell) && verdict == Verdict::Pass {
        Verdict::Inconclusive
    } else {
        verdict
    };
    match record.outcome {
        Outcome::Checkpoint => reasons.insert(0, "a checkpoint of a cell that was never finished".into()),
        Outcome::Interrupted => {
            let measured = human(i64::try_from(record.elapsed_ns).unwrap_or(i64::MAX));
            reasons.insert(0, format!("interrupted after {measured}"));
        }
        Outcome::Complete | Outcome::Stopped { .. } => (),
    }
    let weighty = findings.iter().filter(|finding| finding.level >= Level::Contaminated);
    reasons.splice(0..0, weighty.map(Finding::sentence));
    reasons.splice(0..0, contradictions);
    CellJudgement { number: cell.number, verdict, reasons, findings }
}

/// The limit against the headline distribution, and the figure that decides in words.
fn against_limit(record: &Record, timed: &[&Series], deciding: &Deciding) -> (Verdict, String) {
    let count: u64 = timed.iter().map(|series| series.headline().count).fold(0, u64::saturating_add);
    if count == 0 {
        return (Verdict::Inconclusive, "no samples".into());
    }
    let Some((worst, max)) = worst(timed) else { return (Verdict::Pass, format!("{count} samples")) };
    let whose = match worst.cpu {
        Some(cpu) => format!("{}, CPU {cpu}", worst.quantity),
        None => worst.quantity.clone(),
    };
    let Some(limit) = record.cell.conditions.limit else {
        return (Verdict::Pass, format!("worst {} of {count} samples ({whose}), no limit given", human(max)));
    };
    let edge = i64::try_from(limit.0).unwrap_or(i64::MAX);
    if max <= edge {
        let room = human(edge - max);
        let figure =
            format!("worst {} of {count} samples ({whose}), {room} inside the limit of {}", human(max), human(edge));
        return (Verdict::Pass, figure);
    }
    let counts = timed
        .iter()
        .map(|series| summary::above(&series.headline().bands, edge))
        .try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)));
    let above = counts.map_or_else(|| "samples".into(), |above| format!("{above} of {count} samples"));
    let verdict = if deciding.is_foreign() { Verdict::Contaminated } else { Verdict::Fail };
    (verdict, format!("{above} above the limit of {}, worst {} ({whose})", human(edge), human(max)))
}

/// The series that limits and headlines look at: times of the quantities that the probe names for it.
pub(super) fn judged<'a>(record: &'a Record, measurand: &Measurand) -> Vec<&'a Series> {
    let named = |series: &&Series| measurand.quantity(&series.quantity).is_none_or(|quantity| quantity.judged);
    record.series.iter().filter(|series| series.unit == "ns").filter(named).collect()
}

/// The series with the largest sample, and that sample.
pub(super) fn worst<'a>(timed: &[&'a Series]) -> Option<(&'a Series, i64)> {
    timed.iter().filter_map(|series| Some((*series, series.headline().max?))).max_by_key(|(_, max)| *max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        record::{LoadRecord, Second},
        sample::{Fixture, cell, quiet, under, with_spike},
    };

    fn judged(fixture: &Fixture) -> Judgement {
        judge(&fixture.run, fixture)
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
        insta::assert_snapshot!(judgement.headline, @"wakeup, idle: worst 24.8 us of 20000 samples (latency, CPU 1), 75.2 us inside the limit of 100 us");
    }

    #[test]
    fn one_sample_above_the_limit_fails() {
        let judgement = judged(&spiky());
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Fail, 2));
        assert_eq!(judgement.cells[0].verdict, Verdict::Pass);
        insta::assert_snapshot!(judgement.headline, @"wakeup, busy: 1 of 20000 samples above the limit of 100 us, worst 228 us (latency, CPU 1)");
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
        insta::assert_snapshot!(judgement.headline, @"wakeup, busy: steal: 10.0 ms of the measured CPUs' time stolen, which explains the samples that fail; 1 of 20000 samples above the limit of 100 us, worst 228 us (latency, CPU 1)");
    }

    /// A guest that loses a little in every second still gets its pass.
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
        assert!(judgement.headline.contains("refused"), "{}", judgement.headline);
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
        });
        assert_eq!(judged(&fixture).verdict, Verdict::Contaminated);
    }

    #[test]
    fn a_record_that_contradicts_itself_is_the_tools_failure() {
        let mut fixture = spiky();
        fixture.record(1).series[0].mean = Some(-1.0);
        let judgement = judged(&fixture);
        assert_eq!((judgement.verdict, judgement.exit), (Verdict::Infra, 1));
        assert!(judgement.headline.contains("contradicts"), "{}", judgement.headline);
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
        assert!(judgement.headline.contains("cut short"), "{}", judgement.headline);
    }
}
