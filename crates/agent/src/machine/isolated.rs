//! Entries to isolated CPUs: the groups that latido made of these CPUs, and how a thread enters them.

use super::{
    Root,
    cpusets::{self, Hierarchy},
};
use anyhow::{Context, Result};
use latido_model::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::{fs::OpenOptions, io::Write};

/// The group of the measured threads.
pub const ISOLATED: &str = "latido-isolated";

/// An entry to isolated CPUs: a measuring thread writes its number into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The CPUs to which it leads.
    pub cpus: CpuSet,
    /// The file that accepts threads.
    pub threads: String,
    /// The file that must first accept the whole process: cgroup v2 lets threads move only to groups of their domain.
    pub process: Option<String>,
}

/// Lists the entries to CPUs that are isolated now, by a run or by hand with `latido tune apply`.
pub fn entries(root: &Root) -> Vec<Entry> {
    let Ok(place) = cpusets::find(root) else { return Vec::new() };
    let (dir, tasks, process) = match &place {
        Hierarchy::V1 { dir } => (dir, "tasks", None),
        Hierarchy::V2 { dir } => (dir, "cgroup.threads", Some(format!("{dir}/cgroup.procs"))),
    };
    let groups = root.list(dir).into_iter().filter(|name| name.starts_with(ISOLATED));
    let entry = |name: String| {
        let cpus = root.value(&format!("{dir}/{name}/cpuset.cpus"))?;
        Some(Entry { cpus, threads: format!("{dir}/{name}/{tasks}"), process: process.clone() })
    };
    groups.filter_map(entry).collect()
}

impl Entry {
    /// Prepares the calling process for the entry. Its threads are still outside afterwards.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn approach(&self) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), |file| put(file, std::process::id().cast_signed()))
    }

    /// Moves the calling thread to the isolated CPUs.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn enter(&self) -> Result<()> {
        put(&self.threads, latido_sys::sched::gettid())
    }
}

fn put(file: &str, id: i32) -> Result<()> {
    let path = Root::default().path(file);
    let mut open = OpenOptions::new().write(true).open(&path).with_context(|| format!("cannot open {file}"))?;
    open.write_all(id.to_string().as_bytes()).with_context(|| format!("{file} does not accept {id}"))
}

/// Returns the entry for a thread that will run on `cpu`, or anywhere (`None`). A helper that may run anywhere stays outside.
pub fn door(entries: &[Entry], cpu: Option<u32>, helper: bool) -> Option<&Entry> {
    match cpu {
        Some(cpu) => entries.iter().find(|entry| entry.cpus.contains(cpu)),
        None => entries.first().filter(|_| !helper),
    }
}
