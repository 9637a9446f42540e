//! Tests what latido compares with what, what it refuses, and that verdicts do not depend on order and units.

use super::*;
use crate::{
    judging::of_run as judge,
    measured::Measured,
    observed::{Wanted, of_run},
    verdict_wording,
};
use latido_model::{
    plan::{Against, Expect, Op, Statistic, Than},
    record::{LoadRecord, Rate, Second},
    sample::{Fixture, cell, under},
};
use latido_statistics::two::Verdict;

const WANTED: Wanted = Wanted { statistic: Statistic::Max, samples: true };

fn asked() -> Asked {
    Asked { metric: Metric::default(), margin: None, despite: Vec::new(), load_margin: 0.25 }
}

/// Samples with this maximum. The number of samples is constant, because fewer would be another length.
fn with_max(max: i64) -> Vec<i64> {
    (0..1_000).map(|k| 2_000 + k % 7).chain([max]).collect()
}

/// A run with repeats of these cells, each with its maxima in us.
fn fixture(cells: &[(latido_model::cell::Cell, &[i64])]) -> Fixture {
    let all = cells.iter().flat_map(|(cell, maxima)| {
        (1..).zip(maxima.iter()).map(|(repeat, max)| {
            let cell = latido_model::cell::Cell { repeat, ..cell.clone() };
            (cell, vec![with_max(max * 1_000)])
        })
    });
    Fixture::new(all.collect())
}

fn observed(fixture: &Fixture, run: &str) -> Vec<Observed> {
    let mut all = of_run(&fixture.run, WANTED, fixture, &mut Vec::new()).unwrap();
    all.iter_mut().for_each(|one| one.run = run.into());
    all
}

fn arms(a: &Fixture, b: &Fixture) -> Arms {
    let names = ["a", "b"].map(String::from).to_vec();
    Arms { names, observed: vec![observed(a, "run a"), observed(b, "run b")], factor: None }
}

const LOW: [i64; 6] = [50, 51, 52, 53, 54, 55];
const HIGH: [i64; 6] = [90, 91, 92, 93, 94, 99];

fn verdicts(found: &Compared) -> Vec<String> {
    found.rows.iter().map(|row| format!("{}: {:?}", row.place, row.verdict)).collect()
}

/// The clock of an emulated guest counts instructions, not time: latido compares a guest of the laboratory with a machine only if the user
/// insists.
#[test]
fn an_emulated_run_is_not_compared_with_a_real_one() {
    let real = fixture(&[(cell(), &LOW)]);
    let mut guest = fixture(&[(cell(), &HIGH)]);
    for number in 1..=HIGH.len() {
        guest.record(number).machine.emulated = Some(latido_model::sample::emulated());
    }
    let refused = of(&arms(&real, &guest), &asked()).unwrap_err();
    assert!(refused.contains("ns per instruction in b") && refused.contains("--despite clock"), "{refused}");
    let both = arms(&guest, &guest);
    assert!(of(&both, &asked()).is_ok());
}

/// What one side has several of distinguishes places; the order of the repeats changes nothing.
#[test]
fn places_are_matched_and_order_says_nothing() {
    let a = fixture(&[(cell(), &LOW), (under("busy"), &LOW)]);
    let mut turned = LOW;
    turned.reverse();
    let b = fixture(&[(under("busy"), &HIGH), (cell(), &turned)]);
    let found = of(&arms(&a, &b), &asked()).unwrap();
    let told = verdicts(&found);
    assert_eq!(told[1], "busy: Higher");
    assert!(told[0].starts_with("idle: Undecided"), "{told:?}");
    assert_eq!(found.outcome, Outcome::Worse);
    let p: Vec<f64> = found.rows.iter().filter_map(|row| row.p_holm).collect();
    assert!((p[1] - 2.0 * 2.0 / 924.0).abs() < 1e-12, "the smaller of two p is doubled: {p:?}");
    let lacking = fixture(&[(cell(), &LOW)]);
    let found = of(&arms(&a, &lacking), &asked());
    // One side has a load that the other lacks: latido compares only what both have.
    let found = found.unwrap();
    assert_eq!((found.rows.len(), found.unmatched), (1, vec!["wakeup (busy): not in b".to_owned()]));
}

