//! The way back of a step: to its original, unless somebody else was there meanwhile.

use super::{Step, started, write};
use crate::{
    machine::Root,
    tuning::{ethtool, fake, group, thread},
};
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
                write(root, path, original, *form)?;
                let back = form.value(&root.try_read(path)?);
                ensure!(back == form.value(original), "{path} was put back to `{original}` and says `{back}`");
                Ok(Undone::Back)
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
}
