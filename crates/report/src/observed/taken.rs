//! Which quantities of a place are looked at, and which of its repeats count.

use super::{Figure, Metric, Observed, Quantity, alike, grouping::Group};

/// What the repeats of an arm have of a quantity.
#[derive(Debug, Default)]
pub struct Taken<'a> {
    /// The figure of each repeat that counts.
    pub figures: Vec<Figure>,
    /// Its samples.
    pub samples: Vec<&'a [(i64, u64)]>,
    /// The repeats themselves.
    pub repeats: Vec<&'a Observed>,
    /// Repeats that do not count, with the reason.
    pub left_out: Vec<String>,
}

/// The quantities of a group that are looked at and have samples, each once.
pub fn quantities<'a>(group: &Group<'a>, metric: &Metric) -> Vec<&'a Quantity> {
    let mut found: Vec<&Quantity> = Vec::new();
    for one in group.arms.iter().flatten() {
        for quantity in one.quantities.iter().filter(|quantity| metric.looks_at(&group.probe, quantity)) {
            if quantity.count > 0 && found.iter().all(|known| known.key() != quantity.key()) {
                found.push(quantity);
            }
        }
    }
    found
}

/// Why no quantity of these groups decides.
pub fn nothing(groups: &[&Group], metric: &Metric) -> String {
    let mut there: Vec<String> = Vec::new();
    for group in groups {
        for quantity in group.arms.iter().flatten().flat_map(|one| &one.quantities) {
            let name = format!("{}.{}", group.probe, quantity.name);
            if !there.contains(&name) {
                there.push(name);
            }
        }
    }
    let there = there.join(", ");
    match &metric.only {
        _ if there.is_empty() => "nothing was measured in common".into(),
        Some((probe, quantity)) => format!("{probe}.{quantity} was not measured in common: there are {there}"),
        None => format!("limits look at nothing that was measured in common: name one of {there} by --metric"),
    }
}

/// Whether the samples of a quantity have no pause between them.
pub fn is_continuous(group: &Group, quantity: &Quantity) -> bool {
    let declared = |one: &Observed| one.measurand.quantity(&quantity.name).is_some_and(|known| known.continuous);
    group.arms.iter().flatten().copied().any(declared)
}

/// What an arm has of a quantity. A repeat that contradicts itself, is not what was asked for, or was cut short is left out.
pub fn taken<'a>(arm: &[&'a Observed], quantity: &Quantity) -> Taken<'a> {
    let mut taken = Taken::default();
    let usual = alike::median(arm.iter().map(|one| alike::length(one))).unwrap_or(0.0);
    // By run and reason: what is wrong with one repeat is often wrong with all.
    let mut left_out: Vec<(&str, String, Vec<String>)> = Vec::new();
    for one in arm {
        let found = one.quantities.iter().find(|other| other.key() == quantity.key());
        let why = match (&one.doubt, found.map(|found| (&found.figure, found))) {
            (Some(doubt), _) => doubt.clone(),
            _ if alike::is_cut(one, usual) => "cut short: less was measured than in the others".into(),
            (None, None) => "the quantity was not measured".into(),
            (None, Some((Err(why), _))) => why.clone(),
            (None, Some((Ok(figure), found))) => {
                taken.figures.push(*figure);
                taken.samples.push(&found.samples);
                taken.repeats.push(one);
                continue;
            }
        };
        let repeat = one.repeat.to_string();
        match left_out.iter_mut().find(|(run, known, _)| *run == one.run && *known == why) {
            Some((_, _, repeats)) => repeats.push(repeat),
            None => left_out.push((&one.run, why, vec![repeat])),
        }
    }
    let told = |(run, why, repeats): (&str, String, Vec<String>)| {
        let noun = if repeats.len() == 1 { "repeat" } else { "repeats" };
        format!("{noun} {} of {run}: {why}", repeats.join(", "))
    };
    taken.left_out = left_out.into_iter().map(told).collect();
    taken
}