/// If no two sides share a kernel, the kernel is what the sides differ in: all repeats of a side count together.
#[test]
fn kernels_that_no_two_arms_share_tell_no_places_apart() {
    let on = |kernel: &str| latido_model::cell::Cell { kernel: kernel.into(), ..cell() };
    let (first, last) = LOW.split_at(3);
    let nights = fixture(&[(on("6.1.1"), first), (on("6.1.2"), last)]);
    let found = of(&arms(&nights, &fixture(&[(on("6.1.3"), &HIGH)])), &asked()).unwrap();
    assert_eq!((found.rows.len(), found.outcome), (1, Outcome::Worse), "{:?}", verdicts(&found));
    // A kernel that both sides have is a place: latido compares only its repeats.
    let found = of(&arms(&nights, &fixture(&[(on("6.1.2"), &HIGH)])), &asked()).unwrap();
    assert_eq!(found.unmatched.len(), 1, "{:?}", found.unmatched);
    assert_eq!((found.rows.len(), found.rows[0].a.as_ref().map(|base| base.count)), (1, Some(3)));
}

/// latido refuses another clock, another rate of a load, other CPUs and another length, each by its name; with the matching permission it
/// compares.
#[test]
fn what_is_not_alike_is_refused_by_name() {
    let change = |fixture: &mut Fixture, what: &str| {
        for number in 1..=LOW.len() {
            let record = fixture.record(number);
            match what {
                "clock" => record.quality.clock.source = Some("hpet".into()),
                "cpus" => record.cell.conditions.cpus = Some([0, 1, 2].into_iter().collect()),
                "length" => record.elapsed_ns /= 2,
                _ => {
                    let rate = Rate { mean: 10.0, slowest: None, fastest: None, over_ns: 1, whole_life: false };
                    let rates = [("work".to_owned(), rate)].into();
                    record.load = vec![LoadRecord { rates, alive: true, ..LoadRecord::default() }];
                }
            }
        }
    };
    for what in Unlike::ALL.into_iter().filter(|what| *what != Unlike::Probe) {
        let mut a = fixture(&[(cell(), &LOW)]);
        let mut b = fixture(&[(cell(), &HIGH)]);
        change(&mut b, what.name());
        if what == Unlike::Load {
            change(&mut a, what.name());
            for number in 1..=LOW.len() {
                let record = a.record(number);
                record.load[0].rates.values_mut().for_each(|rate| rate.mean = 14.0);
            }
        }
        let refused = of(&arms(&a, &b), &asked()).unwrap_err();
        assert!(refused.contains(&format!("--despite {what} ")), "{what}: {refused}");
        let despite = Asked { despite: vec![what], ..asked() };
        let found = of(&arms(&a, &b), &despite).unwrap();
        assert_eq!((found.outcome, found.despite[0].what), (Outcome::Worse, what));
        if what == Unlike::Load {
            assert!(refused.contains("work is 10 /s in b, 14 /s in a: more than 25 % apart"), "{refused}");
            assert!(of(&arms(&a, &b), &Asked { load_margin: 0.5, ..asked() }).is_ok());
            // Within one run latido reports the same difference, but does not refuse.
            let mut one_run = arms(&a, &b);
            one_run.observed.iter_mut().flatten().for_each(|one| one.run = "run".into());
            assert_eq!(of(&one_run, &asked()).unwrap().despite[0].what, what);
        }
    }
}

/// Where the load of one place did more in one run, latido leaves out only that place. It compares the others, and does not call the
/// outcome "not worse".
#[test]
fn a_place_of_another_rate_is_left_out() {
    let of_rate = |idle: &[i64], rate: f64| {
        let mut one = fixture(&[(cell(), idle), (under("busy"), &LOW)]);
        for number in LOW.len() + 1..=2 * LOW.len() {
            let rate = Rate { mean: rate, slowest: None, fastest: None, over_ns: 1, whole_life: false };
            let rates = [("work".to_owned(), rate)].into();
            one.record(number).load = vec![LoadRecord { rates, alive: true, ..LoadRecord::default() }];
        }
        one
    };
    let base = of_rate(&HIGH, 10.0);
    let found = of(&arms(&base, &of_rate(&LOW, 14.0)), &asked()).unwrap();
    assert_eq!((verdicts(&found), found.outcome), (vec!["idle: Lower".to_owned()], Outcome::Undecided));
    let why = &found.left_out[0].detail;
    assert!(
        why.starts_with("wakeup (busy): ") && why.ends_with("work is 10 /s in a, 14 /s in b: more than 25 % apart"),
        "{why}"
    );
    let found = of(&arms(&of_rate(&LOW, 14.0), &base), &asked()).unwrap();
    assert_eq!((found.rows.len(), found.outcome), (1, Outcome::Worse), "what is worse is worse whatever is left out");
    let despite = Asked { despite: vec![Unlike::Load], ..asked() };
    let found = of(&arms(&base, &of_rate(&LOW, 14.0)), &despite).unwrap();
    assert_eq!((found.rows.len(), found.left_out.len(), found.despite.len()), (2, 0, 1));
}

