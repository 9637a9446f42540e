//! A measuring thread before and after its loop: latido pins it, prefaults its stack and makes it real-time, and afterwards reads from the
//! kernel what it used.

use super::{out_of_band::OutOfBand, permission};
use crate::machine;
use crate::machine::isolated::{Entry, door};
use latido_model::{
    cell::{NiceBy, Scheduling},
    record::{CoreCounts, ThreadEvidence},
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
    /// Why the kernel refused the affinity, if it did.
    refused: Option<String>,
    schedstat: Option<SchedStatFile>,
    before: Used,
    /// The membership of a core beside the kernel.
    core: Option<OutOfBand>,
    /// What the core counted in the loop.
    counted: Option<CoreCounts>,
}

#[derive(Default)]
struct Used {
    usage: Usage,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    migrations: Option<u64>,
}

/// Prepares the calling thread, except for its policy. The thread is pinned to `cpu`, or may run on all `allowed` CPUs (otherwise it
/// inherits the few CPUs of the main thread, and the deadline policy requires them all). A refused affinity is reported like any other
/// refusal. A `helper` takes no samples. The thread first enters isolated CPUs through their entry.
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
        core: None,
        counted: None,
    }
}

impl PreparedThread {
    /// Lets the thread enter the core that its scheduling names. The dry run needs that already.
    pub fn enter(&mut self, scheduling: Option<Scheduling>) {
        match OutOfBand::enter(scheduling) {
            Ok(core) => self.core = core,
            Err(error) => _ = self.refused.get_or_insert(format!("{error:#}")),
        }
    }

    /// Sets the policy, as the last step before the loop. From now on the thread may not disturb itself. `refused` receives the first
    /// refusal before the loop, so that a checkpoint contains it too.
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
        if let Some(core) = &mut self.core {
            core.begin();
        }
    }

    /// Starts to count what the thread uses. A thread with work left between policy and loop calls it again.
    #[inline(never)]
    pub fn count(&mut self) {
        // The files are read first, so that the cost of reading them is before the loop.
        self.before.migrations = migrations();
        self.before.run_delay_ns = self.run_delay_ns();
        self.before.usage = usage::of_thread();
        self.before.cpu_ns = clock::thread_cpu_ns();
    }

    /// Reads what the core counted, and leaves it. Any other call after the loop, a frozen trace too, would be a switch to in-band.
    #[inline(never)]
    pub fn leave_core(&mut self) {
        self.counted = self.core.take().and_then(OutOfBand::end);
    }

    /// Returns what the loop used. Before that, the thread leaves the core.
    #[inline(never)]
    pub fn finish(self) -> ThreadEvidence {
        // The counters are read first: a page fault from reading a file must not count as one of the loop.
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
            core: self.counted,
            ..self.evidence
        }
    }

    fn run_delay_ns(&self) -> Option<u64> {
        self.schedstat.as_ref().and_then(SchedStatFile::read).map(|stat| stat.delay_ns)
    }
}

/// Returns how often the calling thread changed its CPU, from /proc/thread-self/sched (CONFIG_SCHED_DEBUG).
fn migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Requests a policy for the calling thread from the kernel.
///
/// # Errors
/// The kernel refuses it, or did not do it.
pub fn ask(scheduling: Scheduling) -> Result<(), Errno> {
    match scheduling {
        // The process was started with this nice value: this only checks whether the kernel agreed.
        Scheduling::Other { nice, by: NiceBy::Nice } if sched::policy(0)? == (Policy::Other { nice }) => Ok(()),
        Scheduling::Other { by: NiceBy::Nice, .. } => Err(Errno::EACCES),
        Scheduling::Other { nice, by: NiceBy::Setpriority } => {
            sched::set_policy(0, Policy::Other { nice: 0 }, false)?;
            sched::set_nice(nice)
        }
        _ => sched::set_policy(0, machine::policy(scheduling), false),
    }
}
