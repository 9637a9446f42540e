//! The sentences of a headline about periodic work: which deadlines a machine kept, and how often it missed others.

use super::headline::{Deadlines, Missed, Periodic};
use crate::span::{Span, joined, spans};
use latido_model::units::readable;

/// How many findings of kernels a headline has room for; the tables have all.
const KERNELS: usize = 4;
/// `6.12-none, 6.12-rt, each: periodic work ...`, kernel by kernel.
pub(super) fn deadlines(all: &[Deadlines]) -> impl Iterator<Item = Vec<Span>> + '_ {
    let one = |of: &Deadlines| {
        let each = if of.kernels.len() > 1 { ", each: " } else { ": " };
        let whose = if of.kernels.is_empty() { Vec::new() } else { spans![Span::Where(of.kernels.join(", ")), each] };
        [whose, of.kept.as_ref().map_or_else(|| spans!["too few slots to tell"], periodic)].concat()
    };
    let more: usize = all.iter().skip(KERNELS).map(|of| of.kernels.len()).sum();
    let more = match more {
        0 => None,
        1 => Some(spans!["1 other kernel keeps no less"]),
        more => Some(spans![format!("{more} other kernels keep no less")]),
    };
    all.iter().take(KERNELS).map(one).chain(more)
}

/// `periodic work of 10 ms with a deadline of 10 ms: missed in none of 26000 slots of 1 ms (a cause that strikes more often
/// than once in 8.68 s would have been seen with 95 %); of 1 ms with a deadline of 1 ms: missed in 31 of 26000, 29 of them in wakeup, stress-cpu`
fn periodic(of: &Periodic) -> Vec<Span> {
    let work = |deadline_ns: u64| {
        let (period, deadline) = (round(of.period_ns.max(deadline_ns)), round(deadline_ns));
        spans!["of ", period, " with a deadline of ", deadline, ": "]
    };
    let kept = of.kept_ns.map(|deadline_ns| {
        let rare = of.rarity.map(|rarity| [spans![" ("], rarity.spans(), spans![")"]].concat());
        let none = spans!["missed in none of ", Span::Count(of.slots), " slots of ", round(of.period_ns)];
        [work(deadline_ns), none, rare.unwrap_or_default()].concat()
    });
    let missed = of.missed.as_ref().map(|Missed { deadline_ns, count, unclear, most }| {
        let slots = spans![" slots of ", round(of.period_ns)];
        let all = spans!["missed in ", Span::Count(*count), " of ", Span::Count(of.slots)];
        let all = [all, if of.kept_ns.is_none() { slots } else { Vec::new() }].concat();
        let most = most.as_ref().map(|(cell, most)| match most == count {
            true => spans![", all in ", Span::Where(cell.clone())],
            false => spans![", ", Span::Count(*most), " of them in ", Span::Where(cell.clone())],
        });
        let certain = Span::Count(count.saturating_sub(*unclear));
        let unclear = match unclear {
            0 => Vec::new(),
            _ => spans![
                ", ",
                certain,
                " of them for certain: an earlier job may have served the rest, and no event tells"
            ],
        };
        [work(*deadline_ns), all, most.unwrap_or_default(), unclear].concat()
    });
    [spans!["periodic work "], joined([kept, missed].into_iter().flatten(), "; ")].concat()
}

/// A round time as short as it can be: `1 ms`.
fn round(ns: u64) -> Span {
    let (unit, size) = readable(ns as f64);
    Span::exact(ns as f64 / size, unit)
}
