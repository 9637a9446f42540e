//! Reversible changes of the machine's settings: one file each, or an entry of `knobs`, and one line in [`TUNINGS`].

mod boot;
mod cache;
mod cstates;
mod frequency;
mod gravity;
pub mod irq_priority;
pub mod irqs;
pub mod isolate;
mod knobs;
mod nic;
mod preempt;
mod rcu;
mod resume_latency;
mod smt;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod swappiness;
mod thp;
mod throttle;
mod watchdog;
mod workqueues;

use crate::setting::Tuning;
use latido_model::registry::Def;

/// Every tuning.
pub const TUNINGS: &[Def<dyn Tuning>] = &[
    cstates::DEF,
    isolate::DEF,
    irqs::DEF,
    frequency::DEF,
    smt::DEF,
    throttle::DEF,
    preempt::DEF,
    irq_priority::DEF,
    rcu::DEF,
    knobs::TIMERS,
    workqueues::DEF,
    watchdog::DEF,
    knobs::NUMA_BALANCING,
    knobs::COMPACTION,
    thp::DEF,
    knobs::KSM,
    knobs::VM_STAT,
    cache::DEF,
    nic::DEF,
    knobs::PRINTK,
    resume_latency::DEF,
    gravity::DEF,
    boot::DEF,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::trees;

    #[test]
    fn the_worked_example_is_a_tuning() {
        let tree = trees::by_hand(&[("proc/sys/vm/swappiness", "60\n")]);
        let tuning = (swappiness::DEF.new)("level = 10".parse().unwrap()).unwrap();
        let (done, _) = trees::apply(&*tuning, &tree.root).unwrap();
        assert_eq!(tree.contents()["proc/sys/vm/swappiness"], "10");
        trees::undo(&done, &tree.root);
        assert_eq!(tree.contents()["proc/sys/vm/swappiness"], "60");
    }
}
