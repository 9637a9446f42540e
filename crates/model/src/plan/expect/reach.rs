//! Whether a plan has what an expectation needs: cells, labels, partners to compare with, band edges.

use super::{CPU, QUANTITY, axes, is_of_series, metric, option_of};
use crate::{
    cell::Item,
    plan::{Against, Expect, Filter, Group, Probed, Than},
    quantity::Measurand,
    written,
};

/// Whether the expectation covers some cell of the groups and, in a comparison, this cell has a partner.
pub fn reachable(expect: &Expect, groups: &[Group]) -> bool {
    let limits: Vec<u64> = groups.iter().filter_map(|group| Some(group.conditions.limit?.0)).collect();
    if expect.statistic.edge().is_some_and(|edge| !metric::is_edge(edge, &limits)) {
        return false;
    }
    match &expect.against {
        Against::Value(_) => covered(expect, &expect.filter, groups),
        Against::Than(than) => groups.iter().any(|a| groups.iter().any(|b| compared(expect, than, a, b))),
    }
}

/// Whether some cell of the groups has these levels and yields the metric with these labels.
pub(super) fn covered(expect: &Expect, filter: &Filter, groups: &[Group]) -> bool {
    groups.iter().any(|group| {
        let read = |one: &Probed| reads(expect, filter, &one.item.name, &one.measurand);
        let items = group.probe.iter().any(|one| read(one) && has_options(&one.item, filter));
        items && filter.iter().all(|(axis, level)| is_of_series(axis) || has(group, axis, level))
    })
}

fn has(group: &Group, axis: &str, level: &str) -> bool {
    level_names(group, axis).iter().any(|name| is_level(name, level))
}

/// Whether the expectation compares a cell of group `a` with a cell of group `b`, which may be the same group.
fn compared(expect: &Expect, than: &Than, a: &Group, b: &Group) -> bool {
    let there = elsewhere(&expect.filter, than);
    let wanted = |axis: &str| expect.filter.iter().find(|(key, _)| key == axis).map(|(_, level)| level.as_str());
    // The two sides must differ in something.
    let differs = than.levels.iter().any(|(axis, level)| match wanted(axis) {
        _ if is_of_series(axis) => wanted(axis) != Some(level),
        wanted => {
            let names = level_names(a, axis);
            let side = names.iter().filter(|name| wanted.is_none_or(|wanted| is_level(name, wanted)));
            side.into_iter().any(|name| !picked(name, level, &level_names(b, axis)))
        }
    });
    let axis_meets = |axis: &str| match than.levels.iter().find(|(key, _)| key == axis) {
        Some((_, level)) => wanted(axis).is_none_or(|own| has(a, axis, own)) && has(b, axis, level),
        None => {
            let others = level_names(b, axis);
            let mut names = level_names(a, axis).into_iter();
            names.any(|name| wanted(axis).is_none_or(|own| is_level(&name, own)) && others.contains(&name))
        }
    };
    let item_meets = |one: &&Probed| {
        let reads = |one: &Probed, filter| {
            reads(expect, filter, &one.item.name, &one.measurand) && has_options(&one.item, filter)
        };
        let alike = |other: &Probed| without(&other.item, than) == without(&one.item, than) && reads(other, &there);
        reads(one, &expect.filter) && b.probe.iter().any(alike)
    };
    differs
        && (&a.conditions.cpus, a.conditions.limit) == (&b.conditions.cpus, b.conditions.limit)
        && axes().all(|axis| axis_meets(axis.name()))
        && a.probe.iter().any(|item| item_meets(&item))
}

/// Whether a probe has the options of a filter.
fn has_options(item: &Item, filter: &Filter) -> bool {
    let options = filter.iter().filter_map(|(key, level)| Some((option_of(key)?, level)));
    options.into_iter().all(|(option, level)| item.options.get(option).map(written::said).as_ref() == Some(level))
}

/// Returns a probe without the options that a comparison is about. Both sides must agree in all others.
pub fn without(item: &Item, than: &Than) -> Item {
    let mut item = item.clone();
    for option in than.levels.iter().filter_map(|(key, _)| option_of(key)) {
        item.options.remove(option);
    }
    item
}

