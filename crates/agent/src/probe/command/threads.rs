//! What the kernel reports about measuring threads in another process, by their numbers.

use latido_model::record::ThreadEvidence;
use latido_sys::sched::{self, Policy};
use std::{collections::BTreeMap, fs};

/// The counts of a thread at one moment.
#[derive(Clone, Debug, Default)]
struct Counts {
    voluntary: u64,
    involuntary: u64,
    minor: u64,
    major: u64,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    migrations: Option<u64>,
}

/// Threads that are watched while samples count.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// By number: the thread's index in the cell, its counts at the beginning, and the latest observation.
    threads: BTreeMap<u32, (u32, Option<Counts>, Option<Looked>)>,
}

/// An observation of a thread.
#[derive(Clone, Debug)]
struct Looked {
    counts: Counts,
    policy: Policy,
    rr_slice_ns: Option<u64>,
    /// The CPU, if it may run on only one.
    cpu: Option<u32>,
}

impl Watched {
    /// Adds a thread. Returns its index in the cell.
    pub fn add(&mut self, tid: u32) -> u32 {
        let next = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        self.threads.entry(tid).or_insert((next, None, None)).0
    }

    /// Lists the threads that do not exist.
    pub fn missing(&self) -> Vec<u32> {
        self.threads.keys().copied().filter(|tid| counts(*tid).is_none()).collect()
    }

    /// Reads the counts at the beginning of the measurement.
    pub fn begin(&mut self) {
        for (tid, (_, begin, _)) in &mut self.threads {
            *begin = counts(*tid);
        }
    }

    /// Observes all threads. A thread that has ended keeps its last observation.
    pub fn look(&mut self) {
        for (tid, (_, _, latest)) in &mut self.threads {
            *latest = look(*tid).or(latest.take());
        }
    }

    /// Returns the lowest of their priorities: a task with that priority can disturb them. `None` if one is a time-sharing thread.
    pub fn priority(&self) -> Option<u8> {
        let of = |tid: &u32| match sched::policy(i32::try_from(*tid).ok()?) {
            Ok(Policy::Fifo { prio } | Policy::Rr { prio }) => Some(prio),
            Ok(Policy::Deadline { .. }) => Some(100),
            _ => None,
        };
        let all: Option<Vec<u8>> = self.threads.keys().map(of).collect();
        all?.into_iter().min()
    }

    /// Returns the evidence for the record. It includes only threads that existed at the beginning and were observed since.
    pub fn evidence(self) -> Vec<ThreadEvidence> {
        let mut all: Vec<ThreadEvidence> = self
            .threads
            .into_iter()
            .filter_map(|(tid, (thread, begin, latest))| {
                let (begin, Looked { counts, policy, rr_slice_ns, cpu }) = (begin?, latest?);
                let both = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
                Some(ThreadEvidence {
                    thread,
                    tid: Some(tid),
                    cpu,
                    policy: policy.to_string(),
                    rr_slice_ns,
                    voluntary_switches: counts.voluntary.saturating_sub(begin.voluntary),
                    involuntary_switches: counts.involuntary.saturating_sub(begin.involuntary),
                    minor_faults: counts.minor.saturating_sub(begin.minor),
                    major_faults: counts.major.saturating_sub(begin.major),
                    cpu_ns: counts.cpu_ns.saturating_sub(begin.cpu_ns),
                    run_delay_ns: both(counts.run_delay_ns, begin.run_delay_ns),
                    migrations: both(counts.migrations, begin.migrations),
                    ..ThreadEvidence::default()
                })
            })
            .collect();
        all.sort_by_key(|thread| thread.thread);
        all
    }
}

fn look(tid: u32) -> Option<Looked> {
    let number = i32::try_from(tid).ok()?;
    let counts = counts(tid)?;
    let policy = sched::policy(number).ok()?;
    let rr_slice_ns = match policy {
        Policy::Rr { .. } => sched::rr_slice_ns(number).ok(),
        _ => None,
    };
    let cpus = sched::affinity(number).ok()?;
    let cpu = match cpus.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    Some(Looked { counts, policy, rr_slice_ns, cpu })
}

/// Reads `stat`, `status`, `schedstat` and `sched` of one thread (proc(5)); `None` if there is no such thread.
fn counts(tid: u32) -> Option<Counts> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{tid}/task/{tid}/{name}")).ok();
    let stat = read("stat")?;
    // After the name: state is field 3, minflt 10, majflt 12.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let status = read("status")?;
    let line = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.rsplit([':', '\t', ' ']).next()?.parse().ok()
    };
    let schedstat = read("schedstat").unwrap_or_default();
    let mut times = schedstat.split_whitespace().map(|word| word.parse::<u64>().ok());
    Some(Counts {
        voluntary: line(&status, "voluntary_ctxt_switches:")?,
        involuntary: line(&status, "nonvoluntary_ctxt_switches:")?,
        minor: field(10)?,
        major: field(12)?,
        cpu_ns: times.next().flatten().unwrap_or(0),
        run_delay_ns: times.next().flatten(),
        migrations: read("sched").and_then(|sched| line(&sched, "se.nr_migrations")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc::channel, thread, time::Duration};

    /// latido reports what a thread did between the beginning and its end: it sleeps, touches memory and ends. A thread that does not exist
    /// is missing.
    #[test]
    fn a_thread_is_known_by_its_number() {
        let (tell, told) = channel();
        let (go, wait) = channel::<()>();
        let measuring = thread::spawn(move || {
            tell.send(sched::gettid()).unwrap();
            wait.recv().unwrap();
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(1));
            }
            std::hint::black_box(vec![1u8; 4 << 20]);
            tell.send(0).unwrap();
            wait.recv().unwrap();
        });
        let tid = told.recv().unwrap().cast_unsigned();
        let mut watched = Watched::default();
        assert_eq!((watched.add(tid), watched.add(i32::MAX as u32), watched.add(tid)), (0, 1, 0));
        assert_eq!(watched.missing(), [i32::MAX as u32]);
        assert_eq!(watched.priority(), None);
        watched.begin();
        go.send(()).unwrap();
        told.recv().unwrap();
        watched.look();
        go.send(()).unwrap();
        measuring.join().unwrap();
        while counts(tid).is_some() {
            thread::sleep(Duration::from_millis(1));
        }
        watched.look();
        let all = watched.evidence();
        let [one] = all.as_slice() else { panic!("{all:?}") };
        let own = sched::policy(0).unwrap().to_string();
        assert_eq!((one.tid, &one.policy, one.helper), (Some(tid), &own, false));
        assert!(one.voluntary_switches >= 20 && one.minor_faults > 100, "{one:?}");
    }
}
