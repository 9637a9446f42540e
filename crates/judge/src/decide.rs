//! Finds what decides a run: the cell or the expectation that its headline is about, and the word for its verdict.

use super::{
    finding::Grade,
    headline::{Counted, DecidingCell, Expected, Ground, Headline, Wording},
    judgement::{CellJudgement, ExpectJudgement, Judgement},
    limit::{judged, largest},
    names::Names,
    outcome::Outcome,
    reason::Reason,
    trusted::trusted,
};
use latido_model::{
    record,
    run::{CellState, Run, SeriesSource, StoredCell},
    verdict::{INTERRUPTED, NO_LIMIT, NOT_MEASURED, RUNNING, Verdict},
};

/// Returns the word for the verdict that people read. It must not say "pass" where nothing was judged or a run was cut short.
pub fn word(run: &Run, judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Pass if !is_judged(run) => NO_LIMIT,
        verdict if is_interrupted(run, verdict, &judgement.cells) => {
            if run.at_work {
                RUNNING
            } else {
                INTERRUPTED
            }
        }
        _ if judgement.headline.is_unmeasured() => NOT_MEASURED,
        verdict => verdict.word(),
    }
}

/// Whether a limit or an expectation judges any part of the run.
pub fn is_judged(run: &Run) -> bool {
    !run.plan.expect.is_empty() || run.cells.iter().any(|cell| cell.cell.conditions.limit.is_some())
}

/// Whether the cell was not measured to the end.
pub(super) fn is_unfinished(cell: &StoredCell) -> bool {
    match &cell.state {
        CellState::Pending | CellState::Open => true,
        CellState::Measured(stored) => {
            matches!(stored.outcome, record::Outcome::Interrupted | record::Outcome::Checkpoint)
        }
        CellState::Infra(_) | CellState::Skipped(_) => false,
    }
}

/// Whether the run has no verdict only because it ended early.
fn is_interrupted(run: &Run, verdict: Verdict, cells: &[CellJudgement]) -> bool {
    let mut undecided = run.cells.iter().zip(cells).filter(|(_, judged)| judged.verdict == Verdict::Inconclusive);
    verdict == Verdict::Inconclusive
        && !run.damaged
        && run.cells.iter().any(is_unfinished)
        && undecided.all(|(cell, judged)| is_unfinished(cell) && !judged.is_invalid())
}

/// Builds the headline: the ground of the verdict with its figure, after the outcome of a study's conclusions. `closest` is the expectation
/// with the least room.
pub(super) fn headline(
    run: &Run,
    verdict: Verdict,
    cells: &[CellJudgement],
    expectations: &[ExpectJudgement],
    closest: Option<&ExpectJudgement>,
    source: &dyn SeriesSource,
) -> Headline {
    let emulated = emulated(run);
    let imported = run.cells.iter().filter_map(StoredCell::record).any(|record| record.source.is_some());
    let ground = || ground(run, verdict, cells, expectations, closest, source);
    if !expectations.iter().any(|one| one.of_study) {
        return Headline { conclusions: None, ours: None, rest: Some(ground()), imported, emulated };
    }
    let (conclusions, ours): (Vec<_>, Vec<_>) = expectations.iter().partition(|one| one.of_study);
    // If the conclusions alone decide, the headline needs only the one that does not hold.
    let cells_decide = verdict != Verdict::Pass && cells.iter().any(|judged| judged.verdict == verdict);
    let rest = if cells_decide || is_interrupted(run, verdict, cells) {
        Some(ground())
    } else {
        let failed = expectations.iter().find(|one| one.verdict == Verdict::Fail);
        failed.map(|one| Ground::Expectation { expected: expected(one), alike: None, failed: None })
    };
    Headline {
        conclusions: counted(&conclusions, run.plan.unjudged.len()),
        ours: counted(&ours, 0),
        rest,
        imported,
        emulated,
    }
}

/// Counts the outcomes of these expectations and of `not_judged` others that latido cannot judge; `None` if there are none at all.
fn counted(all: &[&ExpectJudgement], not_judged: usize) -> Option<Counted> {
    let count = |outcome| all.iter().filter(|one| one.outcome == outcome).count();
    let counted = Counted {
        all: all.len() + not_judged,
        hold: count(Outcome::Holds),
        do_not_hold: count(Outcome::DoesNotHold),
        undecided: count(Outcome::Undecided),
        not_measured: count(Outcome::NotMeasured),
        not_judged,
    };
    (counted.all > 0).then_some(counted)
}

