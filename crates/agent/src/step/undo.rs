//! Undoes a step: restores its original, unless another program changed it meanwhile.

use super::{Form, Step, ethtool, group, shown, started, thread, write};
use crate::machine::Root;
use anyhow::{Context, Result, ensure};
use latido_model::cell::Scheduling;

/// The result of undoing a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Back,
    /// Left as it is, with the reason: another program changed it meanwhile, or it is gone.
    Left(String),
}

/// What latido must do to restore an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nothing: the original is there.
    Is,
    /// Set the original again: the value found is the one that latido wrote.
    Again,
    /// Nothing: another program changed it meanwhile.
    Others,
}

/// Compares the value found with the original and with the value that latido wrote. With `None` any value may have resulted.
fn way<T: PartialEq>(found: &T, original: &T, made: Option<&T>) -> Way {
    match made {
        _ if found == original => Way::Is,
        Some(made) if found != made => Way::Others,
        _ => Way::Again,
    }
}

impl Step {
    /// Undoes the step, unless another program changed it meanwhile. Undoing it twice does no harm.
    ///
    /// # Errors
    /// What the kernel answered: the change stays.
    pub fn undo(&self, root: &Root) -> Result<Undone> {
        match self {
            Self::Value { path, original, new, form } => {
                let found = match shown(root, path, *form) {
                    Ok(text) => text,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(gone(path, original)),
                    Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
                };
                restore(root, path, &found, original, Some(new), *form)
            }
            Self::Kept { path, original, .. } if !root.exists(path) => Ok(gone(path, original)),
            Self::Kept { path, original, becomes, form } => {
                restore(root, path, &shown(root, path, *form)?, original, becomes.as_deref(), *form)
            }
            Self::Within { .. } => Ok(Undone::Back),
            Self::Policy { tid, start, comm, original, .. } if started(root, *tid) != Some(*start) => {
                Ok(Undone::Left(format!("task {tid} ({comm}) is gone: it was {original}")))
            }
            Self::Policy { tid, comm, original, new, .. } => policy_back(root, (*tid, comm), *original, *new),
            Self::Coalesce { device, key, original, new } => coalesced(root, (device, key), original, new),
            Self::Group { path } | Self::Set { path, .. } if !group::ours(root, path) => {
                Ok(Undone::Left(format!("{path} was made by another program: left unchanged")))
            }
            Self::Group { path } => match root.kernel()?.remove_group(&root.path(path)) {
                Ok(()) => Ok(Undone::Back),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Undone::Back),
                Err(error) => Err(error).with_context(|| format!("cannot remove the control group {path}")),
            },
            Self::Set { path, tasks, leave, .. } => group::unmake(root, path, tasks, leave),
            Self::Controller { path, name } => group::disable(root, path, name),
            // It ended. A task that has its number now is a different one.
            Self::Task { tid, start, .. } if started(root, *tid) != Some(*start) => Ok(Undone::Back),
            Self::Task { tid, start, comm, from, to, affinity } => {
                let line = thread::follows(root, comm);
                let back =
                    group::bring_back(root, *tid, from.as_deref(), to.as_deref(), affinity.as_ref(), line.as_ref());
                match back {
                    // It may have ended in the course of this.
                    Err(_) | Ok(Undone::Left(_)) if started(root, *tid) != Some(*start) => Ok(Undone::Back),
                    other => other,
                }
            }
        }
    }

    /// Undoes a step that was refused halfway. No other program can have intervened, so any value that the kernel made of latido's value is
    /// overwritten.
    ///
    /// # Errors
    /// As [`Step::undo`].
    pub fn revert(&self, root: &Root) -> Result<Undone> {
        match self {
            Self::Value { path, original, form, .. } => put_back(root, path, original, *form),
            _ => self.undo(root),
        }
    }
}

/// Restores a value in a file, where `found` is its present content.
fn restore(root: &Root, path: &str, found: &str, original: &str, made: Option<&str>, form: Form) -> Result<Undone> {
    let found = form.value(found);
    match way(&found, &form.value(original), made.map(|made| form.value(made)).as_ref()) {
        Way::Is => Ok(Undone::Back),
        Way::Again => put_back(root, path, original, form),
        Way::Others => Ok(Undone::Left(format!(
            "{path} was set to `{found}` by another program: left unchanged (it was `{original}`)"
        ))),
    }
}

/// Restores the policy of an existing thread.
fn policy_back(root: &Root, (tid, comm): (i32, &str), original: Scheduling, new: Scheduling) -> Result<Undone> {
    let found = thread::policy(root, tid)?;
    match way(&found, &original, Some(&new)) {
        Way::Is => {}
        Way::Again => thread::set_policy(root, tid, original)?,
        Way::Others => {
            let text = format!("task {tid} ({comm}) was set to {found} by another program (it was {original})");
            return Ok(Undone::Left(text));
        }
    }
    Ok(Undone::Back)
}

