//! The way back of a step: to its original, unless somebody else was there meanwhile.

use super::{Form, Step, ethtool, fake, group, shown, started, thread, write};
use crate::machine::Root;
use anyhow::{Context, Result, ensure};

/// How an undoing went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Back,
    /// Left alone, and why: somebody else changed it meanwhile, or it is gone.
    Left(String),
}

impl Step {
    /// Puts it back, unless somebody else changed it meanwhile. Doing it twice does no harm.
    ///
    /// # Errors
    /// What the kernel answered: the change stays.
    pub fn undo(&self, root: &Root) -> Result<Undone> {
        match self {
            Self::Value { path, original, new, form } => {
                let found = match shown(root, path, *form) {
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
                    return Ok(Undone::Left(by_others(path, &found, original)));
                }
                put_back(root, path, original, *form)
            }
            Self::Kept { path, original, becomes, form } => {
                if !root.exists(path) {
                    return Ok(Undone::Left(format!("{path} is gone: it was `{original}`")));
                }
                let found = form.value(&shown(root, path, *form)?);
                let expected = |text: &String| found == form.value(text);
                if expected(original) {
                    return Ok(Undone::Back);
                }
                match becomes {
                    Some(text) if !expected(text) => Ok(Undone::Left(by_others(path, &found, original))),
                    _ => put_back(root, path, original, *form),
                }
            }
            Self::Within { .. } => Ok(Undone::Back),
            Self::Policy { tid, start, comm, original, new } => {
                if started(root, *tid) != Some(*start) {
                    return Ok(Undone::Left(format!("task {tid} ({comm}) is gone: it was {original}")));
                }
                let found = thread::policy(root, *tid)?;
                if found != *original && found != *new {
                    let text = format!("task {tid} ({comm}) was made {found} by somebody else (it was {original})");
                    return Ok(Undone::Left(text));
                }
                if found != *original {
                    thread::set_policy(root, *tid, *original)?;
                }
                Ok(Undone::Back)
            }
            Self::Coalesce { device, key, original, new } => {
                if !root.exists(&format!("sys/class/net/{device}")) {
                    return Ok(Undone::Left(format!("{device} is gone: its {key} was {original}")));
                }
                let found = ethtool::get(root, device, key)?;
                if found != *original && found != *new {
                    let text = format!("{key} of {device} was set to {found} by somebody else (it was {original})");
                    return Ok(Undone::Left(text));
                }
                if found != *original {
                    ethtool::set(root, device, key, original)?;
                }
                Ok(Undone::Back)
            }
            Self::Group { path } | Self::Set { path, .. } if !group::ours(root, path) => {
                Ok(Undone::Left(format!("{path} was made by somebody else: left so")))
            }
            Self::Group { path } => match fake::remove_group(root, path) {
                Ok(()) => Ok(Undone::Back),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Undone::Back),
                Err(error) => Err(error).with_context(|| format!("cannot remove the control group {path}")),
            },
            Self::Set { path, tasks, leave, .. } => group::unmake(root, path, tasks, leave),
            Self::Controller { path, name } => group::disable(root, path, name),
            // It ended; whoever has its number now is another one.
            Self::Task { tid, start, .. } if started(root, *tid) != Some(*start) => Ok(Undone::Back),
            Self::Task { tid, start, comm, from, to, affinity } => {
                let line = thread::follows(root, comm);
                let back =
                    group::bring_back(root, *tid, from.as_deref(), to.as_deref(), affinity.as_ref(), line.as_ref());
                match back {
                    // It may have ended while it was looked at.
                    Err(_) | Ok(Undone::Left(_)) if started(root, *tid) != Some(*start) => Ok(Undone::Back),
                    other => other,
                }
            }
        }
    }
    /// Puts back what was refused halfway: nobody else can have been there, so a value that the kernel made of ours is
    /// none of somebody else's.
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

fn by_others(path: &str, found: &str, original: &str) -> String {
    format!("{path} was set to `{found}` by somebody else: left so (it was `{original}`)")
}

fn put_back(root: &Root, path: &str, original: &str, form: Form) -> Result<Undone> {
    write(root, path, original, form)?;
    let back = form.value(&shown(root, path, form)?);
    ensure!(back == form.value(original), "{path} was put back to `{original}` and says `{back}`");
    Ok(Undone::Back)
}