/// Says what the figures of a run with emulated ones are worth; `None` if none is emulated.
fn emulated(run: &Run) -> Option<String> {
    let guests = || run.cells.iter().filter_map(StoredCell::record).map(|record| record.machine.emulated.as_ref());
    let worth = guests().flatten().next()?.in_short();
    Some(if guests().all(|guest| guest.is_some()) { worth.into() } else { format!("partly {worth}") })
}

fn expected(one: &ExpectJudgement) -> Expected {
    let (wording, what) = match &one.claim {
        _ if one.of_study => (Wording::Conclusion(one.outcome), one.numbered()),
        Some(claim) => (Wording::Claim, claim.clone()),
        None if one.verdict == Verdict::Pass => (Wording::Holds, one.text.clone()),
        None => (Wording::Expected, one.text.clone()),
    };
    Expected { wording, what, decision: one.decision.clone() }
}

fn ground(
    run: &Run,
    verdict: Verdict,
    cells: &[CellJudgement],
    expectations: &[ExpectJudgement],
    closest: Option<&ExpectJudgement>,
    source: &dyn SeriesSource,
) -> Ground {
    let names = Names::of_run(run);
    let told = |found| told(found, &names);
    let failed = expectations.iter().find(|one| one.verdict == Verdict::Fail).map(expected);
    if is_interrupted(run, verdict, cells) {
        let tried = run.cells.iter().filter(|cell| cell.skipped().is_none());
        let measured = tried.clone().filter(|cell| !is_unfinished(cell)).count();
        // A failure so far stands; otherwise the headline shows the worst result so far.
        let of = |wanted| decisive(run, cells, wanted).filter(|(cell, _)| cell.record().is_some());
        let so_far = of(Verdict::Fail).or_else(|| of(Verdict::Pass)).or_else(|| of(Verdict::Inconclusive));
        return Ground::CutShort { measured, tried: tried.count(), so_far: so_far.map(told), failed };
    }
    let decisive = decisive(run, cells, verdict);
    if verdict == Verdict::Pass {
        let limited = decisive.filter(|(cell, _)| cell.cell.conditions.limit.is_some());
        return match (limited, closest) {
            (Some(found), _) => Ground::Cell { cause: told(found), alike: None, failed: None, failing: 0 },
            (None, Some(one)) => Ground::Expectation { expected: expected(one), alike: None, failed: None },
            (None, None) => Ground::Unjudged(trusted(run, cells, &names, source, decisive.map(told))),
        };
    }
    let count = |verdict| cells.iter().filter(|judged| judged.verdict == verdict).count();
    let others = count(verdict);
    // In a run with limits, latido does not judge the cells without one.
    let limited = run.cells.iter().filter(|cell| cell.cell.conditions.limit.is_some()).count();
    let alike = (others > 1).then_some((others, if limited < others { cells.len() } else { limited }));
    let failing = if verdict == Verdict::Fail { 0 } else { count(Verdict::Fail) };
    let one = expectations.iter().find(|one| one.verdict == verdict).map(expected);
    match (decisive, one) {
        (_, Some(expected)) if verdict == Verdict::Fail => Ground::Expectation { expected, alike, failed: None },
        (None, Some(expected)) => Ground::Expectation { expected, alike: None, failed },
        (Some(found), _) => Ground::Cell { cause: told(found), alike, failed, failing },
        _ if run.damaged => Ground::NoPlan(run.problems.first().cloned().unwrap_or_default()),
        _ => Ground::NoCells,
    }
}

/// Returns the cell with this verdict that is nearest to its limit or farthest above it. Cells with a limit come first, because the run is
/// about them.
fn decisive<'a>(
    run: &'a Run,
    cells: &'a [CellJudgement],
    verdict: Verdict,
) -> Option<(&'a StoredCell, &'a CellJudgement)> {
    let tension = |cell: &StoredCell| -> f64 {
        let series = cell.record().map(|record| judged(record, &cell.measurand)).unwrap_or_default();
        let max = largest(&series).map_or(0.0, |(_, max)| max as f64);
        cell.cell.conditions.limit.map_or(-1.0 / (1.0 + max.max(0.0)), |limit| max.max(0.0) / limit.0 as f64)
    };
    let judged = run.cells.iter().zip(cells).filter(|(_, judged)| judged.verdict == verdict);
    judged.max_by(|a, b| tension(a.0).total_cmp(&tension(b.0)))
}

