//! Applies the changes that a tuning wants: writes each into the journal, makes it and reads it back. Undoes all if one fails.

use super::{Applied, Guard, Hold, Pursuit, Tuning, Wanted};
use crate::{
    journal::{Borrowed, Custody, Journal, urgent::Urgent},
    machine::Root,
    program::Program,
    step::{Step, refusal},
};
use anyhow::{Result, bail, ensure};
use latido_model::{cell::Item, protocol::Phase, record::TuningRecord};

/// How many rounds a pursuit may take. After that, something makes new work faster than latido does it.
const ROUNDS: u32 = 50;

/// Returns what a tuning wants, if reading shows no obstacle: that is better than to begin and turn back.
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
/// What was refused, where, and the remedy, or [`crate::journal::pulse::Stopped`]. latido has restored what the tuning had changed.
pub fn apply(tuning: &dyn Tuning, name: &str, root: &Root, owner: Custody, journal: &mut Journal) -> Result<Applied> {
    let Wanted { steps, pursuit, holds, note } = possible(tuning, root)?;
    let _urgent = root.asked(|kernel| kernel.own_process()).map(|_| Urgent::take());
    ensure!(
        owner == Custody::Run || holds.is_empty(),
        "this tuning lasts only as long as a process holds it: give it to a run with --tune"
    );
    let record = TuningRecord {
        item: Item { name: name.into(), options: tuning.options() },
        changes: Vec::new(),
        in_force: true,
        note,
        programs: Vec::new(),
    };
    let crowd = pursuit.is_some();
    let mut work = Application { root, owner, journal, record, done: Vec::new(), halfway: false, crowd };
    let made = steps.into_iter().try_for_each(|step| work.make(step)).and_then(|()| match pursuit {
        Some(pursuit) => work.pursue(pursuit),
        None => Ok(()),
    });
    let Application { mut record, done, halfway, journal, .. } = work;
    match made.and_then(|()| in_force(tuning, root, &mut record, holds)) {
        Ok(guards) => Ok(Applied { record, guard: Box::new(guards) }),
        Err(error) => {
            // Half a tuning is useless. The journal still lists the changes: latido tries later what it cannot restore now.
            let mut back = done.iter().rev();
            if halfway {
                let _ = back.next().map(|step| step.revert(root));
            }
            for step in back {
                journal.pulse.beat(Phase::Undoing);
                let _ = step.undo(root);
            }
            Err(error)
        }
    }
}

/// Takes the additional holds, and checks the result: the tuning is in force, or this returns an error.
fn in_force(tuning: &dyn Tuning, root: &Root, record: &mut TuningRecord, holds: Vec<Hold>) -> Result<Vec<Guard>> {
    let mut guards = Vec::new();
    for hold in holds {
        let (change, guard) = hold(root)?;
        record.changes.push(change);
        guards.push(guard);
    }
    tuning.confirm(root, record);
    if !record.in_force {
        let says = record.changes.iter().map(|change| format!("{} {}", change.knob, change.new));
        bail!(
            "latido made every change, but the tuning is not in force: something else on this machine overrides it; \
             find and stop that first ({})",
            says.take(3).chain(record.note.take()).collect::<Vec<_>>().join("; ")
        );
    }
    Ok(guards)
}

/// A tuning in the course of its application.
struct Application<'a> {
    root: &'a Root,
    owner: Custody,
    journal: &'a mut Journal,
    record: TuningRecord,
    done: Vec<Step>,
    /// Whether the last step was refused, or did not read back as set.
    halfway: bool,
    /// A tuning moves hundreds of tasks: only the journal lists them, and the record's note summarizes them.
    crowd: bool,
}

