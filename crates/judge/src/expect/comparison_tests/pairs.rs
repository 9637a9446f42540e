//! Tests what latido compares with what: cells, quantities and labels as pairs, and the number of pairs.

use super::*;

/// Every pair that a conclusion compares counts: five repeats decide a comparison alone, but not one among twenty.
#[test]
fn a_family_shares_its_doubt() {
    let (stock, isolated) =
        ([300_000, 310_000, 320_000, 330_000, 340_000], [100_000, 110_000, 120_000, 130_000, 140_000]);
    let fixture = sides(&stock, &isolated);
    let alone = together(&fixture, &[lower()]);
    assert_eq!(alone[0].outcome, Outcome::Holds);
    let all = together(&fixture, &vec![lower(); 20]);
    let (outcome, detail) = told(&all[0]);
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        detail.ends_with("; undecided: 5 repeats per side cannot reach 5 % for one of 20 comparisons; 6 needed"),
        "{detail}"
    );
    // Several pairs of one conclusion count as well.
    let loads: Vec<String> = (0..20).map(|n| format!("load-{n}")).collect();
    let fixture = Fixture::new(loads.iter().flat_map(|load| sides_under(load, &stock, &isolated)).collect());
    assert!(judged(&fixture, &lower()).1.contains("for one of 20 comparisons"));
}

/// A run makes exactly the comparisons that its plan announces: the same number of pairs and repeats, with separate labels. A pilot has the
/// same figures.
#[test]
fn planned_comparisons_are_those_that_are_made() {
    let mut fixture = Fixture::new([sides_under("idle", &TEN, &TEN), sides_under("busy", &TEN[..4], &TEN)].concat());
    let labels = vec![("kind".to_owned(), vec!["normal".to_owned(), "inherit".to_owned()])];
    for number in 1..=fixture.run.cells.len() {
        for (series, kind) in fixture.record(number).series.iter_mut().zip(["normal", "inherit"]) {
            series.labels = [("kind".to_owned(), kind.to_owned())].into();
        }
        let cell = &mut fixture.run.cells[number - 1];
        (cell.measurand.labels, cell.cell.seed) = (labels.clone(), number as u64);
    }
    let kinds = than(&[("kind", "inherit")], Statistic::Max, Op::Less, &[("kind", "normal")]);
    fixture.run.plan.expect = vec![lower(), expect(&[], Statistic::Max, Op::Less, 1.0), kinds];
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    let all = planned::planned(&fixture.run.plan, &known);
    let repeats =
        |number: usize| all.iter().filter(|one| one.expect == number).map(|one| one.repeats).collect::<Vec<_>>();
    assert_eq!(repeats(0), [(10, 10), (10, 10), (10, 4), (10, 4)]);
    let mut of_kinds = repeats(2);
    of_kinds.sort_unstable();
    assert_eq!(of_kinds, [(4, 4), (10, 10), (10, 10), (10, 10)]);
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, &fixture)).collect::<Vec<_>>();
    let pilots = planned::pilots(&fixture.run, &cells, &fixture);
    let arms: Vec<_> = pilots.iter().map(|one| (one.arms[0].len() as u64, one.arms[1].len() as u64)).collect();
    assert_eq!(arms, all.iter().map(|one| one.repeats).collect::<Vec<_>>());
    // latido makes no comparison that the scale of the plan rules out.
    fixture.run.plan.scaled = Some(0.5);
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    assert_eq!(planned::planned(&fixture.run.plan, &known), []);
}

