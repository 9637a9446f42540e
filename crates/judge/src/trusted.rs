//! What the reader can trust a machine with, from a run that neither a limit nor an expectation judges: deadlines that periodic work would
//! have kept, the longest interruption of a loop that never sleeps, what prevents better figures, and what to try next.

use super::{
    deadlines::{Slotted, of_kernels},
    finding::Grade,
    headline::{Advice, DecidingCell, Trusted},
    judgement::CellJudgement,
    limit::{judged, largest},
    names::Names,
};
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

/// The default period of a probe.
const USUAL: Ns = Ns::from_millis(1);

/// Returns what an unjudged run shows, from the cells whose verdict is "pass": those measured as the plan requested.
pub(super) fn trusted(
    run: &Run,
    cells: &[CellJudgement],
    names: &Names,
    source: &dyn SeriesSource,
    worst: Option<DecidingCell>,
) -> Trusted {
    let sound = || {
        let sound = run.cells.iter().zip(cells).filter(|(_, judged)| judged.verdict == Verdict::Pass);
        sound.filter_map(|(cell, _)| Some((cell, cell.record()?)))
    };
    let slotted: Vec<Slotted<'_>> = sound().filter_map(|(cell, record)| Slotted::of(cell, record)).collect();
    let periodic = of_kernels(slotted, source);
    let gaps = sound().filter_map(|(cell, record)| {
        let continuous =
            |series: &&Series| cell.measurand.quantity(&series.quantity).is_some_and(|quantity| quantity.continuous);
        let gaps: Vec<&Series> = judged(record, &cell.measurand).into_iter().filter(continuous).collect();
        largest(&gaps).map(|(_, max)| (max, names.of(&cell.cell)))
    });
    Trusted { periodic, stopped: gaps.max_by_key(|(max, _)| *max), worst }
}

/// Returns the advice that follows the verdict of an unjudged run.
pub(super) fn advice(run: &Run, cells: &[CellJudgement], trusted: &Trusted) -> Option<Advice> {
    let measured: Vec<(&StoredCell, &Record)> =
        run.cells.iter().filter_map(|cell| Some((cell, cell.record()?))).collect();
    let timed = |(cell, record): &(&StoredCell, &Record)| !judged(record, &cell.measurand).is_empty();
    let subject =
        |(cell, record): &&(&StoredCell, &Record)| trusted.periodic.is_empty() || Slotted::of(cell, record).is_some();
    let (cell, record) = *measured.iter().filter(|one| timed(one)).find(subject)?;
    if !is_of_the_machine(cell, record) {
        return None;
    }
    let loaded = measured.iter().map(|(cell, _)| &cell.cell).find(|cell| !cell.load.items.is_empty());
    // What each kernel keeps.
    let kept = trusted.periodic.iter().filter_map(|one| one.kept.as_ref());
    // A limit beyond the period would judge nothing.
    let kept_ns = kept.filter_map(|one| Some(one.kept_ns?.min(one.period_ns))).max();
    let next = next(cell, loaded, kept_ns);
    let all = run.cells.iter().zip(cells).collect::<Vec<_>>();
    Some(Advice { in_the_way: in_the_way(&all), check: check(cell), next: Some(next) })
}

/// Returns the advice that follows the verdict of a failed run: the conditions that its failed cells met.
pub(super) fn after_failure(run: &Run, cells: &[CellJudgement]) -> Option<Advice> {
    let failed: Vec<(&StoredCell, &CellJudgement)> =
        run.cells.iter().zip(cells).filter(|(_, judged)| judged.verdict == Verdict::Fail).collect();
    let of_it = |cell: &StoredCell| cell.record().is_some_and(|record| is_of_the_machine(cell, record));
    let (first, _) = failed.first()?;
    let in_the_way = in_the_way(&failed);
    let is_told = failed.iter().all(|(cell, _)| of_it(cell)) && !in_the_way.is_empty();
    is_told.then(|| Advice { in_the_way, check: check(first), next: None })
}

/// Returns the command that shows what to change on the machine of a cell.
fn check(cell: &StoredCell) -> String {
    let target = &cell.cell.target;
    if target == LOCAL { "latido check".into() } else { format!("latido check --on {target}") }
}

/// Returns whether the figures are those of the machine, and not of another program or another tool.
fn is_of_the_machine(cell: &StoredCell, record: &Record) -> bool {
    let own = record.only_looked_on() || record.quality.reported.is_some();
    !cell.measurand.made_up && !own && record.source.is_none()
}

