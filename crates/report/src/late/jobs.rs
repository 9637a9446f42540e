//! What made the jobs of a watched program late, in a sentence for each kind.

use super::{Worst, told::OWN};
use crate::words;
use latido_model::{
    record::{Record, Series},
    run::late::{COMPLETION, Late, RESPONSE},
};
use latido_trace::events::Class;
use std::collections::BTreeMap;

/// So many kinds are told apart.
const KINDS: usize = 6;

/// How long the thread of a sample works in a job, ns: the median of its time on a CPU; where the kernel left out the switches that tell
/// it, that of its responses.
pub(super) fn usual(record: &Record, late: &Late) -> Option<u64> {
    let task = record.series.get(late.series)?.labels.get("task")?;
    let of = |quantity: &str| {
        let own = |series: &&Series| series.quantity == quantity && series.labels.get("task") == Some(task);
        u64::try_from(record.series.iter().find(own)?.quantiles.get("0.5").copied()??).ok()
    };
    of("running").or_else(|| of(RESPONSE))
}

/// The class of a sample's thread, as the kernel had it last.
pub(super) fn class(record: &Record, late: &Late) -> Class {
    let task = record.series.get(late.series).and_then(|series| series.labels.get("task"));
    let policy = record.quality.watched.iter().find(|thread| Some(&thread.task) == task);
    match policy.map_or("", |thread| thread.standing.policy.split(' ').next().unwrap_or_default()) {
        "fifo" | "rr" => Class::RealTime,
        "deadline" => Class::Deadline,
        _ => Class::Fair,
    }
}

/// How many periods were missed and late, and of those that are explained what made most of each.
pub(super) fn sentences(record: &Record, all: &[Worst]) -> Vec<String> {
    let mut told: Vec<String> = record.series.iter().filter_map(counted).collect();
    let mut kinds: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for one in all {
        // What a job always takes made none late.
        let reason = one.causes.iter().find(|piece| piece.cause != OWN);
        if let Some(first) = reason.or(one.causes.first()) {
            kinds.entry(&first.cause).or_default().push((first.ns, one.ns));
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, lost)| std::cmp::Reverse(lost.len()));
    let rest: usize = kinds.iter().skip(KINDS).map(|(_, lost)| lost.len()).sum();
    told.extend(kinds.into_iter().take(KINDS).map(|(cause, lost)| kind(cause, &lost, all.len())));
    if rest > 0 {
        told.push(format!(
            "{} of {}: other causes, few of each",
            words::count(rest as u64),
            words::count(all.len() as u64)
        ));
    }
    told
}

/// `control: of 967 periods 8 were missed and 2 late`.
fn counted(series: &Series) -> Option<String> {
    let slots = series.slots.filter(|_| series.quantity == COMPLETION)?;
    let task = series.labels.get("task").map_or("", String::as_str);
    let [all, missed, late] = [slots.elapsed(), slots.missed, slots.late].map(words::count);
    Some(format!("{task}: of {all} periods {missed} were missed and {late} late"))
}

/// `7 of 8: its own execution beyond its median of 15 us, 2.98 ms (2.9 to 3.0 ms)`.
fn kind(cause: &str, lost: &[(u64, u64)], of: usize) -> String {
    let mut each: Vec<u64> = lost.iter().map(|(ns, _)| *ns).collect();
    each.sort_unstable();
    let value = |ns: Option<&u64>| words::value(ns.copied().unwrap_or(0) as f64, "ns");
    let (least, most, middle) = (each.first(), each.last(), each.get(each.len() / 2));
    let range = if least == most { String::new() } else { format!(" ({} to {})", value(least), value(most)) };
    let (count, of) = (words::count(lost.len() as u64), words::count(of as u64));
    format!("{count} of {of}: {cause}, {}{range}", value(middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::late::Piece;

    fn late(causes: &[(&str, u64)]) -> Worst {
        let pieces = causes.iter().map(|(cause, ns)| Piece { cause: (*cause).into(), ns: *ns, kind: "off" });
        let found = latido_trace::explain::Explained {
            window: latido_trace::explain::Window {
                begin: 0,
                end: causes.iter().map(|(_, ns)| ns).sum(),
                pid: 1,
                cpu: 0,
                begins: latido_trace::explain::Begins::Job,
            },
            name: None,
            slices: Vec::new(),
            segments: Vec::new(),
            excerpt: Vec::new(),
            omitted: 0,
            chain: Default::default(),
            awaited: Vec::new(),
            cpu: 0,
            faults: None,
        };
        Worst { causes: pieces.collect(), ..Worst::of(Class::RealTime, "control-7".into(), 0, &found) }
    }

    /// What a job always takes made none late; kinds come by how often they did.
    #[test]
    fn a_sentence_for_each_kind() {
        let all = [
            late(&[(OWN, 900), ("low-3 could not be preempted", 300)]),
            late(&[("asleep", 2_000_000), (OWN, 900)]),
            late(&[("asleep", 1_000_000)]),
            late(&[(OWN, 900)]),
        ];
        let told = sentences(&latido_model::sample::record(), &all);
        let told: Vec<String> = told.iter().map(|text| text.replace('\u{a0}', " ")).collect();
        let expected = [
            "2 of 4: asleep, 2.00 ms (1.00 ms to 2.00 ms)",
            "1 of 4: its own execution, 900 ns",
            "1 of 4: low-3 could not be preempted, 300 ns",
        ];
        assert_eq!(told, expected);
    }
}
