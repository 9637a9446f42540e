//! From what a tuning wants to a machine that has it: each change journalled, made, read back; all undone if one fails.

use super::{Applied, Pursuit, Tuning, Wanted, refusal, step::Step};
use crate::{
    agent::journal::{Borrowed, Journal, Owner},
    cell::Item,
    machine::Root,
    record::TuningRecord,
};
use anyhow::{Result, ensure};

/// After so many rounds something makes new work faster than it is done.
const ROUNDS: u32 = 50;

/// What a tuning wants, as far as reading tells that it can be had: better than to begin and turn back.
///
/// # Errors
/// What is missing or refused, where, and the remedy.
pub fn possible(tuning: &dyn Tuning, root: &Root) -> Result<Wanted> {
    let wanted = tuning.wanted(root)?;
    match wanted.steps.iter().filter_map(Step::file).find_map(|path| refusal::beforehand(root, path)) {
        Some(refused) => Err(refused),
        None => Ok(wanted),
    }
}

/// Applies a tuning.
///
/// # Errors
/// What was refused, where, and the remedy; what had been changed for it is put back.
pub fn apply(tuning: &dyn Tuning, name: &str, root: &Root, owner: Owner, journal: &mut Journal) -> Result<Applied> {
    let Wanted { steps, pursuit, holds, note } = possible(tuning, root)?;
    ensure!(
        owner == Owner::Run || holds.is_empty(),
        "it lasts only as long as a process holds it: give it to a run with --tune"
    );
    let record = TuningRecord {
        item: Item { name: name.into(), options: tuning.options() },
        changes: Vec::new(),
        in_force: true,
        note,
    };
    let mut work = Work { root, owner, journal, record, done: Vec::new(), crowd: pursuit.is_some() };
    let made = steps.into_iter().try_for_each(|step| work.make(step)).and_then(|()| match pursuit {
        Some(pursuit) => work.pursue(pursuit),
        None => Ok(()),
    });
    let Work { mut record, done, .. } = work;
    if let Err(error) = made {
        // Half a tuning is none. The journal still has it: what will not go back now is tried again later.
        for step in done.iter().rev() {
            let _ = step.undo(root);
        }
        return Err(error);
    }
    let mut guards = Vec::new();
    for hold in holds {
        let (change, guard) = hold(root)?;
        record.changes.push(change);
        guards.push(guard);
    }
    tuning.confirm(root, &mut record);
    Ok(Applied { record, guard: Box::new(guards) })
}

/// A tuning that is being applied.
struct Work<'a> {
    root: &'a Root,
    owner: Owner,
    journal: &'a mut Journal,
    record: TuningRecord,
    done: Vec<Step>,
    /// Tasks are moved by the hundred: they are the journal's business, the record keeps what the note says of them.
    crowd: bool,
}

impl Work<'_> {
    fn make(&mut self, step: Step) -> Result<()> {
        let root_dir = (!self.root.is_live()).then(|| self.root.path(""));
        let tuning = self.record.item.name.clone();
        self.journal.write_for(self.owner, Borrowed::Setting { tuning, root: root_dir, change: step.clone() })?;
        let made = step.apply(self.root).and_then(|()| step.verify(self.root));
        if made.is_ok() && !(self.crowd && matches!(step, Step::Task { .. })) {
            self.record.changes.push(step.change());
        }
        self.done.push(step);
        crate::fault::point("agent");
        made
    }

    fn pursue(&mut self, mut pursuit: Box<dyn Pursuit>) -> Result<()> {
        let mut round = 0;
        loop {
            let left = pursuit.left(self.root)?;
            if left.is_empty() {
                break;
            }
            ensure!(
                round < ROUNDS,
                "after {ROUNDS} rounds there are still {} things to change, the next is {}: something makes them \
                 faster than they are changed; stop it first",
                left.len(),
                left.first().map(|step| step.change().knob).unwrap_or_default()
            );
            for step in left {
                if let Err(error) = self.make(step.clone()) {
                    // What was half done must not stay so.
                    let _ = step.undo(self.root);
                    pursuit.refused(self.root, &step, error)?;
                }
            }
            round += 1;
        }
        let told = self.record.note.take().into_iter().chain(pursuit.told(self.root));
        self.record.note = Some(told.collect::<Vec<_>>().join("; ")).filter(|note| !note.is_empty());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::tuning::{
        trees,
        trial::{refusal, snapshot},
    };

    /// The first change was made when the second is refused: half a tuning is none.
    #[test]
    fn a_refusal_on_the_way_puts_back_what_was_changed() {
        let server = "sys/kernel/debug/sched/fair_server/cpu5/runtime";
        let tree = trees::server();
        std::fs::remove_file(tree.root.path(server)).unwrap();
        std::os::unix::fs::symlink("/dev/full", tree.root.path(server)).unwrap();
        let before = snapshot(&tree.root);
        let error = refusal("throttle", "", &tree);
        assert!(error.contains("cpu5/runtime cannot be set to `0`: No space left"), "{error}");
        assert_eq!(snapshot(&tree.root), before);
    }
}
