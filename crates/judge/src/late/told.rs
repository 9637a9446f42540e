//! Causes in words, and how a drawing shows them.

use super::{OfCell, Spikes, Worst, decisive};
use crate::words;
use latido_trace::explain::Cause;
use std::collections::BTreeMap;

/// What a program does in a job, up to its usual length.
pub const OWN: &str = "its own execution";

/// Returns a cause in words.
pub fn said(cause: &Cause) -> String {
    match cause {
        Cause::Nmi => "non-maskable interrupt".into(),
        Cause::Interrupt(name) => format!("interrupt {name}"),
        Cause::Soft(name) => format!("soft interrupt {name}"),
        Cause::NoInterrupt(name) => format!("no interrupt came while {name} ran"),
        Cause::InterruptsOff(name) => format!("{name} had interrupts off"),
        Cause::Elsewhere => "no interrupt came although interrupts were on".into(),
        Cause::Task(name, class) => format!("{name} ({})", class.name()),
        Cause::NotPreemptible(name) => format!("{name} could not be preempted"),
        Cause::Kept(name) => format!("{name} kept the CPU (its priority may have changed)"),
        Cause::IdleExit => "leaving idle".into(),
        Cause::NotByTimer(name) => format!("asleep until {name}, not its timer, woke it"),
        Cause::NoInterruptIdle => "no interrupt came while idle (hypervisor, firmware, idle exit)".into(),
        Cause::Standstill => "the hypervisor stopped the machine (time was stolen, and no CPU wrote an event)".into(),
        Cause::HandlerOrStandstill(handler) => {
            format!("{}, or the hypervisor during it (time was stolen, and no CPU wrote an event)", said(handler))
        }
        Cause::InterProcessor => "message between CPUs".into(),
        Cause::Migration => "migration".into(),
        Cause::Lock => "waiting for a kernel lock".into(),
        Cause::Blocked => "blocked in the kernel".into(),
        Cause::Awaits(name) => format!("waiting until {name} woke it"),
        Cause::Inverted(name, rival) => format!("waiting for {name}, which {rival} kept from its CPU"),
        Cause::OwnTimer => "asleep until its own timer, which was set for that time".into(),
        Cause::Asleep => "asleep".into(),
        Cause::Own => OWN.into(),
        Cause::Beyond { usual_ns, faults } => {
            let usual = words::value(*usual_ns as f64, "ns");
            let faulting = if *faults { ", with page faults," } else { "" };
            format!("its own execution{faulting} beyond its median of {usual}")
        }
        Cause::Stopped => "stopped".into(),
        Cause::Throttled => "throttled".into(),
        Cause::Quota => "held back by the program's CPU quota".into(),
        Cause::TaskOrQuota(name) => format!("{name}, or the program's CPU quota"),
        Cause::Itself => "its own return to user space".into(),
        Cause::Lost => "events lost".into(),
        Cause::Untraced => "not recorded".into(),
        Cause::TooMany => "more changes than latido follows".into(),
        Cause::Unexplained => "unexplained".into(),
    }
}

/// Returns how a drawing shows a cause.
pub fn kind(cause: &Cause) -> &'static str {
    match cause {
        Cause::Nmi | Cause::Interrupt(_) => "hard",
        Cause::Soft(_) => "soft",
        Cause::HandlerOrStandstill(handler) => kind(handler),
        Cause::Itself | Cause::Own | Cause::Beyond { .. } => "self",
        Cause::Task(..) | Cause::TaskOrQuota(_) | Cause::Migration => "task",
        Cause::NoInterrupt(_)
        | Cause::InterruptsOff(_)
        | Cause::Elsewhere
        | Cause::NotPreemptible(_)
        | Cause::Kept(_)
        | Cause::NoInterruptIdle
        | Cause::NotByTimer(_)
        | Cause::Standstill
        | Cause::Lock
        | Cause::Blocked
        | Cause::Awaits(_)
        | Cause::Inverted(..)
        | Cause::Stopped
        | Cause::Throttled
        | Cause::Quota => "off",
        Cause::IdleExit | Cause::InterProcessor | Cause::OwnTimer | Cause::Asleep => "idle",
        Cause::Lost | Cause::Untraced | Cause::TooMany | Cause::Unexplained => "lost",
    }
}

/// Returns one sentence per configuration with explained late samples; if there are several configurations, it names each.
pub fn in_short<'c>(cells: impl Iterator<Item = &'c OfCell>) -> Vec<String> {
    let mut alike: Vec<(&str, Vec<&Spikes>)> = Vec::new();
    for one in cells {
        let Ok(spikes) = &one.found else { continue };
        match alike.iter_mut().find(|(name, _)| *name == one.name) {
            Some((_, all)) => all.push(spikes),
            None => alike.push((&one.name, vec![spikes])),
        }
    }
    let several = alike.len() > 1;
    let said = |(name, all): &(&str, Vec<&Spikes>)| {
        let text = of_repeats(all)?;
        Some(if several { format!("{name}: {text}") } else { text })
    };
    alike.iter().filter_map(said).collect()
}

/// Names the cause that made most of the most late samples, and the cause of the worst one: `25 of the 26 late samples that latido
/// explained, the worst (2.61 ms) among them: its own execution`. `None` where none is explained.
fn of_repeats(all: &[&Spikes]) -> Option<String> {
    let each = || all.iter().flat_map(|of| of.spikes.iter().map(|one| (one, of.asked.limit_ns)));
    let harmed =
        |one: &Worst, limit: Option<u64>| one.also + u64::from(one.missed || limit.is_some_and(|ns| one.ns > ns));
    let late = each().any(|(one, limit)| harmed(one, limit) > 0);
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (one, limit) in each() {
        *kinds.entry(decisive(one, limit)).or_default() += if late { harmed(one, limit) } else { 1 };
    }
    let count = kinds.values().sum();
    let (cause, most) = kinds.into_iter().max_by_key(|(_, samples)| *samples).filter(|(_, samples)| *samples > 0)?;
    let (worst, limit) = each().max_by_key(|(one, _)| one.ns)?;
    let (length, of_worst) = (words::value(worst.ns as f64, "ns"), decisive(worst, limit));
    let kind = if late { "late" } else { "longest" };
    let told = match (most, count) {
        (_, 1) => return Some(format!("the only {kind} sample that latido explained: {cause}")),
        (most, all) if most == all => format!("all {} {kind} samples that latido explained", words::count(all)),
        (most, all) => {
            format!("{} of the {} {kind} samples that latido explained", words::count(most), words::count(all))
        }
    };
    Some(match of_worst == cause {
        true => format!("{told}, the worst ({length}) among them: {cause}"),
        false => format!("{told}: {cause}; the worst, {length}: {of_worst}"),
    })
}