/// Describes a cell with its first reason; if that is a doubt, also with what is doubted. The other doubts are above the table.
fn told((cell, judged): (&StoredCell, &CellJudgement), names: &Names) -> DecidingCell {
    let reason = judged.reasons.first().cloned();
    let weighty = |other: &&Reason| matches!(other, Reason::Doubt(finding) if finding.grade >= Grade::Contaminated);
    let doubtful = matches!(judged.verdict, Verdict::Contaminated | Verdict::Inconclusive);
    let mut others = judged.reasons.iter().skip(1).filter(|other| !weighty(other));
    let doubted = others.find(|other| doubtful && Some(*other) != reason.as_ref()).cloned();
    let parts = cell.parts.len();
    let pooled = if parts > 0 { format!(", pooled from {parts} parts") } else { String::new() };
    DecidingCell { cell: format!("{}{pooled}", names.of(&cell.cell)), reason, doubted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::of_run;
    use latido_model::{
        cell::Cell,
        plan::{Against, Expect, Op, Statistic},
        record::Second,
        sample::{self, Fixture, cell, probing, quiet, under, with_spike},
    };

    fn judged(fixture: &Fixture) -> Judgement {
        of_run(&fixture.run, fixture)
    }

    fn said(fixture: &Fixture) -> String {
        let judgement = judged(fixture);
        format!("{}: {}", word(&fixture.run, &judgement), judgement.headline.sentence())
    }

    fn expect(statistic: Statistic, value: f64, text: &str) -> Expect {
        Expect {
            filter: Vec::new(),
            probe: "wakeup".into(),
            quantity: "latency".into(),
            claim: None,
            of: None,
            statistic,
            unit: "ns".into(),
            op: Op::Less,
            against: Against::Value(value),
            text: text.into(),
            line: 12,
        }
    }

    #[test]
    fn with_nothing_judged_nothing_passes() {
        let fixture = Fixture::new(vec![(probing("gap"), vec![quiet(0)])]);
        assert_eq!(judged(&fixture).exit, 0);
        insta::assert_snapshot!(said(&fixture), @"NO LIMIT SET: gap, idle: worst 24.8 µs of 10000 samples (gap, CPU 0)");
    }

    /// A pass must be about something that a limit or an expectation judged.
    #[test]
    fn a_pass_is_about_what_was_judged() {
        let mut free = cell();
        free.conditions.limit = None;
        let gap = vec![with_spike(0, 5, 44_000_000)];
        let mut fixture = Fixture::new(vec![(free, vec![quiet(0)]), (probing("gap"), gap.clone())]);
        fixture.run.plan.expect.push(expect(Statistic::Mean, 50_000.0, "wakeup.latency.mean < 50us"));
        fixture.run.plan.expect.push(expect(Statistic::Max, 50_000.0, "wakeup.latency.max < 50us"));
        insta::assert_snapshot!(said(&fixture), @"PASS: wakeup.latency.max < 50us holds: wakeup, idle, CPU 0: 24.8 µs");
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (probing("gap"), gap)]);
        insta::assert_snapshot!(said(&fixture), @"PASS: wakeup, idle: worst 24.8 µs of 10000 samples (latency, CPU 0), 75.2 µs inside the limit of 100 µs");
    }

    #[test]
    fn a_run_cut_short_says_how_far_it_came() {
        let cells = || vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(1)]), (under("more"), vec![quiet(0)])];
        let mut fixture = Fixture::new(cells());
        fixture.record(2).outcome = record::Outcome::Interrupted;
        fixture.run.cells[2].state = CellState::Pending;
        assert_eq!(judged(&fixture).exit, 3);
        insta::assert_snapshot!(said(&fixture), @"INTERRUPTED: 1 of 3 cells measured to the end; so far wakeup, idle: worst 24.8 µs of 10000 samples (latency, CPU 0), 75.2 µs inside the limit of 100 µs");
        fixture.run.plan.expect.push(expect(Statistic::Max, 10_000.0, "wakeup.latency.max < 10us"));
        assert!(said(&fixture).starts_with("INTERRUPTED: 1 of 3"), "{}", said(&fixture));
        for cell in &mut fixture.run.cells {
            cell.state = CellState::Pending;
        }
        fixture.run.plan.expect.clear();
        fixture.run.at_work = true;
        assert!(said(&fixture).starts_with("RUNNING: 0 of 3"), "{}", said(&fixture));
        fixture.run.at_work = false;
        insta::assert_snapshot!(said(&fixture), @"INTERRUPTED: 0 of 3 cells measured to the end");
        // A cell that did not run in real time is doubtful, not only because the run ended early.
        let mut fixture = Fixture::new(cells());
        fixture.record(1).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
        fixture.run.cells[2].state = CellState::Pending;
        assert!(said(&fixture).starts_with("INCONCLUSIVE: "), "{}", said(&fixture));
    }

    /// Two causes share one failure: the headline gives it once, with the figure, and still names what failed outright.
    #[test]
    fn a_contaminated_run_tells_its_figure_and_what_failed_outright() {
        let busy = vec![quiet(0), with_spike(1, 3_000, 228_000)];
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), busy)]);
        let (start_ns, length_ns) = (3_000_000_000, 1_000_000_000);
        let quality = &mut fixture.record(2).quality;
        quality.steal_ns = Some(10_000_000);
        quality.timeline.push(Second {
            start_ns,
            length_ns,
            steal_ns: 10_000_000,
            foreign_ns: 40_000,
            ..Second::default()
        });
        fixture.run.plan.expect.push(expect(Statistic::Mean, 2_000.0, "wakeup.latency.mean < 2us"));
        insta::assert_snapshot!(said(&fixture), @"CONTAMINATED: wakeup, busy: foreign tasks: for 40.0 µs, which together with steal may explain the samples that fail; 1 of 20000 samples above the limit of 100 µs, worst 228 µs (latency, CPU 1); failed outright: expected wakeup.latency.mean < 2us: wakeup, busy, CPU 1: 2.66 µs (and 2 more)");
    }

    #[test]
    fn a_failed_expectation_is_the_headline() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        fixture.run.plan.expect.push(expect(Statistic::Max, 10_000.0, "wakeup.latency.max < 10us"));
        assert_eq!((judged(&fixture).verdict, judged(&fixture).exit), (Verdict::Fail, 2));
        insta::assert_snapshot!(said(&fixture), @"FAIL: expected wakeup.latency.max < 10us: wakeup, idle, CPU 0: 24.8 µs");
    }

    /// The headline of a result from the laboratory must say "emulated", and only once.
    #[test]
    fn an_emulated_result_says_so() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(1)])]);
        fixture.record(1).machine.emulated = Some(sample::emulated());
        assert!(
            said(&fixture).starts_with("PASS: partly emulated (ranks kernels, not hardware); "),
            "{}",
            said(&fixture)
        );
        fixture.record(2).machine.emulated = Some(sample::emulated());
        insta::assert_snapshot!(said(&fixture), @"PASS: emulated (ranks kernels, not hardware); wakeup, busy: worst 24.8 µs of 10000 samples (latency, CPU 0), 75.2 µs inside the limit of 100 µs");
        // The doubt about a guest with several CPUs already says it.
        for number in 1..=2 {
            let guest = fixture.record(number).machine.emulated.as_mut().unwrap();
            guest.instruction_ns = None;
        }
        assert_eq!(said(&fixture).matches("emulated").count(), 1, "{}", said(&fixture));
    }

    /// With the same work on two kernels, the headline names the kernel that decides.
    #[test]
    fn what_decides_is_told_with_its_kernel_where_there_are_several() {
        let with = |kernel: &str| Cell { kernel: kernel.into(), ..cell() };
        let late = vec![with_spike(0, 3_000, 228_000)];
        let mut fixture = Fixture::new(vec![(with("6.12-none"), late), (with("6.12-rt"), vec![quiet(0)])]);
        insta::assert_snapshot!(said(&fixture), @"FAIL: wakeup, idle, 6.12-none: 1 of 10000 samples above the limit of 100 µs, worst 228 µs (latency, CPU 0)");
        fixture.run.plan.expect.push(expect(Statistic::Max, 50_000.0, "wakeup.latency.max < 50us"));
        insta::assert_snapshot!(said(&fixture), @"FAIL: expected wakeup.latency.max < 50us: wakeup, idle, 6.12-none, CPU 0: 228 µs");
    }
}
