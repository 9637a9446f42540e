//! What must agree so that a comparison says something about the systems, and not about how they were measured.

use super::{
    Observed,
    grouping::{Group, told},
    items,
    unlike::Unlike,
};
use crate::{statistics::middle, words};

/// How far apart the lengths of repeats may be.
const LENGTH: f64 = 0.1;

/// Returns in what the sides of a place are unlike, apart from what distinguishes places: load, clock, length. `factor` is what makes the
/// sides.
pub fn unlike(group: &Group, names: &[String], factor: Option<&str>) -> Vec<(Unlike, String)> {
    let mut found = Vec::new();
    let place = named(group);
    let mut differing = |unlike: Unlike, what: &str, of: &dyn Fn(&Observed) -> String| {
        let mut arms: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, arm) in names.iter().zip(&group.arms) {
            for one in arm {
                let value = of(one);
                match arms.iter_mut().find(|(known, _)| *known == value) {
                    Some((_, all)) if all.contains(&name.as_str()) => {}
                    Some((_, all)) => all.push(name),
                    None => arms.push((value, vec![name])),
                }
            }
        }
        // A value that every side has distinguishes nothing.
        let everywhere = group.arms.iter().filter(|arm| !arm.is_empty()).count();
        if arms.iter().any(|(_, all)| all.len() < everywhere) {
            let arms: Vec<(&str, Vec<&str>)> = arms.iter().map(|(value, all)| (value.as_str(), all.clone())).collect();
            found.push((unlike, format!("{place}: {what} is {}", told(&arms))));
        }
    };
    if factor != Some("clock") {
        differing(Unlike::Clock, "the clock", &|one| one.clock.clone());
    }
    if factor != Some("load") {
        differing(Unlike::Load, "the load", &|one| items(&one.cell.load));
    }
    let lengths: Vec<Option<f64>> = group.arms.iter().map(|arm| middle(arm.iter().map(|one| length(one)))).collect();
    found.extend(apart(&lengths, names, LENGTH).map(|(short, long)| {
        (
            Unlike::Length,
            format!(
                "{place}: a repeat has {} in {}, {} in {}",
                said(group, short.0),
                short.1,
                said(group, long.0),
                long.1
            ),
        )
    }));
    found
}

/// Returns the length of a repeat: in samples if its probe counts these, else in ns.
pub fn length(one: &Observed) -> f64 {
    match one.measurand.counts_samples {
        true => one.quantities.iter().map(|quantity| quantity.count as f64).sum(),
        false => one.elapsed_ns as f64,
    }
}

/// Whether a repeat is so much shorter than usual among these that its maximum covers less.
pub fn is_cut(one: &Observed, usual: f64) -> bool {
    let known = length(one);
    known > 0.0 && known < usual * (1.0 - LENGTH)
}

fn said(group: &Group, length: f64) -> String {
    let counted = group.arms.iter().flatten().any(|one| one.measurand.counts_samples);
    let text = if counted { words::many(length as u64, "sample") } else { words::roughly(length / 1e9) };
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

/// Returns `wakeup (busy)`.
fn named(group: &Group) -> String {
    match group.place_text() {
        place if place.is_empty() => group.probe.clone(),
        place => format!("{} ({place})", group.probe),
    }
}

/// Returns what the loads of a place count, with the median rate of every side.
fn rates<'a>(group: &Group<'a>) -> Vec<(&'a String, Vec<Option<f64>>)> {
    let mut counts: Vec<&String> = group.arms.iter().flatten().flat_map(|one| one.rates.keys()).collect();
    counts.sort();
    counts.dedup();
    let of_arm =
        |count: &String, arm: &Vec<&Observed>| middle(arm.iter().filter_map(|one| one.rates.get(count).copied()));
    counts.into_iter().map(|count| (count, group.arms.iter().map(|arm| of_arm(count, arm)).collect())).collect()
}

fn per_second(rate: f64) -> String {
    words::per_second(rate).replace('\u{a0}', " ")
}

/// Returns the loads of a place whose rates in two sides are further apart than a margin, .25 for 25 %.
pub fn rates_apart(group: &Group, names: &[String], margin: f64) -> Vec<(Unlike, String)> {
    let (place, most) = (named(group), words::trimmed(margin * 100.0));
    let of = |(count, each): (&String, Vec<Option<f64>>)| {
        let ((less, slow), (more, fast)) = apart(&each, names, margin)?;
        let (less, more) = (per_second(less), per_second(more));
        Some((
            Unlike::Load,
            format!("{place}: {count} is {less} in {slow}, {more} in {fast}: more than {most} % apart"),
        ))
    };
    rates(group).into_iter().filter_map(of).collect()
}

/// Returns the sides of a place in which a load did more or less than usual, by more than a margin; each with its index.
pub fn unusual_rates(group: &Group, names: &[String], margin: f64) -> Vec<(usize, String)> {
    let (place, most) = (named(group), words::trimmed(margin * 100.0));
    let mut found = Vec::new();
    for (count, each) in rates(group) {
        let Some(usual) = middle(each.iter().copied().flatten()) else { continue };
        for (arm, (rate, name)) in each.iter().zip(names).enumerate() {
            let Some(rate) = rate.filter(|rate| *rate > usual * (1.0 + margin) || rate * (1.0 + margin) < usual) else {
                continue;
            };
            let (rate, usual) = (per_second(rate), per_second(usual));
            found.push((arm, format!("{name}: {place}: {count} is {rate}, usually {usual}: more than {most} % apart")));
        }
    }
    found
}

/// A number with the name of its side.
type OfArm<'n> = (f64, &'n str);

/// Returns the least and the greatest value of the sides if they are further apart than a margin.
fn apart<'n>(each: &[Option<f64>], names: &'n [String], margin: f64) -> Option<(OfArm<'n>, OfArm<'n>)> {
    let mut known: Vec<(f64, &str)> =
        each.iter().zip(names).filter_map(|(value, name)| Some(((*value)?, name.as_str()))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (*known.first()?, *known.last()?);
    (most.0 > least.0 * (1.0 + margin)).then_some((least, most))
}