/// Returns what prevents better figures in these cells.
fn in_the_way(all: &[(&StoredCell, &CellJudgement)]) -> Vec<String> {
    let mut in_the_way: Vec<String> = Vec::new();
    let mut add = |what: String| {
        if !in_the_way.contains(&what) {
            in_the_way.push(what);
        }
    };
    // The plan chooses what a guest of the laboratory runs on. The user can change nothing there.
    let changeable = |cell: &StoredCell| cell.record().is_none_or(|record| record.machine.emulated.is_none());
    let real = || {
        let changeable = all.iter().filter(|(cell, _)| changeable(cell));
        changeable.filter_map(|(cell, _)| cell.record()).map(|record| &record.machine)
    };
    real().filter_map(preemption).for_each(&mut add);
    for finding in all.iter().filter(|(cell, _)| changeable(cell)).flat_map(|(_, judged)| &judged.findings) {
        if finding.grade >= Grade::Note && WEIGHTY.contains(&finding.check.as_str()) {
            add(finding.check.clone());
        }
    }
    real().filter_map(hypervisor).for_each(&mut add);
    in_the_way
}

/// The trust checks that show what the user could improve. Hypervisor and preemption model are not in the list: latido names them with
/// their values.
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

/// Returns the point of `latido check` that bounds what a kernel can promise.
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

/// Returns the next command to try: the same under load where there was no load, else with a limit and for long enough to mean something.
fn next(StoredCell { cell, measurand, .. }: &StoredCell, loaded: Option<&Cell>, kept_ns: Option<u64>) -> String {
    let mut words = vec!["latido run".to_owned(), cell.probe.name.clone()];
    words.extend(measurand.period.filter(|period| *period != USUAL).map(|period| format!("period={period}")));
    // What the probe measures may depend on its options.
    let chosen = measurand.chosen.as_ref().unwrap_or(&cell.probe.options);
    let options = chosen.iter().filter(|(key, _)| *key != "period");
    words.extend(options.filter_map(|(key, value)| option(key, value)));
    words.extend((cell.target != LOCAL).then(|| format!("--on {}", cell.target)));
    words.extend(
        (cell.kernel != RUNNING).then(|| format!("--kernel {}", written::shell(std::slice::from_ref(&cell.kernel)))),
    );
    words.extend(cell.conditions.cpus.as_ref().map(|cpus| format!("-c {cpus}")));
    words.extend(policy(cell.scheduling));
    words.extend(cell.tuning.items.iter().filter_map(word).map(|tuning| format!("--tune {tuning}")));
    let Some(loaded) = loaded else {
        // A guest has no programs except those that a plan names.
        words.push(format!("--load {}", if cell.target == LAB { "messaging" } else { "stress-cpu" }));
        return words.join(" ");
    };
    let loads: Option<Vec<String>> = loaded.load.items.iter().map(word).collect();
    let loads = loads.unwrap_or_else(|| vec!["stress-cpu".into()]);
    words.extend(loads.into_iter().map(|load| format!("--load {load}")));
    // One guest is one draw, and a longer run of it is no better. Replicates of a sweep are.
    words.push(match cell.target.as_str() {
        LAB => "--repeat 20".into(),
        _ => format!("-d 10m --limit {}", Ns(kept_ns.unwrap_or(10_000_000))),
    });
    words.join(" ")
}

/// Returns a scheduling as the command line writes it; `None` for the default.
fn policy(scheduling: Scheduling) -> Option<String> {
    match scheduling {
        DEFAULT | Scheduling::Unknown | Scheduling::Own => None,
        Scheduling::Fifo { prio } => Some(format!("--prio {prio}")),
        Scheduling::Rr { prio } => Some(format!("--policy rr --prio {prio}")),
        Scheduling::Evl { prio } => Some(format!("--policy evl --prio {prio}")),
        Scheduling::Cobalt { prio } => Some(format!("--policy cobalt --prio {prio}")),
        Scheduling::Other { nice: 0, .. } => Some("--policy other".into()),
        Scheduling::Other { nice, .. } => Some(format!("--policy other --nice {nice}")),
        Scheduling::Batch { .. } => Some("--policy batch".into()),
        Scheduling::Idle => Some("--policy idle".into()),
        Scheduling::Deadline { runtime, deadline, period } => {
            Some(format!("--policy deadline:runtime={runtime},deadline={deadline},period={period}"))
        }
    }
}

/// Returns a load or tuning as the command line writes it, where it needs no quotes.
fn word(item: &Item) -> Option<String> {
    let options: Vec<String> = item.options.iter().map(|(key, value)| option(key, value)).collect::<Option<_>>()?;
    let separator = if options.is_empty() { "" } else { ":" };
    Some(format!("{}{separator}{}", item.name, options.join(",")))
}

/// Returns an option as the command line writes it, where it needs no quotes.
fn option(key: &str, value: &toml::Value) -> Option<String> {
    let text = written::said(value);
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./%".contains(c));
    plain.then(|| format!("{key}={text}"))
}

#[cfg(test)]
mod tests;