/// A quantity is compared with another quantity of the same repeats, in each cell of the plan; latido does not confuse the two.
#[test]
fn quantities_of_the_same_repeats_are_compared() {
    let mut fixture = Fixture::new(sides_under("idle", &TEN, &grown(&TEN, 3.0)));
    for number in 1..=fixture.run.cells.len() {
        let series = &mut fixture.record(number).series;
        series[0].quantity = "early".into();
        let cell = &mut fixture.run.cells[number - 1];
        let early = cell.measurand.quantities[0].clone();
        cell.measurand.quantities.push(Quantity { name: "early".into(), ..early });
        cell.cell.seed = number as u64;
    }
    let than = than(STOCK, Statistic::Max, Op::Greater, &[("quantity", "early")]);
    for (times, outcome) in [(5.0, Outcome::Holds), (500.0, Outcome::DoesNotHold)] {
        let one = shifted(than.clone(), |than| than.times = times);
        let (found, detail) = judged(&fixture, &one);
        assert_eq!(found, outcome, "{detail}");
        assert!(detail.contains("latency 115 µs against early 2.50 µs"), "{detail}");
        assert!(detail.ends_with("10 repeats per side"), "{detail}");
    }
    fixture.run.plan.expect = vec![than];
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    let all = planned::planned(&fixture.run.plan, &known);
    assert_eq!(all, [planned::Planned { expect: 0, repeats: (10, 10) }]);
}

#[test]
fn labels_tell_series_apart_and_pair_them() {
    let cells = (1..=4).map(|n| {
        let spike = 90_000 + i64::from(n) * 1_000;
        (
            Cell { repeat: n, ..cell() },
            vec![vec![2_000, 24_000], vec![2_000, spike], vec![2_000, 24_000], vec![2_000, 24_000]],
        )
    });
    let mut fixture = Fixture::new(cells.collect());
    let values = |all: [&str; 2]| all.map(String::from).to_vec();
    for number in 1..=4 {
        let kinds = [("normal", "no"), ("inherit", "no"), ("normal", "yes"), ("inherit", "yes")];
        for (series, (kind, shared)) in fixture.record(number).series.iter_mut().zip(kinds) {
            series.labels = [("kind", kind), ("shared", shared)].map(|(a, b)| (a.to_string(), b.to_string())).into();
        }
        fixture.run.cells[number - 1].measurand.labels =
            vec![("kind".into(), values(["normal", "inherit"])), ("shared".into(), values(["no", "yes"]))];
    }
    let judged = |filter: &[(&str, &str)], levels: &[(&str, &str)]| {
        super::judged(&fixture, &than(filter, Statistic::Max, Op::Greater, levels))
    };
    let (outcome, detail) = judged(&[("kind", "inherit"), ("shared", "no")], &[("kind", "normal")]);
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    assert!(
        detail.starts_with("wakeup, idle, kind inherit, shared no: inherit 92.5 µs against normal 24.0 µs"),
        "{detail}"
    );
    // With shared mutexes the two kinds do not differ, so the outcome is undecided: all pairs must hold.
    let (outcome, detail) = judged(&[("kind", "inherit")], &[("kind", "normal")]);
    assert_eq!(outcome, Outcome::Undecided, "{detail}");
    assert_eq!(judged(&[("shared", "no"), ("kind", "inherit")], &[("shared", "yes")]).0, Outcome::Holds);
}

/// An exact name on the other side means that level only: `other` does not include `other nice -20`.
#[test]
fn an_exact_level_is_the_other_side_alone() {
    let nice = Scheduling::Other { nice: -20, by: latido_model::cell::NiceBy::Nice };
    let levels = [(Scheduling::OTHER, 90_000), (nice, 40_000), (Scheduling::Rr { prio: 95 }, 50_000)];
    let cells = levels.into_iter().flat_map(|(scheduling, max)| {
        (1..=5).map(move |repeat| (Cell { scheduling, repeat, ..cell() }, vec![vec![2_000, max + i64::from(repeat)]]))
    });
    let fixture = Fixture::new(cells.collect());
    let rr = [("scheduling", "rr")];
    let (outcome, detail) = judged(&fixture, &than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other")]));
    assert_eq!((outcome, detail.contains("more")), (Outcome::Holds, false), "{detail}");
    let against = than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other nice -20")]);
    assert_eq!(judged(&fixture, &against).0, Outcome::DoesNotHold);
}
