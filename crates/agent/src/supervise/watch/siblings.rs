//! The activity of the SMT siblings of the measured CPUs: they share a core's units and caches with them.

use crate::machine::Root;
use latido_model::{cpus::CpuSet, record::Sibling};
use std::time::Instant;

/// The siblings of the measured CPUs, and how busy each was when the watch began.
#[derive(Debug)]
pub struct Siblings {
    started: Instant,
    /// A sibling, the measured CPU whose core it is on, and its busy time so far, in ns.
    before: Vec<(u32, u32, u64)>,
}

impl Siblings {
    /// Starts. Without siblings it never reads anything again.
    pub fn start(root: &Root, measured: &CpuSet) -> Self {
        let mut pairs = Vec::new();
        for cpu in measured.iter() {
            let list = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let core: CpuSet = root.value(&list).unwrap_or_default();
            pairs.extend(core.iter().filter(|sibling| *sibling != cpu).map(|sibling| (sibling, cpu)));
        }
        let text = if pairs.is_empty() { String::new() } else { root.read("proc/stat").unwrap_or_default() };
        let before = pairs.into_iter().filter_map(|(sibling, of)| Some((sibling, of, busy_ns(&text, sibling)?)));
        Self { started: Instant::now(), before: before.collect() }
    }

    /// Returns how busy each has been since then.
    pub fn seen(&self, root: &Root) -> Vec<Sibling> {
        if self.before.is_empty() {
            return Vec::new();
        }
        let over_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let text = root.read("proc/stat").unwrap_or_default();
        let sibling = |(cpu, of, before): &(u32, u32, u64)| {
            let busy_ns = busy_ns(&text, *cpu)?.saturating_sub(*before);
            Some(Sibling { cpu: *cpu, of: *of, busy_ns, over_ns })
        };
        self.before.iter().filter_map(sibling).collect()
    }
}

/// Returns how long a CPU was in user and system mode and in interrupts since boot (proc_stat(5), in ticks of 10 ms).
fn busy_ns(stat: &str, cpu: u32) -> Option<u64> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
    // user, nice, system, idle, iowait, irq, softirq. The time of guests is included in user.
    let ticks: Vec<u64> = line.split_whitespace().take(7).map_while(|tick| tick.parse().ok()).collect();
    match ticks.as_slice() {
        [user, nice, system, _, _, irq, softirq] => {
            Some((user + nice + system + irq + softirq).saturating_mul(tick_ns))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::machine as fixture;

    #[test]
    fn a_sibling_s_work_is_counted_and_a_core_of_one_thread_has_none() {
        let tree = fixture::empty();
        let topology = |cpu: u32, list: &str| {
            tree.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), list);
        };
        topology(0, "0,2\n");
        topology(1, "1\n");
        topology(2, "0,2\n");
        tree.write("proc/stat", "cpu  0 0 0 0 0 0 0 0\ncpu0 1 1 1 9 9 1 1 5\ncpu2 10 0 0 500 9 0 0 0\n");
        assert!(Siblings::start(&tree.root, &"1".parse().unwrap()).seen(&tree.root).is_empty());
        let watch = Siblings::start(&tree.root, &"0".parse().unwrap());
        tree.write("proc/stat", "cpu  0 0 0 0 0 0 0 0\ncpu0 99 1 1 9 9 1 1 5\ncpu2 20 1 2 900 9 3 4 0\n");
        let seen = watch.seen(&tree.root);
        assert_eq!(seen.len(), 1);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!((seen[0].cpu, seen[0].of, seen[0].busy_ns), (2, 0, 20 * tick_ns));
        tree.write("proc/stat", "junk\n");
        assert!(watch.seen(&tree.root).is_empty(), "what cannot be read is absent, not zero");
    }
}
