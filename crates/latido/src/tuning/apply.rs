//! From what a tuning wants to a machine that has it: each change journalled, made, read back; all undone if one fails.

use super::{Applied, Tuning, Wanted, refusal, step::Step};
use crate::{
    agent::journal::{Borrowed, Journal, Owner},
    cell::Item,
    machine::Root,
    record::TuningRecord,
};
use anyhow::{Result, ensure};

/// Applies a tuning.
///
/// # Errors
/// What was refused, where, and the remedy; what had been changed for it is put back.
pub fn apply(tuning: &dyn Tuning, name: &str, root: &Root, owner: Owner, journal: &mut Journal) -> Result<Applied> {
    let Wanted { steps, holds, note } = tuning.wanted(root)?;
    ensure!(
        owner == Owner::Run || holds.is_empty(),
        "it lasts only as long as a process holds it: give it to a run with --tune"
    );
    // Better than to begin and turn back.
    if let Some(refused) = steps.iter().filter_map(Step::file).find_map(|path| refusal::beforehand(root, path)) {
        return Err(refused);
    }
    let mut record = TuningRecord {
        item: Item { name: name.into(), options: tuning.options() },
        changes: Vec::new(),
        in_force: true,
        note,
    };
    let mut done = Vec::new();
    for step in steps {
        let change = step.clone();
        let root_dir = (!root.is_live()).then(|| root.path(""));
        journal.write_for(owner, Borrowed::Setting { tuning: name.into(), root: root_dir, change })?;
        let made = step.apply(root).and_then(|()| step.verify(root));
        record.changes.push(step.change());
        done.push(step);
        crate::fault::point("agent");
        if let Err(error) = made {
            // Half a tuning is none. The journal still has it: what will not go back now is tried again later.
            for step in done.iter().rev() {
                let _ = step.undo(root);
            }
            return Err(error);
        }
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

#[cfg(test)]
mod tests {
    use crate::tuning::trial::{machine, refusal, snapshot};

    /// The first change was made when the second is refused: half a tuning is none.
    #[test]
    fn a_refusal_on_the_way_puts_back_what_was_changed() {
        let runtime = "proc/sys/kernel/sched_rt_runtime_us";
        let server = "sys/kernel/debug/sched/fair_server/cpu0/runtime";
        let tree = machine(&[(runtime, "950000\n"), (server, "50000000\n")]);
        std::fs::remove_file(tree.root.path(server)).unwrap();
        std::os::unix::fs::symlink("/dev/full", tree.root.path(server)).unwrap();
        let before = snapshot(&tree.root);
        let error = refusal("throttle", "", &tree);
        assert!(error.contains("cpu0/runtime cannot be set to `0`: No space left"), "{error}");
        assert_eq!(snapshot(&tree.root), before);
    }
}
