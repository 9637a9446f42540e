use super::*;
use crate::{random, two::uneven};
use rand::Rng as _;

/// Observations of one factor with these values per level.
fn one_factor(levels: &[Vec<f64>]) -> Vec<Observation> {
    let each = levels.iter().zip(["a", "b", "c", "d"]);
    let all = each.flat_map(|(values, level)| {
        values.iter().map(|value| Observation { levels: vec![level.into()], block: None, value: *value })
    });
    all.collect()
}

/// With two levels the errors are Welch's.
#[test]
fn two_combinations_of_unlike_spread_are_compared_as_welch_does() {
    let (narrow, wide) = (vec![10.0, 10.1, 10.2, 9.9, 10.05], vec![8.0, 12.0, 30.0, 5.0, 22.0, 16.0]);
    let found = effects(&["f"], &one_factor(&[narrow.clone(), wide.clone()]), 1).unwrap();
    assert!(found.uneven && found.each_own);
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let p = uneven::student(&logs(&narrow), &logs(&wide)).unwrap();
    assert!((found.contrasts[0].p.unwrap() - p).abs() < 1e-9, "{found:?} {p}");
    assert!((found.terms[0].p.unwrap() - p).abs() < 1e-9);
}

/// Wrong effects among 200 files without any, of 5 %: with combinations of this many values and this spread each, in blocks or without.
fn wrong(numbers: &[usize], spreads: &[f64], blocks: bool, factors: &[&str]) -> [u32; 2] {
    let mut source = random::generator(31);
    let mut wrong = [0; 2];
    for _ in 0..200 {
        let mut all = Vec::new();
        for (cell, (number, spread)) in numbers.iter().zip(spreads).enumerate() {
            let levels = if factors.len() == 2 {
                vec![(cell / 2).to_string(), (cell % 2).to_string()]
            } else {
                vec![cell.to_string()]
            };
            for block in 0..*number {
                let normal = (0..12).map(|_| source.random_range(-0.5..0.5)).sum::<f64>();
                let block = blocks.then(|| block.to_string());
                all.push(Observation { levels: levels.clone(), block, value: (spread * normal).exp() });
            }
        }
        let found = effects(factors, &all, 2).unwrap();
        let said = |p: Option<f64>| u32::from(p.is_some_and(|p| p < 0.05));
        wrong[0] += said(found.contrasts[0].p);
        wrong[1] += said(found.terms[0].p);
    }
    wrong
}

/// Effects that are none are told in 5 of 100, however unlike the spreads are: of 200, more than 18 are told once in 100 tests.
#[test]
fn unlike_spreads_are_no_effects() {
    let two: &[&str] = &["f", "g"];
    for (numbers, spreads, blocks, factors) in [
        (vec![5, 20], vec![0.8, 0.1], false, &two[..1]),
        (vec![10, 10], vec![0.8, 0.1], false, &two[..1]),
        (vec![5, 12, 12], vec![0.8, 0.1, 0.1], false, &two[..1]),
        (vec![5, 12, 12, 12], vec![0.8, 0.1, 0.1, 0.1], false, two),
        (vec![8, 8, 8, 8], vec![0.8, 0.1, 0.1, 0.1], true, two),
        (vec![8, 8, 8, 8], vec![0.1, 0.1, 0.1, 0.1], true, two),
    ] {
        let found = wrong(&numbers, &spreads, blocks, factors);
        assert!(found.iter().all(|count| *count <= 18), "{found:?}: {numbers:?} {spreads:?} {blocks} {factors:?}");
    }
}
