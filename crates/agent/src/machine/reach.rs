//! The CPUs on which the kernel lets a thread of latido run, and why it excludes the others.
//!
//! The cpuset and the online CPUs limit a thread, not the mask that this process inherited. `taskset` and `isolcpus=` narrow only that
//! mask, and a thread can leave the mask on request (sched_setaffinity(2), kernel/sched/syscalls.c).

use super::{Root, cpu::own_cpus};
use latido_model::{
    cpus::CpuSet,
    machine::{Isolation, none_or_list},
    protocol::LeftOut,
};
use latido_sys::{Errno, sched};
use std::thread;

/// The kernel's answer to a thread that requests every online CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The CPUs on which a thread may run.
    pub usable: CpuSet,
    /// The kernel's error, if it lets no thread choose its CPUs.
    refused: Option<Errno>,
}

impl Reach {
    /// Asks the kernel, on a thread that ends at once. So no other thread moves or changes its mask.
    pub fn ask() -> Self {
        let Some(online) = Root::default().value::<CpuSet>("sys/devices/system/cpu/online") else {
            return Self { usable: own_cpus(), refused: None };
        };
        let asked = thread::Builder::new().spawn(move || {
            sched::set_affinity(0, online.iter())?;
            // The kernel reduces the mask to the cpuset: the result is what it would grant one by one.
            sched::affinity(0)
        });
        // If no thread can start, latido knows only the mask of this thread.
        let Ok(asked) = asked else { return Self { usable: own_cpus(), refused: None } };
        match asked.join() {
            Ok(Ok(granted)) => Self { usable: granted.into_iter().collect(), refused: None },
            Ok(Err(error)) => Self { usable: own_cpus(), refused: Some(error) },
            Err(_) => Self { usable: own_cpus(), refused: None },
        }
    }

    /// Lists the CPUs of this machine on which no thread of latido can run, with the reason.
    pub fn left_out(&self, root: &Root) -> Vec<LeftOut> {
        let list = |path: &str| root.read(path).and_then(|text| none_or_list::parse(&text)).unwrap_or_default();
        let online = list("sys/devices/system/cpu/online");
        let partitions =
            Isolation { partitions: Some(list("sys/fs/cgroup/cpuset.cpus.isolated")), ..Isolation::default() };
        let offline = list("sys/devices/system/cpu/present").without(&online);
        let closed = online.without(&self.usable);
        let elsewhere = closed.without(&partitions.cpus());
        let partitioned = closed.without(&elsewhere);
        [
            LeftOut { cpus: offline, why: "offline".into() },
            LeftOut { cpus: partitioned, why: "in an isolated cpuset partition that latido is not in".into() },
            LeftOut { cpus: elsewhere, why: self.outside(root) },
        ]
        .into_iter()
        .filter(|left| !left.cpus.is_empty())
        .collect()
    }

    /// Returns why online CPUs are not available.
    fn outside(&self, root: &Root) -> String {
        if let Some(error) = self.refused {
            return format!("not available to latido, because sched_setaffinity failed: {error}");
        }
        match root.read("proc/self/cpuset").filter(|group| group != "/") {
            Some(group) => format!("outside of latido's cpuset {group}"),
            None => "outside of latido's cpuset".into(),
        }
    }

    /// Refuses CPUs that cannot be measured. latido's own entries lead to the CPUs in `more`.
    ///
    /// # Errors
    /// Each missing CPU with its reason, and the CPUs that can be measured.
    pub fn admit(&self, root: &Root, asked: &CpuSet, more: &CpuSet) -> anyhow::Result<()> {
        let usable: CpuSet = self.usable.iter().chain(more.iter()).collect();
        let missing = asked.without(&usable);
        if missing.is_empty() {
            return Ok(());
        }
        let known = self.left_out(root);
        let mut unknown = missing.clone();
        let mut reasons = Vec::new();
        for LeftOut { cpus, why } in known {
            let concerned = missing.without(&missing.without(&cpus));
            if !concerned.is_empty() {
                unknown = unknown.without(&concerned);
                reasons.push(format!("CPU {concerned} is {why}"));
            }
        }
        if !unknown.is_empty() {
            reasons.push(format!("CPU {unknown} is not on this machine"));
        }
        anyhow::bail!("{}; latido can measure CPUs {usable}", reasons.join(", "))
    }
}