/// The values that an option of a probe has in these groups.
pub(super) fn values_of(groups: &[Group], probe: &str, option: &str) -> Vec<String> {
    let items = groups.iter().flat_map(|group| &group.probe).map(|one| &one.item).filter(|item| item.name == probe);
    let mut values: Vec<String> = items.filter_map(|item| item.options.get(option).map(written::said)).collect();
    values.sort();
    values.dedup();
    values
}

/// Returns the filter of a comparison's other side: `than` replaces what `where` sets for the same axes.
fn elsewhere(filter: &Filter, than: &Than) -> Filter {
    let kept = filter.iter().filter(|(key, _)| than.levels.iter().all(|(other, _)| other != key));
    kept.chain(&than.levels).cloned().collect()
}

/// Whether a probe yields the metric of an expectation with the labels of a filter.
pub fn reads(expect: &Expect, filter: &Filter, probe: &str, measurand: &Measurand) -> bool {
    if probe != expect.probe {
        return false;
    }
    let labels = &measurand.labels;
    let has =
        |(key, wanted): &(String, String)| labels.iter().any(|(label, values)| label == key && values.contains(wanted));
    let wanted = filter.iter().filter(|(key, _)| is_of_series(key) && key != CPU && key != QUANTITY);
    measurand.yields(quantity_of(expect, filter)) && wanted.into_iter().all(has)
}

/// Returns the quantity of one side of an expectation: the one that its filter names, else the metric's.
pub fn quantity_of<'a>(expect: &'a Expect, filter: &'a Filter) -> &'a str {
    filter.iter().find(|(key, _)| key == QUANTITY).map_or(&expect.quantity, |(_, quantity)| quantity)
}

/// The labels that the series of a probe have in these groups, with their values.
pub(super) fn labels(groups: &[Group], probe: &str) -> Vec<(String, Vec<String>)> {
    joined(metric::measurands(groups, probe).into_iter())
}

/// The labels that the series of any probe have in these groups, with their values.
pub fn all_labels(groups: &[Group]) -> Vec<(String, Vec<String>)> {
    joined(groups.iter().flat_map(|group| &group.probe).map(|one| &one.measurand))
}

fn joined<'a>(measurands: impl Iterator<Item = &'a Measurand>) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (label, values) in measurands.flat_map(|measurand| measurand.labels.clone()) {
        match all.iter_mut().find(|(known, _)| *known == label) {
            Some((_, known)) => {
                for value in values {
                    if !known.contains(&value) {
                        known.push(value);
                    }
                }
            }
            None => all.push((label, values)),
        }
    }
    all
}

/// Whether a probe of these groups yields a quantity.
pub fn yields(groups: &[Group], probe: &str, quantity: &str) -> bool {
    metric::measurands(groups, probe).iter().any(|measurand| measurand.yields(quantity))
}

/// Whether the series of a probe in these groups have this label with this value.
pub fn has_label(groups: &[Group], probe: &str, label: &str, value: &str) -> bool {
    labels(groups, probe).iter().any(|(known, values)| *known == label && values.iter().any(|one| one == value))
}

/// Whether a level has this name, or begins with its words.
pub fn is_level(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether `than` means this level: the level with exactly that name if it exists, else all levels that begin with it. Otherwise a
/// comparison with `other` would also be one with `other nice -20`.
pub fn picked(name: &str, wanted: &str, all: &[String]) -> bool {
    if all.iter().any(|other| other == wanted) { name == wanted } else { is_level(name, wanted) }
}

/// The names of an axis's levels in a group, or the values of an option of its probes.
pub fn level_names(group: &Group, axis: &str) -> Vec<String> {
    if let Some(option) = option_of(axis) {
        return group.probe.iter().filter_map(|one| one.item.options.get(option).map(written::said)).collect();
    }
    match axis {
        "target" => group.target.clone(),
        "kernel" => group.kernel.clone(),
        "tuning" => group.tuning.iter().map(|level| level.id.clone()).collect(),
        "load" => group.load.iter().map(|level| level.id.clone()).collect(),
        "scheduling" => group.scheduling.iter().map(ToString::to_string).collect(),
        _ => group.probe.iter().map(|probe| probe.item.name.clone()).collect(),
    }
}
