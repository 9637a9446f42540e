//! Merges the facts that a probe states for each part.

use crate::record::Series;
use std::collections::BTreeMap;

/// How the facts of the parts become one of the whole.
enum Rule {
    /// An amount: the parts add up.
    Sum,
    /// The worst value, or whether something ever happened: the largest.
    Largest,
    /// A time in the first part, where the whole begins.
    Begin,
    /// A time in the part where something first happened, on the time axis of the whole; the other parts have none.
    Moment,
}

/// Returns the rule for a fact, by its name. A name that is not listed is an amount, as nearly all are.
fn rule(name: &str) -> Rule {
    match name {
        // Deviations: those of two halves do not add up to that of the whole.
        "residual_e18" => Rule::Largest,
        // 0 or 1.
        "fell" => Rule::Largest,
        "fell_at_ns" => Rule::Moment,
        "first_slot_ns" => Rule::Begin,
        _ => Rule::Sum,
    }
}

/// Returns the facts of one series, from parts with their start times (in ns). A fact that one part lacks is unknown for the whole. A part
/// in which the series has neither samples nor facts does not count.
pub(super) fn of_all<'a>(parts: impl Iterator<Item = (u64, &'a Series)>) -> BTreeMap<String, i64> {
    let parts: Vec<(u64, &Series)> = parts.filter(|(_, one)| one.count > 0 || !one.facts.is_empty()).collect();
    let names: std::collections::BTreeSet<&String> = parts.iter().flat_map(|(_, one)| one.facts.keys()).collect();
    let whole = |name: &String| {
        let each = || parts.iter().map(|(begin_ns, one)| (*begin_ns, one.facts.get(name).copied()));
        let rule = rule(name);
        if let Rule::Moment = rule {
            let (begin_ns, at_ns) = each().find_map(|(begin_ns, value)| Some((begin_ns, value?)))?;
            return Some(at_ns.saturating_add(i64::try_from(begin_ns).unwrap_or(i64::MAX)));
        }
        let values: Vec<i64> = each().map(|(_, value)| value).collect::<Option<_>>()?;
        match rule {
            Rule::Largest => values.into_iter().max(),
            Rule::Begin => values.first().copied(),
            Rule::Sum | Rule::Moment => Some(values.into_iter().fold(0, i64::saturating_add)),
        }
    };
    names.into_iter().filter_map(|name| Some((name.clone(), whole(name)?))).collect()
}
