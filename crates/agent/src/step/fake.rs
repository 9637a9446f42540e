//! What a kernel does by itself and a fake machine's plain files do not: print what was written in the usual form, and
//! show what was asked of a thread.

use super::form::{Form, list};
use crate::machine::Root;
use anyhow::{Context, Result, bail};
use latido_model::{
    cell::{NiceBy, Scheduling},
    cpus::CpuSet,
};
use std::{
    fs,
    io::{self, Read},
};

/// What the file says after a value was written to it, judged by what it says now.
pub fn printed(root: &Root, path: &str, value: &str, form: Form) -> String {
    let mut old = String::new();
    // Some files have no end (/dev/full, which tests write to).
    let read = root.open(path).and_then(|file| file.take(4096).read_to_string(&mut old));
    if read.is_err() || old.trim_matches('\0').is_empty() {
        return value.into();
    }
    form.printed(&old, value)
}

/// Removes a control group: the kernel does so with the files in it, which are no files of a disk.
///
/// # Errors
/// As rmdir(2).
pub fn remove_group(root: &Root, path: &str) -> io::Result<()> {
    if !root.is_live() {
        for name in root.list(path) {
            fs::remove_file(root.path(&format!("{path}/{name}")))?;
        }
    }
    fs::remove_dir(root.path(path))
}

/// Where `proc/TID/stat` has what concerns the policy, counted from behind the name: proc_pid_stat(5), fields 18, 19, 40
/// and 41.
const PRIORITY: usize = 15;
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;

/// The policy of a thread, by its `stat`. (That of a deadline task does not show there.)
pub fn policy(root: &Root, tid: i32) -> Result<Scheduling> {
    let stat = root.try_read(&format!("proc/{tid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').with_context(|| format!("proc/{tid}/stat"))?;
    let fields: Vec<i64> = fields.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
    let field = |place: usize| fields.get(place).copied().unwrap_or_default();
    let (nice, prio) = (i8::try_from(field(NICE))?, u8::try_from(field(RT_PRIORITY))?);
    Ok(match field(POLICY) {
        0 => Scheduling::Other { nice, by: NiceBy::default() },
        1 => Scheduling::Fifo { prio },
        2 => Scheduling::Rr { prio },
        3 => Scheduling::Batch { nice },
        5 => Scheduling::Idle,
        number => bail!("task {tid} has policy {number}, which could not be put back"),
    })
}

/// Writes another policy there.
pub fn set_policy(root: &Root, tid: i32, new: Scheduling) -> Result<()> {
    let (number, nice, prio) = match new {
        Scheduling::Other { nice, .. } => (0, Some(nice), 0),
        Scheduling::Fifo { prio } => (1, None, prio),
        Scheduling::Rr { prio } => (2, None, prio),
        Scheduling::Batch { nice } => (3, Some(nice), 0),
        Scheduling::Idle => (5, None, 0),
        Scheduling::Unknown | Scheduling::Own => bail!("no policy is known"),
        Scheduling::Deadline { .. } => bail!("a fake machine has no deadline tasks"),
    };
    let path = format!("proc/{tid}/stat");
    let stat = root.try_read(&path)?;
    let (name, fields) = stat.rsplit_once(')').with_context(|| path.clone())?;
    let mut fields: Vec<String> = fields.split_whitespace().map(String::from).collect();
    let nice = nice.map(|nice| nice.to_string()).or_else(|| fields.get(NICE).cloned()).unwrap_or_default();
    let priority = match prio {
        0 => 20 + nice.parse::<i64>().unwrap_or_default(),
        prio => -1 - i64::from(prio),
    };
    for (place, value) in
        [(PRIORITY, priority.to_string()), (NICE, nice), (RT_PRIORITY, prio.to_string()), (POLICY, number.to_string())]
    {
        *fields.get_mut(place).with_context(|| format!("{path} is too short"))? = value;
    }
    fs::write(root.path(&path), format!("{name}) {}\n", fields.join(" ")))
        .with_context(|| format!("cannot write {path}"))
}

/// Allows a thread other CPUs, in its `status`.
pub fn set_affinity(root: &Root, tid: i32, cpus: &CpuSet) -> Result<()> {
    let path = format!("proc/{tid}/status");
    let status = root.try_read(&path)?;
    let line = |line: &str| match line.split_once(':') {
        Some(("Cpus_allowed_list", _)) => format!("Cpus_allowed_list:\t{}\n", list(cpus)),
        _ => format!("{line}\n"),
    };
    let text: String = status.lines().map(line).collect();
    fs::write(root.path(&path), text).with_context(|| format!("cannot write {path}"))
}
