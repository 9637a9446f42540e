//! A measuring thread before and after its loop: pinned, prefaulted, real-time; then what the kernel says it used.

use super::permission;
use crate::machine;
use crate::machine::isolated::{Entry, door};
use latido_model::{
    cell::{NiceBy, Scheduling},
    record::ThreadEvidence,
};
use latido_sys::{
    Errno, clock, memory,
    procfs::SchedStatFile,
    sched::{self, Policy},
    usage::{self, Usage},
};

/// The stack of a measuring thread in bytes: small, since locked memory is resident memory.
pub const STACK: usize = 128 << 10;

/// A prepared thread, about to run its loop.
pub struct PreparedThread {
    evidence: ThreadEvidence,
    /// What the kernel answered to the affinity, if it refused.
    refused: Option<String>,
    schedstat: Option<SchedStatFile>,
    before: Used,
}

#[derive(Default)]
struct Used {
    usage: Usage,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    migrations: Option<u64>,
}

/// Prepares the calling thread, except for its policy: pinned to `cpu`, or free on all `allowed` ones (a thread inherits
/// the few CPUs of the main thread otherwise, and the deadline policy demands them all). An affinity that is refused is
/// a refusal like any other. A `helper` takes no samples. Isolated CPUs are entered by their door first.
pub fn prepare(thread: u32, cpu: Option<u32>, allowed: &[u32], helper: bool, entries: &[Entry]) -> PreparedThread {
    memory::prefault_stack();
    let locked = door(entries, cpu, helper).and_then(|door| door.enter().err());
    let locked = locked.map(|error| format!("entering the isolated CPUs was refused: {error:#}"));
    let refused = match cpu {
        Some(cpu) => sched::set_affinity(0, [cpu]).err().map(|e| format!("pinning to CPU {cpu} was refused: {e}")),
        None => {
            sched::set_affinity(0, allowed.iter().copied()).err().map(|e| format!("leaving its CPU was refused: {e}"))
        }
    };
    let tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).ok();
    let evidence = ThreadEvidence { thread, tid, cpu, helper, ..ThreadEvidence::default() };
    PreparedThread {
        evidence,
        refused: locked.or(refused),
        schedstat: SchedStatFile::open().ok(),
        before: Used::default(),
    }
}

impl PreparedThread {
    /// Sets the policy: the last thing before the loop. From now on this thread may not be disturbed by its own doing.
    /// `refused` hears of the first refusal: before the loop, so that a checkpoint knows of it too.
    #[inline(never)]
    pub fn go(&mut self, scheduling: Option<Scheduling>, refused: &mut dyn FnMut(String)) {
        let by_policy = scheduling.and_then(|scheduling| {
            let error = ask(scheduling).err()?;
            Some(permission::explain(scheduling, error))
        });
        if let Some(why) = self.refused.take().or(by_policy) {
            refused(why);
        }
        self.count();
    }

    /// What the thread uses counts from here on: again, where something is left to do between policy and loop.
    #[inline(never)]
    pub fn count(&mut self) {
        // The files first: what reading them costs is before the loop, not in it.
        self.before.migrations = migrations();
        self.before.run_delay_ns = self.run_delay_ns();
        self.before.usage = usage::of_thread();
        self.before.cpu_ns = clock::thread_cpu_ns();
    }

    /// What the loop used.
    #[inline(never)]
    pub fn finish(self) -> ThreadEvidence {
        // The counters first: a page fault of reading a file must not look like one of the loop.
        let cpu_ns = clock::thread_cpu_ns();
        let used = usage::of_thread().since(self.before.usage);
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let read_back = sched::policy(0);
        let rr_slice_ns = match read_back {
            Ok(Policy::Rr { .. }) => sched::rr_slice_ns(0).ok(),
            _ => None,
        };
        let policy = read_back.map_or_else(|error| format!("unknown: {error}"), |policy| policy.to_string());
        ThreadEvidence {
            policy,
            rr_slice_ns,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
            minor_faults: used.minor_faults,
            major_faults: used.major_faults,
            cpu_ns: cpu_ns.saturating_sub(self.before.cpu_ns),
            run_delay_ns: since(self.run_delay_ns(), self.before.run_delay_ns),
            migrations: since(migrations(), self.before.migrations),
            ..self.evidence
        }
    }

    fn run_delay_ns(&self) -> Option<u64> {
        self.schedstat.as_ref().and_then(SchedStatFile::read).map(|stat| stat.delay_ns)
    }
}

/// How often the calling thread changed its CPU, from /proc/thread-self/sched (CONFIG_SCHED_DEBUG).
fn migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Asks the kernel for a policy for the calling thread.
///
/// # Errors
/// What it answers, or that it did not do as asked.
pub fn ask(scheduling: Scheduling) -> Result<(), Errno> {
    match scheduling {
        // The process was started so: nothing is left but to see whether the kernel agreed.
        Scheduling::Other { nice, by: NiceBy::Nice } if sched::policy(0)? == (Policy::Other { nice }) => Ok(()),
        Scheduling::Other { by: NiceBy::Nice, .. } => Err(Errno::EACCES),
        Scheduling::Other { nice, by: NiceBy::Setpriority } => {
            sched::set_policy(0, Policy::Other { nice: 0 }, false)?;
            sched::set_nice(nice)
        }
        _ => sched::set_policy(0, machine::policy(scheduling), false),
    }
}
