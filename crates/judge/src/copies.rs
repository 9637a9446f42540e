//! Identical replicates of a sweep: several boots with the same draw, which count once.

use latido_model::{cell::Axis, record::Record};

/// Whether two records are the same draw of the laboratory: the same configuration gave the same samples. On real machines this never
/// happens.
pub fn are(a: &Record, b: &Record) -> bool {
    let (one, other) = (&a.cell, &b.cell);
    a.machine.emulated.is_some()
        && b.machine.emulated.is_some()
        && a.machine.kernel == b.machine.kernel
        && Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot).all(|axis| one.agrees(other, axis))
        && (a.elapsed_ns, &a.series) == (b.elapsed_ns, &b.series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        configuration::configurations,
        judging,
        observed::{self, Wanted},
    };
    use latido_model::{
        cell::Cell,
        plan::{Against, Expect, Op, Statistic, Than},
        sample::{self, Fixture, cell, quiet, under, with_spike},
        verdict::Verdict,
    };

    /// Two loads of `members` replicates each; with `alike` all replicates of a load are identical.
    fn sweep(members: u32, alike: bool, emulated: bool) -> Fixture {
        let one = |cell: Cell, base: i64, repeat: u32| {
            let step = if alike { 0 } else { i64::from(repeat) };
            (Cell { repeat, seed: u64::from(repeat), ..cell }, vec![with_spike(0, 50, base + step)])
        };
        let of = |cell: &dyn Fn() -> Cell, base: i64| {
            (1..=members).map(|repeat| one(cell(), base, repeat)).collect::<Vec<_>>()
        };
        let mut fixture = Fixture::new([of(&cell, 50_000), of(&|| under("busy"), 90_000)].concat());
        for number in 1..=fixture.run.cells.len() {
            fixture.record(number).machine.emulated = emulated.then(sample::emulated);
        }
        fixture
    }

    fn judged(mut fixture: Fixture) -> (Verdict, String) {
        fixture.run.plan.expect.push(Expect {
            filter: vec![("load".into(), "idle".into())],
            probe: "wakeup".into(),
            quantity: "latency".into(),
            claim: None,
            of: None,
            statistic: Statistic::Max,
            unit: "ns".into(),
            op: Op::Less,
            against: Against::Than(Than {
                levels: [("load".to_owned(), "busy".to_owned())].into_iter().collect(),
                by: 0.0,
                times: 1.0,
                margin: None,
            }),
            text: "idle < busy".into(),
            line: 1,
        });
        let judgement = judging::of_run(&fixture.run, &fixture);
        let one = &judgement.expectations[0];
        (one.verdict, format!("{:?}", one.decision))
    }

    /// Six different replicates decide; six identical ones count as one repeat, and the sentence says what latido left out.
    #[test]
    fn identical_members_count_once_where_repeats_decide() {
        assert_eq!(judged(sweep(6, false, true)).0, Verdict::Pass);
        let (verdict, told) = judged(sweep(6, true, true));
        assert_eq!(verdict, Verdict::Inconclusive, "{told}");
        assert!(told.contains("repeats: 5, why: Copy"), "{told}");
        // latido takes no record of a real machine for a copy.
        assert_eq!(judged(sweep(6, true, false)).0, Verdict::Pass);
    }

    #[test]
    fn they_are_pooled_once_and_left_out_of_comparisons() {
        let fixture = sweep(3, true, true);
        let found = configurations([&fixture.run], &fixture);
        let counts: Vec<_> = found.all.iter().map(|one| (one.repeats.len(), one.quantities[0].summary.count)).collect();
        let once = with_spike(0, 50, 0).len() as u64;
        assert_eq!(counts, [(1, once), (1, once)]);
        assert_eq!(found.problems.len(), 2, "a sentence each: {:?}", found.problems);
        assert!(found.problems[0].contains("repeats 2, 3 are identical to others"), "{:?}", found.problems);
        let wanted = Wanted { statistic: Statistic::Max, samples: false };
        let all = observed::of_run(&fixture.run, wanted, &fixture, &mut Vec::new()).unwrap();
        let doubted: Vec<bool> = all.iter().map(|one| one.doubt.is_some()).collect();
        assert_eq!(doubted, [false, true, true, false, true, true]);
    }

    #[test]
    fn other_samples_other_loads_and_other_kernels_are_no_copies() {
        let mut fixture = Fixture::new(vec![
            (cell(), vec![quiet(0)]),
            (cell(), vec![quiet(0)]),
            (under("busy"), vec![quiet(0)]),
            (cell(), vec![with_spike(0, 7, 90_000)]),
            (cell(), vec![quiet(0)]),
        ]);
        for number in 1..=5 {
            fixture.record(number).machine.emulated = Some(sample::emulated());
        }
        fixture.record(5).machine.kernel = "another".into();
        let record = |at: usize| fixture.run.cells[at].record().unwrap();
        assert!(are(record(0), record(1)));
        (2..5).for_each(|at| assert!(!are(record(0), record(at)), "{at}"));
    }
}
