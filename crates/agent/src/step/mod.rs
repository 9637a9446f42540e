//! One reversible change of the machine: the old state, the new state, how to verify that it is in force, and how to undo it.

pub mod ethtool;
pub mod group;
pub mod refusal;
pub mod thread;
mod told;
mod undo;

pub use crate::machine::form::Form;
pub use undo::Undone;

use crate::{machine::Root, step::group::GroupFile};
use anyhow::{Context, Result, ensure};
use latido_model::{cell::Scheduling, cpus::CpuSet};
use serde::{Deserialize, Serialize};

/// A change with its original. The journal keeps it, so that any latido can undo it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A new value in a file.
    Value {
        /// The file, from the root of the machine.
        path: String,
        /// The old content, in the form for writing it back.
        original: String,
        /// The new content.
        new: String,
        /// How the kernel prints it.
        form: Form,
    },
    /// A value that a later step makes the kernel change or forget. This step only remembers it, to restore it later.
    Kept {
        /// The file, from the root of the machine.
        path: String,
        /// The old content.
        original: String,
        /// The value that the kernel makes of it, if known. Any other value comes from another program.
        becomes: Option<String>,
        /// How the kernel prints it.
        form: Form,
    },
    /// A control group that was made.
    Group {
        /// Its directory.
        path: String,
    },
    /// A control group that was made with its own settings. What is in it when it is removed moves elsewhere.
    Set {
        /// Its directory.
        path: String,
        /// The contents of its files, in this order.
        settings: Vec<GroupFile>,
        /// The name of the file in it that lists its threads.
        tasks: String,
        /// The file that takes the threads that remain in it.
        leave: String,
    },
    /// A controller that the children of a control group get (cgroup v2).
    Controller {
        /// The `cgroup.subtree_control` of the group.
        path: String,
        /// Its name.
        name: String,
    },
    /// A task that moves to another control group, or gets another affinity.
    Task {
        /// The thread's id.
        tid: i32,
        /// When it started, in clock ticks since boot. A later task with the same number is a different one.
        start: u64,
        /// Its name, for people.
        comm: String,
        /// The file that takes it back: `cgroup.threads` or `tasks` of its group. Absent if it stays in its group.
        from: Option<String>,
        /// The file that takes it now.
        to: Option<String>,
        /// The CPUs that it was allowed before and is allowed now, if the step sets them.
        affinity: Option<(CpuSet, CpuSet)>,
    },
    /// A value in a control group that latido made. It goes with the group.
    Within {
        /// The file, from the root of the machine.
        path: String,
        /// The new content.
        new: String,
        /// How the kernel prints it.
        form: Form,
    },
    /// A kernel thread that gets another policy.
    Policy {
        /// The thread's id.
        tid: i32,
        /// When it started, as above.
        start: u64,
        /// Its name, for people.
        comm: String,
        /// Its old policy.
        original: Scheduling,
        /// Its new policy.
        new: Scheduling,
    },
    /// New interrupt coalescing of a network device, set by the program ethtool.
    Coalesce {
        /// The device.
        device: String,
        /// The parameter, as `ethtool -C` takes it.
        key: String,
        /// The old value.
        original: String,
        /// The new value.
        new: String,
    },
}

