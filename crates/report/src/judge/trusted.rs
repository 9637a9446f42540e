//! What a machine can be trusted with, by a run that neither a limit nor an expectation judges: deadlines that periodic
//! work would have kept, how long a loop that never sleeps stood still, what stands in the way, and what to try next.

use super::{
    finding::Grade,
    headline::{Advice, DecidingCell, Missed, Periodic, Trusted},
    judgement::CellJudgement,
    label::title,
    limit::{judged, largest},
};
use crate::statistics::confidence::exceedance;
use latido_model::{
    cell::{Cell, Item, LAB, LOCAL, RUNNING, Scheduling},
    machine::{Layer, Machine, Model},
    plan::scheduling::DEFAULT,
    record::{Record, Series},
    run::{Run, SeriesSource, StoredCell},
    units::Ns,
    verdict::Verdict,
    written,
};

/// The deadlines that are looked at, in ns: each ten times the one before.
const DEADLINES: [u64; 6] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The period that a probe has where none is given.
const USUAL: Ns = Ns::from_millis(1);

/// Fewer slots than show, with the usual confidence, that under a twentieth of them miss a deadline say nothing.
const TOO_RARE: f64 = 0.05;

/// A measured cell with a periodic quantity: its period, and the series that its limits look at.
struct Slotted<'a> {
    cell: &'a StoredCell,
    period_ns: u64,
    series: Vec<&'a Series>,
}

/// What an unjudged run shows: of the cells that were measured as they were asked for.
pub(super) fn trusted(
    run: &Run,
    cells: &[CellJudgement],
    source: &dyn SeriesSource,
    worst: Option<DecidingCell>,
) -> Trusted {
    let sound = || {
        let sound = run.cells.iter().zip(cells).filter(|(_, judged)| judged.verdict == Verdict::Pass);
        sound.filter_map(|(cell, _)| Some((cell, cell.record()?)))
    };
    let slotted: Vec<Slotted<'_>> = sound().filter_map(|(cell, record)| Slotted::of(cell, record)).collect();
    let slots = |period_ns| {
        let alike = slotted.iter().filter(|one| one.period_ns == period_ns);
        alike.map(Slotted::slots).fold(0, u64::saturating_add)
    };
    let most = slotted.iter().map(|one| one.period_ns).max_by_key(|period_ns| slots(*period_ns));
    let periodic = most.and_then(|period_ns| {
        let alike: Vec<&Slotted<'_>> = slotted.iter().filter(|one| one.period_ns == period_ns).collect();
        periodic(period_ns, slots(period_ns), &alike, source)
    });
    let gaps = sound().filter_map(|(cell, record)| {
        let continuous =
            |series: &&Series| cell.measurand.quantity(&series.quantity).is_some_and(|quantity| quantity.continuous);
        let gaps: Vec<&Series> = judged(record, &cell.measurand).into_iter().filter(continuous).collect();
        largest(&gaps).map(|(_, max)| (max, title(&cell.cell)))
    });
    Trusted { periodic, stopped: gaps.max_by_key(|(max, _)| *max), worst }
}

impl<'a> Slotted<'a> {
    fn of(cell: &'a StoredCell, record: &'a Record) -> Option<Self> {
        let period = cell.measurand.period?;
        let mut series = judged(record, &cell.measurand);
        series.retain(|series| series.slots.is_some());
        (period.0 > 0 && !series.is_empty()).then_some(Self { cell, period_ns: period.0, series })
    }

    fn slots(&self) -> u64 {
        let all = self.series.iter().filter_map(|series| series.slots);
        all.map(|slots| slots.met.saturating_add(slots.late).saturating_add(slots.missed)).fold(0, u64::saturating_add)
    }

    /// How many of its slots were late or missed.
    fn not_met(&self) -> u64 {
        let all = self.series.iter().filter_map(|series| series.slots);
        all.map(|slots| slots.late.saturating_add(slots.missed)).fold(0, u64::saturating_add)
    }

