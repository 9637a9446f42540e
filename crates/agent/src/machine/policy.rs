//! Scheduling policies as the kernel takes them.

use latido_model::cell::Scheduling;
use latido_sys::sched::Policy;

/// As the kernel takes it.
pub fn policy(scheduling: Scheduling) -> Policy {
    match scheduling {
        Scheduling::Other { nice, .. } => Policy::Other { nice },
        Scheduling::Batch { nice } => Policy::Batch { nice },
        Scheduling::Idle => Policy::Idle,
        // No plan can ask for it.
        Scheduling::Unknown | Scheduling::Own => Policy::Other { nice: 0 },
        Scheduling::Fifo { prio } => Policy::Fifo { prio },
        Scheduling::Rr { prio } => Policy::Rr { prio },
        Scheduling::Deadline { runtime, deadline, period } => {
            Policy::Deadline { runtime_ns: runtime.0, deadline_ns: deadline.0, period_ns: period.0 }
        }
    }
}
