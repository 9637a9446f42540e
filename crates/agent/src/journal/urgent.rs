//! Before everybody else, for as long as settings are changed or put back.

use latido_sys::sched::{self, Policy};

/// The calling thread at a real-time priority; back to what it was when dropped.
///
/// While CPUs are isolated all tasks crowd on the others, and where a task was moved between runqueues its session may
/// wait there for a minute before the scheduler counts it as eligible (seen with EEVDF and autogroup, Linux 6.18): the
/// machine would stay half changed for as long. The work is short, and whoever may change settings may have a priority;
/// without the right all goes on as before.
#[derive(Debug)]
pub struct Urgent(Option<Policy>);

impl Urgent {
    /// Takes the lowest real-time priority: above all that shares time, below every real-time task.
    pub fn take() -> Self {
        let before = sched::policy(0)
            .ok()
            .filter(|policy| matches!(policy, Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle));
        // Programs started meanwhile do not inherit it.
        Self(before.filter(|_| sched::set_policy(0, Policy::Fifo { prio: 1 }, true).is_ok()))
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // Without privileges the policy can be put back, but what children inherit cannot (sched(7)).
            if sched::set_policy(0, before, false).is_err() {
                let _ = sched::set_policy(0, before, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_before_comes_back() {
        let before = sched::policy(0).unwrap();
        let urgent = Urgent::take();
        if urgent.0.is_some() {
            assert_eq!(sched::policy(0).unwrap(), Policy::Fifo { prio: 1 });
        }
        drop(urgent);
        assert_eq!(sched::policy(0).unwrap(), before);
    }
}
