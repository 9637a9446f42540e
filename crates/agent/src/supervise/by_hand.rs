//! Tunings that a person applies and undoes with `latido tune`. They use the same journal and lock as a run.

use crate::{
    journal::{
        self, Borrowed, Custody, Journal, Recovery, lock,
        pulse::{Pulse, Stopped},
    },
    machine::Root,
    setting::apply::apply,
    tuning::TUNINGS,
};
use anyhow::{Context, Result, bail};
use latido_model::{
    cell::Item,
    protocol::{Setting, TuneStatus},
    record::{ByHand, TuningRecord},
    registry,
};
use std::path::PathBuf;

/// The result of `tune apply`.
#[derive(Debug, Default)]
pub struct AppliedAll {
    /// The tunings, in the requested order.
    pub records: Vec<TuningRecord>,
    /// Messages for the user: what an earlier crash had left, which latido was passed over, whether the journal was lost.
    pub told: Vec<String>,
    /// Present if an end was requested before all was in force. Nothing was kept; the list contains what could not be restored.
    pub stopped: Option<Vec<String>>,
}

/// Applies all tunings, or none. With patience it waits for the lock until an end is requested.
///
/// # Errors
/// What was refused, and the remedy. latido has restored what it had changed, and names what it could not restore.
pub fn apply_all(items: &[Item], root: &Root, pulse: Pulse, patience: &mut lock::Patience<'_>) -> Result<AppliedAll> {
    // This also prevents changes between two cells of a run.
    let mut turns = || -> Result<_> {
        let run = lock::take_patiently("run", "tune apply", patience)?;
        let held = lock::take_patiently("lock", "tune apply", patience)?;
        // Without patience, latido needs the machine's lock only when it changes something.
        let here = patience.waits() && root.asked(|kernel| kernel.own_process()).is_some();
        let machine = here.then(|| lock::machine(lock::Use::Change, "tune apply", patience)).transpose()?;
        Ok((run, held, machine, patience.passed()))
    };
    let (_run, held, _machine, passed) = match turns() {
        Ok(had) => had,
        Err(_) if pulse.stops() => return Ok(AppliedAll { stopped: Some(Vec::new()), ..AppliedAll::default() }),
        Err(error) => return Err(error),
    };
    let mut journal = Journal::open(&held, root.elsewhere(), pulse)?;
    let mut outcome = AppliedAll { told: [passed, journal.news()].concat(), ..AppliedAll::default() };
    for item in items {
        match one(item, root, &mut journal) {
            Ok(record) => outcome.records.push(record),
            Err(error) => {
                let stopped = error.is::<Stopped>();
                let settled = journal.settle().context("what was changed could not be put back");
                let news: String = journal.news().iter().map(|news| format!("; {news}")).collect();
                let told = settled.with_context(|| format!("{error:#}{news}"))?;
                if stopped {
                    let told = told.into_iter().chain(Some(news).filter(|news| !news.is_empty())).collect();
                    return Ok(AppliedAll { records: Vec::new(), stopped: Some(told), ..outcome });
                }
                let error = error.context(format!("tuning `{}`", item.name));
                if told.is_empty() {
                    bail!("{error:#} (nothing was changed){news}");
                }
                bail!("{error:#}; not everything could be put back: {}{news}", told.join("; "));
            }
        }
    }
    outcome.told.extend(journal.keep()?);
    Ok(outcome)
}

fn one(item: &Item, root: &Root, journal: &mut Journal) -> Result<TuningRecord> {
    let tuning = registry::build("tuning", TUNINGS, item)?;
    let applied = apply(tuning.as_ref(), &item.name, root, Custody::Unsettled, journal)?;
    // A stop requested during the last change counts too.
    journal.pulse.go_on()?;
    Ok(applied.record)
}

/// Undoes what was applied by hand on this machine: the named tunings, or all.
///
/// # Errors
/// Another latido is still running when the patience ends, or the journal cannot be read or written.
pub fn undo(names: &[String], root: &Root, pulse: &mut Pulse, patience: &mut lock::Patience<'_>) -> Result<Recovery> {
    let here = root.elsewhere();
    let wanted = |what: &Borrowed| match what {
        Borrowed::Setting { tuning, root, .. } => *root == here && (names.is_empty() || names.contains(tuning)),
        Borrowed::Load { .. } | Borrowed::Trace { .. } | Borrowed::Hook { .. } => false,
    };
    journal::undo_manual(&wanted, here.as_ref(), pulse, patience)
}

