//! Which quantities of a place a comparison includes, and which of its repeats count.

use super::{Figure, Metric, Observed, Quantity, alike, grouping::Group};
use crate::{
    foreign::{Parted, Repeated, part},
    statistics::middle,
    words,
};

/// The repeats of a side for one quantity.
#[derive(Clone, Debug, Default)]
pub struct Taken<'a> {
    /// The repeats that count.
    pub repeats: Vec<Counted<'a>>,
    /// The repeats that do not count.
    out: Vec<Out<'a>>,
}

/// A repeat that counts.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// The repeat.
    pub of: &'a Observed,
    /// Its quantity.
    pub quantity: &'a Quantity,
    /// Its figure.
    pub figure: Figure,
}

/// Repeats of a run that do not count, with the common reason: a fault of one repeat often affects all.
#[derive(Clone, Debug)]
struct Out<'a> {
    run: &'a str,
    why: String,
    repeats: Vec<u32>,
}

impl Repeated for Counted<'_> {
    fn value(&self) -> f64 {
        self.figure.value()
    }

    fn foreign_above(&self, edge: f64) -> Vec<Option<bool>> {
        self.quantity.tail.as_ref().map(|tail| tail.foreign_above(edge)).unwrap_or_default()
    }
}

impl<'a> Taken<'a> {
    /// Returns the figure of each repeat that counts.
    pub fn figures(&self) -> Vec<Figure> {
        self.repeats.iter().map(|one| one.figure).collect()
    }

    /// Returns the samples of each repeat that counts.
    pub fn samples(&self) -> Vec<&'a [(i64, u64)]> {
        self.repeats.iter().map(|one| one.quantity.samples.as_slice()).collect()
    }

    /// Returns the repeats that do not count, with the reasons.
    pub fn left_out(&self) -> Vec<String> {
        let told = |Out { run, why, repeats }: &Out| {
            let noun = if repeats.len() == 1 { "repeat" } else { "repeats" };
            let numbers: Vec<String> = repeats.iter().map(u32::to_string).collect();
            format!("{noun} {} of {run}: {why}", numbers.join(", "))
        };
        self.out.iter().map(told).collect()
    }

    fn leave_out(&mut self, one: &'a Observed, why: String) {
        match self.out.iter_mut().find(|known| known.run == one.run && known.why == why) {
            Some(known) => known.repeats.push(one.repeat),
            None => self.out.push(Out { run: &one.run, why, repeats: vec![one.repeat] }),
        }
    }
}

/// Compares two sides and leaves out the repeats whose excess over the other side may be time of other programs or the hypervisor.
pub fn against<'a>(arms: [&Taken<'a>; 2]) -> [Taken<'a>; 2] {
    let [a, b] = arms.map(Clone::clone);
    let parted = part([a.repeats, b.repeats]);
    let [of_a, of_b] = [a.out, b.out].map(|out| Taken { repeats: Vec::new(), out });
    let mut both = [of_a, of_b];
    for (taken, Parted { own, foreign, edge }) in both.iter_mut().zip(parted) {
        taken.repeats = own;
        for one in foreign {
            let edge = words::value(edge.round(), &one.quantity.unit).replace('\u{a0}', " ");
            taken.leave_out(one.of, format!("all above {edge} may be time of other programs or the host"));
        }
    }
    both
}

/// Returns the quantities of a group that the metric includes and that have samples, each once.
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

/// Explains why no quantity of these groups decides.
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
        _ if there.is_empty() => "no quantity was measured in common".into(),
        Some((probe, quantity)) => format!("{probe}.{quantity} was not measured in common; measured: {there}"),
        None => format!("no limit applies to what was measured in common; name one of {there} with --metric"),
    }
}

/// Whether the samples of a quantity have no pause between them.
pub fn is_continuous(group: &Group, quantity: &Quantity) -> bool {
    let declared = |one: &Observed| one.measurand.quantity(&quantity.name).is_some_and(|known| known.continuous);
    group.arms.iter().flatten().copied().any(declared)
}

/// Returns the repeats of a side for a quantity. It leaves out a repeat that contradicts itself, is not what the user requested, or was cut
/// short.
pub fn taken<'a>(arm: &[&'a Observed], quantity: &Quantity) -> Taken<'a> {
    let mut taken = Taken::default();
    let usual = middle(arm.iter().map(|one| alike::length(one))).unwrap_or(0.0);
    for one in arm {
        let found = one.quantities.iter().find(|other| other.key() == quantity.key());
        match (&one.doubt, found.map(|found| (&found.figure, found))) {
            (Some(doubt), _) => taken.leave_out(one, doubt.clone()),
            _ if alike::is_cut(one, usual) => {
                taken.leave_out(one, "cut short: less was measured than in the others".into());
            }
            (None, None) => taken.leave_out(one, "the quantity was not measured".into()),
            (None, Some((Err(why), _))) => taken.leave_out(one, why.clone()),
            (None, Some((Ok(figure), quantity))) => {
                taken.repeats.push(Counted { of: one, quantity, figure: *figure });
            }
        }
    }
    taken
}
