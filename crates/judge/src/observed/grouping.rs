//! Finds which repeats of several sides belong together: those that agree in everything except what the sides differ in.

use super::{Observed, unlike::Unlike};
use latido_model::cell::Axis;
use std::collections::BTreeSet;

/// The repeats of a place on every side.
#[derive(Debug)]
pub struct Group<'a> {
    /// The probe's name.
    pub probe: String,
    /// Names and values in which the groups of a probe differ.
    pub place: Vec<(String, String)>,
    /// The repeats of each side; a side may have none.
    pub arms: Vec<Vec<&'a Observed>>,
}

/// The result of [`groups`].
#[derive(Debug, Default)]
pub struct Groups<'a> {
    /// The places, in the order of the first side that has them.
    pub all: Vec<Group<'a>>,
    /// What makes sides incomparable, in words.
    pub unlike: Vec<(Unlike, String)>,
}

impl Group<'_> {
    /// Returns `load=busy, period=1ms`; empty where the probe has one place.
    pub fn place_text(&self) -> String {
        let values = self.place.iter().map(|(name, value)| match (Axis::named(name), value.as_str()) {
            (Some(_), value) => value.to_owned(),
            (None, "") => format!("no {name}"),
            (None, value) => format!("{name}={value}"),
        });
        values.collect::<Vec<_>>().join(", ")
    }
}

/// Groups the repeats of sides, probe by probe. If every side has only one value in a column, the sides differ in it or share it. If a side
/// has several values, the column distinguishes places. `factor` is what makes the sides.
pub fn groups<'a>(names: &[String], arms: &'a [Vec<Observed>], factor: Option<&str>) -> Groups<'a> {
    let mut found = Groups::default();
    let foreign = is_foreign(arms);
    let mut probes: Vec<(&str, &str)> = Vec::new();
    for one in arms.iter().flatten() {
        let name = one.cell.probe.name.as_str();
        let key = if foreign { what(one) } else { name };
        if probes.iter().all(|(known, _)| *known != key) {
            probes.push((key, name));
        }
    }
    for (key, probe) in probes {
        let is_of = |one: &&Observed| (if foreign { what(one) } else { one.cell.probe.name.as_str() }) == key;
        let of_probe = |arm: &'a Vec<Observed>| arm.iter().filter(is_of);
        let keys: Vec<Key> = keys(&arms.iter().map(|arm| of_probe(arm).collect()).collect::<Vec<_>>(), factor);
        let told = keys.iter().filter(|_| !foreign).filter_map(|key| key.unlike(probe, names));
        found.unlike.extend(told.collect::<Vec<_>>());
        let tells: Vec<&str> = keys.iter().filter(|key| key.tells).map(|key| key.name.as_str()).collect();
        let first = found.all.len();
        for (at, arm) in arms.iter().enumerate() {
            for one in of_probe(arm) {
                let place: Vec<(String, String)> =
                    tells.iter().map(|name| ((*name).to_owned(), one.column(name))).collect();
                let known = found.all.iter().skip(first).position(|group| group.place == place);
                let known = known.map_or_else(
                    || {
                        let group = Group { probe: probe.into(), place, arms: vec![Vec::new(); arms.len()] };
                        found.all.push(group);
                        found.all.len() - 1
                    },
                    |known| known + first,
                );
                if let Some(members) = found.all.get_mut(known).and_then(|group| group.arms.get_mut(at)) {
                    members.push(one);
                }
            }
        }
    }
    found
}

/// Whether runs of other tools are compared with each other's or latido's runs: then latido groups them by what they measured, because it
/// does not know whether they agree in everything else.
pub fn is_foreign(arms: &[Vec<Observed>]) -> bool {
    let whose = |arm: &Vec<Observed>| -> BTreeSet<(bool, String)> {
        arm.iter().map(|one| (one.imported, one.cell.probe.name.clone())).collect()
    };
    let mut all = arms.iter().filter(|arm| !arm.is_empty()).map(whose);
    let first = all.next();
    arms.iter().flatten().any(|one| one.imported) && all.any(|arm| Some(arm) != first)
}

/// Returns the quantity that stands for a probe: `latency` if limits apply to it (the interrupt's latency next to it is another one), else
/// the first quantity to which limits apply.
fn what(one: &Observed) -> &str {
    let judged = || one.quantities.iter().filter(|quantity| quantity.judged && quantity.count > 0);
    let found = judged().find(|quantity| quantity.name == "latency").or_else(|| judged().next());
    found.map_or(one.cell.probe.name.as_str(), |quantity| quantity.name.as_str())
}

/// A column with its values on all sides.
struct Key {
    name: String,
    /// The distinct values of each side that measured the probe, with the side's index.
    values: Vec<(usize, Vec<String>)>,
    /// Whether it distinguishes the places of a side.
    tells: bool,
}

fn keys(arms: &[Vec<&Observed>], factor: Option<&str>) -> Vec<Key> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in arms.iter().flatten().flat_map(|one| one.columns()) {
        if !names.contains(&name) && factor != Some(name.as_str()) {
            names.push(name);
        }
    }
    let key = |name: String| {
        let values = |arm: &Vec<&Observed>| {
            let mut values: Vec<String> = arm.iter().map(|one| one.column(&name)).collect();
            values.sort();
            values.dedup();
            values
        };
        let values: Vec<(usize, Vec<String>)> =
            arms.iter().map(values).enumerate().filter(|(_, values)| !values.is_empty()).collect();
        // If no two sides share a value, the values are what the sides differ in: there is no common place.
        let several = values.iter().any(|(_, values)| values.len() > 1);
        let tells = several && (values.len() == 1 || is_shared(&values));
        Key { name, values, tells }
    };
    names.into_iter().map(key).collect()
}

/// Whether two sides have a value in common.
fn is_shared(arms: &[(usize, Vec<String>)]) -> bool {
    let mut seen = BTreeSet::new();
    arms.iter().flat_map(|(_, values)| values).any(|value| !seen.insert(value))
}

impl Key {
    /// Returns how the column makes the sides unlike, if it does.
    fn unlike(&self, probe: &str, names: &[String]) -> Option<(Unlike, String)> {
        if self.tells {
            return None;
        }
        let mut arms: Vec<(String, Vec<&str>)> = Vec::new();
        for (arm, values) in &self.values {
            let value = values.join(" or ");
            let arm = names.get(*arm).map_or("", String::as_str);
            match arms.iter_mut().find(|(known, _)| *known == value) {
                Some((_, all)) => all.push(arm),
                None => arms.push((value, vec![arm])),
            }
        }
        let unlike = Unlike::of_column(&self.name).filter(|_| arms.len() > 1)?;
        Some((unlike, format!("{probe}: {} is {}", self.name, told(&arms))))
    }
}

/// Returns `1ms in a, 250us in b and 3 more`.
pub fn told<S: AsRef<str>>(arms: &[(S, Vec<&str>)]) -> String {
    let one = |(value, arms): &(S, Vec<&str>)| {
        let value = value.as_ref();
        let value = if value.is_empty() { "not there" } else { value };
        match arms.as_slice() {
            [first] => format!("{value} in {first}"),
            [first, second] => format!("{value} in {first} and {second}"),
            [first, more @ ..] => format!("{value} in {first} and {} more", more.len()),
            [] => value.to_owned(),
        }
    };
    arms.iter().map(one).collect::<Vec<_>>().join(", ")
}
