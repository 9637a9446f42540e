//! What must agree for a comparison to say something of the systems, and not of how they were measured.

use super::{
    Observed,
    grouping::{Group, told},
    items,
    unlike::Unlike,
};
use crate::{statistics::middle, words};

/// How far the lengths of repeats may be apart.
const LENGTH: f64 = 0.1;

/// In what the arms of a place are unlike beside what tells places apart: load, clock, length. `factor` is what makes the
/// arms, and `rate` how far the rates of their loads may be apart, .25 for 25 %.
pub fn unlike(group: &Group, names: &[String], factor: Option<&str>, rate: f64) -> Vec<(Unlike, String)> {
    let mut found = Vec::new();
    let place = group.place_text();
    let place = if place.is_empty() { group.probe.clone() } else { format!("{} ({place})", group.probe) };
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
        // What all arms have alike tells nothing apart.
        let everywhere = group.arms.iter().filter(|arm| !arm.is_empty()).count();
        if arms.iter().any(|(_, all)| all.len() < everywhere) {
            let arms: Vec<(&str, Vec<&str>)> = arms.iter().map(|(value, all)| (value.as_str(), all.clone())).collect();
            found.push((unlike, format!("{place}: {what} is {}", told(&arms))));
        }
    };
    differing(Unlike::Clock, "the clock", &|one| one.clock.clone());
    if factor != Some("load") {
        differing(Unlike::Load, "the load", &|one| items(&one.cell.load));
        found.extend(rates(group, names, rate).into_iter().map(|text| (Unlike::Load, format!("{place}: {text}"))));
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

/// How long a repeat is: in samples where its probe counts these, else in ns.
pub fn length(one: &Observed) -> f64 {
    match one.measurand.counts_samples {
        true => one.quantities.iter().map(|quantity| quantity.count as f64).sum(),
        false => one.elapsed_ns as f64,
    }
}

/// Whether a repeat is so much shorter than is usual among these that its maximum is of less.
pub fn is_cut(one: &Observed, usual: f64) -> bool {
    let known = length(one);
    known > 0.0 && known < usual * (1.0 - LENGTH)
}

fn said(group: &Group, length: f64) -> String {
    let counted = group.arms.iter().flatten().any(|one| one.measurand.counts_samples);
    let text = if counted { words::many(length as u64, "sample") } else { words::roughly(length / 1e9) };
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

/// The loads whose rates are too far apart.
fn rates(group: &Group, names: &[String], margin: f64) -> Vec<String> {
    let mut counts: Vec<&String> = group.arms.iter().flatten().flat_map(|one| one.rates.keys()).collect();
    counts.sort();
    counts.dedup();
    let of = |count: &String| {
        let each = group.arms.iter().map(|arm| middle(arm.iter().filter_map(|one| one.rates.get(count).copied())));
        let (less, more) = apart(&each.collect::<Vec<_>>(), names, margin)?;
        let per_second = |rate| words::per_second(rate).replace('\u{a0}', " ");
        Some(format!(
            "{count} is {} in {}, {} in {}: more than {} % apart",
            per_second(less.0),
            less.1,
            per_second(more.0),
            more.1,
            words::trimmed(margin * 100.0)
        ))
    };
    counts.into_iter().filter_map(of).collect()
}

/// A number with the arm that it is of.
type OfArm<'n> = (f64, &'n str);

/// The least and the most of the arms, where they are further apart than a margin.
fn apart<'n>(each: &[Option<f64>], names: &'n [String], margin: f64) -> Option<(OfArm<'n>, OfArm<'n>)> {
    let mut known: Vec<(f64, &str)> =
        each.iter().zip(names).filter_map(|(value, name)| Some(((*value)?, name.as_str()))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (*known.first()?, *known.last()?);
    (most.0 > least.0 * (1.0 + margin)).then_some((least, most))
}
