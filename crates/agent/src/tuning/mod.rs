//! Reversible changes of the machine's settings: one file each and one line in [`TUNINGS`].

mod boot;
mod cache;
mod cstates;
mod frequency;
mod irq_priority;
mod irqs;
pub mod isolate;
mod ksm;
mod nic;
mod numa_balancing;
mod preempt;
mod printk;
mod rcu;
mod resume_latency;
mod smt;
mod thp;
mod throttle;
mod timers;
mod vm_stat;
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
    timers::DEF,
    workqueues::DEF,
    watchdog::DEF,
    numa_balancing::DEF,
    thp::DEF,
    ksm::DEF,
    vm_stat::DEF,
    cache::DEF,
    nic::DEF,
    printk::DEF,
    resume_latency::DEF,
    boot::DEF,
];
