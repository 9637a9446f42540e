//! Kernel threads: latido finds them by name, moves them and gives them another policy.

use super::{Step, group};
use crate::machine::{Root, task};
use anyhow::{Context, Result, anyhow, bail};
use latido_model::{
    cell::{NiceBy, Scheduling},
    cpus::CpuSet,
    units::Ns,
};
use latido_sys::{Errno, sched::Policy};

/// Flags of a task in /proc/TID/stat (include/linux/sched.h): a kernel thread; one whose affinity may not be set.
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// The facts about a task from one read of /proc/TID/stat: proc_pid_stat(5).
#[derive(Clone, Debug)]
pub struct TaskStat {
    /// Its name, cleaned. The kernel gives a kernel thread its name; any other task may choose any name.
    pub comm: String,
    /// Whether it is ending.
    pub ending: bool,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// Whether the kernel refuses to set its affinity.
    pub bound: bool,
}

/// Reads the state of a task; `None` if it does not exist.
pub fn stat(root: &Root, tid: i32) -> Option<TaskStat> {
    let stat = root.read(&format!("proc/{tid}/stat"))?;
    let (comm, rest) = task::named(&stat)?;
    // Field 3 is the state, 9 the flags, 22 the start.
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let flags: u64 = fields.get(6)?.parse().ok()?;
    Some(TaskStat {
        comm,
        ending: matches!(*fields.first()?, "Z" | "X" | "x"),
        start: fields.get(19)?.parse().ok()?,
        kernel: flags & PF_KTHREAD != 0,
        bound: flags & PF_NO_SETAFFINITY != 0,
    })
}

/// A kernel thread.
#[derive(Clone, Debug)]
pub struct KernelThread {
    tid: i32,
    start: u64,
    /// Its name.
    pub comm: String,
}

/// Returns the kernel threads with matching names, in the order of their ids. (Each is a separate process. Any other process may have such
/// a name too.)
pub fn named(root: &Root, wanted: impl Fn(&str) -> bool) -> Vec<KernelThread> {
    let ids = root.list("proc").into_iter().filter_map(|name| name.parse::<i32>().ok());
    let threads = ids.filter_map(|tid| {
        let TaskStat { comm, start, .. } = stat(root, tid).filter(|stat| stat.kernel && wanted(&stat.comm))?;
        Some(KernelThread { tid, start, comm })
    });
    threads.collect()
}

impl KernelThread {
    /// Returns its policy.
    ///
    /// # Errors
    /// It has ended, or has a policy that cannot be set.
    pub fn policy(&self, root: &Root) -> Result<Scheduling> {
        policy(root, self.tid)
    }

    /// Returns the step to FIFO at this priority; `None` if it has that already.
    ///
    /// # Errors
    /// Its policy cannot be read, or cannot be restored.
    pub fn fifo(&self, root: &Root, prio: u8) -> Result<Option<Step>> {
        let (original, new) = (policy(root, self.tid)?, Scheduling::Fifo { prio });
        let Self { tid, start, comm } = self.clone();
        Ok((original != new).then_some(Step::Policy { tid, start, comm, original, new }))
    }

    /// Returns the step to other CPUs; `None` if it is on them already.
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

/// Returns the CPUs of the interrupt that a thread of this name handles. After the interrupt has moved, the kernel moves the thread there
/// when the interrupt next comes (irq_thread_check_affinity in kernel/irq/manage.c).
pub fn follows(root: &Root, comm: &str) -> Option<CpuSet> {
    let (line, _) = comm.strip_prefix("irq/")?.split_once('-')?;
    let line: u32 = line.parse().ok()?;
    // The kernel follows the effective affinity since Linux 4.15, if the interrupt controller reports it.
    ["effective_affinity_list", "smp_affinity_list"]
        .iter()
        .find_map(|file| root.value(&format!("proc/irq/{line}/{file}")))
}

/// Returns the policy of a thread.
///
/// # Errors
/// The thread does not exist, or it has a policy that cannot be set.
pub fn policy(root: &Root, tid: i32) -> Result<Scheduling> {
    let policy = root.kernel()?.policy(tid);
    Ok(match policy.map_err(|error| anyhow!("the policy of task {tid} cannot be read: {error}"))? {
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

/// Gives a thread a policy. A thread that ended meanwhile needs none.
///
/// # Errors
/// What the kernel answered, and the remedy.
pub fn set_policy(root: &Root, tid: i32, new: Scheduling) -> Result<()> {
    match root.kernel()?.set_policy(tid, crate::machine::policy(new)) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error @ (Errno::EPERM | Errno::EACCES)) => {
            bail!("task {tid} may not be set to {new}: {error}; run the same command with sudo (CAP_SYS_NICE)")
        }
        Err(error) => bail!("task {tid} cannot be set to {new}: {error}"),
    }
}

/// Returns the CPUs on which a thread may run, including offline ones: sched_getaffinity(2) leaves these out.
///
/// # Errors
/// The thread does not exist.
pub fn affinity(root: &Root, tid: i32) -> Result<CpuSet> {
    group::affinity(root, tid).with_context(|| format!("proc/{tid}/status names no CPUs"))
}
