//! What made the jobs of a watched program late, one sentence per kind of cause.

use super::{Piece, Worst, told::OWN};
use crate::words;
use latido_model::{
    record::{Record, Series, WatchedThread},
    run::late::{COMPLETION, Late, RESPONSE},
};
use latido_trace::events::Class;
use std::collections::BTreeMap;

/// The most kinds that latido names.
const KINDS: usize = 6;
/// The most threads whose counts latido shows.
const FEW: usize = 4;

/// Returns how long the thread of a sample works in a job, ns: the median of its time on a CPU. Where the kernel did not record the
/// switches for that, it is the median of its responses.
pub(super) fn usual(record: &Record, late: &Late) -> Option<u64> {
    let task = record.series.get(late.series)?.labels.get("task")?;
    let find = |quantity: &str| {
        let own = |series: &&Series| series.quantity == quantity && series.labels.get("task") == Some(task);
        record.series.iter().find(own)
    };
    let series = find("running").or_else(|| find(RESPONSE))?;
    let median = u64::try_from(series.quantiles.get("0.5").copied()??).ok()?;
    // A job may wait in between, and then has several activations per slot.
    let seen = find(COMPLETION).and_then(|slots| u64::try_from(*slots.facts.get("seen")?).ok()).unwrap_or(0);
    let activations = if seen > 0 { (series.count as f64 / seen as f64).round().max(1.0) } else { 1.0 };
    Some((median as f64 * activations) as u64)
}

/// Returns how long the kernel throttled the control groups of a sample's thread for their CPU quotas, ns; `None` for a real-time thread.
pub(super) fn held_back(record: &Record, late: &Late) -> Option<u64> {
    let held = watched(record, late)?.held_back.filter(|held| held.ns > 0)?;
    (class(record, late) == Class::Fair).then_some(held.ns)
}

fn watched<'a>(record: &'a Record, late: &Late) -> Option<&'a WatchedThread> {
    let task = record.series.get(late.series)?.labels.get("task")?;
    record.quality.watched.iter().find(|thread| thread.task == *task)
}

/// Returns the scheduling class of a sample's thread, as the kernel last reported it.
pub(super) fn class(record: &Record, late: &Late) -> Class {
    match watched(record, late).map_or("", |thread| thread.standing.policy.split(' ').next().unwrap_or_default()) {
        "fifo" | "rr" => Class::RealTime,
        "deadline" => Class::Deadline,
        _ => Class::Fair,
    }
}

/// Returns sentences with the counts of missed and late periods, and with what took most of each. If no period was missed or late, they
/// describe the longest ones.
pub(super) fn sentences(record: &Record, all: &[Worst]) -> Vec<String> {
    let limit_ns = record.cell.conditions.limit.map_or(u64::MAX, |limit| limit.0);
    let harmed = |one: &Worst| one.also + u64::from(one.missed || one.ns > limit_ns);
    let late: Vec<&Worst> = all.iter().filter(|one| harmed(one) > 0).collect();
    let (counted_in, told_of) = match late.iter().map(|one| harmed(one)).fold(0, u64::saturating_add) {
        0 => (Among { all: all.len() as u64, are: "longest" }, all.iter().collect()),
        some => (Among { all: some, are: "" }, late),
    };
    let several = told_of.iter().any(|one| one.task != told_of.first().map_or("", |first| &first.task));
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for one in told_of {
        let Some(reason) = reason(one, limit_ns) else { continue };
        let cause = without_numbers(&reason.cause);
        let name = if several { format!("{}: {cause}", without_numbers(&one.task)) } else { cause };
        let kind = kinds.entry(name).or_default();
        kind.periods += harmed(one).max(1);
        kind.lost.push(reason.ns);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.periods));
    let rest: u64 = kinds.iter().skip(KINDS).map(|(_, kind)| kind.periods).sum();
    let mut told = counts(record);
    told.extend(kinds.into_iter().take(KINDS).map(|(cause, kind)| kind.sentence(&cause, counted_in)));
    if rest > 0 {
        told.push(format!("{}: other causes, few of each", counted_in.part(rest)));
    }
    told
}

/// Returns what took most of a sample or a job, without the numbers of tasks.
pub fn decisive(one: &Worst, limit_ns: Option<u64>) -> String {
    let found = reason(one, limit_ns.unwrap_or(u64::MAX));
    found.map_or_else(|| "unexplained".into(), |piece| without_numbers(&piece.cause))
}

/// Returns what made a job late: its largest piece other than the usual execution. The usual execution is the reason only where it alone is
/// above the limit.
fn reason(one: &Worst, limit_ns: u64) -> Option<&Piece> {
    let usual = |piece: &&Piece| piece.cause == OWN;
    one.causes
        .iter()
        .find(usual)
        .filter(|own| own.ns > limit_ns)
        .or_else(|| one.causes.iter().find(|piece| !usual(piece)))
        .or(one.causes.first())
}

/// Returns a cause without the numbers of tasks: tasks with the same name are one kind.
fn without_numbers(cause: &str) -> String {
    let plain = |word: &str| {
        let (text, end) = word.strip_suffix(',').map_or((word, ""), |text| (text, ","));
        match text.rsplit_once('-') {
            Some((name, number)) if !name.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{name}{end}")
            }
            _ => word.to_owned(),
        }
    };
    cause.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

