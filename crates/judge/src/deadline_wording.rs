//! The sentences of a headline about periodic work: which deadlines a machine kept, and how often it missed others.

use super::headline::{Deadlines, Missed, Periodic};
use crate::span::{Span, joined, spans};
use latido_model::units::readable;

/// The most findings about kernels in a headline; the tables have all of them.
const KERNELS: usize = 4;

/// Returns `6.12-none, 6.12-rt, each: 0 of ...`, kernel by kernel.
pub(super) fn deadlines(all: &[Deadlines]) -> impl Iterator<Item = Vec<Span>> + '_ {
    let one = |of: &Deadlines| {
        let each = if of.kernels.len() > 1 { ", each: " } else { ": " };
        let whose = if of.kernels.is_empty() { Vec::new() } else { spans![Span::Where(of.kernels.join(", ")), each] };
        [whose, of.kept.as_ref().map_or_else(|| spans!["too few periods to tell"], periodic)].concat()
    };
    let more: usize = all.iter().skip(KERNELS).map(|of| of.kernels.len()).sum();
    let more = match more {
        0 => None,
        1 => Some(spans!["1 other kernel is no worse"]),
        more => Some(spans![format!("{more} other kernels are no worse")]),
    };
    all.iter().take(KERNELS).map(one).chain(more)
}

/// Returns `0 of 26000 periods of 1 ms missed a deadline of 10 ms (a cause that strikes more often than once in 8.68 s would have been seen
/// with 95 %); 31 missed a deadline of 1 ms, 29 of them in wakeup, stress-cpu`.
fn periodic(of: &Periodic) -> Vec<Span> {
    let all = spans![" of ", Span::Count(of.slots), " periods of ", round(of.period_ns)];
    let kept = of.kept_ns.map(|deadline_ns| {
        let rare = of.rarity.map(|rarity| [spans![" ("], rarity.spans(), spans![")"]].concat());
        let none = spans![" missed a deadline of ", round(deadline_ns)];
        [spans![Span::Count(0)], all.clone(), none, rare.unwrap_or_default()].concat()
    });
    let missed = of.missed.as_ref().map(|missed| {
        let all = if of.kept_ns.is_none() { all.clone() } else { Vec::new() };
        let head = [spans![Span::Count(missed.count)], all, spans![" missed a deadline of "]].concat();
        let most = whose(missed).map(|whose| [spans![", "], whose].concat()).unwrap_or_default();
        [head, vec![round(missed.deadline_ns)], most].concat()
    });
    joined([kept, missed].into_iter().flatten(), "; ")
}

/// Describes where most of the missed periods were, and how many of them are certain: `29 of them in wakeup, stress-cpu`.
pub fn whose(Missed { count, unclear, most, .. }: &Missed) -> Option<Vec<Span>> {
    let most = most.as_ref().map(|(cell, most)| match most == count {
        true => spans!["all in ", Span::Where(cell.clone())],
        false => spans![Span::Count(*most), " of them in ", Span::Where(cell.clone())],
    });
    let certain = Span::Count(count.saturating_sub(*unclear));
    let unclear = (*unclear > 0).then(|| {
        spans![certain, " of them for certain; an earlier job may have served the rest, but the events do not show it"]
    });
    let parts: Vec<_> = [most, unclear].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| joined(parts, ", "))
}

/// Formats a round time as briefly as possible: `1 ms`.
pub fn round(ns: u64) -> Span {
    let (unit, size) = readable(ns as f64);
    Span::exact(ns as f64 / size, unit)
}