impl Application<'_> {
    fn make(&mut self, step: Step) -> Result<()> {
        self.note(&step)?;
        self.change(step)
    }

    /// Writes the step into the journal, unless latido is requested to stop.
    fn note(&mut self, step: &Step) -> Result<()> {
        self.journal.pulse.go_on()?;
        self.journal.pulse.beat(Phase::Tuning);
        let root = self.root.elsewhere();
        let tuning = self.record.item.name.clone();
        self.journal.write_for(self.owner, Borrowed::Setting { tuning, root, change: step.clone() })
    }

    fn change(&mut self, step: Step) -> Result<()> {
        let made = step.apply(self.root).and_then(|()| step.verify(self.root));
        if made.is_ok() && !(self.crowd && matches!(step, Step::Task { .. })) {
            self.record.changes.push(step.change());
        }
        let coalesces = matches!(step, Step::Coalesce { .. });
        // First of all the step is among those that are undone, whatever fails next.
        self.done.push(step);
        self.halfway = made.is_err();
        if coalesces && self.record.programs.is_empty() {
            self.record.programs.extend(self.root.kernel()?.coalescing_program()?.iter().map(Program::record));
        }
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
                "after {ROUNDS} rounds there are still {} things to change, the next is {}: something creates them \
                 faster than latido changes them; stop it first",
                left.len(),
                left.first().map(|step| step.change().knob).unwrap_or_default()
            );
            for step in left {
                // A change that the journal cannot take must not be made. Such an error is no refusal by the kernel.
                self.note(&step)?;
                if let Err(error) = self.change(step.clone()) {
                    // A half-done change must not stay.
                    let _ = step.revert(self.root);
                    self.halfway = false;
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
    use super::*;
    use crate::{
        fixture::{
            trees::{self, Tree, by_hand},
            trial::{applied, refusal, same, snapshot},
        },
        journal::pulse::{Pulse, Stopped},
        step::Form,
    };
    use std::{cell::Cell, rc::Rc};

    /// The second change is refused after the first was made: latido must restore the first.
    #[test]
    fn a_refusal_on_the_way_puts_back_what_was_changed() {
        let server = "sys/kernel/debug/sched/fair_server/cpu5/runtime";
        let tree = trees::server();
        std::fs::remove_file(tree.root.path(server)).unwrap();
        std::os::unix::fs::symlink("/dev/full", tree.root.path(server)).unwrap();
        let before = snapshot(&tree.root);
        let error = refusal("throttle", "", &tree);
        assert!(error.contains("cpu5/runtime cannot be set to `0`: No space left"), "{error}");
        same(&snapshot(&tree.root), &before, "after the refusal");
    }

    /// A tuning with one step that has no effect.
    struct Overruled;

    impl Tuning for Overruled {
        fn options(&self) -> toml::Table {
            toml::Table::new()
        }

        fn wanted(&self, root: &Root) -> Result<Wanted> {
            let steps = Step::value(root, "knob", "2", Form::Plain)?.into_iter().collect();
            Ok(Wanted { steps, ..Wanted::default() })
        }

        fn confirm(&self, _root: &Root, record: &mut TuningRecord) {
            record.in_force = false;
        }
    }

    #[test]
    fn what_is_not_in_force_is_an_error_and_does_not_stay() {
        let tree = by_hand(&[("knob", "1\n")]);
        let before = snapshot(&tree.root);
        let (_dir, mut journal) = Journal::scratch();
        let Err(error) = apply(&Overruled, "overruled", &tree.root, Custody::Run, &mut journal) else {
            panic!("it counts as applied")
        };
        assert!(error.to_string().contains("not in force") && error.to_string().contains("knob 2"), "{error}");
        same(&snapshot(&tree.root), &before, "after the refusal");
    }

    /// A value that the kernel changes to another one.
    struct Rounded;

    impl Tuning for Rounded {
        fn options(&self) -> toml::Table {
            toml::Table::new()
        }

        fn wanted(&self, root: &Root) -> Result<Wanted> {
            let steps = Step::value(root, "knob", "0", Form::Plain)?.into_iter().collect();
            Ok(Wanted { steps, ..Wanted::default() })
        }
    }

    /// If a process requests no timer slack, the kernel gives it its default (proc_pid_timerslack_ns(5)). That is not the requested value,
    /// and no other program set it.
    #[test]
    fn what_the_kernel_makes_of_a_refused_value_does_not_stay() {
        const SLACK: &str = "/proc/self/timerslack_ns";
        let own = std::fs::read_to_string(SLACK).unwrap();
        std::fs::write(SLACK, "61000").unwrap();
        let tree = by_hand(&[]);
        std::os::unix::fs::symlink(SLACK, tree.root.path("knob")).unwrap();
        let (_dir, mut journal) = Journal::scratch();
        let Err(error) = apply(&Rounded, "rounded", &tree.root, Custody::Run, &mut journal) else { panic!("in force") };
        let found = tree.root.read("knob");
        let told = journal.settle().unwrap();
        std::fs::write(SLACK, own.trim()).unwrap();
        assert!(error.to_string().contains("was set to `0` but contains"), "{error}");
        assert_eq!((found.as_deref(), told), (Some("61000"), Vec::new()));
    }

    /// A machine with many interrupts. A pursuit moves them and notes the refusals of single ones.
    fn many() -> Tree {
        let lines: Vec<String> = (1..40).map(|line| format!("proc/irq/{line}/smp_affinity_list")).collect();
        by_hand(&lines.iter().map(|line| (line.as_str(), "0-3\n")).collect::<Vec<_>>())
    }

    #[test]
    fn a_pursuit_gives_signs_of_life_and_ends_when_asked_to() {
        let tree = many();
        let before = snapshot(&tree.root);
        let (_dir, mut journal) = Journal::scratch();
        let heard = Rc::new(Cell::new((0, 0)));
        let (hears, asks) = (Rc::clone(&heard), Rc::clone(&heard));
        let tell = move |phase: Phase| {
            let (tuning, undoing) = hears.get();
            hears.set((tuning + u32::from(phase == Phase::Tuning), undoing + u32::from(phase == Phase::Undoing)));
        };
        journal.pulse = Pulse::new(move || asks.get().0 == 5, tell).always();
        let error = applied("irqs", "away = '1'", &tree.root, &mut journal).expect_err("it was asked to stop");
        assert!(error.is::<Stopped>(), "{error:#}");
        assert_eq!(heard.get(), (5, 5), "one for each change, one for each undoing");
        same(&snapshot(&tree.root), &before, "after the refusal");
    }

    /// A change that the journal does not list would stay for ever after a crash.
    #[test]
    fn a_journal_that_cannot_be_written_ends_a_pursuit() {
        let tree = many();
        let before = snapshot(&tree.root);
        let (_dir, mut journal) = Journal::scratch();
        journal.fill();
        let error = applied("irqs", "away = '1'", &tree.root, &mut journal).expect_err("nothing can be noted");
        assert!(format!("{error:#}").contains("cannot write the journal"), "{error:#}");
        same(&snapshot(&tree.root), &before, "after the refusal");
    }
}