/// Reads the journal and every knob in it. Changes nothing.
///
/// # Errors
/// The journal cannot be read.
pub fn status(root: &Root) -> Result<TuneStatus> {
    let standing = journal::standing()?;
    Ok(TuneStatus {
        schema: 1,
        applied: lines(&standing.by_hand, root),
        unsettled: lines(&standing.unowned, root),
        void: lines(&standing.void, root),
        unreadable: standing.unreadable,
        lost: standing.lost,
        at_work: lock::holder("run").or_else(|| lock::holder("lock")),
        ..TuneStatus::default()
    })
}

/// Returns what a person has applied, with its present state, for the records of measurements.
///
/// # Errors
/// The journal cannot be read.
pub(super) fn applied(root: &Root) -> Result<Vec<ByHand>> {
    Ok(standing(&journal::standing()?.by_hand, root))
}

fn standing(by_hand: &[Borrowed], root: &Root) -> Vec<ByHand> {
    let set = lines(by_hand, root).into_iter().filter(|line| !line.superseded);
    set.filter_map(|line| {
        Some(ByHand { tuning: line.tuning?, knob: line.knob, value: line.new, in_force: line.in_force })
    })
    .collect()
}

fn lines(borrowed: &[Borrowed], root: &Root) -> Vec<Setting> {
    let here = root.elsewhere();
    let mut lines: Vec<Setting> = borrowed.iter().filter_map(|one| line(one, &here, root)).collect();
    let knobs: Vec<String> = lines.iter().map(|line| line.knob.clone()).collect();
    for (at, line) in lines.iter_mut().enumerate() {
        line.superseded = knobs.iter().skip(at + 1).any(|later| *later == line.knob);
    }
    lines
}

fn line(borrowed: &Borrowed, here: &Option<PathBuf>, root: &Root) -> Option<Setting> {
    match borrowed {
        Borrowed::Setting { tuning, root: there, change } if there == here => {
            let current = change.current(root);
            let in_force = current.is_some().then(|| change.verify(root).is_ok());
            let latido_model::record::Change { knob, original, new } = change.change();
            Some(Setting { tuning: Some(tuning.clone()), knob, original, new, current, in_force, superseded: false })
        }
        // A hook exists while its trace exists, and the status lists the trace.
        Borrowed::Setting { .. } | Borrowed::Hook { .. } => None,
        Borrowed::Trace { instance } => {
            let there = instance.dir().is_ok_and(|(_, dir)| dir.is_dir());
            Some(Setting {
                tuning: None,
                knob: format!("trace {}", instance.name()),
                original: "not there".into(),
                new: "recording".into(),
                current: Some(if there { "recording" } else { "gone" }.into()),
                in_force: Some(there),
                superseded: false,
            })
        }
        Borrowed::Load { mark, argv, .. } => {
            let alive = !journal::marked(mark).is_empty();
            Some(Setting {
                tuning: None,
                knob: format!("load {}", argv.join(" ")),
                original: "not running".into(),
                new: "running".into(),
                current: Some(if alive { "running" } else { "ended" }.into()),
                in_force: Some(alive),
                superseded: false,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Form, Step};

    /// The last change of a knob counts. A knob that another program, or the cell itself, has set meanwhile is not in force.
    #[test]
    fn what_stands_is_told_with_its_values() {
        let machine = tempfile::tempdir().unwrap();
        let root = Root::new(machine.path());
        for (knob, says) in [("a", "3"), ("b", "7")] {
            std::fs::write(machine.path().join(knob), format!("{says}\n")).unwrap();
        }
        let set = |tuning: &str, place: Option<PathBuf>, knob: &str, original: &str, new: &str| Borrowed::Setting {
            tuning: tuning.into(),
            root: place,
            change: Step::Value { path: knob.into(), original: original.into(), new: new.into(), form: Form::Plain },
        };
        let here = root.elsewhere();
        let by_hand = [
            set("first", here.clone(), "a", "1", "2"),
            set("second", here.clone(), "a", "2", "3"),
            set("elsewhere", None, "a", "1", "2"),
            set("changed", here.clone(), "b", "1", "2"),
            set("gone", here, "c", "1", "2"),
        ];
        let told = standing(&by_hand, &root);
        let told: Vec<_> = told.iter().map(|one| (one.tuning.as_str(), one.value.as_str(), one.in_force)).collect();
        assert_eq!(told, [("second", "3", Some(true)), ("changed", "2", Some(false)), ("gone", "2", None)]);
    }
}
