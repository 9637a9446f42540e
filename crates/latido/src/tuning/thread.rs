//! Threads of the kernel: found by name, moved and given another policy.

use super::{
    fake, group,
    step::{self, Step},
};
use crate::{
    cell::{NiceBy, Scheduling},
    cpus::CpuSet,
    machine::Root,
    units::Ns,
};
use anyhow::{Context, Result, anyhow, bail};
use latido_sys::{
    Errno,
    sched::{self, Policy},
};

/// A thread of the kernel.
#[derive(Clone, Debug)]
pub struct Thread {
    tid: i32,
    start: u64,
    /// Its name.
    pub comm: String,
}

/// The threads with such names, in order of their ids. (Each thread of the kernel is a process of its own.)
pub fn named(root: &Root, wanted: impl Fn(&str) -> bool) -> Vec<Thread> {
    let ids = root.list("proc").into_iter().filter_map(|name| name.parse::<i32>().ok());
    let threads = ids.filter_map(|tid| {
        let comm = root.read(&format!("proc/{tid}/comm")).filter(|comm| wanted(comm))?;
        Some(Thread { tid, start: step::started(root, tid)?, comm })
    });
    threads.collect()
}

impl Thread {
    /// The step to FIFO of this priority; `None` where it has it.
    ///
    /// # Errors
    /// Its policy cannot be read, or cannot be put back.
    pub fn fifo(&self, root: &Root, prio: u8) -> Result<Option<Step>> {
        let (original, new) = (policy(root, self.tid)?, Scheduling::Fifo { prio });
        let Self { tid, start, comm } = self.clone();
        Ok((original != new).then_some(Step::Policy { tid, start, comm, original, new }))
    }

    /// The step to other CPUs; `None` where it is on them.
    ///
    /// # Errors
    /// Its affinity cannot be read.
    pub fn on(&self, root: &Root, cpus: &CpuSet) -> Result<Option<Step>> {
        let before = affinity(root, self.tid)?;
        let Self { tid, start, comm } = self.clone();
        let affinity = (before != *cpus).then(|| (before, cpus.clone()));
        Ok(affinity.map(|affinity| Step::Task { tid, start, comm, from: None, to: None, affinity: Some(affinity) }))
    }
}

/// The policy of a thread.
///
/// # Errors
/// There is no such thread, or it has a policy that cannot be set.
pub fn policy(root: &Root, tid: i32) -> Result<Scheduling> {
    if !root.is_live() {
        return fake::policy(root, tid);
    }
    Ok(match sched::policy(tid).map_err(|error| anyhow!("the policy of task {tid} cannot be read: {error}"))? {
        Policy::Other { nice } => Scheduling::Other { nice, by: NiceBy::default() },
        Policy::Batch { nice } => Scheduling::Batch { nice },
        Policy::Idle => Scheduling::Idle,
        Policy::Fifo { prio } => Scheduling::Fifo { prio },
        Policy::Rr { prio } => Scheduling::Rr { prio },
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
            Scheduling::Deadline { runtime: Ns(runtime_ns), deadline: Ns(deadline_ns), period: Ns(period_ns) }
        }
        Policy::Unknown { number } => bail!("task {tid} has policy {number}, which could not be put back"),
    })
}

/// Gives a thread a policy; one that ended meanwhile needs none.
///
/// # Errors
/// What the kernel answered, and the remedy.
pub fn set_policy(root: &Root, tid: i32, new: Scheduling) -> Result<()> {
    if !root.is_live() {
        return fake::set_policy(root, tid, new);
    }
    match sched::set_policy(tid, crate::agent::threads::policy(new), false) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error @ (Errno::EPERM | Errno::EACCES)) => {
            bail!("task {tid} may not be made {new}: {error}; run the same command with sudo (CAP_SYS_NICE)")
        }
        Err(error) => bail!("task {tid} cannot be made {new}: {error}"),
    }
}

/// The CPUs that a thread may run on.
///
/// # Errors
/// There is no such thread.
pub fn affinity(root: &Root, tid: i32) -> Result<CpuSet> {
    if !root.is_live() {
        return group::affinity(root, tid).with_context(|| format!("proc/{tid}/status names no CPUs"));
    }
    let cpus = sched::affinity(tid).map_err(|error| anyhow!("the CPUs of task {tid} cannot be read: {error}"))?;
    Ok(cpus.into_iter().collect())
}
