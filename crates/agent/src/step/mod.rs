//! One reversible change of the machine: what it was, what it becomes, how to see that it is in force, how to undo it.

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

/// A change with its original: what the journal keeps, so that anybody can undo it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Another value in a file.
    Value {
        /// The file, from the root of the machine.
        path: String,
        /// What it said, as it is written back.
        original: String,
        /// What it is to say.
        new: String,
        /// How the kernel prints it.
        form: Form,
    },
    /// A value that a later step makes the kernel change or forget; it is only remembered, for the way back.
    Kept {
        /// The file, from the root of the machine.
        path: String,
        /// What it said.
        original: String,
        /// What the kernel makes of it, where that is known: anything else is somebody else's doing.
        becomes: Option<String>,
        /// How the kernel prints it.
        form: Form,
    },
    /// A control group that was made.
    Group {
        /// Its directory.
        path: String,
    },
    /// A control group that was made with settings of its own; whatever is in it when it goes moves elsewhere.
    Set {
        /// Its directory.
        path: String,
        /// What its files are to say, in this order.
        settings: Vec<GroupFile>,
        /// The name of the file in it that lists its threads.
        tasks: String,
        /// The file that takes the threads that are left in it.
        leave: String,
    },
    /// A controller that the children of a control group get (cgroup v2).
    Controller {
        /// The `cgroup.subtree_control` of the group.
        path: String,
        /// Its name.
        name: String,
    },
    /// A task in another control group, or with another affinity.
    Task {
        /// The thread's id.
        tid: i32,
        /// When it started, in clock ticks since boot: a later task of the same number is another one.
        start: u64,
        /// Its name, for people.
        comm: String,
        /// The file that takes it back, `cgroup.threads` or `tasks` of its group; absent where it stays there.
        from: Option<String>,
        /// The file that takes it now.
        to: Option<String>,
        /// The CPUs it was allowed before and is allowed now, where they are set.
        affinity: Option<(CpuSet, CpuSet)>,
    },
    /// A value in a control group that was made: it goes with the group.
    Within {
        /// The file, from the root of the machine.
        path: String,
        /// What it is to say.
        new: String,
        /// How the kernel prints it.
        form: Form,
    },
    /// A thread of the kernel with another policy.
    Policy {
        /// The thread's id.
        tid: i32,
        /// When it started, as above.
        start: u64,
        /// Its name, for people.
        comm: String,
        /// What it had.
        original: Scheduling,
        /// What it gets.
        new: Scheduling,
    },
    /// Another way of a network device to gather interrupts, set by the program ethtool.
    Coalesce {
        /// The device.
        device: String,
        /// The parameter, as `ethtool -C` takes it.
        key: String,
        /// What it was.
        original: String,
        /// What it becomes.
        new: String,
    },
}

impl Step {
    /// A change of a file, with what it says now as its original; `None` where it says that already.
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

    /// What a file says, to be written back after other steps; `None` where it is not there.
    pub fn kept(root: &Root, path: &str, form: Form) -> Option<Self> {
        let found = shown(root, path, form).ok()?;
        Some(Self::Kept { path: path.into(), original: form.value(&found), becomes: None, form })
    }

    /// Makes the change; it must be in the journal.
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
                // A task that ended meanwhile needs no place.
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

    /// Whether the machine says so too.
    ///
    /// # Errors
    /// What it says instead.
    pub fn verify(&self, root: &Root) -> Result<()> {
        match self {
            Self::Value { path, new, form, .. } => {
                let found = form.value(&shown(root, path, *form).with_context(|| format!("cannot read back {path}"))?);
                ensure!(found == form.value(new), "{path} was set to `{new}` and says `{found}`");
                Ok(())
            }
            Self::Group { path } => {
                ensure!(root.path(path).is_dir(), "the control group {path} was made and is not there");
                Ok(())
            }
            Self::Set { path, settings, .. } => group::check(root, path, settings),
            Self::Controller { path, name } => group::enabled(root, path, name),
            Self::Within { path, new, form } => {
                let found = form.value(&root.try_read(path).with_context(|| format!("cannot read back {path}"))?);
                ensure!(found == form.value(new), "{path} was set to `{new}` and says `{found}`");
                Ok(())
            }
            Self::Policy { tid, start, comm, new, .. } if started(root, *tid) == Some(*start) => {
                let found = thread::policy(root, *tid)?;
                ensure!(found == *new, "task {tid} ({comm}) was made {new} and is {found}");
                Ok(())
            }
            Self::Coalesce { device, key, new, .. } => {
                let found = ethtool::get(root, device, key)?;
                ensure!(found == *new, "{key} of {device} was set to {new} and is {found}");
                Ok(())
            }
            Self::Task { tid, start, comm, from: None, to: None, affinity: Some((_, new)) } => {
                let Some(found) = group::affinity(root, *tid).filter(|_| started(root, *tid) == Some(*start)) else {
                    return Ok(());
                };
                // A handler goes where its interrupt goes.
                let handles = || thread::follows(root, comm).is_some_and(|line| group::same(root, &found, &line));
                ensure!(
                    group::same(root, &found, new) || handles(),
                    "task {tid} ({comm}) was bound to CPUs {new} and may run on {found}"
                );
                Ok(())
            }
            // Where a task is, is its control group's business: one that forks or ends is not an error.
            Self::Task { .. } | Self::Policy { .. } | Self::Kept { .. } => Ok(()),
        }
    }
}

/// What a file says, or the one beside it that says what was asked for.
fn shown(root: &Root, path: &str, form: Form) -> std::io::Result<String> {
    match form {
        Form::Requested if root.exists(&requested(path)) => root.try_read(&requested(path)),
        _ => root.try_read(path),
    }
}

fn requested(path: &str) -> String {
    format!("{path}_requested")
}

/// Writes a value, in words of its form.
fn write(root: &Root, path: &str, value: &str, form: Form) -> Result<()> {
    let set = root.kernel()?.set(&root.path(path), &form.written(value), form);
    set.map_err(|error| refusal::of_write(root, path, value, &error))
}

/// When a thread started, field 22 of its stat (proc_pid_stat(5)); `None` where there is none.
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
        assert!(told.contains("`8` by somebody else") && told.contains("`7`"), "{told}");
        fs::remove_file(root.path("sys/knob")).unwrap();
        assert!(matches!(step.undo(&root).unwrap(), Undone::Left(told) if told.contains("gone")));
    }
}