/// Kernel, settings and firmware may differ: they are what the user compares, and the report names them first.
#[test]
fn systems_may_differ_and_that_is_told() {
    let a = fixture(&[(cell(), &LOW)]);
    let mut b = fixture(&[(cell(), &HIGH)]);
    for number in 1..=HIGH.len() {
        let record = b.record(number);
        record.machine.kernel = "6.12.48-rt".into();
        record.machine.cpu.microcode = Some("0x2b".into());
        record.cell.tuning.id = "isolated".into();
    }
    let found = of(&arms(&a, &b), &asked()).unwrap();
    let what: Vec<&str> = found.differences.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(what, ["kernel", "tuning", "microcode"]);
    assert_eq!(found.differences[0].values, ["6.12.48", "6.12.48-rt"]);
}

/// The levels of an axis make sides, and so do those of a label; the user may name a level as the base.
#[test]
fn axes_and_labels_make_arms() {
    let mut one = fixture(&[(cell(), &LOW), (under("busy"), &HIGH)]);
    let found = of(&by("load", observed(&one, "run"), Some("busy")).unwrap(), &asked()).unwrap();
    assert_eq!((found.arms[0].arm.as_str(), found.rows[0].arm.as_str()), ("busy", "idle"));
    assert_eq!(found.rows[0].verdict, Verdict::Lower);
    assert!(found.differences.is_empty(), "the load is what the arms are: {:?}", found.differences);
    for number in 1..=LOW.len() + HIGH.len() {
        let kind = if number > LOW.len() { "inherit" } else { "normal" };
        one.record(number).series[0].labels = [("kind".to_owned(), kind.to_owned())].into();
    }
    let mut all = observed(&one, "run");
    all.iter_mut().for_each(|one| one.cell.load = cell().load);
    let found = of(&by("kind", all, None).unwrap(), &asked()).unwrap();
    let names: Vec<&str> = found.arms.iter().map(|arm| arm.arm.as_str()).collect();
    assert_eq!((names, &found.rows[0].verdict), (vec!["normal", "inherit"], &Verdict::Higher));
    assert!(by("load", observed(&one, "run"), Some("nothing")).unwrap_err().contains("there are idle, busy"));
}

/// Counts are compared as rates; where one side has no count, the row gives a difference and no ratio.
#[test]
fn counts_are_rates_and_zeros_have_differences() {
    let counted = |maxima: &[i64]| fixture(&[(cell(), maxima)]);
    let wanted = Wanted { statistic: Statistic::Above(100_000), samples: false };
    let of_fixture = |fixture: &Fixture| of_run(&fixture.run, wanted, fixture, &mut Vec::new()).unwrap();
    let (a, b) = (counted(&[50; 6]), counted(&[150; 6]));
    let names = ["a", "b"].map(String::from).to_vec();
    let arms = Arms { names, observed: vec![of_fixture(&a), of_fixture(&b)], factor: None };
    let metric = Metric { statistic: Statistic::Above(100_000), only: None };
    let found = of(&arms, &Asked { metric, ..asked() }).unwrap();
    let row = &found.rows[0];
    let comparison = row.comparison.as_ref().unwrap();
    assert_eq!(
        (row.measure.name(), comparison.question.scale),
        ("per million", latido_statistics::two::Scale::Difference)
    );
    assert!((comparison.estimate.value - 1e6 / 1_001.0).abs() < 1e-6, "one of 1,001: {}", comparison.estimate.value);
    assert_eq!(row.verdict, Verdict::Higher);
}

