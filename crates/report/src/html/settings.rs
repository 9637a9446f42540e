//! The changed settings, knob by knob, and what else ran on the measured CPUs with them.

use super::environment::item;
use crate::words::{self, NOT_MEASURED};
use latido_judge::configuration::Configuration;
use latido_model::record::{Foreign, Interrupt, TuningRecord};

/// A level of the axis `tuning` as it was applied.
pub struct SettingView {
    /// The level's name.
    pub level: String,
    /// Its tunings.
    pub tunings: Vec<TuningView>,
}

/// One tuning and what it changed.
pub struct TuningView {
    /// Its name in the syntax of the command line.
    pub item: String,
    /// The knob, its value before, and its value during the measurement.
    pub changes: Vec<[String; 3]>,
    /// A further remark of the tuning.
    pub note: String,
}

/// Returns the levels, each as its first configuration applied it.
pub fn settings(configurations: &[Configuration]) -> Vec<SettingView> {
    let mut found: Vec<SettingView> = Vec::new();
    for configuration in configurations {
        let level = &configuration.cell.tuning.id;
        if !found.iter().any(|known| known.level == *level) {
            let tunings = configuration.tunings.iter().map(tuned).collect();
            found.push(SettingView { level: level.clone(), tunings });
        }
    }
    found.retain(|setting| !setting.tunings.is_empty());
    found
}

fn tuned(record: &TuningRecord) -> TuningView {
    let change =
        |change: &latido_model::record::Change| [change.knob.clone(), change.original.clone(), change.new.clone()];
    TuningView {
        item: item(&record.item),
        changes: record.changes.iter().map(change).collect(),
        note: record.note.clone().unwrap_or_default(),
    }
}

/// What else ran on the measured CPUs in one configuration, over all its repeats.
pub struct Beside {
    /// The configuration.
    pub label: String,
    /// Interrupts of devices per second.
    pub devices: String,
    /// The CPU's own interrupts per second: timers, calls from other CPUs.
    pub own: String,
    /// The most frequent interrupts of both kinds.
    pub most: String,
    /// The share of the time in which other tasks of at least the probe's priority ran.
    pub foreign: String,
    /// Preemptions of measuring threads per second.
    pub preempted: String,
}

/// Returns one row for each configuration whose interrupts were counted.
pub fn beside(configurations: &[Configuration]) -> Vec<Beside> {
    let counted = |c: &&Configuration| c.repeats.iter().any(|one| one.evidence.interrupts.is_some());
    configurations.iter().filter(counted).map(row).collect()
}

fn row(configuration: &Configuration) -> Beside {
    let all: Vec<_> = configuration.repeats.iter().filter(|one| one.evidence.interrupts.is_some()).collect();
    let seconds = all.iter().map(|one| one.elapsed_ns as f64).sum::<f64>() / 1e9;
    let rate = |count: u64| match seconds > 0.0 {
        true => words::plain(count as f64 / seconds),
        false => NOT_MEASURED.into(),
    };
    let mut lines: Vec<Interrupt> = Vec::new();
    for one in all.iter().flat_map(|one| one.evidence.interrupts.iter().flatten()) {
        match lines.iter_mut().find(|line| (&line.line, &line.action) == (&one.line, &one.action)) {
            Some(line) => line.count = line.count.saturating_add(one.count),
            None => lines.push(one.clone()),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.count));
    let sum = |device: bool| {
        let of = lines.iter().filter(|line| line.of_device() == device);
        of.map(|line| line.count).fold(0, u64::saturating_add)
    };
    let most: Vec<String> = lines.iter().take(3).map(|line| format!("{} {}", name(line), rate(line.count))).collect();
    let foreign: Vec<&Foreign> = all.iter().flat_map(|one| &one.evidence.foreign).collect();
    let threads = || all.iter().flat_map(|one| &one.evidence.threads).filter(|thread| !thread.helper);
    Beside {
        label: configuration.label.clone(),
        devices: rate(sum(true)),
        own: rate(sum(false)),
        most: if most.is_empty() { "none".into() } else { most.join(", ") },
        foreign: share(&foreign, seconds),
        preempted: rate(threads().map(|thread| thread.involuntary_switches).fold(0, u64::saturating_add)),
    }
}

/// Returns the name of an interrupt. `LOC` is clear; for a device's line, the handler is more informative than the number.
fn name(line: &Interrupt) -> String {
    match line.action.split_whitespace().last().filter(|_| line.of_device()) {
        Some(handler) => format!("{} {handler}", line.line),
        None => line.line.clone(),
    }
}

fn share(foreign: &[&Foreign], seconds: f64) -> String {
    let ran: u64 = foreign.iter().map(|task| task.ran_ns).fold(0, u64::saturating_add);
    match foreign.iter().max_by_key(|task| task.ran_ns) {
        None => "none seen".into(),
        Some(most) if seconds > 0.0 => format!("{} %, most {}", words::plain(ran as f64 / seconds / 1e7), most.comm),
        Some(most) => most.comm.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use latido_model::{
        cell::{Item, Level},
        record::{Change, Evidence, ThreadEvidence},
    };

    fn line(line: &str, action: &str, count: u64) -> Interrupt {
        Interrupt { line: line.into(), action: action.into(), count }
    }

    /// Two repeats of 2 s share one row. A level appears once, as its first configuration applied it.
    #[test]
    fn repeats_are_summed_and_levels_told_once() {
        let seen = |count| Evidence {
            interrupts: Some(vec![line("LOC", "Local timer interrupts", count), line("36", "edge virtio1-req.0", 6)]),
            foreign: vec![Foreign {
                comm: "migration/1".into(),
                tid: 20,
                policy: "fifo 99".into(),
                cpu: 1,
                ran_ns: 2_000_000,
                owner: Some(latido_model::record::TaskOwner::Kernel),
            }],
            threads: vec![ThreadEvidence { involuntary_switches: 4, ..ThreadEvidence::default() }],
            ..Evidence::default()
        };
        let mut all = sample::configurations(2);
        let one = &mut all[0];
        one.repeats = [400, 600].map(|own| sample::repeat(seen(own), 2_000_000_000)).into();
        let rows = beside(&all);
        assert_eq!(rows.len(), 1, "what was not counted has no row");
        assert_eq!((rows[0].devices.as_str(), rows[0].own.as_str()), ("3.00", "250"));
        assert_eq!(rows[0].most, "LOC 250, 36 virtio1-req.0 3.00");
        assert_eq!((rows[0].foreign.as_str(), rows[0].preempted.as_str()), ("0.100 %, most migration/1", "2.00"));

        let record = |new: &str| TuningRecord {
            item: Item { name: "thp".into(), options: toml::Table::new() },
            changes: vec![Change { knob: "enabled".into(), original: "madvise".into(), new: new.into() }],
            in_force: true,
            note: None,
            programs: vec![],
        };
        for (configuration, new) in all.iter_mut().zip(["never", "always"]) {
            configuration.cell.tuning = Level { id: "quiet".into(), items: Vec::new() };
            configuration.tunings = vec![record(new)];
        }
        let told = settings(&all[..2]);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].tunings[0].changes, [["enabled", "madvise", "never"].map(String::from)]);
    }
}
