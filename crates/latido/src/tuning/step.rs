//! One reversible change of the machine: what it was, what it becomes, how to see that it is in force, how to undo it.

use super::group::{self, Setting};
use crate::{cpus::CpuSet, machine::Root};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::{fs, io::Write};

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
        settings: Vec<Setting>,
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
}

/// How a file prints its value, to compare what was written with what is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it is written.
    #[default]
    Plain,
    /// All choices, the one in force in brackets: `always [madvise] never`.
    Choice,
    /// A list of CPUs: `0-3,5`.
    Cpus,
    /// A mask of CPUs in hexadecimal words: `0000000f`, `ff,ffffffff`.
    Mask,
}

/// How an undoing went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Back,
    /// Left alone, and why: somebody else changed it meanwhile, or it is gone.
    Left(String),
}

impl Form {
    /// The value alone.
    pub fn value(self, text: &str) -> String {
        let text = text.trim();
        match self {
            Self::Plain => text.to_string(),
            Self::Choice => {
                let marked = text
                    .split_whitespace()
                    .find_map(|word| word.strip_prefix(['[', '(']).and_then(|word| word.strip_suffix([']', ')'])));
                marked.unwrap_or(text).to_string()
            }
            Self::Cpus => text.parse::<CpuSet>().map_or_else(|_| text.to_string(), |cpus| cpus.to_string()),
            Self::Mask => {
                let digits = text.replace(',', "").to_lowercase();
                let short = digits.trim_start_matches('0');
                if short.is_empty() { "0".into() } else { short.into() }
            }
        }
    }
}

impl Step {
    /// A change of a file, with what it says now as its original; `None` where it says that already.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn value(root: &Root, path: &str, new: &str, form: Form) -> Result<Option<Self>> {
        let found = root.try_read(path).with_context(|| format!("cannot read /{}", path.trim_start_matches('/')))?;
        let original = form.value(&found);
        if original == form.value(new) {
            return Ok(None);
        }
        Ok(Some(Self::Value { path: path.into(), original, new: new.into(), form }))
    }

    /// Makes the change; it must be in the journal.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn apply(&self, root: &Root) -> Result<()> {
        match self {
            Self::Value { path, new, .. } => write(root, path, new),
            Self::Group { path } => {
                fs::create_dir(root.path(path)).with_context(|| format!("cannot make the control group {path}"))
            }
            Self::Set { path, settings, .. } => group::make(root, path, settings),
            Self::Controller { path, name } => group::enable(root, path, name),
            Self::Task { tid, start, from, to, affinity, .. } => {
                let moved = || -> Result<()> {
                    if let Some(to) = to {
                        group::enter(root, *tid, from.as_deref(), to)?;
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
                let found = form.value(&root.try_read(path).with_context(|| format!("cannot read back {path}"))?);
                ensure!(found == form.value(new), "{path} was set to `{new}` and says `{found}`");
                Ok(())
            }
            Self::Group { path } => {
                ensure!(root.path(path).is_dir(), "the control group {path} was made and is not there");
                Ok(())
            }
            Self::Set { path, settings, .. } => group::check(root, path, settings),
            Self::Controller { path, name } => group::enabled(root, path, name),
            // Where a task is, is its control group's business: one that forks or ends is not an error.
            Self::Task { .. } => Ok(()),
        }
    }

    /// Puts it back, unless somebody else changed it meanwhile. Doing it twice does no harm.
    ///
    /// # Errors
    /// What the kernel answered: the change stays.
    pub fn undo(&self, root: &Root) -> Result<Undone> {
        match self {
            Self::Value { path, original, new, form } => {
                let found = match root.try_read(path) {
                    Ok(text) => form.value(&text),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        return Ok(Undone::Left(format!("{path} is gone: it was `{original}`")));
                    }
                    Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
                };
                if found == form.value(original) {
                    return Ok(Undone::Back);
                }
                if found != form.value(new) {
                    let text = format!("{path} was set to `{found}` by somebody else: left so (it was `{original}`)");
                    return Ok(Undone::Left(text));
                }
                write(root, path, original)?;
                let back = form.value(&root.try_read(path)?);
                ensure!(back == form.value(original), "{path} was put back to `{original}` and says `{back}`");
                Ok(Undone::Back)
            }
            Self::Group { path } => match fs::remove_dir(root.path(path)) {
                Ok(()) => Ok(Undone::Back),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Undone::Back),
                Err(error) => Err(error).with_context(|| format!("cannot remove the control group {path}")),
            },
            Self::Set { path, tasks, leave, .. } => group::unmake(root, path, tasks, leave),
            Self::Controller { path, name } => group::disable(root, path, name),
            Self::Task { tid, start, from, to, affinity, .. } => {
                let back = group::bring_back(root, *tid, from.as_deref(), to.as_deref(), affinity.as_ref());
                match back {
                    // It may have ended while it was looked at.
                    Err(_) | Ok(Undone::Left(_)) if started(root, *tid) != Some(*start) => Ok(Undone::Back),
                    other => other,
                }
            }
        }
    }

    /// What changes, its original and its new value, for the record.
    pub fn change(&self) -> crate::record::Change {
        let (knob, original, new) = match self {
            Self::Value { path, original, new, .. } => (path.clone(), original.clone(), new.clone()),
            Self::Group { path } => (path.clone(), "absent".into(), "a control group".into()),
            Self::Set { path, settings, .. } => {
                let says: Vec<String> = settings.iter().map(|s| format!("{} {}", s.file, s.value)).collect();
                (path.clone(), "absent".into(), says.join(", "))
            }
            Self::Controller { path, name } => (path.clone(), format!("without {name}"), format!("with {name}")),
            Self::Task { tid, comm, from, to, affinity, .. } => {
                let place = |file: &Option<String>, cpus: Option<&CpuSet>| match (file, cpus) {
                    (Some(file), _) => file.clone(),
                    (None, Some(cpus)) => format!("CPUs {cpus}"),
                    (None, None) => "as it was".into(),
                };
                let (before, after) = affinity.as_ref().map(|(a, b)| (a, b)).unzip();
                (format!("task {tid} ({comm})"), place(from, before), place(to, after))
            }
        };
        crate::record::Change { knob, original, new }
    }
}

/// Writes a value as `echo` does; on a fake machine into a plain file.
fn write(root: &Root, path: &str, value: &str) -> Result<()> {
    let full = root.path(path);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .truncate(!root.is_live())
        .open(&full)
        .with_context(|| format!("cannot open /{} for writing", path.trim_start_matches('/')))?;
    file.write_all(value.as_bytes())
        .with_context(|| format!("the kernel refuses `{value}` in /{}", path.trim_start_matches('/')))
}

/// When a thread started, field 22 of its stat (proc_pid_stat(5)); `None` where there is none.
pub fn started(root: &Root, tid: i32) -> Option<u64> {
    let stat = root.read(&format!("proc/{tid}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::new(dir.path());
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

    #[test]
    fn values_are_compared_as_the_kernel_means_them() {
        for (form, a, b) in [
            (Form::Plain, "1\n", "1"),
            (Form::Choice, "always [madvise] never\n", "madvise"),
            (Form::Choice, "none voluntary (full) lazy", "full"),
            (Form::Cpus, "0,1,2,3\n", "0-3"),
            (Form::Mask, "00000000,0000000f\n", "f"),
            (Form::Mask, "0", "00000000"),
            (Form::Mask, "FF", "0ff"),
        ] {
            assert_eq!(form.value(a), form.value(b), "{form:?} {a}");
        }
        assert_ne!(Form::Mask.value("10"), Form::Mask.value("1"));
    }
}