/// A larger share within an edge is better, and the exit status depends on that.
#[test]
fn less_of_a_share_is_worse() {
    let metric: Metric = "share100us".parse().unwrap();
    assert!(!metric.higher_is_worse());
    let wanted = Wanted { statistic: Statistic::Share(100_000), samples: false };
    let of_maxima = |maxima: &[i64]| {
        let one = fixture(&[(cell(), maxima)]);
        of_run(&one.run, wanted, &one, &mut Vec::new()).unwrap()
    };
    let names = ["a", "b"].map(String::from).to_vec();
    let arms = Arms { names, observed: vec![of_maxima(&[50; 6]), of_maxima(&[150; 6])], factor: None };
    let found = of(&arms, &Asked { metric, ..asked() }).unwrap();
    assert_eq!((&found.rows[0].verdict, found.outcome), (&Verdict::Lower, Outcome::Worse));
    for (text, only) in
        [("p99.9", None), ("wakeup.latency.p99.9", Some("latency")), ("mutex.lock.above100us", Some("lock"))]
    {
        let metric: Metric = text.parse().unwrap();
        assert_eq!(metric.to_string(), text);
        assert_eq!(metric.only.as_ref().map(|(_, quantity)| quantity.as_str()), only);
    }
    assert!("wakeup.latency".parse::<Metric>().is_err() && "largest".parse::<Metric>().is_err());
}

/// For one stored run, `--by tuning` and an expectation with `than` agree: in the verdict, in its p, and in which repeats they leave out
/// because everything above the other side may come from other programs.
#[test]
fn a_comparison_and_an_expectation_leave_out_the_same_repeats() {
    let tuned = |id: &str| {
        let mut cell = cell();
        cell.tuning.id = id.into();
        cell.conditions.limit = None;
        cell
    };
    let levels = |id: &str| [("tuning".to_owned(), id.to_owned())].to_vec();
    let lower = Expect {
        filter: levels("b").into_iter().collect(),
        probe: "wakeup".into(),
        quantity: "latency".into(),
        claim: None,
        of: None,
        statistic: Statistic::Max,
        unit: "ns".into(),
        op: Op::Less,
        against: Against::Than(Than { levels: levels("a").into_iter().collect(), by: 0.0, times: 1.0, margin: None }),
        text: "b.max < a.max".into(),
        line: 1,
    };
    // Three repeats of b are disturbed: the rest of b is lower, but b with all its repeats is not.
    let mut disturbed = LOW;
    disturbed.iter_mut().take(3).for_each(|max| *max = 700);
    let mut run = fixture(&[(tuned("a"), &HIGH), (tuned("b"), &disturbed)]);
    run.run.plan.expect = vec![lower];
    let said = |run: &Fixture| {
        let expected = judge(&run.run, run).expectations.remove(0);
        let Some(Measured::Pair(pair)) = expected.decision.clone().map(|one| one.measured) else { panic!() };
        let found = of(&by("tuning", observed(run, "run"), None).unwrap(), &asked()).unwrap();
        let row = &found.rows[0];
        let counted = |figures: &Option<crate::numbers::compare::Figures>| figures.as_ref().unwrap().count;
        assert_eq!(
            (counted(&row.a), counted(&row.b)),
            (pair.other.repeats as u64, pair.own.repeats as u64),
            "{expected:?}"
        );
        assert_eq!(row.p_holm, pair.p.map(|(p, _)| p));
        let told = verdict_wording::decision(expected.decision.as_ref());
        (expected.outcome.to_string(), row.verdict.clone(), row.left_out.clone(), crate::span::plain(&told))
    };
    let (outcome, verdict, left_out, _) = said(&run);
    assert_eq!((outcome.as_str(), left_out.len()), ("undecided", 0));
    assert!(matches!(verdict, Verdict::Undecided { .. }), "{verdict:?}");
    for number in HIGH.len() + 1..=HIGH.len() + 3 {
        let stolen = Second { start_ns: 0, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() };
        run.record(number).quality.timeline.push(stolen);
    }
    let (outcome, verdict, left_out, told) = said(&run);
    assert_eq!((outcome.as_str(), verdict), ("holds", Verdict::Lower), "{told}");
    assert_eq!(left_out, ["b: repeats 1, 2, 3 of run: all above 92.5 µs may be time of other programs or the host"]);
    assert!(
        told.replace('\u{a0}', " ")
            .ends_with("3 repeats of b left out: all above 92.5 µs may be time of other programs or the host"),
        "{told}"
    );
}