    /// How many of its slots would have missed a deadline. One that passed without being run for has missed whatever is
    /// due within the period; work of a longer period would have waited for as long as it was late.
    fn missed(&self, deadline_ns: u64, source: &dyn SeriesSource) -> Option<u64> {
        let above = |histogram: &hdrhistogram::Histogram<u64>| {
            histogram.len().saturating_sub(histogram.count_between(0, deadline_ns))
        };
        let mut count = 0u64;
        for series in &self.series {
            let data = source.series(self.cell, series).ok()?;
            // Beyond the histogram's range is beyond every deadline.
            let over = series.count.saturating_sub(data.histogram.len()).saturating_sub(series.negative);
            let passed = match &data.missed {
                Some(missed) if deadline_ns > self.period_ns => above(missed),
                _ => series.slots.map_or(0, |slots| slots.missed),
            };
            let seen = above(&data.histogram).saturating_add(over).saturating_add(passed);
            // The maximum is exact, a bucket of the histogram is not.
            let beyond = series.decisive().max.is_some_and(|max| max > deadline_ns.cast_signed());
            count = count.saturating_add(if beyond { seen.max(1) } else { passed });
        }
        Some(count)
    }
}

/// By the deadline that was asked for, if it is one for all: the slots tell exactly how many missed it.
fn asked(period_ns: u64, slots: u64, cells: &[&Slotted<'_>]) -> Option<Periodic> {
    let deadline_ns = cells.first()?.cell.measurand.deadline?.0;
    if slots == 0 || cells.iter().any(|one| one.cell.measurand.deadline != Some(Ns(deadline_ns))) {
        return None;
    }
    let each: Vec<(String, u64)> = cells.iter().map(|one| (title(&one.cell.cell), one.not_met())).collect();
    let count = each.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let most = each.into_iter().max_by_key(|(_, count)| *count).filter(|_| cells.len() > 1);
    let missed = (count > 0).then_some(Missed { deadline_ns, count, most });
    Some(Periodic { period_ns, slots, kept_ns: (count == 0).then_some(deadline_ns), missed })
}

fn periodic(period_ns: u64, slots: u64, cells: &[&Slotted<'_>], source: &dyn SeriesSource) -> Option<Periodic> {
    if let Some(asked) = asked(period_ns, slots, cells) {
        return Some(asked);
    }
    exceedance(0, slots).filter(|(_, upper)| *upper < TOO_RARE)?;
    let (mut kept_ns, mut missed) = (None, None);
    // Where the strictest that is missed is missed mostly, it tells nothing.
    for deadline_ns in DEADLINES.into_iter().rev() {
        let each: Option<Vec<(String, u64)>> =
            cells.iter().map(|one| Some((title(&one.cell.cell), one.missed(deadline_ns, source)?))).collect();
        let each = each?;
        let count = each.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        if count == 0 {
            kept_ns = Some(deadline_ns);
            continue;
        }
        let alone = each.len() == 1;
        let most = each.into_iter().max_by_key(|(_, count)| *count).filter(|_| !alone);
        if kept_ns.is_none() || count <= slots / 2 {
            missed = Some(Missed { deadline_ns, count, most });
        }
        break;
    }
    Some(Periodic { period_ns, slots, kept_ns, missed })
}

/// What is said behind the verdict of a run that nothing judges.
pub(super) fn advice(run: &Run, cells: &[CellJudgement], trusted: &Trusted) -> Option<Advice> {
    let measured: Vec<(&StoredCell, &Record)> =
        run.cells.iter().filter_map(|cell| Some((cell, cell.record()?))).collect();
    let timed = |(cell, record): &(&StoredCell, &Record)| !judged(record, &cell.measurand).is_empty();
    let periodic = trusted.periodic.as_ref();
    let subject = |(cell, record): &&(&StoredCell, &Record)| periodic.is_none() || Slotted::of(cell, record).is_some();
    let (cell, record) = *measured.iter().filter(|one| timed(one)).find(subject)?;
    // What was looked on at is somebody's own: nothing is to be tried with it but what they know.
    let own = record.only_looked_on() || record.quality.reported.is_some();
    if cell.measurand.made_up || own || record.source.is_some() {
        return None;
    }
    let mut in_the_way: Vec<String> = Vec::new();
    let mut add = |what: String| {
        if !in_the_way.contains(&what) {
            in_the_way.push(what);
        }
    };
    // What a guest of the laboratory runs on is the plan's choice, and nothing that a person could change there.
    let real = || measured.iter().map(|(_, record)| &record.machine).filter(|machine| machine.emulated.is_none());
    real().filter_map(preemption).for_each(&mut add);
    let changeable = |cell: &StoredCell| cell.record().is_none_or(|record| record.machine.emulated.is_none());
    let own = run.cells.iter().zip(cells).filter(|(cell, _)| changeable(cell));
    for finding in own.flat_map(|(_, judged)| &judged.findings) {
        if finding.grade >= Grade::Note && WEIGHTY.contains(&finding.check.as_str()) {
            add(finding.check.clone());
        }
    }
    real().filter_map(hypervisor).for_each(&mut add);
    let loaded = measured.iter().map(|(cell, _)| &cell.cell).find(|cell| !cell.load.items.is_empty());
    let next = next(cell, loaded, periodic.and_then(|periodic| periodic.kept_ns));
    Some(Advice { in_the_way, next })
}

/// The trust checks that tell what could be better, besides hypervisor and preemption model, which are told with what they
/// are.
const WEIGHTY: &[&str] = &[
    "policy",
    "foreign tasks",
    "steal",
    "smi",
    "throttle",
    "memory",
    "page faults",
    "idle states",
    "frequency",
    "temperature",
];

/// The point of `latido check` that bounds what a kernel can promise.
fn preemption(machine: &Machine) -> Option<String> {
    let model = machine.preemption.as_ref()?.model;
    let weak = matches!(model, Model::None | Model::Voluntary | Model::NoneOrVoluntary);
    weak.then(|| format!("preemption model ({model})"))
}

fn hypervisor(machine: &Machine) -> Option<String> {
    match &machine.hypervisor {
        Some(Layer::Present(name)) => Some(format!("hypervisor ({name})")),
        _ => None,
    }
}

/// The same under load, where there was none; else judged, and for long enough to mean something.
fn next(StoredCell { cell, measurand, .. }: &StoredCell, loaded: Option<&Cell>, kept_ns: Option<u64>) -> String {
    let mut words = vec!["latido run".to_owned(), cell.probe.name.clone()];
    words.extend(measurand.period.filter(|period| *period != USUAL).map(|period| format!("period={period}")));
    // What it measures may hang on them.
    let options = cell.probe.options.iter().filter(|(key, _)| *key != "period");
    words.extend(options.filter_map(|(key, value)| option(key, value)));
    words.extend((cell.target != LOCAL).then(|| format!("--on {}", cell.target)));
    words.extend(
        (cell.kernel != RUNNING).then(|| format!("--kernel {}", written::shell(std::slice::from_ref(&cell.kernel)))),
    );
    words.extend(cell.conditions.cpus.as_ref().map(|cpus| format!("-c {cpus}")));
    words.extend(policy(cell.scheduling));
    words.extend(cell.tuning.items.iter().filter_map(word).map(|tuning| format!("--tune {tuning}")));
    let Some(loaded) = loaded else {
        // A guest has no programs but those that a plan names.
        words.push(format!("--load {}", if cell.target == LAB { "messaging" } else { "stress-cpu" }));
        return words.join(" ");
    };
    let loads: Option<Vec<String>> = loaded.load.items.iter().map(word).collect();
    let loads = loads.unwrap_or_else(|| vec!["stress-cpu".into()]);
    words.extend(loads.into_iter().map(|load| format!("--load {load}")));
    // One guest is one draw, and a longer one is no better: members of a sweep are.
    words.push(match cell.target.as_str() {
        LAB => "--repeat 20".into(),
        _ => format!("-d 10m --limit {}", Ns(kept_ns.unwrap_or(10_000_000))),
    });
    words.join(" ")
}

/// A scheduling as the command line writes it; the default needs no words.
fn policy(scheduling: Scheduling) -> Option<String> {
    match scheduling {
        DEFAULT | Scheduling::Unknown => None,
        Scheduling::Fifo { prio } => Some(format!("--prio {prio}")),
        Scheduling::Rr { prio } => Some(format!("--policy rr --prio {prio}")),
        Scheduling::Other { nice: 0, .. } => Some("--policy other".into()),
        Scheduling::Other { nice, .. } => Some(format!("--policy other --nice {nice}")),
        Scheduling::Batch { .. } => Some("--policy batch".into()),
        Scheduling::Idle => Some("--policy idle".into()),
        Scheduling::Deadline { runtime, deadline, period } => {
            Some(format!("--policy deadline:runtime={runtime},deadline={deadline},period={period}"))
        }
    }
}

/// A load or tuning as the command line writes it, where that needs no quotes.
fn word(item: &Item) -> Option<String> {
    let options: Vec<String> = item.options.iter().map(|(key, value)| option(key, value)).collect::<Option<_>>()?;
    let separator = if options.is_empty() { "" } else { ":" };
    Some(format!("{}{separator}{}", item.name, options.join(",")))
}

/// An option as the command line writes it, where that needs no quotes.
fn option(key: &str, value: &toml::Value) -> Option<String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./%".contains(c));
    plain.then(|| format!("{key}={text}"))
}

#[cfg(test)]
mod tests;
