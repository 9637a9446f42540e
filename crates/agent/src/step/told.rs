//! Describes a step in words: what it changes, and what the machine shows there now.

use super::{Step, ethtool, shown, started, thread};
use crate::machine::Root;
use latido_model::cpus::CpuSet;

impl Step {
    /// Returns what the machine shows there now, in the words of [`Step::change`]; `None` if it cannot be read.
    pub fn current(&self, root: &Root) -> Option<String> {
        match self {
            Self::Value { path, form, .. } => Some(form.value(&shown(root, path, *form).ok()?)),
            Self::Within { path, form, .. } | Self::Kept { path, form, .. } => Some(form.value(&root.read(path)?)),
            Self::Group { path } | Self::Set { path, .. } => {
                Some(if root.exists(path) { "a control group" } else { "absent" }.into())
            }
            Self::Controller { path, .. } => root.read(path),
            Self::Task { tid, start, .. } | Self::Policy { tid, start, .. } if started(root, *tid) != Some(*start) => {
                Some("ended".into())
            }
            Self::Task { tid, from: None, to: None, .. } => {
                Some(format!("CPUs {}", thread::affinity(root, *tid).ok()?))
            }
            Self::Task { .. } => None,
            Self::Policy { tid, .. } => Some(thread::policy(root, *tid).ok()?.to_string()),
            Self::Coalesce { device, key, .. } => ethtool::get(root, device, key).ok(),
        }
    }

    /// Returns the file that it writes, if it writes a value. latido uses it to check the permission beforehand.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Value { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns what changes, with the original and the new value, for the record.
    pub fn change(&self) -> latido_model::record::Change {
        let (knob, original, new) = match self {
            Self::Value { path, original, new, .. } => (path.clone(), original.clone(), new.clone()),
            Self::Group { path } => (path.clone(), "absent".into(), "a control group".into()),
            Self::Set { path, settings, .. } => {
                let says: Vec<String> = settings.iter().map(|s| format!("{} {}", s.file, s.value)).collect();
                (path.clone(), "absent".into(), says.join(", "))
            }
            Self::Controller { path, name } => (path.clone(), format!("without {name}"), format!("with {name}")),
            Self::Within { path, new, .. } => (path.clone(), "absent".into(), new.clone()),
            Self::Kept { path, original, .. } => (path.clone(), original.clone(), "(kept for the way back)".into()),
            Self::Policy { tid, comm, original, new, .. } => {
                (format!("task {tid} ({comm})"), original.to_string(), new.to_string())
            }
            Self::Coalesce { device, key, original, new } => (format!("{device} {key}"), original.clone(), new.clone()),
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
        latido_model::record::Change { knob, original, new }
    }
}