impl Step {
    /// Returns a change of a file, with its present content as the original; `None` if the content is the same already.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn value(root: &Root, path: &str, new: &str, form: Form) -> Result<Option<Self>> {
        let found =
            shown(root, path, form).with_context(|| format!("cannot read /{}", path.trim_start_matches('/')))?;
        let original = form.value(&found);
        if original == form.value(new) {
            return Ok(None);
        }
        Ok(Some(Self::Value { path: path.into(), original, new: new.into(), form }))
    }

    /// Returns the present content of a file, to be restored after other steps; `None` if the file does not exist.
    pub fn kept(root: &Root, path: &str, form: Form) -> Option<Self> {
        let found = shown(root, path, form).ok()?;
        Some(Self::Kept { path: path.into(), original: form.value(&found), becomes: None, form })
    }

    /// Makes the change. The journal must already list it.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn apply(&self, root: &Root) -> Result<()> {
        match self {
            Self::Value { path, new, form, .. } | Self::Within { path, new, form } => write(root, path, new, *form),
            Self::Kept { .. } => Ok(()),
            Self::Policy { tid, start, new, .. } => match started(root, *tid) == Some(*start) {
                true => thread::set_policy(root, *tid, *new),
                false => Ok(()),
            },
            Self::Coalesce { device, key, new, .. } => ethtool::set(root, device, key, new),
            Self::Group { path } => group::create(root, path),
            Self::Set { path, settings, .. } => group::make(root, path, settings),
            Self::Controller { path, name } => group::enable(root, path, name),
            Self::Task { tid, start, from, to, affinity, .. } => {
                let moved = || -> Result<()> {
                    if let Some(to) = to {
                        group::enter(root, *tid, from.as_deref(), to)?;
                        crate::fault::point("agent");
                    }
                    affinity.as_ref().map_or(Ok(()), |(_, new)| group::bind(root, *tid, new))
                };
                // A task that ended meanwhile needs no move.
                match started(root, *tid) == Some(*start) {
                    true => moved().or_else(|error| match started(root, *tid) == Some(*start) {
                        true => Err(error),
                        false => Ok(()),
                    }),
                    false => Ok(()),
                }
            }
        }
    }

    /// Checks that the change is in force.
    ///
    /// # Errors
    /// What the machine shows instead.
    pub fn verify(&self, root: &Root) -> Result<()> {
        match self {
            Self::Value { path, new, form, .. } => {
                let found = form.value(&shown(root, path, *form).with_context(|| format!("cannot read back {path}"))?);
                ensure!(found == form.value(new), "{path} was set to `{new}` but contains `{found}`");
                Ok(())
            }
            Self::Group { path } => {
                ensure!(root.path(path).is_dir(), "the control group {path} was made but does not exist");
                Ok(())
            }
            Self::Set { path, settings, .. } => group::check(root, path, settings),
            Self::Controller { path, name } => group::enabled(root, path, name),
            Self::Within { path, new, form } => {
                let found = form.value(&root.try_read(path).with_context(|| format!("cannot read back {path}"))?);
                ensure!(found == form.value(new), "{path} was set to `{new}` but contains `{found}`");
                Ok(())
            }
            Self::Policy { tid, start, comm, new, .. } if started(root, *tid) == Some(*start) => {
                let found = thread::policy(root, *tid)?;
                ensure!(found == *new, "task {tid} ({comm}) was set to {new} but is {found}");
                Ok(())
            }
            Self::Coalesce { device, key, new, .. } => {
                let found = ethtool::get(root, device, key)?;
                ensure!(found == *new, "{key} of {device} was set to {new} but is {found}");
                Ok(())
            }
            Self::Task { tid, start, comm, from: None, to: None, affinity: Some((_, new)) } => {
                let Some(found) = group::affinity(root, *tid).filter(|_| started(root, *tid) == Some(*start)) else {
                    return Ok(());
                };
                // The kernel moves a handler's thread with its interrupt.
                let handles = || thread::follows(root, comm).is_some_and(|line| group::same(root, &found, &line));
                ensure!(
                    group::same(root, &found, new) || handles(),
                    "task {tid} ({comm}) was bound to CPUs {new} but may run on {found}"
                );
                Ok(())
            }
            // The group's own step covers where a task is: a task that forks or ends is no error.
            Self::Task { .. } | Self::Policy { .. } | Self::Kept { .. } => Ok(()),
        }
    }
}

/// Reads a file, or for [`Form::Requested`] the file next to it that contains the requested value.
fn shown(root: &Root, path: &str, form: Form) -> std::io::Result<String> {
    match form {
        Form::Requested if root.exists(&requested(path)) => root.try_read(&requested(path)),
        _ => root.try_read(path),
    }
}

fn requested(path: &str) -> String {
    format!("{path}_requested")
}

/// Writes a value in its form.
fn write(root: &Root, path: &str, value: &str, form: Form) -> Result<()> {
    let set = root.kernel()?.set(&root.path(path), &form.written(value), form);
    set.map_err(|error| refusal::of_write(root, path, value, &error))
}

/// Returns when a thread started, field 22 of its stat (proc_pid_stat(5)); `None` if it does not exist.
pub fn started(root: &Root, tid: i32) -> Option<u64> {
    let stat = root.read(&format!("proc/{tid}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::simulated(dir.path());
        (dir, root)
    }

    #[test]
    fn a_value_is_set_seen_and_put_back() {
        let (_dir, root) = machine(&[("sys/knob", "7\n")]);
        let step = Step::value(&root, "sys/knob", "9", Form::Plain).unwrap().unwrap();
        assert!(step.verify(&root).is_err(), "not before it is applied");
        step.apply(&root).unwrap();
        step.verify(&root).unwrap();
        assert_eq!(step.undo(&root).unwrap(), Undone::Back);
        assert_eq!(root.read("sys/knob").as_deref(), Some("7"));
        assert_eq!(step.undo(&root).unwrap(), Undone::Back, "twice does no harm");
        assert!(Step::value(&root, "sys/knob", "7", Form::Plain).unwrap().is_none(), "nothing to do");
    }

    #[test]
    fn what_others_changed_is_left_and_told() {
        let (_dir, root) = machine(&[("sys/knob", "7")]);
        let step = Step::value(&root, "sys/knob", "9", Form::Plain).unwrap().unwrap();
        step.apply(&root).unwrap();
        fs::write(root.path("sys/knob"), "8").unwrap();
        let Undone::Left(told) = step.undo(&root).unwrap() else { panic!() };
        assert!(told.contains("`8` by another program") && told.contains("`7`"), "{told}");
        fs::remove_file(root.path("sys/knob")).unwrap();
        assert!(matches!(step.undo(&root).unwrap(), Undone::Left(told) if told.contains("gone")));
    }
}