/// Restores the interrupt coalescing of a network device.
fn coalesced(root: &Root, (device, key): (&str, &str), original: &str, new: &str) -> Result<Undone> {
    if !root.exists(&format!("sys/class/net/{device}")) {
        return Ok(Undone::Left(format!("{device} is gone: its {key} was {original}")));
    }
    let found = ethtool::get(root, device, key)?;
    match way(&found.as_str(), &original, Some(&new)) {
        Way::Is => {}
        Way::Again => ethtool::set(root, device, key, original)?,
        Way::Others => {
            let text = format!("{key} of {device} was set to {found} by another program (it was {original})");
            return Ok(Undone::Left(text));
        }
    }
    Ok(Undone::Back)
}

fn gone(path: &str, original: &str) -> Undone {
    Undone::Left(format!("{path} is gone: it was `{original}`"))
}

fn put_back(root: &Root, path: &str, original: &str, form: Form) -> Result<Undone> {
    write(root, path, original, form)?;
    let back = form.value(&shown(root, path, form)?);
    ensure!(back == form.value(original), "{path} was put back to `{original}` but contains `{back}`");
    Ok(Undone::Back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};
    use std::{cell::Cell, fs};

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(28), failure_persistence: None, ..ProptestConfig::default() })]

        /// latido must not overwrite another program's value. It sets the original again only over its own value, and leaves an original
        /// that is there already.
        #[test]
        fn only_latidos_own_value_is_replaced(found in 0u8..4, original in 0u8..4, made in prop::option::of(0u8..4)) {
            let chosen = way(&found, &original, made.as_ref());
            prop_assert_eq!(chosen == Way::Is, found == original);
            prop_assert_eq!(chosen == Way::Again, found != original && made.is_none_or(|made| made == found));
            prop_assert_eq!(chosen == Way::Others, found != original && made.is_some_and(|made| made != found));
        }
    }

    /// The four states of a file, for a value that latido wrote and for one that it only remembered.
    #[test]
    fn a_file_goes_back_or_its_new_owner_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::simulated(dir.path());
        let (path, form) = ("knob".to_owned(), Form::Plain);
        let value = Step::Value { path: path.clone(), original: "1".into(), new: "2".into(), form };
        let kept = |becomes: Option<&str>| Step::Kept {
            path: path.clone(),
            original: "1".into(),
            becomes: becomes.map(str::to_owned),
            form,
        };
        let undone = |step: &Step, found: Option<&str>| {
            let _ = fs::remove_file(dir.path().join("knob"));
            found.iter().for_each(|found| fs::write(dir.path().join("knob"), format!("{found}\n")).unwrap());
            let undone = step.undo(&root).unwrap();
            (undone, root.read("knob"))
        };
        let back = (Undone::Back, Some("1".to_owned()));
        let others = |found: &str| {
            Undone::Left(format!("knob was set to `{found}` by another program: left unchanged (it was `1`)"))
        };
        for step in [value, kept(Some("2"))] {
            assert_eq!(undone(&step, Some("1")), back);
            assert_eq!(undone(&step, Some("2")), back);
            assert_eq!(undone(&step, Some("3")), (others("3"), Some("3".into())));
            assert_eq!(undone(&step, None), (Undone::Left("knob is gone: it was `1`".into()), None));
        }
        assert_eq!(undone(&kept(None), Some("3")), back, "whatever the kernel made of it");
    }

    /// latido must leave alone a number that another task has now. Of the same task it must replace only its own policy.
    #[test]
    fn a_policy_goes_back_to_the_task_that_had_it() {
        let tree = crate::fixture::trees::by_hand(&[]);
        let (fifo, rr) = (Scheduling::Fifo { prio: 50 }, Scheduling::Rr { prio: 3 });
        let start = Cell::new(77);
        let step = || Step::Policy {
            tid: 9,
            start: start.get(),
            comm: "irq/9-eth0".into(),
            original: Scheduling::OTHER,
            new: fifo,
        };
        let stat =
            "9 (irq/9-eth0) S 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0";
        tree.write("proc/9/stat", stat);
        let set = |policy| thread::set_policy(&tree.root, 9, policy).unwrap();
        for (found, after) in [(fifo, Scheduling::OTHER), (Scheduling::OTHER, Scheduling::OTHER), (rr, rr)] {
            set(found);
            let undone = step().undo(&tree.root).unwrap();
            assert_eq!(undone == Undone::Back, found != rr, "{undone:?}");
            assert_eq!(thread::policy(&tree.root, 9).unwrap(), after);
        }
        start.set(78);
        set(fifo);
        assert!(matches!(step().undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("is gone")));
        assert_eq!(thread::policy(&tree.root, 9).unwrap(), fifo, "another task has its number");
    }
}