/// Returns the counts of the threads. If there are more than `FEW`, it only shows those that missed periods or were late.
fn counts(record: &Record) -> Vec<String> {
    let slotted: Vec<&Series> =
        record.series.iter().filter(|series| series.quantity == COMPLETION && series.slots.is_some()).collect();
    let harmed = |series: &&&Series| series.slots.is_some_and(|slots| slots.late + slots.missed > 0);
    let (shown, rest): (Vec<&Series>, usize) = match slotted.len() > FEW {
        true => {
            let shown: Vec<&Series> = slotted.iter().filter(harmed).take(FEW).copied().collect();
            (shown.clone(), slotted.len() - shown.len())
        }
        false => (slotted, 0),
    };
    let more = (rest > 0).then(|| format!("and {} besides", words::many(rest as u64, "thread")));
    shown.into_iter().filter_map(counted).chain(more).collect()
}

/// Returns `control: of 967 periods 8 were missed and 2 late`.
fn counted(series: &Series) -> Option<String> {
    let slots = series.slots.filter(|_| series.quantity == COMPLETION)?;
    let task = series.labels.get("task").map_or("", String::as_str);
    let (all, [missed, late]) = (words::many(slots.elapsed(), "period"), [slots.missed, slots.late].map(words::count));
    let open = series.facts.get("open").and_then(|slots| u64::try_from(*slots).ok()).filter(|slots| *slots > 0);
    let open = open.map(|slots| format!("; {} may have been late, which the events do not show", words::count(slots)));
    Some(format!("{task}: of {all} {missed} were missed and {late} late{}", open.unwrap_or_default()))
}

/// The periods whose causes latido counts.
#[derive(Clone, Copy)]
struct Among {
    all: u64,
    /// `longest` if none was missed or late.
    are: &'static str,
}

impl Among {
    /// Returns `7 of these 8`, `all 8`, `2 of the 4 longest`.
    fn part(self, some: u64) -> String {
        let Self { all, are } = self;
        let [part, whole] = [some, all].map(words::count);
        match (are, some == all) {
            _ if all == 1 => "the only one".into(),
            ("", true) => format!("all {whole}"),
            ("", false) => format!("{part} of these {whole}"),
            (are, true) => format!("all of the {whole} {are}"),
            (are, false) => format!("{part} of the {whole} {are}"),
        }
    }
}

/// Jobs that one cause made late.
#[derive(Default)]
struct Kind {
    /// The number of missed or late periods.
    periods: u64,
    /// The time lost to the cause each time, ns.
    lost: Vec<u64>,
}

impl Kind {
    /// Returns `7 of these 8: its own execution beyond its median of 15 us, 2.98 ms (2.9 to 3.0 ms)`.
    fn sentence(mut self, cause: &str, counted_in: Among) -> String {
        self.lost.sort_unstable();
        let value = |ns: Option<&u64>| words::value(ns.copied().unwrap_or(0) as f64, "ns");
        let (least, most, middle) = (self.lost.first(), self.lost.last(), self.lost.get(self.lost.len() / 2));
        let range = if least == most { String::new() } else { format!(" ({} to {})", value(least), value(most)) };
        format!("{}: {cause}, {}{range}", counted_in.part(self.periods), value(middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::late::Piece;
    use latido_trace::explain::{Begins, Window};

    fn late(causes: &[(&str, u64)]) -> Worst {
        let pieces = causes.iter().map(|(cause, ns)| Piece { cause: (*cause).into(), ns: *ns, kind: "off" });
        let end = causes.iter().map(|(_, ns)| ns).sum();
        let window = Window { begin: 0, end, pid: 1, cpu: 0, begins: Begins::Job };
        let found = crate::late::explained(window, Vec::new());
        Worst { causes: pieces.collect(), ..Worst::of(Class::RealTime, "control-7".into(), 0, &found) }
    }

    /// The usual execution made no job late; the kinds are in the order of their counts.
    #[test]
    fn a_sentence_for_each_kind() {
        let all = [
            late(&[(OWN, 900), ("low-3 could not be preempted", 300)]),
            late(&[("asleep", 2_000_000), (OWN, 900)]),
            late(&[("asleep", 1_000_000)]),
            late(&[(OWN, 900)]),
        ];
        let mut record = latido_model::sample::record();
        assert_eq!(without_numbers("waiting for low-12, which mid-7 kept"), "waiting for low, which mid kept");
        let mut told = |limit: Option<u64>| -> Vec<String> {
            record.cell.conditions.limit = limit.map(latido_model::units::Ns);
            sentences(&record, &all).iter().map(|text| text.replace('\u{a0}', " ")).collect()
        };
        let expected = [
            "2 of the 4 longest: asleep, 2.00 ms (1.00 ms to 2.00 ms)",
            "1 of the 4 longest: its own execution, 900 ns",
            "1 of the 4 longest: low could not be preempted, 300 ns",
        ];
        assert_eq!(told(None), expected);
        // If some periods were late, only those count.
        assert_eq!(told(Some(1_500_000)), ["the only one: asleep, 2.00 ms"]);
        // A job whose usual execution is above the limit is late because of that.
        assert_eq!(told(Some(850)), ["3 of these 4: its own execution, 900 ns", "1 of these 4: asleep, 1.00 ms"]);
    }
}
