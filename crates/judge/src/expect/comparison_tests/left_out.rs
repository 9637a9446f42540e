//! Repeats that do not count, and sides that were not measured.

use super::*;

fn stolen() -> Second {
    Second { start_ns: 0, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() }
}

/// A repeat does not count if its excess comes from outside the system or if it was not measured as requested; with no repeat left there is
/// no verdict.
#[test]
fn doubtful_repeats_are_left_out() {
    let isolated = grown(&TEN, 4.0);
    let mut fixture = sides(&TEN, &isolated);
    assert_eq!(judged(&fixture, &lower()).0, Outcome::DoesNotHold);
    fixture.record(11).quality.timeline.push(stolen());
    fixture.record(12).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::DoesNotHold, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 460 µs against stock 115 µs, ratio 4.00 (2.89 to 5.45), p below 0.0001, 8 against 10 repeats; one repeat of isolated left out: policy: fifo 80 was refused: EPERM; one repeat of isolated left out: all above 115 µs may be time of other programs or the host");
    for number in 11..=20 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    let one = &together(&fixture, &[lower()])[0];
    assert_eq!((one.verdict, one.outcome), (Verdict::Contaminated, Outcome::Undecided));
    let (_, detail) = told(one);
    for said in
        ["undecided: isolated has no usable repeat", "; 9 repeats of isolated left out: all above 115 µs may be"]
    {
        assert!(detail.contains(said), "{detail}");
    }
    // Such repeats do not give a pass either: the larger side must be larger for reasons of its system.
    let mut fixture = sides(&isolated, &TEN);
    for number in 1..=10 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    assert_eq!(together(&fixture, &[lower()])[0].verdict, Verdict::Contaminated);
    // Stolen time on the side that is smaller nevertheless takes nothing from the result.
    let mut fixture = sides(&isolated, &TEN);
    for number in 11..=20 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!((outcome, detail.contains("left out")), (Outcome::Holds, false), "{detail}");
}

/// A repeat that was not measured only lowers the count; for a side without any repeat the report gives the reason.
#[test]
fn the_side_that_was_not_measured_is_told_with_the_reason() {
    let reason = "kernel `rt`: this version measures the running kernel alone";
    let skip = |fixture: &mut Fixture, cells: std::ops::RangeInclusive<usize>| {
        for number in cells {
            fixture.run.cells[number - 1].state = CellState::Skipped(reason.into());
        }
    };
    for cells in [1..=10, 11..=20] {
        let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
        skip(&mut fixture, cells);
        let expected = (Outcome::NotMeasured, format!("wakeup, idle: not measured: {reason}"));
        assert_eq!(judged(&fixture, &lower()), expected);
    }
    let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
    skip(&mut fixture, 20..=20);
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    assert!(detail.ends_with("9 against 10 repeats"), "{detail}");
    // A failing pair fails the expectation, whatever was skipped elsewhere.
    let both = [sides_under("idle", &grown(&TEN, 2.2), &TEN), sides_under("busy", &TEN, &grown(&TEN, 2.2))].concat();
    let mut fixture = Fixture::new(both);
    skip(&mut fixture, 1..=10);
    assert_eq!(judged(&fixture, &lower()).0, Outcome::DoesNotHold);
    // A skipped cell that is in no pair does not matter.
    let idle = than(&[("tuning", "isolated"), ("load", "busy")], Statistic::Max, Op::Greater, STOCK);
    assert_eq!(judged(&fixture, &idle).0, Outcome::Holds);
}
