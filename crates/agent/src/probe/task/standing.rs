//! What the kernel grants each thread of a watched program: policy, CPUs, locked memory; and how that changes meanwhile.

use crate::{
    check::process,
    machine::{Root, limits::held_back},
};
use latido_model::record::{HeldBack, Standing, WatchedThread};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How often latido asks the kernel. It asks less often if the answers take longer than 1/[`SHARE`] of that: the machine is being measured.
const EACH: Duration = Duration::from_secs(1);
/// How soon latido asks again at first: programs take their priority when they start.
const SOON: Duration = Duration::from_millis(20);
const SHARE: u32 = 100;
/// How many processes latido asks about, at most.
const MOST: usize = 256;
/// How many earlier standings latido keeps per thread.
const KEPT: usize = 10;

/// The standings of each thread, by its number. The last one is in force.
#[derive(Debug, Default)]
pub(super) struct Standings {
    seen: BTreeMap<u32, Vec<Standing>>,
    /// The CPU quotas of each thread's control groups, as found by the first and the last look, by the number of the thread.
    quotas: BTreeMap<u32, (HeldBack, HeldBack)>,
    /// When latido asked first, and the earliest time at which it asks again.
    times: Option<(Instant, Instant)>,
}

impl Standings {
    /// Asks the kernel about these processes and those that they started, if it is time.
    pub fn look(&mut self, processes: &[i32]) {
        let began = Instant::now();
        if self.times.is_some_and(|(_, next)| began < next) {
            return;
        }
        self.look_now(processes);
        let (first, _) = *self.times.get_or_insert((began, began));
        self.times = Some((first, began + pause(began - first, began.elapsed())));
    }

    /// Asks the kernel, whether or not it is time.
    pub fn look_now(&mut self, processes: &[i32]) {
        self.ask(&Root::default(), processes.iter().filter_map(|pid| u32::try_from(*pid).ok()).collect());
    }

    fn ask(&mut self, root: &Root, mut processes: Vec<u32>) {
        let mut at = 0;
        while let Some(pid) = processes.get(at).copied() {
            at += 1;
            let Ok(found) = process::read(root, pid) else { continue };
            for child in found.threads.iter().flat_map(|thread| children(root, pid, thread.tid)) {
                if processes.len() < MOST && !processes.contains(&child) {
                    processes.push(child);
                }
            }
            let quota = root.read(&format!("proc/{pid}/cgroup")).and_then(|groups| held_back(root, &groups));
            for thread in found.threads {
                let Some(policy) = thread.policy else { continue };
                if let Some(now) = quota {
                    self.quotas.entry(thread.tid).or_insert((now, now)).1 = now;
                }
                self.note(thread.tid, Standing { policy, cpus: thread.cpus, locked_kib: found.locked_kib });
            }
        }
    }

    /// Notes the standing of a thread. More locked memory than before is growth, and no change of its standing.
    fn note(&mut self, tid: u32, now: Standing) {
        let all = self.seen.entry(tid).or_default();
        match all.last_mut() {
            Some(last) if (&last.policy, &last.cpus) == (&now.policy, &now.cpus) => *last = now,
            _ => all.push(now),
        }
        if all.len() > KEPT + 1 {
            all.remove(0);
        }
    }

    /// Returns what is known of these threads, under their distinct names.
    pub fn of<'a>(&self, named: impl Iterator<Item = (i32, &'a str)>) -> Vec<WatchedThread> {
        let one = |(tid, task): (i32, &str)| {
            let tid = u32::try_from(tid).ok()?;
            let (standing, before) = self.seen.get(&tid)?.split_last()?;
            let held_back = self.quotas.get(&tid).map(|(first, last)| last.since(*first));
            let (standing, before) = (standing.clone(), before.to_vec());
            Some(WatchedThread { task: task.into(), tid, standing, before, held_back })
        };
        named.filter_map(one).collect()
    }
}

/// Returns how long latido waits before it asks again. That depends on the time since it asked first and on how long the answers took.
fn pause(since_first: Duration, took: Duration) -> Duration {
    since_first.clamp(SOON, EACH).max(took * SHARE)
}

/// Returns the living processes that a thread started (proc_pid_task(5)). A kernel without CONFIG_PROC_CHILDREN lists none.
fn children(root: &Root, pid: u32, tid: u32) -> Vec<u32> {
    let text = root.read(&format!("proc/{pid}/task/{tid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(policy: &str, locked_kib: u64) -> Standing {
        Standing { policy: policy.into(), cpus: "0-1".parse().ok(), locked_kib: Some(locked_kib) }
    }

    /// A new policy is a change, more locked memory is not. Of many changes the oldest go.
    #[test]
    fn changes_are_kept_in_order() {
        let mut standings = Standings::default();
        for (policy, locked) in [("fifo 50", 0), ("fifo 50", 64), ("fifo 70", 64), ("fifo 70", 128)] {
            standings.note(7, standing(policy, locked));
        }
        let found = standings.of([(7, "worker"), (8, "never seen")].into_iter());
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.task.as_str(), one.tid), ("worker", 7));
        assert_eq!((&one.standing, &one.before), (&standing("fifo 70", 128), &vec![standing("fifo 50", 64)]));
        (0..30).for_each(|prio| standings.note(7, standing(&format!("fifo {prio}"), 0)));
        assert_eq!(standings.of([(7, "worker")].into_iter())[0].before.len(), KEPT);
    }

    /// The second look comes soon, later ones once per second. If answers take long, latido asks less often.
    #[test]
    fn looks_come_soon_at_first() {
        let ms = Duration::from_millis;
        let pauses = [0, 20, 300, 5_000].map(|since| pause(ms(since), ms(0)));
        assert_eq!(pauses, [ms(20), ms(20), ms(300), ms(1_000)]);
        assert_eq!(pause(ms(0), ms(30)), ms(3_000));
    }

    /// This process must be found, with a policy and CPUs.
    #[test]
    fn the_kernel_is_asked() {
        let mut standings = Standings::default();
        standings.look(&[std::process::id().cast_signed()]);
        let own = latido_sys::sched::gettid();
        let found = standings.of([(own, "test")].into_iter());
        assert!(!found[0].standing.policy.is_empty() && found[0].standing.cpus.is_some(), "{found:?}");
    }

    /// If a shell starts the program, latido must look at the program behind the shell.
    #[test]
    fn children_are_looked_at() {
        // A shell whose child is killed prints that, between the lines of the tests.
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "sleep 60; true"]).stderr(std::process::Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let mut standings = Standings::default();
        let has_child = |standings: &mut Standings| {
            standings.ask(&Root::default(), vec![shell.id()]);
            standings.seen.keys().any(|tid| *tid != shell.id())
        };
        let kernel_tells = Root::default().exists(&format!("proc/{}/task/{}/children", shell.id(), shell.id()));
        while kernel_tells && !has_child(&mut standings) {
            std::thread::yield_now();
        }
        let child = standings.seen.keys().copied().find(|tid| *tid != shell.id());
        for pid in
            child.into_iter().chain([shell.id()]).filter_map(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        shell.wait().unwrap();
        assert_eq!(child.is_some(), kernel_tells);
    }
}