/// Returns the CPUs of the running machine that are kept free: `isolcpus=`, and the isolated partitions of cgroup v2 as listed in its root
/// (cgroup-v2.rst, cpuset.cpus.isolated).
pub fn kept_free() -> CpuSet {
    let root = Root::default();
    let list = |path| root.read(path).and_then(|text| none_or_list::parse(&text));
    let [boot, partitions] = ["sys/devices/system/cpu/isolated", "sys/fs/cgroup/cpuset.cpus.isolated"].map(list);
    Isolation { isolated: boot, partitions, ..Isolation::default() }.cpus()
}

/// Returns the CPUs for latido's own work while it measures others: the CPUs on which it was started, else other usable ones, with those
/// that are kept free at boot as the last choice; `None` if all are measured.
pub fn housekeeping(measured: &CpuSet, own: &CpuSet, usable: &CpuSet, isolated: &CpuSet) -> Option<CpuSet> {
    let rests = [own.without(measured), usable.without(isolated).without(measured), usable.without(measured)];
    rests.into_iter().find(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;
    use latido_model::needs::{Need, skip};

    fn set(text: &str) -> CpuSet {
        none_or_list::parse(text).unwrap()
    }

    fn reach(usable: &str) -> Reach {
        Reach { usable: set(usable), refused: None }
    }

    /// An inherited mask does not limit what a thread may request.
    #[test]
    fn an_inherited_mask_does_not_bind() {
        let whole = Reach::ask();
        assert!(whole.refused.is_none() && whole.usable.without(&super::super::online_cpus()).is_empty(), "{whole:?}");
        if whole.usable.len() < 2 {
            return skip("a mask that is narrower than the machine", Need::TwoCpus, "one CPU only");
        }
        let one = whole.usable.iter().next().unwrap();
        let narrow = thread::spawn(move || {
            sched::set_affinity(0, [one]).unwrap();
            (own_cpus(), Reach::ask(), own_cpus())
        });
        let (before, reach, after) = narrow.join().unwrap();
        assert_eq!((before, reach, after), (CpuSet::from_iter([one]), whole, CpuSet::from_iter([one])));
    }

    #[test]
    fn every_cpu_that_is_left_out_has_its_reason() {
        let tree = fixture::desktop();
        tree.write("sys/devices/system/cpu/present", "0-5\n");
        tree.write("sys/devices/system/cpu/online", "0-4\n");
        tree.write("sys/fs/cgroup/cpuset.cpus.isolated", "4\n");
        tree.write("proc/self/cpuset", "/work\n");
        let said = |reach: &Reach| {
            let all = reach.left_out(&tree.root);
            all.iter().map(|left| format!("{}: {}", left.cpus, left.why)).collect::<Vec<_>>()
        };
        let expected = [
            "5: offline",
            "4: in an isolated cpuset partition that latido is not in",
            "2,3: outside of latido's cpuset /work",
        ];
        assert_eq!(said(&reach("0-1")), expected);
        assert_eq!(said(&reach("0-4")), ["5: offline"]);
        let error = reach("0-1").admit(&tree.root, &set("1,3,5,9"), &set("4")).unwrap_err().to_string();
        assert_eq!(
            error,
            "CPU 5 is offline, CPU 3 is outside of latido's cpuset /work, CPU 9 is not on this machine; latido can \
             measure \
             CPUs 0,1,4"
        );
        assert!(reach("0-1").admit(&tree.root, &set("1,4"), &set("4")).is_ok());
        let refused = Reach { refused: Some(Errno::EPERM), ..reach("0") };
        assert!(
            said(&refused)[2].contains("sched_setaffinity failed: Operation not permitted"),
            "{:?}",
            said(&refused)
        );
    }

    #[test]
    fn own_work_stays_off_the_measured_cpus_and_where_it_was_started() {
        let rest = |measured, own, isolated| housekeeping(&set(measured), &set(own), &set("0-3"), &set(isolated));
        assert_eq!(rest("1", "0-3", ""), Some(set("0,2-3")));
        assert_eq!(rest("1", "0", ""), Some(set("0")), "taskset -c 0");
        assert_eq!(rest("0", "0", "3"), Some(set("1,2")), "not where the measurement is, nor on what is kept free");
        assert_eq!(rest("0-2", "0", "3"), Some(set("3")));
        assert_eq!(rest("0-3", "0", ""), None);
    }
}
